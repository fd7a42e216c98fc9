/* SPDX-License-Identifier: MIT
 * A separate process, the helper, for work that must not be interrupted.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ms-record/base/clock.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/base/quiet.h"
#include "hijack_private.h"

#define HELP_NS UINT64_C(300000000000)
#define KILLED_NS UINT64_C(5000000000)
#define MEND_NS UINT64_C(5000000000)
#define LOOK_MS 100
#define RUN_US 20000
#define RUN_MOST_US 1000000

struct room {
	int done, result;
	struct guard_room guard;
	_Alignas(16) char shared[];
};

/* Writes a request to a kernel file; ignores failure, since it may not be permitted. Returns the
 * open descriptor, or -1. */
static int ask(const char *file, const void *value, size_t bytes)
{
	int fd = open(file, O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, value, bytes) < 0)
		errno = 0;
	return fd;
}

static void ask_for(const char *file, const char *value)
{
	descriptor_close(ask(file, value, strlen(value)));
}

static bool is_helper;

bool hijack_is_helper(void)
{
	return is_helper;
}

/* ---- the helper ---- */

/* Leaves the real-time class. Handles SIGXCPU, which the kernel sends after RUN_US of continuous
 * computing in that class. */
static void be_common(int sig)
{
	static const struct sched_param p;
	(void)sig;
	sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &p);
}

/* Enters a real-time class: otherwise each resumed thread could preempt the helper while other
 * threads are still stopped. The kernel limits it: after RUN_US it sends SIGXCPU, after RUN_MOST_US
 * it kills the helper, whose tracees then resume. */
static void be_first(void)
{
	const struct rlimit most = {RUN_US, RUN_MOST_US};
	const struct sched_param p = {.sched_priority = 1};
	const struct sigaction a = {.sa_handler = be_common, .sa_flags = SA_RESTART};
	sigset_t watch;
	sigemptyset(&watch);
	sigaddset(&watch, SIGXCPU);
	if (sigaction(SIGXCPU, &a, NULL) || pthread_sigmask(SIG_UNBLOCK, &watch, NULL) ||
	    setrlimit(RLIMIT_RTTIME, &most) ||
	    sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &p))
		errno = 0; /* not permitted: stay in the normal class */
}

/* Switches real-time scheduling and processor wake-up latency. Deep sleep states take longer to
 * leave than most of what the helper does; none is entered while the descriptor is open. */
void hijack_hurry(bool on)
{
	static bool hurries;
	static const int32_t no_us;
	static int awake = -1;
	if (!is_helper || on == hurries)
		return;
	hurries = on;
	if (on) {
		quiet_begin();
		awake = ask("/dev/cpu_dma_latency", &no_us, sizeof no_us);
		be_first();
		return;
	}
	be_common(0);
	descriptor_close(awake);
	quiet_end();
}

static _Noreturn void help(int (*f)(void *, void *), void *arg, struct room *r)
{
	is_helper = true;
	setsid();
	ask_for("/proc/self/oom_score_adj", "-1000");
	ask_for("/proc/self/autogroup", "-20"); /* the helper's own session has its own autogroup */
	guard_place(&r->guard);
	r->result = f(arg, r->shared);
	guard_dismiss();
	__atomic_store_n(&r->done, 1, __ATOMIC_RELEASE);
	_exit(0);
}

/* Continues the helper if it was stopped (perhaps with its guard), because its tracees would
 * stay stopped. */
static void go_on_if_stopped(pid_t pid)
{
	int folder = process_folder(pid);
	if (folder >= 0 && hijack_state(folder, pid) == 'T')
		kill(pid, SIGCONT);
	descriptor_close(folder);
}

/* Waits until the helper has ended, and kills it after HELP_NS: its own steps have deadlines, but
 * the kernel's work for it has none. */
static void await_end(pid_t pid)
{
	struct pollfd end = {(int)syscall(SYS_pidfd_open, pid, 0), POLLIN, 0};
	uint64_t until = clock_mono() + HELP_NS;
	bool killed = false;
	while (waitpid(pid, NULL, WNOHANG) == 0 && (!killed || clock_mono() < until)) {
		if (!killed && clock_mono() > until) {
			killed = !kill(pid, SIGKILL);
			until += KILLED_NS;
		}
		if (!poll(&end, 1, end.fd < 0 ? 1 : LOOK_MS))
			go_on_if_stopped(pid);
	}
	descriptor_close(end.fd);
}

static void await_guard(const struct room *r)
{
	uint64_t until = clock_mono() + MEND_NS;
	while (__atomic_load_n(&r->guard.mends, __ATOMIC_ACQUIRE) && clock_mono() < until)
		poll(NULL, 0, 1);
}

int hijack_helper(int (*f)(void *arg, void *shared), void *arg, void *shared, size_t bytes,
		  int *result)
{
	size_t all = sizeof(struct room) + bytes;
	struct room *r = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	sigset_t every, before;
	quiet_prepare();
	if (r == MAP_FAILED)
		return -1;
	memcpy(r->shared, shared, bytes);
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	pid_t pid = fork();
	int saved = errno;
	if (pid == 0)
		help(f, arg, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid > 0)
		await_end(pid);
	await_guard(r);
	bool done = __atomic_load_n(&r->done, __ATOMIC_ACQUIRE) != 0;
	if (done) {
		memcpy(shared, r->shared, bytes);
		*result = r->result;
	}
	bool ended = __atomic_load_n(&r->guard.ended, __ATOMIC_ACQUIRE);
	munmap(r, all);
	errno = pid < 0 ? saved : ended ? ETIMEDOUT : ECHILD;
	return done ? 0 : -1;
}
