/* SPDX-License-Identifier: MIT
 * Rewrites a trace for --keep: without blocks that were freed already, or without events older
 * than a span of time.
 */
#include "rewrite.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batch.h"
#include "checkpoint.h"
#include "encode.h"
#include "format/record.h"
#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/dest.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/tracefile.h"
#include "libcommon/base/units.h"
#include "limit.h"
#include "output.h"

/* Most bytes of samples that are kept; if there are more, every second sample is dropped. */
#define SAMPLES_MAX ((size_t)1 << 18)
/* Most bytes of scan results that are kept; if there are more, only the latest result is kept. */
#define TOLD_MAX ((size_t)1 << 18)

/* ---- what is kept ---- */

struct records {
	uint8_t *data;
	size_t size, room;
	uint64_t first_ns, last_ns;
};

/* Lists the block types of scan results, which are not in batch_types. */
static const uint16_t told_types[] = {MS_BLOCK_VERDICTS, MS_BLOCK_RESIDENT, MS_BLOCK_RETENTION};
/* Lists the fields that occur only in the first record of a scan result, by type. */
static const uint32_t told_labels[] = {MS_VERDICT_LABEL, MS_RESIDENT_LABEL, MS_RETENTION_STATE};
#define TOLD_TYPES (sizeof told_types / sizeof *told_types)

struct kept {
	struct records records[BATCH_TYPES], told[TOLD_TYPES];
	uint64_t sample_skip;  /* samples skipped since the last one kept */
	uint64_t sample_every; /* samples to skip between two kept ones */
	MS_ARRAY(struct ms_frame) frames;
	MS_ARRAY(struct ms_node) nodes;
};

struct kept *kept_new(void)
{
	return ms_xcalloc(1, sizeof(struct kept));
}

void kept_free(struct kept *k)
{
	if (!k)
		return;
	for (size_t i = 0; i < BATCH_TYPES; i++)
		free(k->records[i].data);
	for (size_t i = 0; i < TOLD_TYPES; i++)
		free(k->told[i].data);
	MS_FREE(k->frames.v, k->nodes.v, k);
}

static struct records *samples_of(struct kept *k)
{
	size_t i = 0;
	while (batch_types[i] != MS_BLOCK_SAMPLES)
		i++;
	return &k->records[i];
}

/* Drops every second sample and doubles the distance of later ones, so that early and late
 * samples stay equally dense. */
static void thin(struct kept *k)
{
	struct records *r = samples_of(k);
	struct ms_record_reader reader;
	struct ms_record rec;
	size_t to = 0, n = 0;
	ms_record_reader_init(&reader, r->data, r->size);
	for (;;) {
		const uint8_t *from = reader.at;
		if (ms_record_next(&reader, &rec) != MS_FMT_OK)
			break;
		size_t bytes = (size_t)(reader.at - from);
		if (n++ % 2 == 0) {
			memmove(r->data + to, from, bytes);
			to += bytes;
		}
	}
	r->size = to;
	k->sample_every = k->sample_every * 2 + 1;
}

static void append(struct records *r, const void *data, size_t n)
{
	if (r->size + n > r->room) {
		r->room = (r->size + n) * 2;
		r->data = ms_xrealloc(r->data, r->room, 1);
	}
	memcpy(r->data + r->size, data, n);
	r->size += n;
}

static void add_samples(struct kept *k, const struct ms_column *c)
{
	struct records *r = samples_of(k);
	struct ms_record_reader reader;
	struct ms_record rec;
	ms_record_reader_init(&reader, c->data, c->size);
	for (;;) {
		const uint8_t *from = reader.at;
		if (ms_record_next(&reader, &rec) != MS_FMT_OK)
			return;
		if (k->sample_skip++ < k->sample_every)
			continue;
		k->sample_skip = 0;
		append(r, from, (size_t)(reader.at - from));
		if (r->size > SAMPLES_MAX)
			thin(k);
	}
}

static bool is_head(struct ms_record rec, uint32_t label)
{
	struct ms_field f;
	while (ms_record_field(&rec, &f) == MS_FMT_OK)
		if (f.id == label)
			return true;
	return false;
}

/* Drops the records of all scan results but the latest, which begins at the last record with
 * `label`. */
static void forget_told(struct records *r, uint32_t label)
{
	struct ms_record_reader reader;
	struct ms_record rec;
	size_t last = 0;
	ms_record_reader_init(&reader, r->data, r->size);
	for (;;) {
		size_t at = (size_t)(reader.at - r->data);
		if (ms_record_next(&reader, &rec) != MS_FMT_OK)
			break;
		last = is_head(rec, label) ? at : last;
	}
	r->size -= last;
	memmove(r->data, r->data + last, r->size);
}

/* Returns the kept records of a block type, or NULL if it is not kept. */
static struct records *records_of(struct kept *k, uint16_t type)
{
	for (size_t i = 0; i < BATCH_TYPES; i++)
		if (batch_types[i] == type)
			return &k->records[i];
	for (size_t i = 0; i < TOLD_TYPES; i++)
		if (told_types[i] == type)
			return &k->told[i];
	return NULL;
}

void kept_block(struct kept *k, uint16_t type, const uint64_t ns[2],
		const struct ms_column *columns)
{
	struct records *r = records_of(k, type);
	if (!r)
		return;
	if (!r->size)
		r->first_ns = ns[0];
	if (type == MS_BLOCK_SAMPLES)
		add_samples(k, columns);
	else
		append(r, columns->data, columns->size);
	r->last_ns = ns[1];
	for (size_t i = 0; i < TOLD_TYPES; i++)
		if (r == &k->told[i] && r->size > TOLD_MAX)
			forget_told(r, told_labels[i]);
}

void kept_stacks(struct kept *k, const struct ms_frame *frames, size_t frame_count,
		 const struct ms_node *nodes, size_t node_count)
{
	for (size_t i = 0; i < frame_count; i++)
		*MS_PUSH(&k->frames) = frames[i];
	for (size_t i = 0; i < node_count; i++)
		*MS_PUSH(&k->nodes) = nodes[i];
}

/* ---- the new file ---- */

struct target {
	int fd;
	const struct output *o;  /* output whose file will be replaced */
	char name[NAME_MAX + 1]; /* temporary name of the new file; "" = none yet */
	struct ms_trace_writer *trace;
	uint64_t ns[2];
};

/* Opens a nameless file in the same folder, or one with a name if that is not possible. */
static int open_beside(struct target *t, struct ms_err *err)
{
	const struct output *o = t->o;
	struct stat ours;
	if (fstat(o->fd, &ours) || !ms_dest_is(o->folder, o->name, ours.st_dev, ours.st_ino))
		return ms_err_set(err, "'%s' was removed or replaced by another file", o->path);
	t->fd = openat(o->folder, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (t->fd < 0)
		t->fd = ms_dest_temporary(o->folder, o->name, t->name);
	if (t->fd < 0)
		return ms_err_sys(err, "cannot create the file that is to replace '%s'", o->path);
	if (fchown(t->fd, ours.st_uid, ours.st_gid))
		return ms_err_sys(err,
				  "cannot change the owner of the file that is to replace '%s'",
				  o->path);
	return 0;
}

static int put_stacks(void *arg, const struct ms_column *columns, size_t n, struct ms_err *err)
{
	struct target *t = arg;
	return ms_trace_write(t->trace, MS_BLOCK_STACKS, t->ns[0], t->ns[1], columns, n, err);
}

static int write_records(struct target *t, const struct records *r, uint16_t type,
			 struct ms_err *err)
{
	struct ms_column c = {.id = MS_RECORDS_COLUMN, .data = r->data, .size = r->size};
	return r->size ? ms_trace_write(t->trace, type, r->first_ns, r->last_ns, &c, 1, err) : 0;
}

static int write_kept(struct target *t, const struct kept *k, struct ms_err *err)
{
	for (size_t i = 0; i < BATCH_TYPES; i++)
		if (write_records(t, &k->records[i], batch_types[i], err) != 0)
			return -1;
	struct stack_span all = {
		1, 1, k->frames.v, k->nodes.v, k->frames.n, k->nodes.n,
	};
	if (encode_stacks(&all, put_stacks, t, err) != 0)
		return -1;
	for (size_t i = 0; i < TOLD_TYPES; i++)
		if (write_records(t, &k->told[i], told_types[i], err) != 0)
			return -1;
	return 0;
}

static int write_all(struct target *t, struct output *o, uint64_t most, struct ms_err *err)
{
	struct checkpoints *c = &o->checkpoints;
	t->trace = output_begin(o, t->fd, err);
	if (!t->trace)
		return -1;
	ms_trace_writer_limit(t->trace, most);
	t->ns[0] = t->ns[1] = c->position_ns;
	if (samples_of(o->kept)->size > SAMPLES_MAX / 4)
		thin(o->kept);
	if (write_kept(t, o->kept, err) != 0)
		return -1;
	if (!c->live)
		return 0;
	uint64_t before = ms_trace_writer_bytes(t->trace);
	if (checkpoint_write(c->live, c->position, o->addresses, t->trace, err) != 0)
		return -1;
	c->bytes_per_1000 =
		(ms_trace_writer_bytes(t->trace) - before) * 1000 / (live_list_blocks(c->live) + 1);
	return 0;
}

/* ---- the change ---- */

/* Ends the old file, so that it is complete for processes that have it open. */
static void end_old(struct output *o)
{
	struct ms_err ignored = {0};
	uint8_t room[2048];
	struct ms_record_writer w;
	ms_record_writer_init(&w, room, sizeof room);
	ms_record_begin(&w);
	ms_record_number(&w, MS_END_TIME, o->written_ns);
	ms_record_number(&w, MS_END_REASON, MS_ENDED_STOP);
	end_counts(&o->written, &w);
	end_dropped(o, &w);
	ms_record_end(&w);
	struct ms_column c = ms_record_column(&w);
	ms_trace_writer_limit(o->trace, 0);
	ms_trace_write(o->trace, MS_BLOCK_END, o->written_ns, o->written_ns, &c, 1, &ignored);
}

static int take_place(struct target *t, struct ms_err *err)
{
	const struct output *o = t->o;
	char self[64];
	if (!t->name[0]) {
		uint32_t random = 0; /* makes the temporary name unique */
		if (getrandom(&random, sizeof random, GRND_NONBLOCK) < 0)
			random = (uint32_t)getpid();
		snprintf(t->name, sizeof t->name, "%.*s.%08x.new", NAME_MAX - 20, o->name, random);
		snprintf(self, sizeof self, "/proc/self/fd/%d", t->fd);
		if (linkat(AT_FDCWD, self, o->folder, t->name, AT_SYMLINK_FOLLOW)) {
			ms_err_sys(err, "cannot name '%s'", t->name);
			t->name[0] = '\0';
			return -1;
		}
	}
	if (renameat(o->folder, t->name, o->folder, o->name))
		return ms_err_sys(err, "cannot rename '%s'", t->name);
	t->name[0] = '\0';
	return 0;
}

/* Makes the new file the output's trace. It lacks the events before number `event`; `ns` is the
 * time of the last missing event. */
static void adopt(struct output *o, struct target *t, uint64_t event, uint64_t ns)
{
	struct checkpoints *c = &o->checkpoints;
	ms_trace_writer_free(o->trace);
	close(o->fd);
	o->trace = t->trace;
	o->fd = t->fd;
	output_identify(o);
	o->dropped_events = event;
	o->dropped_ns = ns;
	c->events = 0;
	c->bytes = ms_trace_writer_bytes(o->trace);
	limit_moved(o);
}

static void drop(struct target *t)
{
	if (t->name[0])
		unlinkat(t->o->folder, t->name, 0);
	ms_trace_writer_free(t->trace);
	if (t->fd >= 0)
		close(t->fd);
}

static void say_why(struct output *o, const struct ms_err *why)
{
	snprintf(o->limit->why, sizeof o->limit->why, "%.*s", (int)sizeof o->limit->why - 1,
		 why->text);
}

/* Says which file could not be written, and the cause. */
static int unwritten(const struct output *o, const struct ms_err *cause, struct ms_err *why)
{
	const char *text = strstr(cause->text, ": ");
	return ms_err_set(why, "cannot write the file that is to replace '%s': %s", o->path,
			  text ? text + 2 : cause->text);
}

bool rewrite_trace(struct output *o)
{
	struct ms_err why = {0}, cause = {0};
	struct target t = {.fd = -1, .o = o};
	uint64_t most = limit_half(o);
	char size[MS_UNIT_BUF];
	if (open_beside(&t, &why) || ms_trace_lock(t.fd) || write_all(&t, o, most, &cause)) {
		if (t.trace && ms_trace_writer_full(t.trace))
			ms_err_set(&why,
				   "the records of the live blocks alone need more than %s, half "
				   "of --max-size",
				   ms_format_size(size, most));
		else if (cause.text[0])
			unwritten(o, &cause, &why);
		goto out;
	}
	if (take_place(&t, &why))
		goto out;
	end_old(o);
	adopt(o, &t, o->checkpoints.position, o->checkpoints.position_ns);
	return true;
out:
	drop(&t);
	say_why(o, &why);
	return false;
}

/* ---- --keep=last ---- */

struct later {
	struct target target;
	uint64_t event, ns; /* number of the first event; time in ns of the event before that one */
	struct ms_err why;  /* why a block of this trace could not be written; "" = all were */
};

void later_free(struct later *l)
{
	if (l)
		drop(&l->target);
	free(l);
}

void later_block(struct output *o, uint16_t type, const uint64_t ns[2],
		 const struct ms_column *columns, size_t n)
{
	struct later *l = o->later;
	if (l && !l->why.text[0])
		ms_trace_write(l->target.trace, type, ns[0], ns[1], columns, n, &l->why);
}

void later_checkpoint(struct output *o, uint64_t event)
{
	struct later *l = o->later;
	if (l && !l->why.text[0])
		checkpoint_write(o->checkpoints.live, event, false, l->target.trace, &l->why);
}

/* Replaces the file of the trace by the file of its later trace. */
static int take_over(struct output *o, struct ms_err *why)
{
	struct later *l = o->later;
	if (l->why.text[0])
		return unwritten(o, &l->why, why);
	if (take_place(&l->target, why))
		return -1;
	end_old(o);
	adopt(o, &l->target, l->event, l->ns);
	free(l);
	o->later = NULL;
	return 0;
}

static int begin_later(struct output *o, struct ms_err *why)
{
	struct later *l = o->later = ms_xcalloc(1, sizeof *l);
	l->target = (struct target){.fd = -1, .o = o};
	l->event = o->checkpoints.position;
	l->ns = o->checkpoints.position_ns;
	return open_beside(&l->target, why) || ms_trace_lock(l->target.fd) ||
	       (write_all(&l->target, o, 0, &l->why) && unwritten(o, &l->why, why));
}

void later_turn(struct output *o, uint64_t ns)
{
	struct ms_err why = {0};
	uint64_t begun = o->later ? o->later->ns : 0;
	if (!o->limit || !o->limit->keep_ns || o->full || !o->checkpoints.live ||
	    ns < begun + o->limit->keep_ns)
		return;
	if ((!o->later || take_over(o, &why) == 0) && begin_later(o, &why) == 0)
		return;
	say_why(o, &why);
	limit_reach(o);
}
