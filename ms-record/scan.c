/* SPDX-License-Identifier: MIT
 * The leak scan.
 */
#include "scan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <unistd.h>

#include "batch.h"
#include "checkpoint.h"
#include "drain.h"
#include "format/trace.h"
#include "format/verdict.h"
#include "libcommon/arena.h"
#include "libcommon/units.h"
#include "merge.h"
#include "options.h"
#include "pool.h"
#include "scan_graph.h"
#include "scan_memory.h"
#include "scan_roots.h"
#include "scan_stop.h"
#include "session.h"

#define STEP_US 100
#define WATCH_LEAST_NS UINT64_C(500000)
#define WATCH_MOST_NS UINT64_C(5000000)
#define RATE UINT64_C(1000000000) /* bytes a second that are read at least */
#define WRITER_NS UINT64_C(5000000000)
#define BLOCK_NS 250u /* and to sort and look through a block */
#define EDGES_MAX ((size_t)1 << 27)
#define STOP_NS UINT64_C(1000000000)
#define BLOCKS_MAX (UINT32_C(1) << 30)
#define PENDING_TRIES 200

enum request { REQUEST_NONE, REQUEST_ASKED, REQUEST_DONE, REQUEST_FAILED };

struct number_stack {
	uint64_t number;
	uint32_t stack;
};

struct scan {
	int busy;    /* atomic: the scanning thread is at it */
	int request; /* atomic: enum request */
	/* Filled in by the draining thread when the request is done. */
	uint64_t stamp, event, time_ns;
	uint64_t lost;
	bool wide;
	struct graph_block *blocks;
	uint32_t count;
	/* Filled in by the writing thread. */
	int stacks_known; /* atomic */
	struct {
		struct number_stack *v;
		size_t n, cap;
	} stacks;
	/* Under the session's lock. */
	struct ms_record_writer records;
	uint64_t scans; /* so far */
	bool ended;     /* a record of the end is among them */
	struct scan_result result;
};

struct scan *scan_new(void)
{
	struct scan *s = ms_xrealloc(NULL, 1, sizeof *s);
	memset(s, 0, sizeof *s);
	return s;
}

void scan_free(struct scan *s)
{
	if (!s)
		return;
	free(s->blocks);
	free(s->stacks.v);
	free(s->records.data);
	free(s);
}

const struct scan_result *scan_result(const struct scan *s)
{
	return &s->result;
}

/* ---- the draining thread ---- */

static void copy_block(void *arg, const struct live_block *b)
{
	struct scan *q = arg;
	q->blocks[q->count++] = (struct graph_block){.address = b->address & INT64_MAX,
						     .size = b->size,
						     .number = b->number,
						     .user = b->address >> 63};
}

static void copy_blocks(struct session *s)
{
	struct scan *q = s->scan;
	free(q->blocks);
	q->count = 0;
	q->blocks = ms_xrealloc(NULL, s->live.count + 1, sizeof *q->blocks);
	live_each(&s->live, copy_block, q);
	const struct mg_session *m = s->mem;
	q->lost = s->stats.lost + __atomic_load_n(&m->no_ring_lost, __ATOMIC_RELAXED) +
		  __atomic_load_n(&m->reentry_lost, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < s->prepared; i++)
		q->lost += __atomic_load_n(&s->readers[i].ring->lost, __ATOMIC_RELAXED) -
			   s->readers[i].lost;
	uint64_t passed = __atomic_load_n(&m->passed_early, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < s->prepared; i++)
		passed += __atomic_load_n(&s->readers[i].ring->passed, __ATOMIC_RELAXED) -
			  s->readers[i].passed;
	q->wide = s->forked || passed || s->stats.paused_allocations || s->stats.started_late_ns ||
		  s->stats.unknown_frees;
}

static void answer(struct scan *q, enum request how)
{
	__atomic_store_n(&q->request, how, __ATOMIC_RELEASE);
}

void scan_merge(struct session *s, uint64_t limit)
{
	struct scan *q = s->scan;
	if (__atomic_load_n(&q->request, __ATOMIC_ACQUIRE) != REQUEST_ASKED)
		return;
	if (!q->stamp)
		q->stamp = clock_round(&s->clock);
	if (limit < q->stamp)
		return;
	merge_until(s, q->stamp);
	if (s->may_drop && !s->kept_for_sure && session_trivial(s)) {
		answer(q, REQUEST_FAILED); /* nobody will read of it */
		return;
	}
	q->event = s->stats.events;
	q->time_ns = clock_ns(&s->clock, q->stamp);
	copy_blocks(s);
	session_batch(s)->scan = q;
	session_flush(s);
	answer(q, REQUEST_DONE);
}

bool scan_over(struct session *s)
{
	struct scan *q = s->scan;
	int asked = REQUEST_ASKED;
	__atomic_compare_exchange_n(&q->request, &asked, REQUEST_FAILED, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&q->busy, __ATOMIC_SEQ_CST) != 0;
}

void scan_take(struct session *s, struct batch *b)
{
	struct scan *q = s->scan;
	if (!q->records.size)
		return;
	struct ms_record_writer swap = b->verdicts;
	b->verdicts = q->records;
	q->records = swap;
}

/* ---- the writing thread ---- */

static void note_stack(void *arg, uint64_t number, uint32_t stack)
{
	struct scan *q = arg;
	*MS_PUSH(&q->stacks) = (struct number_stack){number, stack};
}

void scan_stacks(struct scan *q, struct live_list *l)
{
	q->stacks.n = 0;
	if (l)
		live_list_stacks(l, note_stack, q);
	__atomic_store_n(&q->stacks_known, 1, __ATOMIC_RELEASE);
}

/* ---- results ---- */

/* One scan, in the thread made for it. */
struct work {
	struct scanner *scanner;
	struct session *s;
	struct scan *q;
	const char *label;
	bool ends; /* a thread is held by the guest: the process is about to end */
	uint64_t start_ns, deadline_ns, released_ns;
	struct memory memory;
	struct graph graph;
	struct stopped stopped;
	struct scan_thread *threads;
	size_t thread_count;
	uint64_t state;      /* MS_SCAN_* */
	bool graphed, asked; /* asked: the draining thread has answered */
};

const char *scan_state_words(uint64_t state)
{
	static const char *const why[] = {
		[MS_SCAN_KILLED] = "killed, or gone without exit()",
		[MS_SCAN_TIME] = "that would have taken longer than --leak-check allows",
		[MS_SCAN_UNREADABLE] = "some of its memory could not be read",
		[MS_SCAN_THREADS] = "its threads could not be stopped",
		[MS_SCAN_LOST] = "events were lost",
		[MS_SCAN_MEMORY] = "too many pointers",
	};
	return state < sizeof why / sizeof *why ? why[state] : NULL;
}

static void put_head(struct session *s, const struct ms_verdict_scan *head)
{
	struct scan *q = s->scan;
	batch_record(&q->records, MS_VERDICT_RECORD_BYTES + head->label_size);
	ms_verdict_put_scan(&q->records, head);
	if (strcmp(head->label, "end"))
		return;
	q->ended = true;
	q->result.state = head->state;
	q->result.pause_ns = head->pause_ns;
	q->result.read_bytes = head->read_bytes;
	q->result.took_ns = head->took_ns;
}

void scan_finish(struct session *s)
{
	struct scan *q = s->scan;
	if (s->opt->leak_check == SCAN_NO || q->ended || !s->stats.allocations)
		return;
	uint64_t why = s->opt->sample_bytes           ? MS_SCAN_SAMPLED
		       : s->ending == SESSION_STOPPED ? MS_SCAN_STOPPED
						      : MS_SCAN_KILLED;
	if (s->ending == SESSION_EXECED)
		return; /* not an end: the next image goes on */
	pthread_mutex_lock(&s->lock);
	put_head(s, &(struct ms_verdict_scan){.scan = ++q->scans,
					      .label = "end",
					      .label_size = 3,
					      .time_ns = session_now(s),
					      .event = s->stats.events,
					      .state = why});
	pthread_mutex_unlock(&s->lock);
}

static int by_number(const void *key, const void *b)
{
	const struct number_stack *x = key, *y = b;
	return x->number < y->number ? -1 : x->number > y->number;
}

struct sites {
	struct ms_verdict_site *of_stack; /* by stack node */
	const struct graph *graph;
};

static void add_retained(void *arg, uint32_t block, uint64_t blocks, uint64_t bytes)
{
	struct sites *t = arg;
	struct ms_verdict_site *s = &t->of_stack[t->graph->v[block].stack];
	s->retained_blocks += blocks;
	s->retained_bytes += bytes;
}

/* The blocks of each stack, as records. */
static void put_sites(struct work *w, uint64_t scan)
{
	struct scan *q = w->q;
	struct graph *g = &w->graph;
	size_t n = 1;
	for (uint32_t i = 0; i < g->count; i++) {
		const struct number_stack *f =
			bsearch(&(struct number_stack){g->v[i].number, 0}, q->stacks.v, q->stacks.n,
				sizeof *q->stacks.v, by_number);
		g->v[i].stack = f ? f->stack : 0;
		n = g->v[i].stack >= n ? (size_t)g->v[i].stack + 1 : n;
	}
	struct sites t = {ms_xrealloc(NULL, n, sizeof *t.of_stack), g};
	memset(t.of_stack, 0, n * sizeof *t.of_stack);
	for (uint32_t i = 0; i < g->count; i++) {
		struct ms_verdict_site *s = &t.of_stack[g->v[i].stack];
		s->stack = g->v[i].stack;
		s->scan = scan;
		s->blocks[g->v[i].verdict]++;
		s->bytes[g->v[i].verdict] += g->v[i].size;
	}
	graph_retained(g, add_retained, &t);
	for (size_t i = 0; i < n; i++) {
		if (!t.of_stack[i].scan)
			continue;
		batch_record(&q->records, MS_VERDICT_RECORD_BYTES);
		ms_verdict_put_site(&q->records, &t.of_stack[i]);
		for (int v = MS_VERDICT_IS_DIRECT; v <= MS_VERDICT_IS_INDIRECT; v++) {
			q->result.unreachable_blocks += t.of_stack[i].blocks[v];
			q->result.unreachable_bytes += t.of_stack[i].bytes[v];
		}
	}
	free(t.of_stack);
}

static void put_result(struct work *w)
{
	struct scan *q = w->q;
	struct ms_verdict_scan head = {
		.label = w->label,
		.label_size = strlen(w->label),
		.time_ns = w->asked ? q->time_ns : session_now(w->s),
		.event = w->asked ? q->event
				  : __atomic_load_n(&w->s->stats.events, __ATOMIC_RELAXED),
		.state = w->state,
		.pause_ns = w->released_ns - w->start_ns,
		.read_bytes = w->memory.bytes,
		.wide = q->wide};
	pthread_mutex_lock(&w->s->lock);
	q->result.unreachable_blocks = q->result.unreachable_bytes = 0;
	head.scan = ++q->scans;
	head.took_ns = clock_mono() - w->start_ns;
	put_head(w->s, &head);
	if (w->graphed)
		put_sites(w, head.scan);
	pthread_mutex_unlock(&w->s->lock);
}

/* ---- one scan ---- */

static bool late(const struct work *w)
{
	return clock_mono() > w->deadline_ns;
}

/* Has the draining thread merge what the process did. False: it cannot. */
static bool ask(struct work *w)
{
	struct scan *q = w->q;
	q->stamp = 0;
	q->stacks_known = 0;
	__atomic_store_n(&q->request, REQUEST_ASKED, __ATOMIC_RELEASE);
	for (;;) {
		drain_wake(w->scanner->drain);
		usleep(STEP_US);
		int r = __atomic_load_n(&q->request, __ATOMIC_ACQUIRE);
		if (r == REQUEST_DONE)
			return true;
		int asked = REQUEST_ASKED;
		if (r == REQUEST_FAILED ||
		    (late(w) &&
		     __atomic_compare_exchange_n(&q->request, &asked, REQUEST_FAILED, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)))
			return false;
	}
}

/* Waits for the writing thread. */
static bool await_stacks(struct work *w)
{
	uint64_t until = clock_mono() + WRITER_NS; /* nobody is held any more */
	while (!__atomic_load_n(&w->q->stacks_known, __ATOMIC_ACQUIRE)) {
		if (clock_mono() > until || __atomic_load_n(&w->s->out->failed, __ATOMIC_ACQUIRE))
			return false;
		usleep(STEP_US);
	}
	return true;
}

static bool hook_pending(const struct session *s)
{
	for (uint32_t i = 0; i < s->ring_max; i++) {
		const struct mg_ring *r = &s->mem_rings[i];
		if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == MG_RING_TAKEN &&
		    __atomic_load_n(&r->pending, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

/* Stops all threads, none of them in the middle of telling of an event. */
static bool stop(struct work *w)
{
	for (int i = 0; i < PENDING_TRIES && !late(w); i++) {
		uint64_t until = clock_mono() + STOP_NS;
		until = until < w->deadline_ns ? until : w->deadline_ns;
		if (stop_all(&w->stopped, w->s->proc, until))
			return false;
		if (!hook_pending(w->s)) {
			w->threads = stop_threads(&w->stopped, &w->thread_count);
			return true;
		}
		stop_release(&w->stopped, w->s->proc);
		usleep(STEP_US);
	}
	return false;
}

/* The one thread of the process is held by the guest: its registers are on its stack. */
static void take_held(struct work *w)
{
	const struct mg_session *m = w->s->mem;
	w->threads = ms_xrealloc(NULL, 1, sizeof *w->threads);
	w->thread_count = 1;
	w->threads->sp = m->end_sp;
	w->threads->tp = m->end_tp;
	w->threads->reg_count = 0;
}

static uint64_t inode_of(int fd)
{
	struct stat st;
	return fstat(fd, &st) ? 0 : st.st_ino;
}

static bool is_glibc(const char *shared)
{
	return !strncmp(shared, "glibc ", 6);
}

/* Reads all that is needed; sets w->state if that fails. */
static void look(struct work *w, pid_t tid)
{
	struct session *s = w->s;
	struct scan *q = w->q;
	uint64_t own[MG_OWN_MAX][2];
	memcpy(own, s->pool->head->own, sizeof own);
	if (memory_open(&w->memory, s->proc, tid, w->deadline_ns)) {
		w->state = MS_SCAN_UNREADABLE;
		return;
	}
	graph_init(&w->graph, q->blocks, q->count, EDGES_MAX);
	w->graphed = true;
	struct roots r = {.memory = &w->memory,
			  .graph = &w->graph,
			  .threads = w->threads,
			  .thread_count = w->thread_count,
			  .own = own,
			  .own_count = MG_OWN_MAX,
			  .own_inode = inode_of(s->pool->memfd),
			  .wide = q->wide,
			  .dense = !is_glibc(s->mem->allocator)};
	roots_look(&r);
	w->state = w->memory.late         ? MS_SCAN_TIME
		   : w->memory.unreadable ? MS_SCAN_UNREADABLE
		   : w->graph.overflow    ? MS_SCAN_MEMORY
					  : MS_SCAN_DONE;
}

/* What a scan may take, in ns. Of what changes meanwhile a guess is good enough. */
static uint64_t expected(const struct session *s)
{
	const struct stats *t = &s->stats;
	uint64_t bytes = __atomic_load_n(&t->live_bytes, __ATOMIC_RELAXED);
	uint64_t blocks = __atomic_load_n(&t->live_blocks, __ATOMIC_RELAXED);
	return bytes / (RATE / 1000000) * 1000 + blocks * BLOCK_NS;
}

/* What keeps the scan from being made; MS_SCAN_DONE = nothing. */
static uint64_t obstacle(const struct work *w)
{
	const struct scan *q = w->q;
	if (q->lost)
		return MS_SCAN_LOST;
	if (late(w))
		return MS_SCAN_TIME;
	return MS_SCAN_DONE;
}

/* ---- the end of a process ---- */

static void tell_guest(struct session *s, enum mg_end_state state)
{
	__atomic_store_n(&s->mem->end_state, state, __ATOMIC_RELEASE);
	syscall(SYS_futex, &s->mem->end_state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The number in /proc/PID/NAME behind `label`; -1 = there is none. */
static long status_number(int proc, const char *label)
{
	char text[4096];
	int fd = openat(proc, "status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	const char *p = strstr(text, label);
	return p ? strtol(p + strlen(label), NULL, 10) : -1;
}

/* Is the one that is held a child of vfork, whose parent waits for it in the kernel? They have one
 * number, and the parent's thread cannot be the one that waits for us. */
static bool is_vfork(struct session *s)
{
	uint32_t tid = s->same_pidns ? s->mem->end_tid : (uint32_t)s->pid;
	return stop_state(s->proc, (pid_t)tid) == 'D';
}

static void let_go(struct work *w)
{
	struct session *s = w->s;
	stop_release(&w->stopped, s->proc);
	w->released_ns = clock_mono();
	if (!w->ends)
		return;
	uint32_t was = __atomic_load_n(&s->mem->end_state, __ATOMIC_ACQUIRE);
	if (was == MG_END_LATE && w->state == MS_SCAN_DONE)
		w->state = MS_SCAN_TIME; /* it may have gone on while we read */
	tell_guest(s, MG_END_OVER);
}

static void scan(struct work *w)
{
	pid_t tid = 0;
	size_t threads = stop_count(w->s->proc, &tid);
	w->state = !threads                                        ? MS_SCAN_KILLED
		   : expected(w->s) > w->deadline_ns - w->start_ns ? MS_SCAN_TIME
								   : MS_SCAN_DONE;
	if (threads == 1 && w->ends)
		take_held(w);
	else if (w->state == MS_SCAN_DONE && !stop(w))
		w->state = MS_SCAN_THREADS;
	w->asked = w->state == MS_SCAN_DONE && ask(w);
	if (w->state == MS_SCAN_DONE)
		w->state = w->asked ? obstacle(w) : late(w) ? MS_SCAN_TIME : MS_SCAN_KILLED;
	if (w->state == MS_SCAN_DONE && w->q->count)
		look(w, tid);
	let_go(w);
	if (w->asked && !await_stacks(w))
		w->graphed = false;
	if (w->graphed)
		graph_solve(&w->graph, w->state == MS_SCAN_DONE);
	put_result(w);
}

/* "pid 4117: 6.0 MiB in 1,204 blocks unreachable; stopped for 31 ms" */
static void add_answer(struct scanner *sc, const struct work *w)
{
	char a[MS_UNIT_BUF], b[MS_UNIT_BUF], c[MS_UNIT_BUF];
	uint64_t bytes = 0, blocks = 0;
	size_t at = strlen(sc->answer);
	for (uint32_t i = 0; w->graphed && i < w->graph.count; i++) {
		bool lost = w->graph.v[i].verdict <= MS_VERDICT_IS_INDIRECT;
		bytes += lost ? w->graph.v[i].size : 0;
		blocks += lost;
	}
	ms_format_duration(c, w->released_ns - w->start_ns);
	if (w->state == MS_SCAN_DONE)
		snprintf(sc->answer + at, sizeof sc->answer - at,
			 "%s (pid %d): %s in %s block%s unreachable; stopped for %s\n", w->s->name,
			 (int)w->s->pid, ms_format_size(a, bytes), ms_format_count(b, blocks),
			 blocks == 1 ? "" : "s", c);
	else
		snprintf(sc->answer + at, sizeof sc->answer - at,
			 "%s (pid %d): not scanned, %s; stopped for %s\n", w->s->name,
			 (int)w->s->pid, scan_state_words(w->state), c);
}

static void *work_thread(void *arg)
{
	struct work *w = arg;
	scan(w);
	return NULL;
}

/* In a thread of its own: whatever it could not let go the kernel lets go when it ends. */
static void work_on(struct scanner *sc, struct session *s, bool ends)
{
	struct work w = {.scanner = sc,
			 .s = s,
			 .q = s->scan,
			 .label = ends ? "end" : "request",
			 .ends = ends,
			 .start_ns = clock_mono(),
			 .memory = {.mem = -1, .pagemap = -1}};
	pthread_t thread;
	w.deadline_ns = w.start_ns + sc->opt->leak_ns / 10 * 9;
	if (pthread_create(&thread, NULL, work_thread, &w)) {
		if (ends)
			tell_guest(s, MG_END_OVER);
		return;
	}
	pthread_join(thread, NULL);
	if (!ends)
		add_answer(sc, &w);
	graph_free(&w.graph);
	memory_close(&w.memory);
	free(w.threads);
}

/* ---- the scanning thread ---- */

/* A thread of the target is held: it is told that it was seen, so that it waits. False: it is let
 * go again. */
static bool notice(struct session *s)
{
	if (is_vfork(s)) {
		tell_guest(s, MG_END_NONE);
		return false;
	}
	if (s->may_drop && !__atomic_load_n(&s->kept_for_sure, __ATOMIC_ACQUIRE) &&
	    session_trivial(s)) {
		tell_guest(s, MG_END_OVER);
		return false;
	}
	uint32_t held = MG_END_HELD;
	uint32_t seen = status_number(s->proc, "\nSeccomp:\t") == 0 ? MG_END_NAP : MG_END_SEEN;
	return __atomic_compare_exchange_n(&s->mem->end_state, &held, seen, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* Queues the sessions that are held; `busy` keeps them (under lock). */
static void notice_all(struct scanner *sc)
{
	for (size_t i = 0; i < sc->count; i++) {
		struct session *s = sc->sessions[i];
		if (__atomic_load_n(&s->mem->end_state, __ATOMIC_ACQUIRE) != MG_END_HELD ||
		    __atomic_load_n(&s->scan->busy, __ATOMIC_ACQUIRE))
			continue;
		/* Either we see that it is over, or the draining thread that we are at work. */
		__atomic_store_n(&s->scan->busy, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&s->ending, __ATOMIC_SEQ_CST) != SESSION_RUNS || !notice(s)) {
			__atomic_store_n(&s->scan->busy, 0, __ATOMIC_RELEASE);
			continue;
		}
		sc->held[sc->held_count++] = s;
		pthread_cond_signal(&sc->work);
	}
}

/* Young processes end soon, and are looked at more often. */
static uint64_t watch_ns(const struct scanner *sc)
{
	uint64_t least = WATCH_MOST_NS;
	for (size_t i = 0; i < sc->count; i++) {
		uint64_t some = session_now(sc->sessions[i]) / 32;
		least = some < least ? some : least;
	}
	return least < WATCH_LEAST_NS ? WATCH_LEAST_NS : least;
}

/* The sessions that run and are not about to end, kept by `busy`. */
static size_t take_all(struct scanner *sc, struct session ***out)
{
	size_t n = 0;
	pthread_mutex_lock(&sc->lock);
	*out = ms_xrealloc(NULL, sc->count + 1, sizeof **out);
	for (size_t i = 0; i < sc->count; i++) {
		struct session *s = sc->sessions[i];
		if (__atomic_load_n(&s->scan->busy, __ATOMIC_ACQUIRE))
			continue; /* it ends */
		__atomic_store_n(&s->scan->busy, 1, __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&s->ending, __ATOMIC_SEQ_CST) == SESSION_RUNS &&
		    __atomic_load_n(&s->mem->end_state, __ATOMIC_ACQUIRE) == MG_END_NONE)
			(*out)[n++] = s;
		else
			__atomic_store_n(&s->scan->busy, 0, __ATOMIC_RELEASE);
	}
	pthread_mutex_unlock(&sc->lock);
	return n;
}

/* Scans all, because somebody asked. */
static void serve(struct scanner *sc)
{
	struct session **all;
	uint64_t one = 1;
	sc->answer[0] = '\0';
	size_t n = take_all(sc, &all);
	for (size_t i = 0; i < n; i++) {
		work_on(sc, all[i], false);
		__atomic_store_n(&all[i]->scan->busy, 0, __ATOMIC_RELEASE);
		drain_wake(sc->drain);
	}
	free(all);
	__atomic_store_n(&sc->asked, SCAN_ANSWERED, __ATOMIC_RELEASE);
	if (write(sc->drain->event, &one, sizeof one) < 0)
		errno = 0; /* it is set already */
}

void scanner_ask(struct scanner *sc)
{
	pthread_mutex_lock(&sc->lock);
	__atomic_store_n(&sc->asked, SCAN_ASKED, __ATOMIC_RELEASE);
	pthread_cond_signal(&sc->work);
	pthread_mutex_unlock(&sc->lock);
}

/* Watches for processes that are held, also while others are scanned. */
static void *watch(void *arg)
{
	struct scanner *sc = arg;
	pthread_mutex_lock(&sc->lock);
	while (!sc->stop) {
		if (!sc->count) {
			pthread_cond_wait(&sc->changed, &sc->lock);
			continue;
		}
		notice_all(sc);
		uint64_t ns = watch_ns(sc);
		pthread_mutex_unlock(&sc->lock);
		usleep((useconds_t)(ns / 1000));
		pthread_mutex_lock(&sc->lock);
	}
	pthread_mutex_unlock(&sc->lock);
	return NULL;
}

static void *run(void *arg)
{
	struct scanner *sc = arg;
	pthread_mutex_lock(&sc->lock);
	while (!sc->stop || sc->held_count) {
		bool asked = __atomic_load_n(&sc->asked, __ATOMIC_ACQUIRE) == SCAN_ASKED;
		if (!sc->held_count && !asked) {
			pthread_cond_wait(&sc->work, &sc->lock);
			continue;
		}
		struct session *s = sc->held_count ? sc->held[0] : NULL;
		if (s)
			memmove(sc->held, sc->held + 1, --sc->held_count * sizeof *sc->held);
		pthread_mutex_unlock(&sc->lock);
		if (s)
			work_on(sc, s, true);
		else
			serve(sc);
		if (s)
			__atomic_store_n(&s->scan->busy, 0, __ATOMIC_RELEASE);
		drain_wake(sc->drain);
		pthread_mutex_lock(&sc->lock);
	}
	pthread_mutex_unlock(&sc->lock);
	return NULL;
}

int scanner_start(struct scanner *sc, const struct options *opt, struct drain *drain)
{
	memset(sc, 0, sizeof *sc);
	sc->opt = opt;
	sc->drain = drain;
	pthread_mutex_init(&sc->lock, NULL);
	pthread_cond_init(&sc->changed, NULL);
	if (opt->leak_check == SCAN_NO || opt->sample_bytes)
		return 0;
	pthread_cond_init(&sc->work, NULL);
	int e = pthread_create(&sc->thread, NULL, run, sc);
	if (e == 0)
		e = pthread_create(&sc->watcher, NULL, watch, sc);
	sc->started = e == 0;
	errno = e;
	return e ? -1 : 0;
}

void scanner_add(struct scanner *sc, struct session *s)
{
	if (!sc->started)
		return;
	pthread_mutex_lock(&sc->lock);
	if (sc->count == sc->room) {
		sc->room = sc->room ? sc->room * 2 : 8;
		sc->sessions = ms_xrealloc(sc->sessions, sc->room, sizeof *sc->sessions);
		sc->held = ms_xrealloc(sc->held, sc->room, sizeof *sc->held);
	}
	sc->sessions[sc->count++] = s;
	pthread_cond_signal(&sc->changed);
	pthread_mutex_unlock(&sc->lock);
}

void scanner_drop(struct scanner *sc, struct session *s)
{
	if (!sc->started)
		return;
	pthread_mutex_lock(&sc->lock);
	for (size_t i = 0; i < sc->count; i++)
		if (sc->sessions[i] == s)
			sc->sessions[i--] = sc->sessions[--sc->count];
	pthread_mutex_unlock(&sc->lock);
}

void scanner_stop(struct scanner *sc)
{
	if (!sc->started)
		return;
	pthread_mutex_lock(&sc->lock);
	sc->stop = true;
	pthread_cond_signal(&sc->changed);
	pthread_cond_signal(&sc->work);
	pthread_mutex_unlock(&sc->lock);
	pthread_join(sc->watcher, NULL);
	pthread_join(sc->thread, NULL);
	sc->started = false;
	free(sc->sessions);
	free(sc->held);
}
