/* SPDX-License-Identifier: MIT
 * How the end of a process is waited for: by a timer where there is one, else by the clock, and how
 * long. Timers are made up here; the signal is a real one.
 */
#include "ms-record/scan/scan_watch.c" /* it belongs to a tool, of which there is no library */

#include <string.h>

#include "tests/unit/held.h"
#include "noted.h"

#define CLOCK 77

static struct session session;
static struct session_options opt;
static struct scan scan;
static uint64_t age;
/* Errors, 0 = none; signals that have come. */
static int no_clock, no_timer, no_time;
static unsigned pending;

/* ---- the system ---- */

int clock_getcpuclockid(pid_t pid, clockid_t *clock)
{
	note("clock of %d", pid);
	*clock = CLOCK;
	return no_clock;
}

int timer_create(clockid_t clock, struct sigevent *e, timer_t *timer)
{
	bool good = clock == CLOCK && e->sigev_notify == SIGEV_THREAD_ID &&
		    e->sigev_signo == SIGRTMAX - 1;
	note("timer%s %d", good ? " for" : "?", e->sigev_notify_thread_id);
	*timer = &pending;
	errno = no_timer;
	return no_timer ? -1 : 0;
}

int timer_settime(timer_t timer, int flags, const struct itimerspec *each, struct itimerspec *was)
{
	bool good = timer == &pending && !flags && !was && !each->it_value.tv_sec &&
		    !each->it_interval.tv_sec &&
		    each->it_interval.tv_nsec == each->it_value.tv_nsec;
	note("each%s %ld", good ? "" : "?", each->it_value.tv_nsec);
	errno = no_time ? no_time : ENOENT;
	return no_time ? -1 : 0;
}

int timer_delete(timer_t timer)
{
	note("delete %d", timer == &pending);
	errno = EINVAL;
	return 0;
}

int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *most)
{
	bool good = !info && sigismember(set, SIGRTMAX - 1) && !sigismember(set, SIGRTMAX - 2);
	note("wait%s %ld, and %ld", good ? "" : "?", most ? (long)most->tv_sec : -1,
	     most ? most->tv_nsec : -1);
	return pending ? (int)pending-- : -1;
}

uint64_t session_now(const struct session *s)
{
	return s == &session ? age : 0;
}

/* ---- */

static void begin(void)
{
	opt.attached = false;
	scan = (struct scan){.busy = 0};
	session = (struct session){.opt = &opt, .scan = &scan, .process.pid = 5};
	no_clock = no_timer = no_time = 0;
	pending = 0;
	done[0] = '\0';
}

static void check_begin(void)
{
	static const struct {
		int no_clock, no_timer, no_time;
		const char *did;
		enum watched watched;
	} cases[] = {{0, 0, 0, "clock of 5, timer for 9, each 2000000", WATCH_TIMER},
		     {0, 0, EAGAIN, "clock of 5, timer for 9, each 2000000, delete 1", WATCH_POLL},
		     {0, 0, ESRCH, "clock of 5, timer for 9, each 2000000, delete 1", WATCH_NOT},
		     {0, EAGAIN, 0, "clock of 5, timer for 9", WATCH_POLL},
		     {0, ESRCH, 0, "clock of 5, timer for 9", WATCH_NOT},
		     {ENOSYS, 0, 0, "clock of 5", WATCH_POLL},
		     {ESRCH, 0, 0, "clock of 5", WATCH_NOT}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		begin();
		no_clock = cases[i].no_clock;
		no_timer = cases[i].no_timer;
		no_time = cases[i].no_time;
		watch_begin(&scan, &session, 9);
		did("begun", cases[i].did);
		is("watched", scan.watched, cases[i].watched);
		watch_end(&scan);
		did("ended", cases[i].watched == WATCH_TIMER ? "delete 1" : "");
		is("not any more", scan.watched, WATCH_NOT);
	}
	begin();
	opt.attached = true;
	watch_begin(&scan, &session, 9);
	is("attached", scan.watched, WATCH_NOT);
	begin();
	session.process.pid = 0;
	scan.watched = WATCH_POLL;
	watch_begin(&scan, &session, 9);
	is("it is gone", scan.watched, WATCH_NOT);
	did("nothing is asked for", "");
	session.process.pid = 1;
	watch_begin(&scan, &session, 9);
	is("the first of all", scan.watched, WATCH_TIMER);
}

static void check_patience(void)
{
	static const struct {
		uint64_t age, timer, poll;
	} cases[] = {{0, 500000, 500000},
		     {32 * 499999, 500000, 500000},
		     {32 * 500001, 500001, 500001},
		     {UINT64_C(32) * 4999999 + 31, 4999999, 4999999},
		     {UINT64_C(32) * 5000000, UINT64_MAX, 5000000},
		     {UINT64_MAX, UINT64_MAX, 5000000}};
	begin();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		age = cases[i].age;
		session.ending = SESSION_RUNS;
		scan.watched = WATCH_TIMER;
		is("by a timer", watch_patience(&session), cases[i].timer);
		scan.watched = WATCH_POLL;
		is("by the clock", watch_patience(&session), cases[i].poll);
		session.ending = SESSION_EXITED;
		is("it is over", watch_patience(&session), UINT64_MAX);
		session.ending = SESSION_RUNS;
		scan.watched = WATCH_NOT;
		is("not at all", watch_patience(&session), UINT64_MAX);
	}
}

static void check_wait(void)
{
	begin();
	watch_wait(UINT64_C(3000000004));
	did("so long", "wait 3, and 4");
	pending = 1;
	watch_wait(UINT64_MAX);
	did("for ever", "wait -1, and -1, wait 0, and 0");
	pending = 3;
	watch_wait(5);
	did("all that came", "wait 0, and 5, wait 0, and 0, wait 0, and 0, wait 0, and 0");
}

/* Fills the stack, so that a set of signals that is not cleared shows. */
static __attribute__((noinline)) void fill_stack(void)
{
	char all[4096];
	memset(all, 0xff, sizeof all);
	__asm__ volatile("" : : "r"(all) : "memory");
}

static void check_wake(void)
{
	sigset_t before, now;
	fill_stack();
	watch_block(&before);
	is("not blocked before", (uint64_t)sigismember(&before, SIGRTMAX - 1), 0);
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	for (int sig = SIGRTMIN; sig <= SIGRTMAX; sig++)
		is("blocked", (uint64_t)sigismember(&now, sig),
		   sig == SIGRTMAX - 1 || sigismember(&before, sig));
	watch_wake((pid_t)syscall(SYS_gettid));
	sigpending(&now);
	is("woken", (uint64_t)sigismember(&now, SIGRTMAX - 1), 1);
}

int main(void)
{
	check_begin();
	check_patience();
	check_wait();
	check_wake();
	is("all is given back", (uint64_t)held_blocks, 0);
	return failures != 0;
}
