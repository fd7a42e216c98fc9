/* SPDX-License-Identifier: MIT
 * Stops threads of a process for a short time and resumes them unchanged.
 *
 * A thread that is seized but not asked to stop keeps running or waiting: its system call is not
 * interrupted (hijack_sleep.c). The kernel detaches it when its tracer ends. Threads and processes
 * that it creates meanwhile are created stopped, and wait for the tracer's end too.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ms-record/base/clock.h"
#include "ms-record/base/cpu.h"
#include "ms-record/base/descriptor.h"
#include "hijack_private.h"
#include "libcommon/base/arena.h"
#include "libcommon/proc/proc.h"

#define STEP_US 30
#define ROUNDS_MAX 100
#define LATE_NS UINT64_C(60000000)
#define LATE_STEP_NS UINT64_C(5000000)
#define LATE_MOST_NS UINT64_C(20000000000)
#define CANDIDATES_MAX 64u
/* time in which a system call may return before a stop cuts it short */
#define CUT_NS UINT64_C(50000000)
#define BIRTHS (PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK)
#define RSEQ_TRIES 50

/* ---- which threads ---- */

bool hijack_text(int proc, pid_t tid, const char *file, char *text, size_t room)
{
	char name[48];
	snprintf(name, sizeof name, "task/%d/%s", (int)tid, file);
	return ms_proc_text_at(proc, name, text, room);
}

static bool stat_of(int proc, pid_t tid, struct ms_proc_stat *out)
{
	char text[2048];
	return hijack_text(proc, tid, "stat", text, sizeof text) && ms_proc_parse_stat(text, out);
}

char hijack_state(int proc, pid_t tid)
{
	struct ms_proc_stat st;
	return stat_of(proc, tid, &st) ? st.state : 0;
}

uint64_t hijack_status(int proc, pid_t tid, const char *label, int base)
{
	char text[4096];
	if (!hijack_text(proc, tid, "status", text, sizeof text))
		return 0;
	return base == 16 ? ms_proc_status_mask(text, label)
			  : ms_proc_status_number(text, label, 0);
}

/* Returns the state of a thread; 0 = not alive. A kernel thread of the process (io_uring worker)
 * does not count: it runs no code of the process. */
static char alive(int proc, pid_t tid)
{
	enum { IO_WORKER = 0x10 };
	struct ms_proc_stat st;
	if (!stat_of(proc, tid, &st) || st.state == 'Z' || st.state == 'X' ||
	    st.field[MS_STAT_FLAGS] & IO_WORKER)
		return 0;
	return st.state;
}

pid_t *hijack_tids(int proc, size_t *n)
{
	int fd = openat(proc, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	MS_ARRAY(pid_t) all = {0};
	*n = 0;
	if (!d) {
		descriptor_close(fd);
		return NULL;
	}
	for (struct dirent *e; (e = readdir(d));)
		if (atoi(e->d_name) > 0)
			*MS_PUSH(&all) = (pid_t)atoi(e->d_name);
	closedir(d);
	*n = all.n;
	errno = 0;
	return all.v;
}

bool hijack_filtered(int proc)
{
	size_t n;
	pid_t *tids = hijack_tids(proc, &n);
	bool filtered = !tids;
	for (size_t i = 0; i < n && !filtered; i++)
		filtered = hijack_status(proc, tids[i], "\nSeccomp:", 10);
	free(tids);
	return filtered;
}

size_t hijack_count(int proc, pid_t *any)
{
	size_t all, n = 0;
	pid_t *tids = hijack_tids(proc, &all);
	int why = errno;
	for (size_t i = 0; i < all; i++) {
		errno = 0;
		if (alive(proc, tids[i])) {
			*any = n++ ? *any : tids[i];
		} else if (errno == EMFILE || errno == ENFILE) {
			why = errno;
		}
	}
	free(tids);
	errno = why;
	return n;
}

/* Searches from *at: threads are in the order in which /proc lists them, so the next one is usually
 * there. */
bool hijack_has(const struct hijack_stop *s, pid_t tid, size_t *at)
{
	for (size_t i = 0; i < s->threads.n; i++) {
		size_t k = (*at + i) % s->threads.n;
		if (s->threads.v[k].tid == tid) {
			*at = k + 1;
			return true;
		}
	}
	return false;
}

/* ---- stopping ---- */

/* Seizes a thread, which keeps running until it is asked to stop. A child of a seized thread may
 * be traced by ms-record already. Returns 0, or -1 with errno set. */
static int seize(struct hijack_stop *s, int proc, pid_t tid)
{
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)(uintptr_t)(s->holds ? BIRTHS : 0)) &&
	    (errno != EPERM || !s->holds ||
	     hijack_status(proc, tid, "\nTracerPid:\t", 10) != (uint64_t)syscall(SYS_gettid))) {
		errno = errno == ENOENT ? ESRCH : errno;
		return -1;
	}
	*MS_PUSH(&s->threads) = (struct hijack_thread){.tid = tid, .waiting = true};
	return 0;
}

/* Notes the system call in which a thread waits, if its registers will not tell it. */
static void note_call(struct hijack_thread *t, int proc)
{
	t->waited = CPU_FORGETS_CALL && hijack_waits(proc, t);
	if (t->waited)
		t->before = t->regs;
}

/* Reads the registers of a thread that has stopped. */
static void read_regs(struct hijack_thread *t)
{
	t->gone = cpu_regs_get(t->tid, &t->regs) != 0;
	if (t->waited)
		cpu_regs_waited(&t->regs, &t->before);
}

static void ask(struct hijack_thread *t, int proc)
{
	note_call(t, proc);
	t->stop_ns = clock_mono();
	ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
}

/* Asks all seized threads to stop, except those asked already, and those that leave_asleep marked
 * as waiting in a system call. */
static void ask_all(struct hijack_stop *s, int proc)
{
	for (size_t i = 0; i < s->threads.n; i++)
		if (s->threads.v[i].waiting && !s->threads.v[i].stop_ns)
			ask(&s->threads.v[i], proc);
}

/* Marks threads that wait in a system call as asleep: they are not stopped. */
static void leave_asleep(struct hijack_stop *s, int proc)
{
	for (size_t i = 0; i < s->threads.n; i++) {
		struct hijack_thread *t = &s->threads.v[i];
		if (!t->waiting || t->stop_ns || !hijack_waits(proc, t))
			continue;
		t->asleep = true;
		t->waiting = false;
	}
}

/* Seizes new threads. Returns their number, or -1 with errno set. */
static int seize_new(struct hijack_stop *s, int proc)
{
	size_t all, at = 0;
	pid_t *tids = hijack_tids(proc, &all);
	int saved = errno, n = saved ? -1 : 0;
	for (size_t i = 0; i < all && n >= 0; i++) {
		if (hijack_has(s, tids[i], &at) || !alive(proc, tids[i]))
			continue;
		if (!seize(s, proc, tids[i])) {
			n++;
			continue;
		}
		saved = errno;
		if (saved != ESRCH && alive(proc, tids[i]))
			n = -1;
	}
	free(tids);
	errno = saved;
	return n;
}

/* Handles an event that waitpid reported of a thread. A signal about to be delivered is delivered
 * first: it may stop or end the thread, or start a handler. */
static void take_status(struct hijack_thread *t, pid_t r, int status)
{
	unsigned long new_child = 0;
	int event = status >> 16, sig = WSTOPSIG(status);
	t->gone = r < 0 || WIFEXITED(status) || WIFSIGNALED(status);
	if (!t->gone && (event == PTRACE_EVENT_CLONE || event == PTRACE_EVENT_FORK ||
			 event == PTRACE_EVENT_VFORK)) {
		ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &new_child);
		t->new_child = (pid_t)new_child;
	}
	t->waiting = !t->gone && !t->new_child && event != PTRACE_EVENT_STOP;
	if (t->waiting)
		ptrace(PTRACE_CONT, t->tid, NULL, (void *)(intptr_t)(event ? 0 : sig));
}

/* Waits until the thread has stopped. Returns 0, or -1 if the deadline has passed. */
static int await_one(struct hijack_thread *t, uint64_t deadline_ns)
{
	int status;
	while (t->waiting) {
		pid_t r = hijack_wait(t->tid, &status, deadline_ns);
		if (r == 0) {
			errno = ETIMEDOUT;
			return -1;
		}
		take_status(t, r, status);
	}
	if (!t->gone)
		read_regs(t);
	return 0;
}

/* Waits until all threads have stopped. Returns 0, or -1 if the deadline has passed. */
static int await(struct hijack_stop *s, uint64_t deadline_ns)
{
	for (size_t i = 0; i < s->threads.n; i++)
		if (s->threads.v[i].waiting && await_one(&s->threads.v[i], deadline_ns))
			return -1;
	return 0;
}

static int fail(struct hijack_stop *s, int proc, int why)
{
	hijack_resume(s, proc);
	errno = why;
	return -1;
}

static size_t stopped(const struct hijack_stop *s)
{
	size_t n = 0;
	for (size_t i = 0; i < s->threads.n; i++)
		n += !s->threads.v[i].gone && (s->holds || !s->threads.v[i].asleep);
	return n;
}

/* Stops all threads in rounds. The slow part, examining and seizing each thread, comes before the
 * first request to stop; later rounds handle only new threads. */
static int stop_rounds(struct hijack_stop *s, int proc, uint64_t patience_ns)
{
	int n = seize_new(s, proc);
	if (s->holds)
		leave_asleep(s, proc);
	hijack_holds(true, UINT64_MAX);
	hijack_hurry(true);
	s->begin_ns = clock_mono();
	uint64_t deadline_ns = s->begin_ns + patience_ns;
	for (int i = 0; i < ROUNDS_MAX && n > 0; i++) {
		ask_all(s, proc);
		if (await(s, deadline_ns)) {
			errno = ETIMEDOUT;
			return -1;
		}
		n = seize_new(s, proc);
		if (n > 0 && s->holds)
			leave_asleep(s, proc);
	}
	return n;
}

int hijack_stop_all(struct hijack_stop *s, int proc, bool hold, uint64_t patience_ns)
{
	*s = (struct hijack_stop){.holds = hold};
	hijack_wait_begin();
	int n = stop_rounds(s, proc, patience_ns), saved = errno;
	hijack_wait_end();
	errno = saved;
	if (n == 0 && stopped(s))
		return 0;
	return fail(s, proc, n < 0 ? errno : n ? ETIMEDOUT : ESRCH);
}

bool hijack_any_asleep(const struct hijack_stop *s)
{
	for (size_t i = 0; i < s->threads.n; i++)
		if (s->threads.v[i].asleep)
			return true;
	return false;
}

static void wake(struct hijack_thread *t)
{
	t->asleep = false;
	t->waiting = true;
}

/* Tells whether a thread that was not stopped still waits and has received no signal; if not, asks
 * it to stop. */
static bool still_waits(struct hijack_thread *t, int proc)
{
	int status;
	pid_t r = waitpid(t->tid, &status, __WALL | __WNOTHREAD | WNOHANG);
	if (!r && hijack_waits(proc, t))
		return true;
	wake(t);
	if (r)
		take_status(t, r, status);
	if (t->waiting)
		ask(t, proc);
	else if (!t->gone)
		read_regs(t);
	t->stop_ns = t->stop_ns ? t->stop_ns : clock_mono();
	return false;
}

int hijack_look(struct hijack_stop *s, int proc, uint64_t patience_ns)
{
	int rc = 0;
	bool all = true;
	for (size_t i = 0; i < s->threads.n; i++)
		if (s->threads.v[i].asleep && !still_waits(&s->threads.v[i], proc))
			all = false;
	if (all)
		return 0;
	hijack_wait_begin();
	rc = await(s, clock_mono() + patience_ns);
	hijack_wait_end();
	return rc;
}

/* ---- one thread ---- */

struct rseq_place {
	uint64_t at;
	uint32_t bytes, signature, flags, pad;
};

bool hijack_in_rseq(const struct hijack *h, const struct hijack_thread *t)
{
	struct rseq_place r;
	uint64_t section, parts[3];
	if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, t->tid, (void *)sizeof r, &r) <= 0 || !r.at ||
	    hijack_read(h, r.at + 8, &section, 8) || !section ||
	    hijack_read(h, section, parts, sizeof parts))
		return false;
	return t->regs.ip - parts[1] < parts[2];
}

/* Lets the stopped thread run for STEP_US and stops it again, at another instruction if it runs. */
static int stop_again(struct hijack_stop *s, int proc, uint64_t deadline_ns)
{
	struct hijack_thread *t = s->threads.v;
	t->waiting = true;
	ptrace(PTRACE_CONT, t->tid, NULL, NULL);
	usleep(STEP_US);
	note_call(t, proc);
	ptrace(PTRACE_INTERRUPT, t->tid, NULL, NULL);
	return await(s, deadline_ns);
}

/* Lists threads of the process in the order of how little they would notice a stop. */
struct candidates {
	struct hijack_thread v[CANDIDATES_MAX]; /* ordered by `trace` */
	size_t n;
};

static void add_candidate(struct candidates *c, int proc, pid_t tid)
{
	struct hijack_thread t = {.tid = tid};
	char state = alive(proc, tid);
	size_t i = c->n;
	if (!state || state == 'D')
		return;
	t.trace = state == 'R' ? HIJACK_RUNS : hijack_trace_of(proc, &t);
	for (; i && c->v[i - 1].trace > t.trace; i--)
		c->v[i] = c->v[i - 1];
	c->v[i] = t;
	c->n++;
}

static void find_candidates(struct candidates *c, int proc)
{
	size_t n;
	pid_t *tids = hijack_tids(proc, &n);
	c->n = 0;
	for (size_t i = 0; i < n && c->n < CANDIDATES_MAX; i++)
		add_candidate(c, proc, tids[i]);
	free(tids);
}

/* Finds candidates; waits up to CUT_NS while a stop would cut short the system calls of all of
 * them. */
static void await_candidates(struct candidates *c, int proc)
{
	uint64_t until = clock_mono() + CUT_NS;
	find_candidates(c, proc);
	while (c->n && c->v[0].trace == HIJACK_CUT_SHORT && clock_mono() < until) {
		usleep(1000);
		find_candidates(c, proc);
	}
}

/* Waits for a thread that did not stop in time, probably for want of a processor; gives up if it is
 * in an uninterruptible wait, which may never end. */
static bool stops_late(struct hijack_thread *t, int proc, uint64_t most)
{
	while (await_one(t, clock_mono() + LATE_NS))
		if (clock_mono() > most || hijack_state(proc, t->tid) == 'D')
			return false;
	return !t->gone;
}

/* Stops one thread outside restartable sequences. Returns 0, or -1 with errno set and the thread
 * resumed. */
static int stop_this(struct hijack_stop *s, const struct hijack *h, pid_t tid, uint64_t deadline_ns)
{
	if (seize(s, h->proc, tid))
		return -1;
	ask_all(s, h->proc);
	if (await(s, deadline_ns)) {
		hijack_hurry(false); /* no other thread is stopped, so let it have the processor */
		if (!stops_late(s->threads.v, h->proc, clock_mono() + LATE_MOST_NS))
			return fail(s, h->proc, ETIMEDOUT);
		s->threads.v[0].stop_ns = clock_mono();
		deadline_ns = s->threads.v[0].stop_ns + LATE_NS;
		hijack_hurry(true);
	}
	for (int i = 0; i < RSEQ_TRIES && stopped(s) && hijack_in_rseq(h, s->threads.v); i++)
		if (stop_again(s, h->proc, deadline_ns))
			return fail(s, h->proc, ETIMEDOUT);
	if (!stopped(s))
		return fail(s, h->proc, ESRCH);
	return hijack_in_rseq(h, s->threads.v) ? fail(s, h->proc, EBUSY) : 0;
}

int hijack_stop_one(struct hijack_stop *s, const struct hijack *h, uint64_t patience_ns)
{
	struct candidates c;
	await_candidates(&c, h->proc);
	int why = c.n ? ETIMEDOUT : ESRCH;
	uint64_t deadline_ns = clock_mono() + patience_ns;
	for (size_t i = 0; i < c.n && clock_mono() <= deadline_ns; i++) {
		hijack_holds(true, UINT64_MAX);
		hijack_hurry(true);
		uint64_t until = clock_mono() + patience_ns / 4;
		*s = (struct hijack_stop){.begin_ns = clock_mono()};
		if (!stop_this(s, h, c.v[i].tid, until < deadline_ns ? until : deadline_ns)) {
			s->cut_short = c.v[i].trace == HIJACK_CUT_SHORT;
			return 0;
		}
		why = errno;
	}
	hijack_hurry(false);
	hijack_holds(false, UINT64_MAX);
	errno = why;
	return -1;
}

void hijack_await_easy(int proc)
{
	struct candidates c;
	await_candidates(&c, proc);
}

struct hijack_thread *hijack_easiest(struct hijack_stop *s, int proc)
{
	struct hijack_thread *best = NULL;
	for (size_t i = 0; i < s->threads.n; i++) {
		struct hijack_thread *t = &s->threads.v[i];
		if (!t->asleep)
			continue;
		t->trace = hijack_trace_of(proc, t);
		best = best && best->trace <= t->trace ? best : t;
	}
	return best;
}

int hijack_wake(struct hijack_stop *s, int proc, struct hijack_thread *t, uint64_t patience_ns)
{
	s->cut_short += hijack_trace_of(proc, t) == HIJACK_CUT_SHORT;
	wake(t);
	ask(t, proc);
	hijack_wait_begin();
	int rc = await_one(t, clock_mono() + patience_ns);
	hijack_wait_end();
	return rc || t->gone ? -1 : 0;
}

/* ---- going on ---- */

static void release(struct hijack_stop *s, struct hijack_thread *t, int proc)
{
	hijack_beat();
	if (!t->signal && hijack_repair(&t->regs, proc, t->tid))
		cpu_regs_set(t->tid, &t->regs);
	uint64_t now = clock_mono();
	if (ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(intptr_t)t->signal))
		waitpid(t->tid, NULL, __WALL | __WNOTHREAD | WNOHANG);
	s->longest_ns = now - t->stop_ns > s->longest_ns ? now - t->stop_ns : s->longest_ns;
	t->gone = true;
}

/* Resumes each thread that did not stop in time as soon as it stops, because detaching it
 * earlier would interrupt its system call. Does not wait for uninterruptible threads. */
static void release_late(struct hijack_stop *s, int proc)
{
	uint64_t now = clock_mono(), most = now + LATE_MOST_NS, look = now + LATE_NS;
	for (bool any = true; any && now < most; now = clock_mono()) {
		any = false;
		for (size_t i = 0; i < s->threads.n; i++) {
			struct hijack_thread *t = &s->threads.v[i];
			if (!t->waiting)
				continue;
			if (await_one(t, any ? 0 : now + LATE_STEP_NS)) {
				t->waiting = now < look || hijack_state(proc, t->tid) != 'D';
				any |= t->waiting;
			} else if (!t->gone) {
				release(s, t, proc);
			}
		}
		look += now < look ? 0 : LATE_NS;
	}
}

void hijack_resume(struct hijack_stop *s, int proc)
{
	for (size_t i = 0; i < s->threads.n; i++) {
		struct hijack_thread *t = &s->threads.v[i];
		if (!t->gone && !t->waiting && !t->asleep)
			release(s, t, proc);
	}
	hijack_hurry(false);
	release_late(s, proc);
	s->resumed_ns = clock_mono();
	s->asleep = 0;
	for (size_t i = 0; i < s->threads.n; i++)
		s->asleep += s->threads.v[i].asleep;
	free(s->threads.v);
	memset(&s->threads, 0, sizeof s->threads);
	hijack_holds(false, UINT64_MAX);
}
