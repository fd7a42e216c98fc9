/* SPDX-License-Identifier: MIT
 * Threads in places where it would be easy to harm them: behind a filter, in a trap, under signals,
 * beside the kernel's own, without descriptors, in vfork, beside another process in their memory,
 * beside code that is made while the program runs.
 */
#define _GNU_SOURCE
#include "attach_target.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- filter ---- */

/* Allows what the thread does itself, and not restart_syscall. */
static void lock_up(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_nanosleep, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog p = {4, f};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p))
		fault("prctl", errno, 0);
}

void *locked(void *arg)
{
	(void)arg;
	free(keep(malloc(100))); /* its arena is there */
	lock_up();
	for (;;) {
		for (int i = 0; i < 100; i++)
			free(keep(malloc(50)));
		atomic_fetch_add(&done, 100);
		nap(20000000);
	}
	return NULL;
}

/* ---- trap ---- */

#ifdef __x86_64__
#define FLAG_TRAP 0x100
static __thread unsigned steps, stay_at;
static unsigned starts; /* instructions of free begin there, seen before anybody came */

static void stepped(int sig, siginfo_t *info, void *context)
{
	ucontext_t *u = context;
	uint64_t ip = (uint64_t)u->uc_mcontext.gregs[REG_RIP], entry = (uint64_t)(uintptr_t)free;
	(void)sig;
	bool second = ip > entry && ip < entry + 5;
	if (!done && ip - entry < 5)
		starts |= 1u << (ip - entry);
	if (info->si_code != TRAP_TRACE || (ip - entry < 5 && !(starts >> (ip - entry) & 1)))
		fault("in the middle of the jump", (long)(ip - entry), info->si_code);
	if (++steps != stay_at && !second)
		return;
	nap(second ? 10000000 : 3000000);
}

void *stepper(void *arg)
{
	uint64_t x = 4711;
	struct sigaction a = {.sa_sigaction = stepped, .sa_flags = SA_SIGINFO};
	void (*volatile give)(void *) = free;
	(void)arg;
	sigaction(SIGTRAP, &a, NULL);
	while (!over) {
		unsigned char *p = malloc(100);
		memset(p, 7, 100);
		steps = 0;
		stay_at = 1 + (unsigned)(next_random(&x) % 300);
		unsigned long flags = __builtin_ia32_readeflags_u64();
		__builtin_ia32_writeeflags_u64(flags | FLAG_TRAP);
		give(p);
		__builtin_ia32_writeeflags_u64(flags);
		atomic_fetch_add(&done, 1);
		nap(1000000);
	}
	return NULL;
}
#else /* no program steps itself there */
void *stepper(void *unused)
{
	(void)unused;
	while (!over) {
		atomic_fetch_add(&done, 1);
		nap(1000000);
	}
	return NULL;
}
#endif

/* ---- storm ---- */

static void struck(int sig)
{
	(void)sig;
	nap(30000);
}

void *stormy(void *arg)
{
	uint64_t x = (uint64_t)arg + 12345;
	unsigned char *p[64] = {0};
	size_t n[64] = {0};
	stack_t s = {.ss_sp = malloc(65536), .ss_size = 65536};
	sigaltstack(&s, NULL);
	while (!over)
		churn_some(&x, p, n, 64, 100);
	return NULL;
}

void begin_storm(void)
{
	struct sigaction a = {.sa_handler = struck, .sa_flags = SA_ONSTACK | SA_RESTART};
	struct itimerval each = {{0, 300}, {0, 300}};
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
}

/* ---- uring, close ---- */

void begin_uring(void)
{
	struct io_uring_params p = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1};
	if (syscall(SYS_io_uring_setup, 4, &p) < 0)
		printf("no io_uring here\n");
}

void *closer(void *arg)
{
	(void)arg;
	while (!over) {
		syscall(SYS_close_range, 3, ~0u, 0);
		nap(1000000);
		free(keep(malloc(30)));
	}
	return NULL;
}

void *opener(void *arg)
{
	struct stat st;
	char text[512];
	(void)arg;
	memset(text, 'x', sizeof text);
	while (!over) {
		int fd = open(file_name, O_RDWR | O_CREAT, 0600);
		if (fd >= 0 && pwrite(fd, text, sizeof text, 0) < 0)
			errno = 0; /* closed meanwhile */
		if (!stat(file_name, &st) && st.st_size && st.st_size != sizeof text)
			fault("the file's size", (long)st.st_size, 0);
		atomic_fetch_add(&done, 1);
		free(keep(malloc(30)));
	}
	return NULL;
}

/* ---- vfork ---- */

void *waiter(void *arg)
{
	char line[32];
	int status;
	(void)arg;
	pid_t pid = vfork();
	if (!pid) {
		int n = snprintf(line, sizeof line, "%d\n", (int)getpid());
		for (int i = write(1, line, (size_t)n) == n ? 0 : 3; i < 3; i++)
			nap(900000000);
		_exit(7);
	}
	if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
		fault("a child of vfork", pid, status);
	return NULL;
}

/* ---- share ---- */

static int share_some(void *arg)
{
	unsigned char *p[64] = {0};
	size_t n[64] = {0};
	uint64_t x = 4711;
	(void)arg;
	while (!over)
		churn_some(&x, p, n, 64, 100);
	return 7;
}

/* The child has the thread pointer of this thread, which does nothing meanwhile. */
void *sharer(void *arg)
{
	enum { STACK = 262144 };
	int status;
	char *stack = malloc(STACK);
	(void)arg;
	pid_t pid = clone(share_some, stack + STACK, CLONE_VM | SIGCHLD, NULL);
	if (waitpid(pid, &status, 0) != pid || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
		fault("a process with the same memory", pid, status);
	return NULL;
}

/* ---- moving ---- */

/* Maps and unmaps code that returns from a signal handler, as a compiler that is part of the
 * program may write it. It lies below all else, with gigabytes behind it: whoever looks for such
 * code comes here first. */
void *mover(void *arg)
{
	static const unsigned char code[16] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	const size_t bytes = (size_t)2 << 30, some = 65536;
	char *made = mmap((void *)0x10000000, bytes, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	(void)arg;
	if (made == MAP_FAILED)
		fault("mmap", errno, 0);
	while (made != MAP_FAILED && !over) {
		for (size_t i = 0; i < some; i += sizeof code)
			memcpy(made + i, code, sizeof code);
		nap(100000);
		memset(made, 0x0b, some);
		atomic_fetch_add(&done, 1);
	}
	return NULL;
}

/* ---- spawn ---- */

void *spawner(void *arg)
{
	extern char **environ;
	char *words[] = {"true", NULL};
	(void)arg;
	while (!over) {
		int status;
		pid_t pid;
		if (posix_spawn(&pid, "/bin/true", NULL, NULL, words, environ) ||
		    waitpid(pid, &status, 0) != pid || status)
			fault("a program", pid, status);
		free(keep(malloc(40)));
		atomic_fetch_add(&done, 1);
	}
	return NULL;
}
