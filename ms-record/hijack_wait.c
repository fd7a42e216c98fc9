/* SPDX-License-Identifier: MIT
 * Waits for a thread to stop, but not for ever.
 *
 * waitpid has no time limit, and a look now and then costs a time slice each where all processors
 * are busy. So it waits in earnest, and a timer that sends a signal to this thread alone, again and
 * again, gets it out when the time is over.
 */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "hijack_private.h"

#define STEP_NS 5000000
#define LOOKS 3 /* before we sleep */

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static int wake_signal(void)
{
	return SIGRTMAX - 2;
}

static void woken(int sig)
{
	(void)sig;
}

static void install(void)
{
	struct sigaction a = {.sa_handler = woken}; /* no SA_RESTART */
	sigaction(wake_signal(), &a, NULL);
}

static bool start(timer_t *timer)
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
		if (clock_mono() > deadline_ns)
			return 0;
		if (!timer)
			usleep(20);
	}
	return r;
}

pid_t hijack_wait(pid_t tid, int *status, uint64_t deadline_ns)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	sigset_t set, before;
	timer_t timer;
	pid_t r = 0;
	for (int i = 0; i < LOOKS && r == 0; i++)
		r = wait_once(tid, status, WNOHANG);
	if (r)
		return r;
	pthread_once(&once, install);
	sigemptyset(&set);
	sigaddset(&set, wake_signal());
	pthread_sigmask(SIG_UNBLOCK, &set, &before);
	bool started = start(&timer);
	r = sleep_until(tid, status, deadline_ns, started);
	if (started)
		timer_delete(timer);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}
