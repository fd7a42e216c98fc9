/* SPDX-License-Identifier: MIT
 * Waits for a thread to stop, with a time limit.
 *
 * waitpid has no time limit, and polling costs a time slice each time if all processors are busy.
 * So this waits in waitpid, which a timer interrupts by a signal to this thread alone,
 * periodically until the deadline has passed.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ms-record/base/clock.h"
#include "hijack_private.h"

#define STEP_NS 5000000
#define LOOKS 3 /* number of calls of waitpid that do not wait, before one that sleeps */

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static int wake_signal(void)
{
	return SIGRTMAX - 2;
}

static void on_wake_signal(int sig)
{
	(void)sig;
}

static void install(void)
{
	/* without SA_RESTART: waitpid returns EINTR */
	struct sigaction a = {.sa_handler = on_wake_signal};
	sigaction(wake_signal(), &a, NULL);
}

static bool start_timer(timer_t *timer)
{
	struct sigevent e = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = wake_signal()};
	struct itimerspec each = {{0, STEP_NS}, {0, STEP_NS}};
	e.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	if (timer_create(CLOCK_MONOTONIC, &e, timer))
		return false;
	if (!timer_settime(*timer, 0, &each, NULL))
		return true;
	timer_delete(*timer);
	return false;
}

static pid_t wait_once(pid_t tid, int *status, int how)
{
	return waitpid(tid, status, __WALL | __WNOTHREAD | how);
}

static pid_t sleep_until(pid_t tid, int *status, uint64_t deadline_ns, bool timer)
{
	pid_t r;
	while ((r = wait_once(tid, status, timer ? 0 : WNOHANG)) == 0 ||
	       (r < 0 && errno == EINTR)) {
		hijack_beat();
		if (clock_mono() > deadline_ns)
			return 0;
		if (!timer)
			usleep(20);
	}
	return r;
}

static __thread struct {
	unsigned nested;
	bool started;
	timer_t timer;
	sigset_t signal, before;
} waits;

/* Blocks the timer's signal except while sleeping, so that it interrupts nothing else. */
void hijack_wait_begin(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	if (waits.nested++)
		return;
	pthread_once(&once, install);
	sigemptyset(&waits.signal);
	sigaddset(&waits.signal, wake_signal());
	pthread_sigmask(SIG_BLOCK, &waits.signal, &waits.before);
	waits.started = start_timer(&waits.timer);
}

void hijack_wait_end(void)
{
	if (--waits.nested)
		return;
	if (waits.started)
		timer_delete(waits.timer);
	pthread_sigmask(SIG_SETMASK, &waits.before, NULL);
}

pid_t hijack_wait(pid_t tid, int *status, uint64_t deadline_ns)
{
	pid_t r = 0;
	for (int i = 0; i < LOOKS && r == 0; i++)
		r = wait_once(tid, status, WNOHANG);
	if (r || clock_mono() > deadline_ns)
		return r;
	hijack_wait_begin();
	pthread_sigmask(SIG_UNBLOCK, &waits.signal, NULL);
	r = sleep_until(tid, status, deadline_ns, waits.started);
	pthread_sigmask(SIG_BLOCK, &waits.signal, NULL);
	hijack_wait_end();
	return r;
}
