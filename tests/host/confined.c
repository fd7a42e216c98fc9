/* SPDX-License-Identifier: MIT
 * A program that forbids itself most system calls, or the processor's clock, while it runs. Each
 * scene prints what it allocated, and ends the process from under its filter.
 *
 *   confined SCENE...   each in a process of its own, one after the other; the last one in this one
 */
#define _GNU_SOURCE
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ms-record/guest/layout.h"

#define BLOCKS 50000u /* several rings full */
#define ROUNDS 6000u  /* each a change of threads */
#define THREADS 3

static __attribute__((noinline)) void *keep(void *p)
{
	__asm__ volatile("" : "+r"(p)::"memory");
	return p;
}

static __attribute__((noinline)) void in_filter(unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		free(keep(malloc(24)));
}

/* ---- what is forbidden ----------------------------------------------------------------------- */

#define ALLOW(number)                                                                              \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (number), 0, 1),                                       \
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

/* All but what this program needs from here on. */
static struct sock_fprog *strict_filter(void)
{
	static struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(SYS_write),
		ALLOW(SYS_exit_group),
		ALLOW(SYS_brk),
		ALLOW(SYS_mmap),
		ALLOW(SYS_munmap),
		ALLOW(SYS_clone),
		ALLOW(SYS_set_robust_list),
		ALLOW(SYS_wait4),
		ALLOW(SYS_prctl),
		ALLOW(SYS_seccomp),
#if __GLIBC_PREREQ(2, 41)
		ALLOW(SYS_rt_sigprocmask), /* fork() blocks signals */
#endif
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)
	};
	static struct sock_fprog p = {sizeof f / sizeof *f, f};
	return &p;
}

static void check(long r, const char *what)
{
	if (!r)
		return;
	printf("%s: %ld\n", what, r);
	exit(1);
}

static void by_prctl(void)
{
	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) != -1, "probing");
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, strict_filter()), "filter");
}

static void by_seccomp(unsigned flags)
{
	check(syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, NULL) != -1, "probing");
	check(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, strict_filter()), "filter");
}

/* Points to the session that the guest shares with ms-record, found in our own memory. */
static const struct mg_session *recorded;

static void find_session(void)
{
	char line[512];
	unsigned long start;
	FILE *f = fopen("/proc/self/maps", "r");
	while (f && !recorded && fgets(line, sizeof line, f))
		if (strstr(line, "/memfd:memscope (deleted)") && sscanf(line, "%lx", &start) == 1)
			recorded = (const struct mg_session *)start;
	if (f)
		fclose(f);
}

/* Installs a filter as a program does that has no library for it. */
static void by_itself(void)
{
	long r = SYS_seccomp;
	check(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs");
	register const struct sock_fprog *filter __asm__("rdx") = strict_filter();
	__asm__ volatile("syscall"
			 : "+a"(r)
			 : "D"(SECCOMP_SET_MODE_FILTER), "S"(0), "r"(filter)
			 : "rcx", "r11", "memory");
	check(r, "filter");
}

static void until_seen(void)
{
	while (recorded && !__atomic_load_n(&recorded->seccomp_seen, __ATOMIC_ACQUIRE))
		__builtin_ia32_pause();
}

/* ---- scenes ---------------------------------------------------------------------------------- */

static void filter(void)
{
	by_prctl();
	in_filter(BLOCKS);
}

static void library(void)
{
	by_seccomp(0);
	in_filter(BLOCKS);
}

/* Nothing but read, write and the end of a thread; nor the clock. */
static void strict(void)
{
	check(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT), "strict");
	in_filter(BLOCKS);
	static const char said[] = "strict: done\n";
	check(write(1, said, sizeof said - 1) != sizeof said - 1, "write");
	syscall(SYS_exit, 7);
}

static atomic_uint turn, filtered, ready;
static void *_Atomic given;

/* Blocks go round, so that each is made by one thread and given back by the next. */
static void *round_robin(void *arg)
{
	unsigned me = (unsigned)(size_t)arg;
	for (unsigned n = me; n < ROUNDS; n += THREADS) {
		while (atomic_load(&turn) != n)
			sched_yield();
		free(given);
		given = n + 1 < ROUNDS ? keep(malloc(100)) : NULL;
		if (!me && n >= ROUNDS / 3 && !atomic_exchange(&filtered, 1))
			check(prctl(PR_SET_TSC, PR_TSC_SIGSEGV), "clock");
		atomic_store(&turn, n + 1);
	}
	return NULL;
}

static void threads(void *(*body)(void *))
{
	pthread_t t[THREADS];
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, body, (void *)i);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void clocks(void)
{
	threads(round_robin);
}

/* Threads that wait for room in their rings when a filter comes down on all of them. */
static void *busy(void *arg)
{
	(void)arg;
	for (unsigned i = 0; i < BLOCKS * 2; i++) {
		free(keep(malloc(24)));
		if (i == BLOCKS / 2)
			atomic_fetch_add(&ready, 1);
	}
	atomic_fetch_add(&turn, 1);
	for (;;)
		__builtin_ia32_pause();
	return NULL;
}

static void all(void)
{
	pthread_t t;
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&t, NULL, busy, NULL);
	while (atomic_load(&ready) < THREADS)
		__builtin_ia32_pause();
	by_seccomp(SECCOMP_FILTER_FLAG_TSYNC);
	in_filter(BLOCKS);
	while (atomic_load(&turn) < THREADS)
		__builtin_ia32_pause();
}

/* A child forks while it is under a filter of its own; its parent goes on without. */
static void child(int how)
{
	int status;
	pid_t c = how == 2 ? (pid_t)syscall(SYS_clone, 17, 0, 0, 0, 0) : fork();
	if (!c) {
		if (how)
			by_prctl();
		in_filter(BLOCKS / 2);
		c = fork();
		if (!c) {
			in_filter(BLOCKS / 2);
			_exit(3);
		}
		check(waitpid(c, &status, 0) != c || status != 3 << 8, "grandchild");
		_exit(4);
	}
	check(waitpid(c, &status, 0) != c || status != 4 << 8, "child");
	in_filter(BLOCKS / 2);
}

static void forks(void)
{
	child(1);
	child(2);
	by_prctl();
	child(0);
}

/* Children that forbid themselves the clock: before their first event, and their own children. */
static void blind(void)
{
	int status;
	pid_t c = fork();
	if (!c) {
		check(prctl(PR_SET_TSC, PR_TSC_SIGSEGV), "clock");
		c = fork();
		in_filter(BLOCKS / 2);
		if (c) {
			in_filter(BLOCKS / 2);
			check(waitpid(c, &status, 0) != c || status != 5 << 8, "grandchild");
		}
		_exit(c ? 6 : 5);
	}
	check(waitpid(c, &status, 0) != c || status != 6 << 8, "child");
	in_filter(BLOCKS);
}

/* A process that somebody attaches to waits for the jump. */
static void until_attached(unsigned n)
{
	const volatile unsigned char *entry = (const volatile unsigned char *)malloc;
	while (*entry != 0xe9) {
		in_filter(1);
		usleep(1000);
	}
	in_filter(n);
}

/* Forbids itself the clock while it is recorded. */
static void late(void)
{
	until_attached(BLOCKS);
	check(prctl(PR_SET_TSC, PR_TSC_SIGSEGV), "clock");
	in_filter(BLOCKS);
	check(syscall(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE), "clock");
}

/* Forbids itself the clock before it is recorded. */
static void early(void)
{
	check(prctl(PR_SET_TSC, PR_TSC_SIGSEGV), "clock");
	until_attached(BLOCKS);
	check(prctl(PR_SET_TSC, PR_TSC_ENABLE), "clock");
}

/* First its address space is limited, so that what is mapped for the recorder shrinks; then a
 * filter. */
static void limited(void)
{
	const struct rlimit most = {200 << 20, 200 << 20};
	check(setrlimit(RLIMIT_AS, &most), "limit");
	in_filter(BLOCKS);
	by_prctl();
	in_filter(BLOCKS);
	child(0);
}

static void raw(void)
{
	find_session();
	by_itself();
	until_seen();
	in_filter(BLOCKS);
}

/* Ends before ms-record can know of the filter. */
static void unseen(void)
{
	by_itself();
}

static void leak(void)
{
	by_seccomp(0);
	for (int i = 0; i < 100; i++)
		keep(malloc(1000));
	in_filter(BLOCKS);
}

static const struct {
	const char *name;
	void (*play)(void);
	int status;
} scenes[] = {{"filter", filter, 0},  {"library", library, 0}, {"strict", strict, 7},
	      {"clocks", clocks, 0},  {"all", all, 0},         {"forks", forks, 0},
	      {"blind", blind, 0},    {"raw", raw, 0},         {"late", late, 0},
	      {"unseen", unseen, 0},  {"early", early, 0},     {"leak", leak, 0},
	      {"limited", limited, 0}};

static void play(const char *name)
{
	for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
		if (!strcmp(scenes[i].name, name)) {
			scenes[i].play();
			printf("%s: done\n", name);
			return;
		}
	printf("no scene '%s'\n", name);
	exit(2);
}

int main(int argc, char **argv)
{
	static char buffer[512];
	setvbuf(stdout, buffer, _IOLBF, sizeof buffer);
	printf("begins\n"); /* whatever needs it has asked the kernel for */
	in_filter(1);
	for (int i = 1; i + 1 < argc; i++) {
		int status = 0;
		pid_t c = fork();
		if (!c) {
			play(argv[i]);
			exit(0);
		}
		waitpid(c, &status, 0);
		printf("%s: status %d\n", argv[i], status);
	}
	if (argc > 1)
		play(argv[argc - 1]);
	return 0;
}
