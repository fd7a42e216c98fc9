/* SPDX-License-Identifier: MIT
 * A process of its own for what must be brought to its end.
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
#define GUARD_STACK 131072u
#define RUN_US 20000
#define RUN_MOST_US 1000000

struct room {
	int done, result;
	int guarded; /* somebody has something to mend when the helper is killed */
	_Alignas(16) char shared[];
};

/* Where that is permitted. The descriptor, or -1. */
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

/* ---- the guard ---- */

static struct guard {
	pid_t pid, of; /* 0 = there is none; the helper */
	void (*mend)(void *);
	void *arg;
	struct room *room;
	_Alignas(16) char stack[GUARD_STACK];
} guard;

/* While the helper lives only system calls are made here that write to no variable of libc's: both
 * have the same. That is so even of errno. */
static int stand_guard(void *unused)
{
	sigset_t end;
	(void)unused;
	sigemptyset(&end);
	sigaddset(&end, SIGHUP);
	/* Who ends all that are called ms-record is not to end this one. */
	prctl(PR_SET_NAME, "ms-guard");
	prctl(PR_SET_PDEATHSIG, SIGHUP);
	while (getppid() == guard.of)
		sigwaitinfo(&end, NULL);
	guard.mend(guard.arg);
	__atomic_store_n(&guard.room->guarded, 0, __ATOMIC_RELEASE);
	_exit(0);
}

void hijack_guard(void (*mend)(void *), void *arg)
{
	if (!is_helper || guard.pid > 0)
		return;
	guard.of = getpid();
	guard.mend = mend;
	guard.arg = arg;
	__atomic_store_n(&guard.room->guarded, 1, __ATOMIC_RELEASE);
	/* With its memory: it sees how far the helper came. */
	guard.pid = clone(stand_guard, guard.stack + GUARD_STACK, CLONE_VM | CLONE_FILES, NULL);
	if (guard.pid < 0)
		__atomic_store_n(&guard.room->guarded, 0, __ATOMIC_RELEASE);
}

static void dismiss_guard(void)
{
	if (guard.pid <= 0)
		return;
	kill(guard.pid, SIGKILL);
	waitpid(guard.pid, NULL, __WALL);
	__atomic_store_n(&guard.room->guarded, 0, __ATOMIC_RELEASE);
}

/* ---- the helper ---- */

/* Signal handler: it has computed for RUN_US on end in a real-time class. */
static void be_common(int sig)
{
	static const struct sched_param p;
	(void)sig;
	sched_setscheduler(0, SCHED_OTHER | SCHED_RESET_ON_FORK, &p);
}

/* Without it each thread that goes on may have the others wait for its turn. The kernel watches:
 * what a defect could take from others is RUN_US; if that is not enough it is killed, and threads
 * go on by themselves. */
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
		errno = 0; /* that is not permitted */
}

/* A processor that sleeps deeply needs longer to wake up than we for most of what we do: as long as
 * that descriptor is open none does. */
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
	ask_for("/proc/self/autogroup", "-20"); /* a session of its own has a share of its own */
	guard.room = r;
	r->result = f(arg, r->shared);
	dismiss_guard();
	__atomic_store_n(&r->done, 1, __ATOMIC_RELEASE);
	_exit(0);
}

/* All that it does has a deadline of its own, but what the kernel does for it has none. */
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
		poll(&end, 1, end.fd < 0 ? 1 : 100);
	}
	descriptor_close(end.fd);
}

static void await_guard(const struct room *r)
{
	uint64_t until = clock_mono() + MEND_NS;
	while (__atomic_load_n(&r->guarded, __ATOMIC_ACQUIRE) && clock_mono() < until)
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
	munmap(r, all);
	errno = pid < 0 ? saved : ECHILD;
	return done ? 0 : -1;
}
