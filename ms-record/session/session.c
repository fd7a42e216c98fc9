/* SPDX-License-Identifier: MIT
 * One recorded process image: what every room asks of it, and its batches.
 */
#include "session.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "format/trace.h"
#include "libcommon/proc/proc.h"
#include "libcommon/base/ready.h"
#include "ms-record/code/modules.h"
#include "session_options.h"

#define TIDS_AGAIN_NS UINT64_C(10000000)
#define TRIVIAL_ALLOCATIONS 100u
#define TRIVIAL_BYTES 65536u

bool session_trivial(const struct session *s)
{
	bool few = !s->opt->sample_bytes && s->stats.allocations < TRIVIAL_ALLOCATIONS;
	return few || s->stats.allocated_bytes < TRIVIAL_BYTES;
}

bool session_mid_run(const struct session *s)
{
	return (s->modules.attached && s->opt->attached) || s->standby;
}

struct batch *session_batch(struct session *s)
{
	if (!s->open.batch) {
		s->open.batch = writer_batch(s->writer);
		s->open.batch->first_number = s->number;
		s->open.batch->first_event = s->stats.events;
		s->open.batch->first_ns = session_now(s);
	}
	return s->open.batch;
}

/* Adds new frames and nodes to the batch; they precede the events that use them. */
static void add_stacks(struct session *s, struct batch *b)
{
	b->first_frame = s->open.frames_sent + 1;
	b->first_node = s->open.nodes_sent + 1;
	for (; s->open.frames_sent < s->stacks.frames.n; s->open.frames_sent++)
		*MS_PUSH(&b->frames) = s->stacks.frames.v[s->open.frames_sent];
	for (; s->open.nodes_sent < s->stacks.nodes.n; s->open.nodes_sent++)
		*MS_PUSH(&b->nodes) = s->stacks.nodes.v[s->open.nodes_sent];
}

/* Tells whether the batch is held back because the trace may not be kept; frees the last batch of a
 * trivial trace. */
static bool held_back(struct session *s, struct batch *b)
{
	if (!s->may_drop || s->kept_for_sure)
		return false;
	if (session_trivial(s)) {
		if (!b->close)
			return b->events.n + 2 <= BLOCK_EVENTS;
		s->open.batch = NULL; /* the trace is never written */
		s->open.left = 0;
		batch_free(b);
		__atomic_store_n(&s->out->closed, 1, __ATOMIC_RELEASE);
		return true;
	}
	__atomic_store_n(&s->kept_for_sure, 1, __ATOMIC_RELEASE);
	return false;
}

/* Tells whether only whole blocks may be handed over: nothing of a trace that may not be kept is
 * written, and with --max-size a block is written in full or not at all. */
static bool whole_blocks(const struct session *s)
{
	return (s->may_drop && !s->kept_for_sure) || s->writer->limit.max;
}

/* Moves records to a batch that has none of their kind yet. */
static void take_records(struct ms_record_writer *to, struct ms_record_writer *from)
{
	struct ms_record_writer swap = *to;
	if (!from->size)
		return;
	*to = *from;
	*from = swap;
}

static void hand_over(struct session *s, struct batch *b)
{
	take_records(&b->modules, &s->modules.records);
	if (b->events.n) {
		uint64_t first = b->events.v[0].time_ticks * MS_TRACE_TICK_NS;
		b->first_ns = first < b->first_ns ? first : b->first_ns;
	}
	b->last_ns = session_now(s);
	b->stats = s->stats;
	b->out = s->out;
	s->open.events = b->ends ? 0 : s->open.events + b->events.n;
	s->open.batch = NULL;
	s->open.left = 0;
	writer_push(s->writer, b);
}

/* Hands over a batch or block that has no room for `n` more events. */
static void make_way(struct session *s, struct batch *b, size_t n)
{
	if (s->open.events + b->events.n + n > BLOCK_EVENTS)
		session_flush(s);
	else if (b->events.n + n > BATCH_EVENTS && !whole_blocks(s))
		hand_over(s, b);
}

void session_room(struct session *s, size_t n)
{
	if (s->open.left >= n)
		return;
	make_way(s, session_batch(s), n);
	struct batch *b = session_batch(s);
	if (!b->events.n && !s->open.events)
		s->open.since = session_now(s);
	while (b->events.cap < b->events.n + n) {
		b->events.cap = b->events.cap ? b->events.cap * 2 : BATCH_EVENTS;
		b->events.v = ms_xrealloc(b->events.v, b->events.cap, sizeof *b->events.v);
		if (s->stats.events > BATCH_EVENTS) /* a long run fills the whole array anyway */
			ready_memory(b->events.v, b->events.cap * sizeof *b->events.v);
	}
	size_t block = s->open.events + b->events.n, left = BLOCK_EVENTS - block;
	s->open.left = b->events.cap - b->events.n;
	s->open.left = s->open.left < left ? s->open.left : left;
}

void session_flush(struct session *s)
{
	struct batch *b = session_batch(s);
	if (held_back(s, b))
		return;
	pthread_mutex_lock(&s->queued.lock);
	take_records(&b->samples, &s->queued.samples);
	take_records(&b->verdicts, &s->queued.verdicts);
	take_records(&b->resident, &s->queued.resident);
	take_records(&b->retention, &s->queued.retention);
	pthread_mutex_unlock(&s->queued.lock);
	take_records(&b->modules, &s->modules.records);
	add_stacks(s, b);
	if (batch_empty(b) && !s->open.events)
		return;
	b->ends = true;
	hand_over(s, b);
}

int session_damaged(struct session *s, const char *fmt, ...)
{
	va_list ap;
	if (!s->damaged) {
		va_start(ap, fmt);
		vsnprintf(s->damage, sizeof s->damage, fmt, ap);
		va_end(ap);
		s->damaged = true;
		__atomic_store_n(&s->mem->state, MG_OFF, __ATOMIC_RELEASE);
	}
	return -1;
}

int session_update_modules(struct session *s)
{
	return modules_update(&s->modules)
		       ? session_damaged(s, "the list of loaded modules is corrupt")
		       : 0;
}

uint64_t session_now(const struct session *s)
{
	return clock_now(&s->clock);
}

/* Returns a thread's number in its own pid namespace; 0 = it has ended. */
static uint32_t inner_tid(const struct session *s, pid_t outer)
{
	char path[40], text[4096];
	snprintf(path, sizeof path, "task/%d/status", (int)outer);
	return ms_proc_text_at(s->process.folder, path, text, sizeof text)
		       ? ms_proc_status_inner(text)
		       : 0;
}

static void read_tids(struct session *s)
{
	char folder[40];
	size_t n = 0;
	uint64_t start = session_now(s);
	snprintf(folder, sizeof folder, "/proc/%d/task", (int)s->process.pid);
	pid_t *tids = ms_proc_list(folder, &n, NULL);
	s->threads.tids.n = 0;
	s->threads.tids_ns = start;
	for (size_t i = 0; i < n; i++) {
		uint32_t inner = inner_tid(s, tids[i]); /* 0 also if the number now belongs to
							   another process's thread */
		if (inner)
			*MS_PUSH(&s->threads.tids) = (struct tid_pair){inner, (uint32_t)tids[i]};
	}
	free(tids);
	uint64_t now = session_now(s), took = now - start;
	s->threads.tids_again_ns = now + (took > TIDS_AGAIN_NS / 8 ? took * 8 : TIDS_AGAIN_NS);
}

uint32_t session_outer_tid(struct session *s, uint32_t tid)
{
	if (s->same_pidns)
		return tid;
	if (!s->threads.tids_ns || session_now(s) > s->threads.tids_again_ns)
		read_tids(s);
	for (size_t i = 0; i < s->threads.tids.n; i++)
		if (s->threads.tids.v[i].inner == tid)
			return s->threads.tids.v[i].outer;
	return 0;
}

bool session_thread_alive(struct session *s, uint32_t index)
{
	char name[32];
	struct thread *t = &s->threads.all.v[index];
	if (s->process.folder < 0 && !s->known)
		return true; /* the process is not known, so the thread counts as alive */
	if (!t->outer) {
		/* The thread can be younger than the list, and a list read while threads end can be
		 * incomplete. */
		t->outer = session_outer_tid(s, t->tid);
		if (t->missed_ns != s->threads.tids_ns && !t->outer) {
			t->missed_ns = s->threads.tids_ns;
			t->missed++;
		}
		return t->outer || t->missed < 3;
	}
	snprintf(name, sizeof name, "task/%u", t->outer);
	return faccessat(s->process.folder, name, F_OK, 0) == 0;
}

bool session_thread_waits(const struct session *s, uint32_t index, uint64_t *cpu)
{
	char name[32], text[2048];
	struct ms_proc_stat st;
	uint64_t before = *cpu;
	snprintf(name, sizeof name, "task/%u/stat", s->threads.all.v[index].outer);
	if (!ms_proc_text_at(s->process.folder, name, text, sizeof text) ||
	    !ms_proc_parse_stat(text, &st))
		return false;
	*cpu = st.field[MS_STAT_UTIME] + st.field[MS_STAT_STIME];
	return (st.state == 'R' && *cpu == before) || st.state == 'T' || st.state == 't';
}
