/* SPDX-License-Identifier: MIT
 * Encodes batches as blocks of a trace.
 */
#include "encode.h"

#include <stdlib.h>

#include "checkpoint.h"
#include "format/address.h"
#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/tracefile.h"
#include "rewrite.h"
#include "limit.h"
#include "output.h"

#define STACKS_MAX 65536u
#define MANY_BYTES 524288

/* A checkpoint is written once there are CHECKPOINT_EVENTS events since the last one, ten times
 * as many as live blocks, and the file has grown by fifty times the checkpoint's size, so that
 * checkpoints are at most a fiftieth of the file. */
#define CHECKPOINT_EVENTS 262144u
#define CHECKPOINT_EVENTS_PER_BLOCK 10u
#define CHECKPOINT_SHARE 50u
/* No checkpoint is written if --max-size leaves less than this many times its size. */
#define CHECKPOINT_ROOM 20u

#define SPARE_MAX 4u
#define AT_ONCE ((size_t)256) /* events encoded at a time (14 KB) */
#define LEVEL_FROM 3          /* lowest zstd level for which set_effort uses LEVEL_MORE */
#define LEVEL_MORE 6

struct encoder {
	struct encoder *next;
	struct ms_event_encoder events;
	struct ms_address_encoder addresses;
	uint8_t *event_memory, *address_memory;
	bool begun; /* the encoder holds events of an open block */
	uint64_t first_ns;
};

static struct encoder *encoder_new(void)
{
	struct encoder *e = ms_xrealloc(NULL, 1, sizeof *e);
	e->next = NULL;
	e->begun = false;
	e->event_memory = ms_xrealloc(NULL, MS_EVENT_MEMORY(BLOCK_EVENTS), 1);
	e->address_memory = ms_xrealloc(NULL, MS_ADDRESS_MEMORY(BLOCK_EVENTS), 1);
	ms_address_encoder_init(&e->addresses, e->address_memory, BLOCK_EVENTS);
	ms_event_encoder_init(&e->events, e->event_memory, BLOCK_EVENTS);
	return e;
}

static void encoder_free(struct encoder *e)
{
	MS_FREE(e->event_memory, e->address_memory, e);
}

static struct encoder *take(struct encoders *all)
{
	struct encoder *e = all->spare;
	if (!e)
		return encoder_new();
	all->spares--;
	all->spare = e->next;
	return e;
}

static void give_back(struct encoders *all, struct encoder *e)
{
	if (all->spares == SPARE_MAX) {
		encoder_free(e);
		return;
	}
	all->spares++;
	e->next = all->spare;
	all->spare = e;
}

void encoders_free(struct encoders *all)
{
	while (all->spare)
		encoder_free(take(all));
}

/* Writes a block to the batch's trace. Returns the result of limit_write. */
static int put_block(const struct batch *b, uint16_t type, const struct ms_column *columns,
		     size_t n, struct ms_err *err)
{
	uint64_t ns[2] = {b->first_ns, b->last_ns};
	return limit_write(b->out, type, ns, columns, n, err);
}

/* Writes the batch's records of kind `i`. Returns 0 or -1. */
static int write_records(const struct batch *b, unsigned i, struct ms_err *err)
{
	struct ms_column c = ms_record_column(&b->records[i]);
	return c.size && put_block(b, batch_types[i], &c, 1, err) < 0 ? -1 : 0;
}

/* Writes records that may be many, in blocks of about MANY_BYTES. */
static int write_many(const struct batch *b, uint16_t type, const struct ms_record_writer *w,
		      struct ms_err *err)
{
	if (!w->size)
		return 0;
	const uint8_t *at = w->data, *end = at + w->size;
	while (at < end) {
		struct ms_record_reader r;
		struct ms_record rec;
		ms_record_reader_init(&r, at, (size_t)(end - at));
		while (r.at - at < MANY_BYTES && ms_record_next(&r, &rec) == MS_FMT_OK)
			continue;
		struct ms_column c = {MS_RECORDS_COLUMN, at, (size_t)(r.at - at)};
		if (!c.size || put_block(b, type, &c, 1, err) < 0)
			return -1;
		at = r.at;
	}
	return 0;
}

int encode_stacks(const struct stack_span *s,
		  int (*put)(void *arg, const struct ms_column *columns, size_t n,
			     struct ms_err *err),
		  void *arg, struct ms_err *err)
{
	struct ms_column columns[MS_STACKS_COLUMNS];
	struct ms_stacks_encoder e;
	size_t f = 0, n = 0;
	int rc = 0;
	if (!s->frame_count && !s->node_count)
		return 0;
	size_t frames = s->frame_count < STACKS_MAX ? s->frame_count : STACKS_MAX;
	size_t nodes = s->node_count < STACKS_MAX ? s->node_count : STACKS_MAX;
	void *memory = ms_xrealloc(NULL, MS_STACKS_MEMORY(frames, nodes), 1);
	ms_stacks_encoder_init(&e, memory, frames, nodes);
	/* A node must follow its frame, so if they do not fit one block, all frames are written
	 * first. */
	while (rc == 0 && (f < s->frame_count || n < s->node_count)) {
		ms_stacks_encoder_begin(&e, s->first_frame + (uint32_t)f,
					s->first_node + (uint32_t)n);
		while (f < s->frame_count && ms_stacks_put_frame(&e, &s->frames[f]) == MS_FMT_OK)
			f++;
		while (f == s->frame_count && n < s->node_count &&
		       ms_stacks_put_node(&e, &s->nodes[n]) == MS_FMT_OK)
			n++;
		size_t c = ms_stacks_encoder_finish(&e, columns);
		rc = c ? put(arg, columns, c, err) : 0;
	}
	free(memory);
	return rc;
}

static int put_stacks(void *arg, const struct ms_column *columns, size_t n, struct ms_err *err)
{
	const struct batch *b = arg;
	return put_block(b, MS_BLOCK_STACKS, columns, n, err);
}

static int write_stacks(struct batch *b, struct ms_err *err)
{
	struct stack_span s = {b->first_frame, b->first_node, b->frames.v,
			       b->nodes.v,     b->frames.n,   b->nodes.n};
	if (b->out->kept)
		kept_stacks(b->out->kept, s.frames, s.frame_count, s.nodes, s.node_count);
	/* A result of 1 is no error: the remaining blocks are either in the rewritten file or past
	 * the limit. */
	return encode_stacks(&s, put_stacks, b, err) < 0 ? -1 : 0;
}

/* ---- checkpoints ---- */

static bool checkpoint_due(const struct output *o)
{
	const struct checkpoints *c = &o->checkpoints;
	uint64_t blocks = live_list_blocks(c->live);
	uint64_t expected = blocks * c->bytes_per_1000 / 1000 + 256;
	bool due = c->events >= CHECKPOINT_EVENTS &&
		   c->events / CHECKPOINT_EVENTS_PER_BLOCK >= blocks &&
		   (ms_trace_writer_bytes(o->trace) - c->bytes) / CHECKPOINT_SHARE >= expected;
	return (due || c->asked) && limit_room(o) / CHECKPOINT_ROOM >= expected;
}

/* Writes a checkpoint before the events of `b` if one is due. */
static int write_checkpoint(const struct batch *b, struct ms_err *err)
{
	struct output *o = b->out;
	struct checkpoints *c = &o->checkpoints;
	later_turn(o, b->first_ns);
	if (!c->live) {
		c->live = live_list_new(o->addresses);
		c->bytes_per_1000 = 500; /* estimate before the first checkpoint */
	}
	if (o->full || !checkpoint_due(o))
		return 0;
	uint64_t before = ms_trace_writer_bytes(o->trace), blocks = live_list_blocks(c->live);
	ms_trace_writer_limit(o->trace, 0);
	if (checkpoint_write(c->live, b->first_event, false, o->trace, err) != 0)
		return -1;
	later_checkpoint(o, b->first_event);
	c->bytes = ms_trace_writer_bytes(o->trace);
	limit_grown(o);
	c->bytes_per_1000 = (c->bytes - before) * 1000 / (blocks + 1);
	c->events = 0;
	c->asked = false;
	return 0;
}

/* ---- events ---- */

/* Notes what happened to the events: written, or discarded because the trace is full. */
static void note_events(const struct batch *b)
{
	struct output *o = b->out;
	if (o->full) {
		o->discarded += b->events.n;
		return;
	}
	o->written = b->stats;
	o->written_ns = b->last_ns;
}

/* Begins a block, with the events of `b` as its first ones. */
static int begin_events(struct encoder *e, const struct batch *b, struct ms_err *err)
{
	if (write_checkpoint(b, err) != 0)
		return -1;
	if (b->out->addresses)
		ms_address_encoder_begin(&e->addresses, b->first_number);
	ms_event_encoder_begin(&e->events, b->first_number, b->first_event,
			       b->events.v[0].time_ticks);
	e->first_ns = b->first_ns;
	e->begun = true;
	return 0;
}

/* Adds events column by column, few enough to stay in the cache. Returns how many were added. */
static size_t put_events(struct encoder *e, struct output *o, const struct ms_event *v, size_t n)
{
	enum ms_fmt rc;
	size_t put = ms_event_put_many(&e->events, v, n, &rc);
	if (o->addresses)
		ms_address_put_many(&e->addresses, v, put);
	for (size_t i = 0; i < put; i++)
		live_list_event(o->checkpoints.live, &v[i]);
	return put;
}

static int add_events(struct encoder *e, const struct batch *b, struct ms_err *err)
{
	struct checkpoints *c = &b->out->checkpoints;
	for (size_t i = 0; i < b->events.n; i += AT_ONCE) {
		size_t n = b->events.n - i < AT_ONCE ? b->events.n - i : AT_ONCE;
		if (put_events(e, b->out, &b->events.v[i], n) != n)
			return ms_err_set(err, "an event cannot be encoded in the trace format "
					       "(please report it)");
	}
	c->events += b->events.n;
	c->position = b->first_event + b->events.n;
	c->position_ns = b->events.v[b->events.n - 1].time_ticks * MS_TRACE_TICK_NS;
	return 0;
}

/* Lets zstd spend more time on the column of event kinds, which then gets much smaller, unless
 * the writing thread is behind. */
static void set_effort(const struct output *o)
{
	bool more = !o->hurried && o->level >= LEVEL_FROM && o->level < LEVEL_MORE;
	ms_trace_writer_effort(o->trace, LEVEL_MORE, more ? UINT64_C(1) << MS_COL_OP : 0);
}

static int end_events(struct encoder *e, const struct batch *b, struct ms_err *err)
{
	struct output *o = b->out;
	uint64_t ns[2] = {e->first_ns, b->last_ns};
	struct ms_column columns[MS_EVENT_COLUMNS + 1];
	size_t n = ms_event_encoder_finish(&e->events, columns);
	e->begun = false;
	if (o->addresses) {
		columns[n] = ms_address_encoder_finish(&e->addresses);
		n += columns[n].size != 0;
	}
	set_effort(o);
	int rc = limit_write(o, MS_BLOCK_EVENTS, ns, columns, n, err);
	if (o->trace)
		ms_trace_writer_effort(o->trace, 0, 0);
	return rc < 0 ? -1 : 0;
}

static int write_events(struct encoder *e, const struct batch *b, struct ms_err *err)
{
	if (b->events.n && !e->begun && begin_events(e, b, err) != 0)
		return -1;
	if (b->events.n && add_events(e, b, err) != 0)
		return -1;
	if (b->ends && e->begun && end_events(e, b, err) != 0)
		return -1;
	if (b->ends)
		note_events(b);
	return 0;
}

/* ---- the end ---- */

/* Tells whether a field stays valid when only a part of the recording is in the file. */
static bool stands(uint32_t field)
{
	return field == MS_END_IMAGES_KEPT || field == MS_END_IMAGES_TRIVIAL ||
	       field == MS_END_IMAGES_MISSED || field == MS_END_CHILDREN_NOT_RECORDED ||
	       field == MS_END_LEFT;
}

/* Copies the end record and adds the fields that only this thread knows. */
static void copy_end(const struct batch *b, uint64_t index, struct ms_record_writer *to)
{
	const struct output *o = b->out;
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_field f;
	ms_record_reader_init(&r, b->end.data, b->end.size);
	batch_record(to, b->end.size + 1024);
	if (ms_record_next(&r, &rec) != MS_FMT_OK)
		return;
	if (o->full) {
		ms_record_number(to, MS_END_TIME, o->written_ns);
		ms_record_number(to, MS_END_REASON, MS_ENDED_STOP);
		end_counts(&o->written, to);
	}
	while (ms_record_field(&rec, &f) == MS_FMT_OK)
		if (f.is_bytes)
			ms_record_bytes(to, f.id, f.data, f.size);
		else if (!o->full || stands(f.id))
			ms_record_number(to, f.id, f.value);
	end_dropped(o, to);
	if (index)
		ms_record_number(to, MS_END_INDEX, index);
	ms_record_end(to);
}

static int write_end(struct batch *b, struct ms_err *err)
{
	struct output *o = b->out;
	struct ms_err ignored = {0};
	struct ms_record_writer whole = {0};
	uint64_t index = 0;
	if (!b->end.size)
		return 0;
	if (limit_close(o, b->last_ns, err) != 0)
		return -1;
	/* On a full disk the end block may still fit. */
	if (ms_trace_write_index(o->trace, b->last_ns, &index, &ignored) != 0)
		index = 0;
	copy_end(b, index, &whole);
	struct ms_column c = ms_record_column(&whole);
	int rc = ms_trace_write(o->trace, MS_BLOCK_END, b->first_ns, b->last_ns, &c, 1, err);
	free(whole.data);
	return rc;
}

static int write_all(struct encoder *e, struct batch *b, struct ms_err *err)
{
	for (unsigned i = 0; i < BATCH_TYPES - 1; i++)
		if (write_records(b, i, err))
			return -1;
	if (write_stacks(b, err) || write_events(e, b, err) ||
	    write_records(b, BATCH_TYPES - 1, err))
		return -1;
	b->out->checkpoints.asked |= b->checkpoint;
	if (b->on_live)
		b->on_live(b->on_live_arg, b->out->checkpoints.live);
	return write_many(b, MS_BLOCK_VERDICTS, &b->verdicts, err) ||
			       write_many(b, MS_BLOCK_RESIDENT, &b->resident, err) ||
			       write_many(b, MS_BLOCK_RETENTION, &b->retention, err) ||
			       write_end(b, err)
		       ? -1
		       : 0;
}

int encode_batch(struct encoders *all, struct batch *b, struct ms_err *err)
{
	struct output *o = b->out;
	if (!o->open)
		o->open = take(all);
	int rc = write_all(o->open, b, err);
	if (rc != 0 || !o->open->begun || b->close) {
		o->open->begun = false;
		give_back(all, o->open);
		o->open = NULL;
	}
	return rc;
}
