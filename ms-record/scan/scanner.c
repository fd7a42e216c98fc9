/* SPDX-License-Identifier: MIT
 * Runs the threads of the leak scan: one watches for processes that are about to end, the other
 * scans.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "format/trace.h"
#include "libcommon/proc/proc.h"
#include "scan_work.h"
#include "ms-record/session/session.h"
#include "ms-record/session/session_options.h"

#define HURRY_NS UINT64_C(300000000) /* time left to a scan after scanner_hurry */

static bool has_filter(int proc, const char *status)
{
	char text[4096];
	return !ms_proc_text_at(proc, status, text, sizeof text) ||
	       ms_proc_status_number(text, "\nSeccomp:", 1) != 0;
}

/* Tells whether the thread that the guest holds may be under a seccomp filter. */
static bool is_filtered(const struct session *s)
{
	char status[40];
	snprintf(status, sizeof status, "task/%u/status", s->mem->end_tid);
	return session_seccomp(s) || has_filter(s->process.folder, "status") ||
	       (s->same_pidns && has_filter(s->process.folder, status));
}

/* Tells whether the thread that ends the process waits in the kernel at this moment. */
static bool may_be_vfork(const struct session *s)
{
	uint32_t tid = s->same_pidns ? s->mem->end_tid : (uint32_t)s->process.pid;
	return hijack_state(s->process.folder, (pid_t)tid) == 'D';
}

#define VFORK_LOOKS 4
/* Tells whether the held process is a child of vfork, whose parent waits for it in the kernel. Both
 * share a PID, and the parent's thread cannot be the one that waits for the scan. */
static bool is_vfork(struct session *s)
{
	for (int i = 0; i < VFORK_LOOKS; i++) {
		if (!may_be_vfork(s))
			return false;
		usleep(500); /* state D also occurs while a thread waits for a page, but only for a
				short time */
	}
	return true;
}
/* Tells whether no trace of the session will be kept, as far as is known. */
static bool is_dropped(const struct session *s)
{
	return s->may_drop && !__atomic_load_n(&s->kept_for_sure, __ATOMIC_ACQUIRE) &&
	       !__atomic_load_n(&s->grown, __ATOMIC_ACQUIRE);
}

/* Tells whether the result of is_dropped may still change. It is final once all events of the
 * process and, for a child, those of its parent are merged. */
static bool is_undecided(const struct session *s)
{
	return is_dropped(s) && !__atomic_load_n(&s->scan->end_known, __ATOMIC_ACQUIRE);
}

/* Informs a held thread of the target that ms-record has noticed it, so that it keeps waiting.
 * Returns false if it is released. */
static bool notice(struct session *s)
{
	if (is_vfork(s)) {
		scan_tell_guest(s, MG_END_NONE);
		return false;
	}
	uint32_t held = MG_END_HELD;
	uint32_t seen = is_filtered(s) ? MG_END_SEEN : MG_END_NAP;
	return __atomic_compare_exchange_n(&s->mem->end_state, &held, seen, false, __ATOMIC_ACQ_REL,
					   __ATOMIC_RELAXED);
}

/* Marks a session as busy; returns false if the session is over. Either this thread sees that
 * the session is over, or the draining thread sees that it is busy. */
static bool keep(struct session *s)
{
	__atomic_store_n(&s->scan->busy, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&s->ending, __ATOMIC_SEQ_CST) == SESSION_RUNS)
		return true;
	__atomic_store_n(&s->scan->busy, 0, __ATOMIC_RELEASE);
	return false;
}

/* Queues a scan; scans at an end come first, because a process waits for them. Call with sc->lock
 * held. */
static void queue(struct scanner *sc, struct session *s, enum scan_asker asker)
{
	struct scan_order *last = MS_PUSH(&sc->queue);
	for (; asker == SCAN_BY_END && last > sc->queue.v && last[-1].asker != asker; last--)
		*last = last[-1];
	*last = (struct scan_order){s, asker};
	pthread_cond_signal(&sc->work);
}

/* Requests a scan, whose label is "WHAT:VALUE", or "WHAT" without a value. `moment`: number of the
 * moment at which the guest holds a thread for it, 0 = none; such a scan comes before others. Call
 * with sc->lock held. */
static void set_due(struct scan *q, const char *what, const char *value, uint32_t moment)
{
	q->asked++;
	if (q->due_moment && !moment)
		return;
	q->due = true;
	q->due_resident = false;
	q->due_moment = moment;
	snprintf(q->due_label, sizeof q->due_label, value ? "%s:%s" : "%s", what, value);
}

/* Queues the scan that a mark or a moment asked for, unless the session is busy. Call with sc->lock held. */
static void queue_due(struct scanner *sc, struct session *s)
{
	struct scan *q = s->scan;
	if (!q->due || __atomic_load_n(&q->busy, __ATOMIC_ACQUIRE))
		return;
	q->due = false;
	q->taken = q->asked;
	memcpy(q->label, q->due_label, sizeof q->label);
	q->moment = q->due_moment;
	q->due_moment = 0;
	if (keep(s))
		queue(sc, s, q->due_resident ? SCAN_BY_RESIDENT : SCAN_BY_MARK);
}

bool scanner_is_undecided(struct scanner *sc, pid_t pid)
{
	bool doubts = false;
	pthread_mutex_lock(&sc->lock);
	for (size_t i = 0; i < sc->sessions.n; i++)
		doubts |= sc->sessions.v[i]->process.pid == pid && is_dropped(sc->sessions.v[i]);
	pthread_mutex_unlock(&sc->lock);
	return doubts;
}

bool scanner_hold(struct scanner *sc, struct scan_trace *t, pid_t pid, pid_t tid,
		  const struct scan_thread *regs, size_t count)
{
	bool held = false;
	pthread_mutex_lock(&sc->lock);
	for (size_t i = 0; i < sc->sessions.n && !held && !sc->stop; i++) {
		struct session *s = sc->sessions.v[i];
		if (s->process.pid != pid ||
		    __atomic_load_n(&s->ending, __ATOMIC_ACQUIRE) != SESSION_RUNS)
			continue;
		if (scan_trace_is_tree(t) && is_dropped(s))
			continue;
		uint64_t now = process_signature(s->process.folder);
		if (now && s->process.signature && now != s->process.signature)
			continue; /* the process runs another program by now, without a handshake */
		/* This makes a running scan on request give up. */
		__atomic_store_n(&s->mem->end_state, MG_END_HELD, __ATOMIC_RELEASE);
		if (__atomic_load_n(&s->scan->busy, __ATOMIC_ACQUIRE)) {
			s->scan->last_waits = true;
			pthread_mutex_unlock(&sc->lock);
			usleep(1000);
			pthread_mutex_lock(&sc->lock);
			i = SIZE_MAX; /* starts again from the first session: this one may be
					 gone */
			continue;
		}
		__atomic_store_n(&s->scan->busy, 1, __ATOMIC_SEQ_CST);
		s->scan->last_tid = tid;
		s->scan->last_trace = t;
		s->scan->last_regs = regs;
		s->scan->last_count = count;
		queue(sc, s, SCAN_BY_END);
		held = true;
	}
	pthread_mutex_unlock(&sc->lock);
	return held;
}

/* Queues the scan of a session whose process is held at its end; sets `busy`. If the session is
 * busy with a scan on request, tells the guest to wait, which ends that scan; the process is
 * noticed again after it. Call with sc->lock held. */
static void notice_one(struct scanner *sc, struct session *s)
{
	uint32_t state = __atomic_load_n(&s->mem->end_state, __ATOMIC_ACQUIRE);
	bool busy = __atomic_load_n(&s->scan->busy, __ATOMIC_ACQUIRE);
	if (state < MG_END_HELD || state > MG_END_NAP || s->scan->last_tid || s->scan->last_waits)
		return;
	if (busy) {
		if (state == MG_END_HELD)
			notice(s);
		return;
	}
	if (!keep(s))
		return;
	bool waits = state != MG_END_HELD || notice(s), undecided = is_undecided(s);
	if (waits && !is_dropped(s)) {
		queue(sc, s, SCAN_BY_END);
		return;
	}
	if (waits && !undecided)
		scan_tell_guest(s, MG_END_OVER);
	__atomic_store_n(&s->scan->busy, 0, __ATOMIC_RELEASE);
	if (waits && undecided)
		wake_up(sc->drain); /* the draining thread then calls scan_look again */
}

static uint64_t patience(const struct scanner *sc)
{
	uint64_t least = UINT64_MAX;
	for (size_t i = 0; i < sc->sessions.n; i++) {
		uint64_t some = watch_patience(sc->sessions.v[i]);
		least = some < least ? some : least;
	}
	return least;
}

static void add_why(struct scanner *sc, const struct session *s, const char *why)
{
	size_t at = strlen(sc->answer);
	snprintf(sc->answer + at, sizeof sc->answer - at, "%s (pid %d): not scanned: %s\n", s->name,
		 (int)s->process.pid, why);
	sc->missed = true;
}

/* Adds the line of a process that is about to end, which does not count as missed. */
static void add_ending(struct scanner *sc, const struct session *s)
{
	bool missed = sc->missed;
	add_why(sc, s, scan_state_words(MS_SCAN_ENDED));
	sc->missed = missed;
}

/* Wakes the watching thread. Call with sc->lock held. */
static void wake_watcher(struct scanner *sc)
{
	if (sc->tid)
		watch_wake(sc->tid);
}

/* Reports that the answer to --tell is complete. Call with sc->lock held. */
static void end_answer(struct scanner *sc)
{
	sc->answered = true;
	wake_event(sc->event);
}

/* Tells whether a thread of ms-record traces the process, as it does with programs found at an
 * exec. */
static bool is_traced(const struct session *s)
{
	char status[40], text[4096];
	ms_proc_text_at(s->process.folder, "status", text, sizeof text);
	uint64_t tracer = ms_proc_status_number(text, "\nTracerPid:\t", 0);
	snprintf(status, sizeof status, "/proc/self/task/%u", (unsigned)tracer);
	return tracer && access(status, F_OK) == 0;
}

bool scanner_ask(struct scanner *sc, const char *resident, bool kept)
{
	if (!sc->started || (!resident && sc->opt->wish == SCAN_NO) ||
	    (kept && sc->opt->retention == SCAN_NO))
		return false;
	pthread_mutex_lock(&sc->lock);
	sc->tells_kept = kept;
	snprintf(sc->label, sizeof sc->label, "%s", resident ? resident : "");
	sc->answer[0] = '\0';
	sc->scanned = sc->missed = false;
	for (size_t i = 0; i < sc->sessions.n; i++) {
		struct session *s = sc->sessions.v[i];
		if (__atomic_load_n(&s->scan->busy, __ATOMIC_ACQUIRE)) {
			add_ending(sc, s);
		} else if (resident && s->scan->moments + 2 >= MS_RESIDENT_MOMENTS_MAX) {
			add_why(sc, s,
				"its trace already has the maximum number of "
				"resident-memory measurements");
		} else if (sc->tree || (s->process.pid != sc->traced && is_traced(s))) {
			add_why(sc, s,
				"ms-record traces it with ptrace until it ends; to have "
				"it scanned, record it with ms-record -p");
		} else if (s->process.pid == sc->traced) {
			add_why(sc, s,
				"--leak-check=yes ptraces it: record with "
				"--leak-check=auto");
		} else if (__atomic_load_n(&s->mem->end_state, __ATOMIC_ACQUIRE) == MG_END_NONE &&
			   keep(s)) {
			queue(sc, s, resident ? SCAN_BY_TELL_RESIDENT : SCAN_BY_TELL);
			sc->awaited++;
		}
	}
	if (!sc->awaited)
		end_answer(sc);
	pthread_mutex_unlock(&sc->lock);
	return true;
}

void scanner_hurry(struct scanner *sc)
{
	uint64_t start = __atomic_load_n(&sc->start_ns, __ATOMIC_ACQUIRE);
	if (start)
		__atomic_store_n(&sc->until_ns, start + HURRY_NS, __ATOMIC_RELAXED);
}

const char *scanner_answer(struct scanner *sc)
{
	pthread_mutex_lock(&sc->lock);
	bool answered = sc->answered;
	sc->answered = false;
	pthread_mutex_unlock(&sc->lock);
	return answered ? sc->answer : NULL;
}

bool scanner_answered_all(const struct scanner *sc)
{
	return sc->scanned && !sc->missed;
}

/* Watches for processes that are held, also during scans. */
static void *watch(void *arg)
{
	struct scanner *sc = arg;
	pthread_mutex_lock(&sc->lock);
	sc->tid = (pid_t)syscall(SYS_gettid);
	for (size_t i = 0; i < sc->sessions.n; i++) /* includes the sessions added before this
						       thread ran */
		watch_begin(sc->sessions.v[i]->scan, sc->sessions.v[i], sc->tid);
	while (!sc->stop) {
		for (size_t i = 0; i < sc->sessions.n; i++)
			notice_one(sc, sc->sessions.v[i]);
		uint64_t ns = patience(sc);
		pthread_mutex_unlock(&sc->lock);
		watch_wait(ns);
		pthread_mutex_lock(&sc->lock);
	}
	sc->tid = 0;
	pthread_mutex_unlock(&sc->lock);
	return NULL;
}

/* Notes whether everything before the process was held is merged. A damaged session counts as
 * merged, because none of its later events will be merged. */
static void look_at_end(struct session *s, bool held)
{
	struct scan *q = s->scan;
	q->end_stamp = !held ? 0 : q->end_stamp ? q->end_stamp : live_stamp(s);
	bool known = held && (s->damaged || s->merged_to >= q->end_stamp);
	__atomic_store_n(&q->end_known, known, __ATOMIC_RELEASE);
}

/* Notes the moment for which the guest holds a thread, and lets that thread sleep. There is no scan if
 * the guest gave up waiting, or for a child of vfork, which shares its parent's memory. Call with
 * sc->lock held. */
static void take_moment(struct session *s)
{
	char label[sizeof s->scan->due_label];
	uint32_t number = s->moment_due & ~MG_MOMENT_EXIT, held = number;
	bool exits = number != s->moment_due;
	uint32_t to = is_vfork(s) ? 0 : is_filtered(s) ? number : number | MG_MOMENT_NAP;
	s->moment_due = 0;
	snprintf(label, sizeof label, "%s%s",
		 exits ? "exit" : "mark:", exits ? "" : s->moment_name);
	__atomic_compare_exchange_n(&s->mem->moment, &held, to, false, __ATOMIC_ACQ_REL,
				    __ATOMIC_RELAXED);
	if (held == number && to)
		set_due(s->scan, label, NULL, number);
	else
		scan_put_none(s, label, to ? MS_SCAN_TIME : MS_SCAN_THREADS);
}

void scan_look(struct session *s)
{
	struct scan *q = s->scan;
	struct scanner *sc = __atomic_load_n(&q->scanner, __ATOMIC_ACQUIRE);
	uint32_t end = __atomic_load_n(&s->mem->end_state, __ATOMIC_ACQUIRE);
	bool held = end >= MG_END_HELD && end <= MG_END_NAP;
	__atomic_store_n(&q->live_bytes, s->stats.live_bytes, __ATOMIC_RELAXED);
	__atomic_store_n(&q->live_blocks, s->stats.live_blocks, __ATOMIC_RELAXED);
	__atomic_store_n(&q->events, s->stats.events, __ATOMIC_RELAXED);
	__atomic_store_n(&q->failed, s->stats.failed, __ATOMIC_RELAXED);
	look_at_end(s, held);
	q->end_seen = end;
	scan_keep_look(s);
	held = held && !__atomic_load_n(&q->busy, __ATOMIC_ACQUIRE);
	if (!sc || (!held && !s->leak_mark_due && !s->moment_due))
		return;
	pthread_mutex_lock(&sc->lock);
	if (s->leak_mark_due)
		set_due(q, "mark", s->opt->leak_mark, 0);
	s->leak_mark_due = false;
	if (s->moment_due)
		take_moment(s);
	queue_due(sc, s);
	if (held && may_be_vfork(s))
		wake_watcher(sc); /* it may have to wait for a moment */
	else if (held)
		notice_one(sc, s);
	pthread_mutex_unlock(&sc->lock);
}

bool scan_is_held(const struct session *s)
{
	return __atomic_load_n(&s->mem->end_state, __ATOMIC_SEQ_CST) == MG_END_HELD &&
	       s->scan->end_seen != MG_END_HELD;
}

uint64_t scanner_ask_one(struct scanner *sc, struct session *s, const char *what, const char *value,
			 bool resident)
{
	uint64_t ticket = 0;
	if (!sc->started)
		return 0;
	pthread_mutex_lock(&sc->lock);
	if (!sc->tree && s->process.pid != sc->traced && !sc->stop) {
		struct scan *q = s->scan;
		set_due(q, what ?: value, what ? value : NULL, 0);
		q->due_resident = resident && !q->due_moment;
		ticket = q->asked;
		queue_due(sc, s);
	}
	pthread_mutex_unlock(&sc->lock);
	return ticket;
}

bool scanner_did_one(struct scanner *sc, const struct session *s, uint64_t ticket)
{
	pthread_mutex_lock(&sc->lock);
	bool did = s->scan->did >= ticket;
	pthread_mutex_unlock(&sc->lock);
	return did;
}

/* Runs the queued scans one after the other. */
static void *run(void *arg)
{
	struct scanner *sc = arg;
	pthread_mutex_lock(&sc->lock);
	while (!sc->stop || sc->queue.n) {
		if (!sc->queue.n) {
			pthread_cond_wait(&sc->work, &sc->lock);
			continue;
		}
		struct scan_order o = sc->queue.v[0];
		memmove(sc->queue.v, sc->queue.v + 1, --sc->queue.n * sizeof o);
		pthread_mutex_unlock(&sc->lock);
		scan_work_on(sc, o.session, o.asker);
		pthread_mutex_lock(&sc->lock);
		__atomic_store_n(&o.session->scan->busy, 0, __ATOMIC_RELEASE);
		if (o.asker == SCAN_BY_MARK || o.asker == SCAN_BY_RESIDENT)
			o.session->scan->did = o.session->scan->taken;
		if (o.asker != SCAN_BY_END)
			queue_due(sc, o.session);
		bool told = o.asker == SCAN_BY_TELL || o.asker == SCAN_BY_TELL_RESIDENT;
		if (told && !--sc->awaited)
			end_answer(sc);
		if (o.asker != SCAN_BY_END)
			wake_watcher(sc); /* the process may have reached its end meanwhile */
		wake_up(sc->drain);
	}
	pthread_mutex_unlock(&sc->lock);
	return NULL;
}

struct scanner *scanner_start(const struct scan_options *opt, struct wake *drain, int event)
{
	struct scanner *sc = ms_xcalloc(1, sizeof *sc);
	sc->opt = opt;
	sc->drain = drain;
	sc->event = event;
	pthread_mutex_init(&sc->lock, NULL);
	pthread_cond_init(&sc->work, NULL);
	if (opt->off)
		return sc;
	int e = pthread_create(&sc->thread, NULL, run, sc);
	sigset_t before;
	watch_block(&before);
	if (e == 0)
		e = pthread_create(&sc->watcher, NULL, watch, sc);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	sc->started = e == 0;
	errno = e;
	/* `sc` is not freed on failure: the scanning thread may exist and wait forever */
	return sc->started ? sc : NULL;
}

void scanner_add(struct scanner *sc, struct session *s)
{
	if (!sc->started)
		return;
	pthread_mutex_lock(&sc->lock);
	*MS_PUSH(&sc->sessions) = s;
	/* a traced process need not be held by the guest at its end */
	if (s->process.pid == sc->traced || sc->tree)
		scan_tell_guest(s, MG_END_OVER);
	__atomic_store_n(&s->scan->scanner, sc, __ATOMIC_RELEASE);
	if (sc->tid)
		watch_begin(s->scan, s, sc->tid);
	wake_watcher(sc);
	pthread_mutex_unlock(&sc->lock);
}

void scanner_drop(struct scanner *sc, struct session *s)
{
	if (!sc->started)
		return;
	pthread_mutex_lock(&sc->lock);
	watch_end(s->scan);
	for (size_t i = 0; i < sc->sessions.n; i++)
		if (sc->sessions.v[i] == s)
			sc->sessions.v[i--] = sc->sessions.v[--sc->sessions.n];
	pthread_mutex_unlock(&sc->lock);
}

void scanner_stop(struct scanner *sc)
{
	if (!sc)
		return;
	scanner_untrace(sc);
	if (!sc->started)
		return;
	pthread_mutex_lock(&sc->lock);
	sc->stop = true;
	wake_watcher(sc);
	pthread_cond_signal(&sc->work);
	pthread_mutex_unlock(&sc->lock);
	pthread_join(sc->watcher, NULL);
	pthread_join(sc->thread, NULL);
	scan_trace_free(sc->trace);
	sc->trace = NULL;
	sc->started = false;
	for (size_t i = 0; i < sc->sessions.n; i++)
		watch_end(sc->sessions.v[i]->scan);
	MS_FREE(sc->sessions.v, sc->queue.v);
	memset(&sc->sessions, 0, sizeof sc->sessions);
	memset(&sc->queue, 0, sizeof sc->queue);
}

void scanner_free(struct scanner *sc)
{
	free(sc);
}

void scanner_trace(struct scanner *sc, pid_t pid, struct scan_tree *tree)
{
	if (!sc->started || sc->opt->wish != SCAN_YES)
		return;
	sc->trace = scan_trace_start(sc, pid, tree);
	sc->traced = sc->trace ? pid : 0;
}

bool scanner_traces(const struct scanner *sc, pid_t pid)
{
	return pid == sc->traced;
}

void scanner_let_go(struct scanner *sc)
{
	scan_trace_quit(sc->trace);
	sc->traced = 0;
}

bool scanner_trace_tree(struct scanner *sc, pid_t pid, struct scan_tree *tree)
{
	sc->tree = true;
	sc->trace = scan_trace_start(sc, pid, tree);
	return sc->trace != NULL;
}

void scanner_untrace(struct scanner *sc)
{
	if (!sc->tree)
		return;
	scan_trace_free(sc->trace);
	sc->trace = NULL;
}
