/* SPDX-License-Identifier: MIT
 * Writes the trace of a core dump.
 */
#include "dump_trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "dump_file.h"
#include "dump_join.h"
#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/path.h"
#include "libcommon/trace/recording.h"
#include "ms-record/code/modules.h"
#include "ms-record/heap/merge.h"
#include "ms-record/scan/scan.h"
#include "ms-record/session/info.h"
#include "ms-record/session/pool.h"
#include "ms-record/session/session_options.h"
#include "ms-record/session/threads.h"

/* ---- the session ---- */

/* Sets what info_names reads from /proc. */
static void identify(struct session *s, const struct dump_file *d, const struct session_options *o)
{
	struct identity *w = s->who = identity_new();
	w->pid = s->process.pid = d->pid ? d->pid : d->threads[0].tid;
	w->ppid = (uint64_t)d->ppid;
	w->uid = d->uid;
	w->exe = ms_xstrdup(*d->exe ? d->exe : "unknown");
	w->name = ms_xstrdup(*d->name ? d->name : ms_base_name(w->exe));
	ms_one_line(w->name);
	s->process.exe = ms_xstrdup(w->exe);
	s->name = ms_xstrdup(w->name);
	if (o->no_args || !*d->args)
		return;
	w->args = ms_xstrdup(d->args); /* their first 80 bytes, between blanks */
	w->args_bytes = strlen(w->args);
	while (w->args_bytes && w->args[w->args_bytes - 1] == ' ')
		w->args[--w->args_bytes] = '\0';
	for (size_t i = 0; i < w->args_bytes; i++)
		w->args[i] = w->args[i] == ' ' ? '\0' : w->args[i];
}

/* Copies from the shared memory of a process that ms-record had recorded, which is in the dump, where
 * the guest had memory of its own. */
static void take_guest(struct dump_trace *t, const struct dump_file *d)
{
	static const char name[] = "/memfd:memscope";
	struct mg_session *m = t->s->mem, *was = ms_xcalloc(1, sizeof *was);
	for (size_t i = 0; i < d->maps.n; i++) {
		const struct attach_map *p = &d->maps.v[i];
		if (p->offset || strncmp(p->path, name, sizeof name - 1) ||
		    !t->memory.read(t->memory.arg, p->start, was, sizeof *was) ||
		    was->magic != MG_MAGIC || was->version != MG_LAYOUT_VERSION)
			continue;
		memcpy(m->own, was->own, sizeof m->own);
		m->arenas = was->arenas;
		m->roots = was->roots;
		m->main_entry = was->main_entry;
		m->main_tp = was->main_tp;
		break;
	}
	free(was);
}

void dump_trace_begin(struct dump_trace *t, const struct dump_file *d, const struct dump_join *j,
		      const struct session_options *o)
{
	struct session *s = t->s = ms_xcalloc(1, sizeof *s);
	uint64_t length_ns = j ? ms_recording_length(j->rec) : 0;
	t->memory = dump_memory(d);
	t->length_ns = length_ns;
	s->opt = o;
	s->hooks = &o->hooks;
	s->process.folder = s->process.pidfd = -1;
	s->process.memory = &t->memory;
	s->mem = ms_xcalloc(1, sizeof *s->mem);
	s->pool = ms_xcalloc(1, sizeof *s->pool);
	s->pool->memfd = -1;
	s->pool->head = s->mem;
	s->open.batch = batch_new();
	pthread_mutex_init(&s->queued.lock, NULL);
	s->clock.start_wall = j ? j->rec->info.number[MS_INFO_START_WALL] : (uint64_t)d->written_ns;
	s->clock.start_mono = clock_mono() - length_ns;
	if (getrandom(s->run_id, sizeof s->run_id, 0) != sizeof s->run_id)
		memcpy(s->run_id, &s->clock.start_wall, sizeof s->clock.start_wall);
	identify(s, d, o);
	stacks_init(&s->stacks);
	session_link(s);
	s->modules.no_interpreter = true;
	merge_begin(s, 0);
	s->scan = scan_new();
	take_guest(t, d);
}

void dump_trace_free(struct dump_trace *t)
{
	struct session *s = t->s;
	if (!s)
		return;
	merge_end(s);
	scan_free(s->scan);
	MS_FREE(s->pool, s->mem);
	s->pool = NULL;
	s->out = NULL;
	session_free(s);
	output_free(t->out);
	files_done(&t->files);
	encoders_free(&t->encoders);
}

/* ---- the file ---- */

static void take_records(struct ms_record_writer *to, struct ms_record_writer *from)
{
	struct ms_record_writer swap = *to;
	*to = *from;
	*from = swap;
	ms_record_writer_init(from, from->data, from->room);
}

/* Writes the batch with all that is new. */
static int flush(struct dump_trace *t, struct ms_err *err)
{
	struct session *s = t->s;
	struct batch *b = s->open.batch;
	take_records(&b->modules, &s->modules.records);
	take_records(&b->verdicts, &s->queued.verdicts);
	take_records(&b->retention, &s->queued.retention);
	b->first_frame = t->frames_sent + 1;
	b->first_node = t->nodes_sent + 1;
	for (; t->frames_sent < s->stacks.frames.n; t->frames_sent++)
		*MS_PUSH(&b->frames) = s->stacks.frames.v[t->frames_sent];
	for (; t->nodes_sent < s->stacks.nodes.n; t->nodes_sent++)
		*MS_PUSH(&b->nodes) = s->stacks.nodes.v[t->nodes_sent];
	b->stats = s->stats;
	b->ends = true;
	int rc = encode_batch(&t->encoders, b, err);
	batch_reset(b);
	b->first_number = s->number;
	b->first_event = s->stats.events;
	b->first_ns = b->last_ns;
	return rc;
}

int dump_trace_open(struct dump_trace *t, const struct dump_file *d, const struct dump_join *j,
		    const struct files_options *o, const char *missing, struct ms_err *err)
{
	struct session *s = t->s;
	t->out = files_open(&t->files, o, s->process.exe, s->process.pid, err);
	if (!t->out)
		return -1;
	files_begin(&t->files);
	s->out = s->open.batch->out = t->out;
	t->out->addresses = true;
	t->out->level = o->level;
	ms_trace_lock(t->out->fd);
	t->out->trace = output_begin(t->out, t->out->fd, err);
	if (!t->out->trace)
		return -1;
	info_write(s);
	struct ms_record_writer *w =
		batch_record(&s->open.batch->info,
			     strlen(d->path) + strlen(missing) + (j ? strlen(j->path) : 0) + 64);
	ms_record_string(w, MS_INFO_CORE, d->path);
	if (j)
		ms_record_string(w, MS_INFO_CORE_TRACE, j->path);
	if (*missing)
		ms_record_string(w, MS_INFO_CORE_LACKS, missing);
	ms_record_end(w);
	if (flush(t, err) || (j && dump_join_copy(j, t, err)))
		return -1;
	if (!modules_in_image(&s->modules, &t->memory, &d->maps) && j)
		return ms_err_set(err,
				  "cannot join '%s' and '%s': no program or library is at the same "
				  "address in both, so they are not of the same run",
				  d->path, j->path);
	for (size_t i = 0; i < d->thread_count; i++)
		threads_add(s, (uint32_t)d->threads[i].tid, 0);
	threads_look(s, true);
	return flush(t, err);
}

int dump_trace_add(struct dump_trace *t, const struct ms_event *e, struct ms_err *err)
{
	struct session *s = t->s;
	struct batch *b = s->open.batch;
	*MS_PUSH(&b->events) = *e;
	b->last_ns = e->time_ticks * MS_TRACE_TICK_NS;
	struct stats *n = &s->stats;
	n->events++;
	n->allocations++;
	n->allocated_bytes += e->size;
	n->live_bytes = n->peak_bytes = n->allocated_bytes;
	n->live_blocks = n->peak_blocks = n->allocations;
	n->peak_ns = b->last_ns;
	s->number++;
	return b->events.n == BLOCK_EVENTS ? flush(t, err) : 0;
}

int dump_trace_close(struct dump_trace *t, const struct dump_file *d, bool glibc,
		     struct ms_err *err)
{
	if (flush(t, err))
		return -1;
	struct batch *b = t->s->open.batch;
	struct ms_record_writer *w = batch_record(&b->end, 60 * 20);
	ms_record_number(w, MS_END_TIME, t->length_ns);
	ms_record_number(w, MS_END_REASON, d->signal ? MS_ENDED_EXIT : MS_ENDED_STOP);
	if (d->signal)
		ms_record_number(w, MS_END_SIGNAL, (uint64_t)d->signal);
	end_counts(&t->s->stats, w);
	if (glibc)
		ms_record_string(w, MS_END_ALLOCATOR, "glibc");
	ms_record_end(w);
	b->first_ns = b->last_ns = t->length_ns;
	return flush(t, err);
}
