/* SPDX-License-Identifier: MIT
 * A separate process, the guard, that watches a process while it holds threads of another.
 *
 * Stopped threads resume when their tracer resumes them or ends. A tracer that is itself stopped,
 * or waits in the kernel, does neither; so the guard checks it again and again:
 *
 *   it is stopped (SIGSTOP)             it is continued; it may stop again when it holds no threads
 *   it sleeps past its deadline         it is killed: the kernel resumes its tracees
 *   it was killed halfway               its unfinished changes are repaired (attach_rewrite.c)
 *
 * A tracer that only waits for a processor is not killed: its end would need a processor too.
 *
 * The guard shares its tracer's memory, so that it sees the tracer's progress, and its
 * thread-local variables, such as errno: while the tracer lives, the guard only makes raw system
 * calls.
 */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hijack_private.h"
#include "ms-record/base/clock.h"
#include "ms-record/base/cpu.h"

#define STACK 131072u
#define LOOK_NS 50000000
#define HELPER_NS UINT64_C(1000000000) /* longest time between two steps of a helper */
#define READY_NS UINT64_C(1000000000)  /* time limit for the start of the guard */
#define LATE_LOOKS 2u                  /* late checks in a row before a process is killed */

struct guard {
	/* pid: the guard's; process, tid: the process and thread that it watches */
	pid_t pid, process, tid;
	uint32_t ready;    /* atomic: the guard's name and process group are set */
	uint32_t holds;    /* atomic: the watched thread holds stopped threads */
	uint64_t until_ns; /* atomic: deadline for resuming the threads; UINT64_MAX = none */
	void (*mend)(void *);
	void *arg;
	struct guard_room *room; /* NULL = the guard watches no helper */
	bool stays;              /* `holds` stays set until guard_dismiss */
	char path[48];           /* /proc file with the watched thread's state */
	_Alignas(16) char stack[STACK];
};

static __thread struct guard *own;
static struct guard_room *place;

/* ---- the guard ---- */

#define CALL(number, ...) cpu_syscall((number), (const uint64_t[6]){__VA_ARGS__})

static uint64_t now(void)
{
	struct timespec t = {0};
	CALL(SYS_clock_gettime, CLOCK_MONOTONIC, (uintptr_t)&t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Returns the state of the watched thread; 0 = gone. */
static char state_of(const struct guard *g)
{
	char text[512];
	long fd = CALL(SYS_openat, (uint64_t)AT_FDCWD, (uintptr_t)g->path, O_RDONLY | O_CLOEXEC);
	long n = fd < 0 ? -1 : CALL(SYS_read, (uint64_t)fd, (uintptr_t)text, sizeof text);
	if (fd >= 0)
		CALL(SYS_close, (uint64_t)fd);
	while (n > 2 && text[n - 1] != ')')
		n--;
	return n > 2 ? text[n + 1] : 0;
}

static void say(const char *text)
{
	size_t n = 0;
	while (text[n])
		n++;
	CALL(SYS_write, STDERR_FILENO, (uintptr_t)text, n);
}

/* Kills the watched process, because it did not resume its threads in time. */
static void end_it(struct guard *g)
{
	if (g->room)
		__atomic_store_n(&g->room->ended, 1, __ATOMIC_RELEASE);
	else
		say("ms-record: killed by its watchdog, because it hung while it held the process "
		    "stopped; the process continues\n");
	CALL(SYS_kill, (uint64_t)g->process, SIGKILL);
}

static void look(struct guard *g, unsigned *late)
{
	char state;
	if (!__atomic_load_n(&g->holds, __ATOMIC_ACQUIRE) || !(state = state_of(g)))
		return;
	if (state == 'T')
		CALL(SYS_kill, (uint64_t)g->process, SIGCONT);
	bool over = now() > __atomic_load_n(&g->until_ns, __ATOMIC_ACQUIRE);
	*late = over && (state == 'S' || state == 'D') ? *late + 1 : 0;
	if (*late > LATE_LOOKS)
		end_it(g);
}

static _Noreturn int stand_guard(void *arg)
{
	struct guard *g = arg;
	const struct timespec each = {0, LOOK_NS};
	const uint64_t hangup = UINT64_C(1) << (SIGHUP - 1);
	unsigned late = 0;
	/* Lets the guard survive a kill of all processes named ms-record and a stop of the process
	 * group. A session of its own would be worse: autogroup scheduling could delay the guard's
	 * start. */
	CALL(SYS_setpgid, 0, 0);
	CALL(SYS_prctl, PR_SET_NAME, (uintptr_t) "ms-guard");
	CALL(SYS_prctl, PR_SET_PDEATHSIG, SIGHUP);
	__atomic_store_n(&g->ready, 1, __ATOMIC_RELEASE);
	while (CALL(SYS_getppid, 0) == g->process) {
		look(g, &late);
		CALL(SYS_rt_sigtimedwait, (uintptr_t)&hangup, 0, (uintptr_t)&each, sizeof hangup);
	}
	if (g->mend && g->room) {
		g->mend(g->arg);
		__atomic_store_n(&g->room->mends, 0, __ATOMIC_RELEASE);
	}
	CALL(SYS_exit_group, 0);
	__builtin_unreachable();
}

/* ---- whom it looks after ---- */

static struct guard *make(void)
{
	sigset_t every, before;
	struct guard *g =
		mmap(NULL, sizeof *g, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (g == MAP_FAILED)
		return NULL;
	g->process = getpid();
	g->tid = (pid_t)syscall(SYS_gettid);
	g->room = hijack_is_helper() ? place : NULL;
	g->until_ns = UINT64_MAX;
	snprintf(g->path, sizeof g->path, "/proc/%d/task/%d/stat", (int)g->process, (int)g->tid);
	sigfillset(&every);
	pthread_sigmask(SIG_SETMASK, &every, &before);
	g->pid = clone(stand_guard, g->stack + STACK, CLONE_VM | CLONE_FILES, g);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	uint64_t until = clock_mono() + READY_NS;
	while (g->pid > 0 && !__atomic_load_n(&g->ready, __ATOMIC_ACQUIRE) && clock_mono() < until)
		usleep(20);
	if (g->pid > 0)
		return g;
	munmap(g, sizeof *g);
	return NULL;
}

void guard_place(struct guard_room *room)
{
	own = NULL;
	place = room;
}

void guard_dismiss(void)
{
	struct guard *g = own;
	if (!g)
		return;
	own = NULL;
	kill(g->pid, SIGKILL);
	waitpid(g->pid, NULL, __WALL);
	if (g->room)
		__atomic_store_n(&g->room->mends, 0, __ATOMIC_RELEASE);
	munmap(g, sizeof *g);
}

void hijack_guard(void (*mend)(void *), void *arg)
{
	if (!hijack_is_helper() || (own && own->mend))
		return;
	own = own ? own : make();
	if (!own)
		return;
	own->arg = arg;
	own->mend = mend;
	__atomic_store_n(&place->mends, 1, __ATOMIC_RELEASE);
}

void hijack_beat(void)
{
	if (own && own->room)
		__atomic_store_n(&own->until_ns, clock_mono() + HELPER_NS, __ATOMIC_RELEASE);
}

void hijack_holds(bool on, uint64_t until_ns)
{
	if (on && !own)
		own = make();
	if (!own || (!on && own->room))
		return; /* until a helper ends, it may hold threads that it did not stop */
	if (own->stays) {
		on = true;
		until_ns = UINT64_MAX;
	}
	__atomic_store_n(&own->until_ns, until_ns, __ATOMIC_RELEASE);
	__atomic_store_n(&own->holds, on, __ATOMIC_RELEASE);
	hijack_beat();
	if (!on)
		guard_dismiss();
}

void guard_stay(void)
{
	hijack_holds(true, UINT64_MAX);
	if (own)
		own->stays = true;
}
