/* SPDX-License-Identifier: MIT
 * Notices the end of a process.
 *
 * The thread that the guest holds at the end may make no system call (guest/preload/end.c), so it
 * cannot wake us; but it spins. A timer on the CPU clock of its process runs while it spins, and
 * costs nothing while the process is idle. Young processes are polled, because timers fire only at
 * kernel ticks, and so are processes without a timer. The draining thread, which checks all
 * processes in each round, also takes them (scan_look): a process that gets little time on a busy
 * processor may take long to use up the timer's CPU time.
 */
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "scan_work.h"
#include "ms-record/session/session.h"
#include "ms-record/session/session_options.h"

#define LEAST_NS UINT64_C(500000)
#define MOST_NS UINT64_C(5000000)
#define CPU_NS 2000000
#define YOUNG 32 /* a process is checked whenever its age has grown by 1/YOUNG */

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static int watch_signal(void)
{
	return SIGRTMAX - 1;
}

static void signal_set(sigset_t *set)
{
	sigemptyset(set);
	sigaddset(set, watch_signal());
}

void watch_block(sigset_t *before)
{
	sigset_t set;
	signal_set(&set);
	pthread_sigmask(SIG_BLOCK, &set, before);
}

static bool start_timer(struct scan *q, clockid_t clock, pid_t tid)
{
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = watch_signal()};
	struct itimerspec each = {{0, CPU_NS}, {0, CPU_NS}};
	e.sigev_notify_thread_id = tid;
	if (timer_create(clock, &e, &q->timer))
		return false;
	if (!timer_settime(q->timer, 0, &each, NULL))
		return true;
	int why = errno;
	timer_delete(q->timer);
	errno = why;
	return false;
}

void watch_begin(struct scan *q, const struct session *s, pid_t tid)
{
	clockid_t clock;
	if (s->opt->attached) /* an attached process is not held at its end */
		return;
	int e = s->process.pid > 0 ? clock_getcpuclockid(s->process.pid, &clock) : ESRCH;
	if (e == 0)
		e = start_timer(q, clock, tid) ? 0 : errno;
	q->watched = e == 0 ? WATCH_TIMER : e == ESRCH ? WATCH_NOT : WATCH_POLL;
}

void watch_end(struct scan *q)
{
	if (q->watched == WATCH_TIMER)
		timer_delete(q->timer);
	q->watched = WATCH_NOT;
}

uint64_t watch_patience(const struct session *s)
{
	uint64_t part = session_now(s) / YOUNG;
	if (s->scan->watched == WATCH_NOT ||
	    __atomic_load_n(&s->ending, __ATOMIC_ACQUIRE) != SESSION_RUNS)
		return UINT64_MAX;
	if (part < MOST_NS)
		return part < LEAST_NS ? LEAST_NS : part;
	return s->scan->watched == WATCH_TIMER ? UINT64_MAX : MOST_NS;
}

void watch_wait(uint64_t ns)
{
	static const struct timespec at_once;
	struct timespec most = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	sigset_t set;
	signal_set(&set);
	if (sigtimedwait(&set, NULL, ns == UINT64_MAX ? NULL : &most) < 0)
		return;
	while (sigtimedwait(&set, NULL, &at_once) > 0)
		continue;
}

void watch_wake(pid_t tid)
{
	syscall(SYS_tgkill, getpid(), tid, watch_signal());
}
