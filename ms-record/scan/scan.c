/* SPDX-License-Identifier: MIT
 * Runs one scan: stops, copies or holds the process, and judges its memory once the live blocks are
 * known.
 */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ms-record/ptrace/hijack_private.h"
#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/units.h"
#include "ms-record/session/session_options.h"
#include "ms-record/session/pool.h"
#include "ms-record/session/samples.h"
#include "scan_roots.h"
#include "scan_work.h"
#include "ms-record/session/session.h"

#define STEP_US 100
#define RATE UINT64_C(1000000000) /* minimum number of bytes read per second */
#define BLOCK_NS 250u             /* time to sort and search one block */
#define SUGGEST_MOST_S 3600u      /* largest time limit that --leak-check accepts, in s */
#define EDGES_MAX ((size_t)1 << 27)
#define STOP_NS UINT64_C(1000000000)
#define PENDING_TRIES 200
#define HOOKS_NS UINT64_C(20000000)
#define GUARD_NS UINT64_C(5000000000) /* the guard's delay after the deadline */
#define FROZEN_NS UINT64_C(5000000)   /* scans shorter than this are not worth a copy */

/* Tells whether the process is about to end, with a thread held by the guest. */
static bool ends(const struct work *w)
{
	return w->request.asker == SCAN_BY_END;
}

/* Returns the deadline that other threads may shorten; NULL = the process is no longer held. */
static const uint64_t *until(const struct work *w)
{
	return w->released_ns ? NULL : &w->scanner->until_ns;
}

static bool late(const struct work *w)
{
	const uint64_t *sooner = until(w);
	uint64_t now = clock_mono();
	return now > w->deadline_ns || (sooner && now > __atomic_load_n(sooner, __ATOMIC_RELAXED));
}

static bool hook_pending(const struct session *s)
{
	uint32_t n = __atomic_load_n(&s->rings.prepared, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < n; i++) {
		const struct mg_ring *r = &s->rings.shared[i];
		if (__atomic_load_n(&r->state, __ATOMIC_ACQUIRE) == MG_RING_TAKEN &&
		    __atomic_load_n(&r->pending, __ATOMIC_ACQUIRE))
			return true;
	}
	return false;
}

/* Waits briefly until no thread is recording an event. On a busy machine a thread that is recording
 * one may wait for a processor: if it were stopped again before it got one, it would have made no
 * progress. */
static void await_hooks(const struct session *s)
{
	uint64_t until = clock_mono() + HOOKS_NS;
	do
		usleep(STEP_US);
	while (hook_pending(s) && clock_mono() < until);
}

/* Stops all threads, none of them in the middle of recording an event. */
static bool stop(struct work *w)
{
	w->stop_ns = clock_mono();
	errno = 0;
	for (int i = 0; i < PENDING_TRIES && !late(w); i++) {
		uint64_t now = clock_mono(), left = w->deadline_ns > now ? w->deadline_ns - now : 0;
		if (hijack_stop_all(&w->stopped, w->s->process.folder, false,
				    left < STOP_NS ? left : STOP_NS))
			return false;
		if (!hook_pending(w->s)) {
			hijack_holds(true, w->deadline_ns + GUARD_NS);
			w->threads = scan_registers(&w->stopped, &w->thread_count);
			return true;
		}
		hijack_resume(&w->stopped, w->s->process.folder);
		await_hooks(w->s);
	}
	return false;
}

/* Describes the process's only thread, which the guest holds; the thread's registers are on its
 * stack. */
static void take_held(struct work *w)
{
	const struct mg_session *m = w->s->mem;
	w->threads = ms_xcalloc(1, sizeof *w->threads);
	w->thread_count = 1;
	w->threads->sp = m->end_sp;
	w->threads->tp = m->end_tp;
	w->threads->calls = true;
	w->threads->tid = m->end_tid;
	w->threads->inner = true;
	w->threads->reg_count = 0;
}

/* Takes the registers that the threads had when they ended. An event that a thread was still
 * recording will never arrive. */
static void take_last(struct work *w)
{
	const struct scan *q = w->q;
	size_t bytes = q->last_count * sizeof *w->threads;
	w->threads = ms_xrealloc(NULL, q->last_count + 1, sizeof *w->threads);
	memcpy(w->threads, q->last_regs, bytes);
	w->thread_count = q->last_count;
	uint32_t rings = __atomic_load_n(&w->s->rings.prepared, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < rings; i++)
		__atomic_store_n(&w->s->rings.shared[i].pending, 0, __ATOMIC_RELEASE);
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

void scan_read_arenas(const struct memory *m, const struct session *s, struct mg_arenas *a)
{
	uint64_t at = s->mem->arenas;
	a->brk = 0;
	if (!at || !memory_get(m, at, a, sizeof *a) || a->busy || a->unsure || a->count > MG_ARENAS)
		a->count = 0;
}

struct mg_roots *scan_read_roots(const struct memory *m, const struct session *s)
{
	uint64_t at = s->mem->roots;
	size_t head = offsetof(struct mg_roots, v);
	struct mg_roots *r = at ? ms_xcalloc(1, sizeof *r) : NULL;
	bool read = r && memory_get(m, at, r, head) && r->used <= MG_ROOTS &&
		    (!r->used || memory_get(m, at + head, r->v, r->used * sizeof *r->v));
	if (read)
		return r;
	free(r);
	return NULL;
}

/* Marks the blocks that the program declared to be no leaks. */
static void ignore_blocks(struct work *w)
{
	const struct ignored *g = &w->q->live.ignored;
	for (size_t i = 0; i < g->n; i++)
		w->ignored += graph_ignore(&w->graph, g->v[i].address, g->v[i].next);
}

/* Returns the process's memory in bytes, resident or swapped out, since most of its large blocks
 * may never have been touched. 0 = not known. */
static uint64_t present(const struct work *w)
{
	pid_t any = w->q->last_tid ? w->q->last_tid : w->s->process.pid;
	uint64_t k = hijack_status(w->s->process.folder, any, "\nVmRSS:", 10) +
		     hijack_status(w->s->process.folder, any, "\nVmSwap:", 10);
	return k * 1024;
}

/* Tells whether the error means that no file descriptor was left. */
static bool is_files(int why)
{
	return why == EMFILE || why == ENFILE;
}

#define OWN_MAX (2 * MG_OWN_MAX + 1)

/* Lists the guest's memory; a forked child has its parent's and its own. The guest's list of the
 * memory that an allocator mapped for itself is part of it: an end of that is often a block. */
static void list_own(const struct session *s, uint64_t (*own)[2])
{
	uint64_t at = s->mem->arenas;
	memset(own, 0, OWN_MAX * sizeof *own);
	memcpy(own, s->pool->head->own, sizeof s->pool->head->own);
	if (s->forked)
		memcpy(own + MG_OWN_MAX, s->mem->own, sizeof s->mem->own);
	own[OWN_MAX - 1][0] = at;
	own[OWN_MAX - 1][1] = at ? at + sizeof(struct mg_arenas) : 0;
}

/* Reads the process's memory into the graph; sets w->state. */
static void look(struct work *w, pid_t tid)
{
	struct session *s = w->s;
	if (w->request.copy.made
		    ? frozen_open(w, &w->memory, w->deadline_ns)
		    : memory_open(&w->memory, s->process.folder, tid, w->deadline_ns)) {
		w->state = is_files(errno) ? MS_SCAN_FILES : MS_SCAN_UNREADABLE;
		return;
	}
	w->memory.zeros = w->request.copy.looked && !w->request.copy.served;
	w->memory.until = until(w);
	w->memory.word = ends(w) || w->moment ? NULL : &s->mem->end_state;
	w->memory.value = MG_END_SEEN;
	w->memory.total = !ends(w) ? 0 : w->present ? w->present : present(w);
	w->memory.told = ends(w) ? &w->q->read_bytes : NULL;
	__atomic_store_n(&w->q->due_bytes, w->memory.total, __ATOMIC_RELAXED);
	scan_search(w);
}

void scan_search(struct work *w)
{
	const struct session *s = w->s;
	const struct scan_live *live = &w->q->live;
	uint64_t own[OWN_MAX][2];
	list_own(s, own);
	graph_init(&w->graph, live->blocks, live->count, EDGES_MAX);
	w->graph.align = w->align ?: 8;
	w->graph.cleared = w->cleared;
	w->graphed = true;
	struct mg_arenas arenas;
	scan_read_arenas(&w->memory, s, &arenas);
	w->roots = scan_read_roots(&w->memory, s);
	ignore_blocks(w);
	struct roots r = {.memory = &w->memory,
			  .graph = &w->graph,
			  .threads = w->threads,
			  .thread_count = w->thread_count,
			  .kernel = w->kernel.words.v,
			  .kernel_count = w->kernel.words.n,
			  .own = own,
			  .own_count = OWN_MAX,
			  .arenas = arenas.span,
			  .arena_count = arenas.count,
			  .user = w->roots ? w->roots->v : NULL,
			  .user_count = w->roots ? w->roots->used : 0,
			  .main_entry = s->mem->main_entry,
			  .main_tp = s->mem->main_tp,
			  .own_inode = inode_of(s->pool->memfd),
			  .wide = live->wide,
			  .own_brk = arenas.brk && is_glibc(s->mem->allocator),
			  .dense = !is_glibc(s->mem->allocator),
			  .kept = w->retains ? &w->kept.found : NULL};
	if (w->retains)
		scan_keep_begin(w);
	roots_look(&r);
	if (w->retains)
		scan_keep_read(w);
	w->root_count = r.user_seen;
	w->memory.unreadable |= memory_waits(&w->memory);
	w->state = w->memory.gave_up      ? MS_SCAN_ENDED
		   : w->memory.unreadable ? MS_SCAN_UNREADABLE
		   : w->memory.late       ? MS_SCAN_TIME
		   : w->graph.overflow    ? MS_SCAN_MEMORY
					  : MS_SCAN_DONE;
}

/* Estimates how long a scan takes, in ns. The counts may change meanwhile: an estimate is
 * enough. */
static uint64_t expected(struct work *w)
{
	const struct scan *q = w->q;
	uint64_t bytes = __atomic_load_n(&q->live_bytes, __ATOMIC_RELAXED), there = present(w);
	w->present = there;
	bytes = there && there < bytes ? there : bytes;
	uint64_t blocks = __atomic_load_n(&q->live_blocks, __ATOMIC_RELAXED);
	return bytes / (RATE / 1000000) * 1000 + blocks * BLOCK_NS;
}

/* ---- the end of a process ---- */

void scan_tell_guest(struct session *s, enum mg_end_state state)
{
	__atomic_store_n(&s->mem->end_state, state, __ATOMIC_RELEASE);
	syscall(SYS_futex, &s->mem->end_state, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* Tells whether the program has passed the scan's moment, because the guest gave up waiting. */
static bool is_past(const struct work *w)
{
	uint32_t now = __atomic_load_n(&w->s->mem->moment, __ATOMIC_ACQUIRE);
	return w->moment && (now & ~MG_MOMENT_NAP) != w->moment;
}

/* Lets the thread continue that the guest holds at the scan's moment. */
static void end_moment(struct work *w)
{
	uint32_t *word = &w->s->mem->moment, now = __atomic_load_n(word, __ATOMIC_ACQUIRE);
	if (!is_past(w) &&
	    __atomic_compare_exchange_n(word, &now, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
	else if (w->state == MS_SCAN_DONE)
		w->state = MS_SCAN_TIME; /* the process may have run during the scan */
}

static void release_threads(struct work *w)
{
	struct session *s = w->s;
	if (w->moment)
		end_moment(w);
	hijack_resume(&w->stopped, s->process.folder);
	w->released_ns = clock_mono();
	if (!ends(w))
		return;
	uint32_t was = __atomic_load_n(&s->mem->end_state, __ATOMIC_ACQUIRE);
	if (was == MG_END_LATE && (w->state == MS_SCAN_DONE || w->state == MS_SCAN_KILLED))
		w->state = MS_SCAN_TIME; /* the process may have run during the scan */
	scan_tell_guest(s, MG_END_OVER);
	if (w->q->last_tid)
		scan_trace_over(w->q->last_trace);
}

uint64_t scan_pause(const struct work *w)
{
	uint64_t since = ends(w) ? w->start_ns : w->stop_ns;
	return (since ? w->released_ns - since : 0) + w->request.copy.reap_ns;
}

/* Returns why a process that no longer exists cannot be scanned. */
static uint64_t gone(const struct work *w)
{
	return ends(w) ? MS_SCAN_KILLED : MS_SCAN_ENDED;
}

/* Returns `tid` if that thread is stopped. If it has ended, returns another stopped thread, and
 * finds the epoll descriptors again, which may have been incomplete. */
static pid_t settle_thread(struct work *w, pid_t tid)
{
	size_t at = 0, n = w->stopped.threads.n;
	const struct hijack_thread *v = w->stopped.threads.v;
	if (!n || (hijack_has(&w->stopped, tid, &at) && !v[at - 1].gone))
		return tid;
	for (size_t i = 0; i < n; i++)
		tid = v[i].gone ? tid : v[i].tid;
	if (!w->unjudged)
		kernel_find(&w->kernel, w->s->process.folder, tid);
	return tid;
}

/* Takes the registers of a process that could not be stopped, as one that ms-record traces, if the
 * guest holds its only thread; else sets the state. Returns whether a copy can be made: false. */
static bool take_unstopped(struct work *w, size_t threads)
{
	if (threads == 1 && w->moment)
		take_held(w);
	else
		w->state = is_files(errno)  ? MS_SCAN_FILES
			   : errno == ESRCH ? gone(w)
					    : MS_SCAN_THREADS;
	return false;
}

/* Stops the process, at the moment that was requested, and takes its registers. Then copies the
 * process and releases it, or keeps it stopped. Returns a thread of the process that still
 * exists, `tid` if possible. */
static pid_t hold(struct work *w, pid_t tid, size_t threads, int unseen)
{
	uint64_t ns = w->unjudged ? 0 : expected(w);
	bool takes_long = ns > w->deadline_ns - w->start_ns;
	w->expected_ns = ns;
	if (threads && !w->unjudged)
		kernel_find(&w->kernel, w->s->process.folder, tid);
	bool seen = !threads || w->unjudged || frozen_look(w, tid);
	bool copy = threads && !ends(w) && ns > FROZEN_NS && seen && frozen_prepare(w);
	w->refused = w->request.copy.served ? MS_SCAN_UNREADABLE
		     : takes_long && !copy  ? MS_SCAN_TIME
					    : 0;
	w->state = !threads ? (is_files(unseen) ? MS_SCAN_FILES : gone(w))
		   : w->refused && !w->resident.wanted ? w->refused
						       : MS_SCAN_DONE;
	if (w->q->last_tid && !w->q->last_count && w->state == MS_SCAN_DONE)
		w->state = MS_SCAN_THREADS;
	else if (w->q->last_tid)
		take_last(w);
	else if (threads == 1 && ends(w))
		take_held(w);
	else if (w->state == MS_SCAN_DONE && !stop(w))
		copy = take_unstopped(w, threads);
	if (w->state == MS_SCAN_DONE && is_past(w))
		w->state = MS_SCAN_TIME;
	if (w->state != MS_SCAN_DONE)
		return tid;
	tid = settle_thread(w, tid);
	if (!w->unjudged)
		kernel_read(&w->kernel, w->s, tid);
	scan_leave_ends(w->threads, w->thread_count, w->s->mem, w->q->last_tid);
	w->request.stamp = live_stamp(w->s);
	if (w->resident.wanted)
		resident_take(w, tid);
	bool copied = copy && frozen_make(w);
	if (takes_long && !copied && !w->refused)
		w->refused = MS_SCAN_TIME;
	if (w->refused && !w->resident.wanted) {
		w->state = w->refused;
		return tid;
	}
	w->q->live.image.wanted = w->retains;
	live_ask(w->q, w->request.stamp);
	if (!copied && (!(w->unjudged || w->refused) || ends(w)))
		return tid;
	release_threads(w);
	w->deadline_ns = w->start_ns + SCAN_YES_NS; /* no thread is stopped any more, so the longer
						       limit applies */
	return tid;
}

void scan_judge(struct work *w, pid_t tid)
{
	const struct scan *q = w->q;
	w->answered = live_await(w->q, w->scanner->drain, w->deadline_ns, until(w));
	w->state = !w->answered   ? (late(w) ? MS_SCAN_TIME : gone(w))
		   : q->live.lost ? MS_SCAN_LOST
		   : late(w)      ? MS_SCAN_TIME
				  : MS_SCAN_DONE;
	w->resident.state = w->state;
	if (w->state == MS_SCAN_DONE && w->refused)
		w->state = w->refused;
	else if (w->state == MS_SCAN_DONE && (q->live.count || w->retains) && !w->unjudged)
		look(w, tid);
	if (!w->released_ns)
		release_threads(w);
	frozen_end(w);
	if (w->answered && live_await_stacks(w->s)) {
		scan_name_stacks(&w->q->live);
	} else if (w->answered) {
		w->graphed = false;
		w->state = w->state == MS_SCAN_DONE ? MS_SCAN_TIME : w->state;
		w->resident.state = MS_SCAN_TIME;
	}
	if (w->graphed)
		graph_solve(&w->graph, w->state == MS_SCAN_DONE);
}

static void scan(struct work *w)
{
	__atomic_fetch_or(&w->s->mem->stamps, MG_STAMPS_ALL_NOW, __ATOMIC_SEQ_CST);
	pid_t tid = hold(w, w->first, w->found, w->unseen);
	w->resident.state = w->state;
	if (w->state == MS_SCAN_DONE) {
		scan_judge(w, tid);
	} else {
		release_threads(w);
		frozen_end(w);
	}
	__atomic_fetch_and(&w->s->mem->stamps, ~MG_STAMPS_ALL_NOW, __ATOMIC_SEQ_CST);
	scan_put_result(w);
	scan_keep_find(w);
}

/* Returns why there is no verdict; if the scan takes too long, also how long, and which limit would
 * allow it. */
static const char *say_why(const struct work *w, uint64_t state, char room[200])
{
	char a[MS_UNIT_BUF], b[MS_UNIT_BUF];
	uint64_t allowed = w->scanner->opt->ns, need = w->expected_ns;
	uint64_t most = (need > allowed ? need : allowed) / 500000000 + 1;
	if (state != MS_SCAN_TIME)
		return scan_state_words(state);
	ms_format_duration(a, need > allowed / 10 * 9 ? need : allowed);
	ms_format_duration(b, allowed);
	snprintf(room, 200,
		 "a scan would take %s %s, but --leak-check allows %s (record with "
		 "--leak-check=%s:%us)",
		 need > allowed / 10 * 9 ? "about" : "more than", a, b,
		 w->scanner->opt->wish == SCAN_YES ? "yes" : "auto",
		 (unsigned)(most < SUGGEST_MOST_S ? most : SUGGEST_MOST_S));
	return room;
}

/* Appends a line like "name (pid 4117): g_all keeps 277.6 MiB of 580.3 MiB; ...". */
static void add_kept(struct scanner *sc, const struct work *w)
{
	char a[MS_UNIT_BUF], b[MS_UNIT_BUF], said[600];
	size_t at = strlen(sc->answer), room = sizeof sc->answer - at;
	const char *why = kept_state_words(w);
	uint64_t lost = w->keeps.live_bytes - w->keeps.kept_bytes;
	if (why)
		snprintf(sc->answer + at, room, "%s (pid %d): what keeps blocks is not known: %s\n",
			 w->s->name, (int)w->s->process.pid, why);
	else if (kept_say(w, said, sizeof said))
		snprintf(sc->answer + at, room, "%s (pid %d): %s; %s unreachable; stopped for %s\n",
			 w->s->name, (int)w->s->process.pid, said, ms_format_size(a, lost),
			 ms_format_duration(b, scan_pause(w)));
	else
		return;
	sc->missed |= why && why != scan_state_words(MS_SCAN_ENDED);
}

/* Appends a line like "name (pid 4117): 6.0 MiB in 1,204 blocks unreachable; stopped for 31 ms". */
static void add_answer(struct scanner *sc, const struct work *w)
{
	char a[MS_UNIT_BUF], b[MS_UNIT_BUF], c[MS_UNIT_BUF], said[200], why[200];
	uint64_t bytes = 0, blocks = 0;
	size_t at = strlen(sc->answer);
	for (uint32_t i = 0; w->graphed && i < w->graph.count; i++) {
		bool lost = w->graph.v[i].verdict <= MS_VERDICT_IS_INDIRECT;
		bytes += lost ? w->graph.v[i].size : 0;
		blocks += lost;
	}
	bool resident = w->request.asker == SCAN_BY_TELL_RESIDENT;
	uint64_t state = resident ? resident_state(&w->resident) : w->state;
	sc->scanned |= state == MS_SCAN_DONE;
	sc->missed |= state != MS_SCAN_DONE && state != MS_SCAN_ENDED;
	ms_format_duration(c, scan_pause(w));
	if (resident && resident_say(w, said, sizeof said))
		snprintf(sc->answer + at, sizeof sc->answer - at,
			 "%s (pid %d): %s; stopped for %s\n", w->s->name, (int)w->s->process.pid,
			 said, c);
	else if (w->state == MS_SCAN_DONE && w->request.asker == SCAN_BY_TELL)
		snprintf(sc->answer + at, sizeof sc->answer - at,
			 "%s (pid %d): %s in %s block%s unreachable; stopped for %s%s%s%s\n",
			 w->s->name, (int)w->s->process.pid, ms_format_size(a, bytes),
			 ms_format_count(b, blocks), blocks == 1 ? "" : "s", c,
			 w->request.copy.why[0] ? ", throughout the scan (no copy could be forked: "
			 : w->request.copy.made ? " to fork a copy, which was scanned"
						: "",
			 w->request.copy.why, w->request.copy.why[0] ? ")" : "");
	else
		snprintf(sc->answer + at, sizeof sc->answer - at,
			 "%s (pid %d): not scanned: %s%s%s; stopped for %s\n", w->s->name,
			 (int)w->s->process.pid, say_why(w, state, why),
			 w->request.copy.why[0] ? "; no copy could be forked: " : "",
			 w->request.copy.why, c);
	if (sc->tells_kept)
		add_kept(sc, w);
}

static void *work_thread(void *arg)
{
	struct work *w = arg;
	scan(w);
	return NULL;
}

/* Runs the scan in a new thread: when that one ends, the kernel detaches all threads that the
 * scan failed to detach. Returns false if there can be no thread. */
static bool run_apart(struct work *w)
{
	pthread_t thread;
	if (pthread_create(&thread, NULL, work_thread, w))
		return false;
	pthread_join(thread, NULL);
	return true;
}

void scan_work_on(struct scanner *sc, struct session *s, enum scan_asker asker)
{
	bool told = asker == SCAN_BY_TELL || asker == SCAN_BY_TELL_RESIDENT;
	bool resident = asker == SCAN_BY_TELL_RESIDENT || asker == SCAN_BY_RESIDENT;
	struct work w = {.scanner = sc,
			 .s = s,
			 .q = s->scan,
			 .request.asker = asker,
			 .resident.wanted = resident || s->opt->resident,
			 .unjudged = resident || sc->opt->wish == SCAN_NO,
			 .moment = asker == SCAN_BY_MARK ? s->scan->moment : 0,
			 .retains = !resident && sc->opt->wish != SCAN_NO &&
				    (sc->opt->retention == SCAN_YES ||
				     (sc->opt->retention == SCAN_AUTO && asker != SCAN_BY_END)),
			 .align = sc->opt->align,
			 .cleared = sc->opt->cleared,
			 .start_ns = clock_mono(),
			 .memory = MEMORY_CLOSED};
	if (ends(&w))
		samples_held(s);
	__atomic_store_n(&w.q->held, ends(&w), __ATOMIC_RELAXED);
	w.deadline_ns = w.start_ns + sc->opt->ns / 10 * 9;
	__atomic_store_n(&sc->until_ns, UINT64_MAX, __ATOMIC_RELAXED);
	__atomic_store_n(&sc->start_ns, w.start_ns, __ATOMIC_RELEASE);
	w.first = w.q->last_tid;
	w.found = w.first ? 1 : hijack_count(s->process.folder, &w.first);
	w.unseen = errno;
	/* A process whose only thread the guest holds need not be stopped; most short programs end
	 * like that. */
	bool attaches = w.found != 1 || !ends(&w) || w.q->last_tid;
	if (!attaches)
		scan(&w);
	else if (!run_apart(&w)) {
		__atomic_store_n(&w.q->held, 0, __ATOMIC_RELAXED);
		if (ends(&w))
			scan_tell_guest(s, MG_END_OVER);
		if (w.q->last_tid)
			scan_trace_over(w.q->last_trace);
		if (w.moment)
			end_moment(&w);
		return;
	}
	__atomic_store_n(&sc->start_ns, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&w.q->held, 0, __ATOMIC_RELAXED);
	if (told)
		add_answer(sc, &w);
	scan_keep_free(&w);
	resident_free(&w);
	kernel_free(&w.kernel);
	graph_free(&w.graph);
	memory_close(&w.memory);
	MS_FREE(w.threads, w.roots);
}
