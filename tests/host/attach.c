/* SPDX-License-Identifier: MIT
 * Processes to attach to. Each checks itself and says at SIGTERM what it found: "MODE ok COUNT"
 * with status 0, or what went wrong with status 1.
 *
 * Here:
 *  - churn THREADS: allocates without end, and looks whether contents stay
 *  - watch THREADS: churn, and one more thread that says for how long all stood still
 *  - spin THREADS: malloc and free, and nothing else
 *  - hog THREADS: computes
 *  - nap: sleeps for a millisecond, again and again; says by how much it came late at most
 *  - short THREADS: threads that begin, allocate and end
 *  - doze THREADS: threads that allocate when they wake up, which is all the time, and fork
 *  - breed THREADS: doze beside a thread that forks without end
 *  - fork: children that allocate and exit, by fork and by vfork
 *  - plug FILE: dlopen, a call, dlclose
 *
 * Who counts (attach_counts.c):
 *  - count THREADS N: at SIGUSR1 every thread makes N rounds of known calls; the sums are printed
 *  - tally FILE THREADS: from SIGUSR1 on, allocations and frees are counted in FILE
 *
 * Who stands where it is easy to do harm (attach_odd.c):
 *  - filter: a thread that may only sleep, by a seccomp filter that kills
 *  - trap: a handler that stays for a while where it interrupted free: at its second instruction,
 *    or wherever the recorder is then
 *  - storm THREADS: churn under a signal every 300 us, on an alternate stack
 *  - uring: churn beside a thread of the kernel's
 *  - close FILE: one thread closes all descriptors, another one opens FILE, which must not change
 *  - vfork: a child that has not run its program yet
 *  - share: churn; from SIGUSR1 on beside a process that has the same memory, by clone
 *  - moving: churn beside code that is made, moved and gone
 *  - spawn THREADS: programs are started without end
 */
#define _GNU_SOURCE
#include "attach_target.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

atomic_bool over;
atomic_ulong done, wrong;
const char *file_name;
static char first_wrong[200];

void fault(const char *what, long a, long b)
{
	if (!atomic_fetch_add(&wrong, 1))
		snprintf(first_wrong, sizeof first_wrong, "%s: %ld, %ld", what, a, b);
}

void nap(long ns)
{
	struct timespec t = {0, ns};
	nanosleep(&t, NULL);
}

/* ---- churn, spin, short ---- */

uint64_t next_random(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	return *x ^= *x << 17;
}

static void check(const unsigned char *p, size_t n, unsigned char c)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != c) {
			fault("a block changed", p[i], c);
			return;
		}
}

void churn_some(uint64_t *x, unsigned char **p, size_t *n, unsigned blocks, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		uint64_t r = next_random(x);
		unsigned i = (unsigned)(r % blocks);
		size_t want = 1 + (r >> 20) % 300;
		if (p[i])
			check(p[i], n[i], (unsigned char)i);
		if (p[i] && r & 1 << 16) {
			p[i] = realloc(p[i], want);
		} else {
			free(p[i]);
			p[i] = r & 1 << 17 ? calloc(1, want) : malloc(want);
		}
		n[i] = want;
		memset(p[i], (int)i, want);
	}
	atomic_fetch_add(&done, steps);
}

static void *churner(void *arg)
{
	uint64_t x = (uint64_t)arg + 88172645463325252u;
	unsigned char *p[64] = {0};
	size_t n[64] = {0};
	while (!over)
		churn_some(&x, p, n, 64, 1000);
	for (int i = 0; i < 64; i++)
		free(p[i]);
	return NULL;
}

/* ---- watch ---- */

static uint64_t still_ns, still_most_ns; /* when it should have come back, until it did */

static uint64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Returns how late the thread wakes from a nap, in ns. */
static uint64_t late_from(long nap_ns)
{
	uint64_t begin_ns = now_ns();
	nap(nap_ns);
	uint64_t late = now_ns() - begin_ns - (uint64_t)nap_ns;
	still_most_ns = late > still_most_ns ? late : still_most_ns;
	return late;
}

/* Ahead of all that merely computes, where that is permitted: then it comes late only when it is
 * kept from coming. */
static void *watcher(void *arg)
{
	enum { NAP_NS = 100000, USUAL_NS = 200000 };
	struct sched_param first = {.sched_priority = 5};
	(void)arg;
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	while (!over) {
		uint64_t late = late_from(NAP_NS);
		still_ns += late > USUAL_NS ? late : 0;
	}
	return NULL;
}

static void *sleeper(void *arg)
{
	(void)arg;
	while (!over)
		late_from(1000000);
	return NULL;
}

static void *hog(void *arg)
{
	(void)arg;
	while (!over)
		atomic_fetch_add_explicit(&done, 1, memory_order_relaxed);
	return NULL;
}

static void *spinner(void *arg)
{
	(void)arg;
	while (!over) {
		for (int i = 0; i < 1000; i++)
			free(keep(malloc(24)));
		atomic_fetch_add(&done, 1000);
	}
	return NULL;
}

static void *brief(void *arg)
{
	uint64_t x = (uint64_t)arg * 7919 + 1;
	unsigned char *p[8] = {0};
	size_t n[8] = {0};
	churn_some(&x, p, n, 8, 30);
	for (int i = 0; i < 8; i++)
		free(p[i]);
	return NULL;
}

static void *starter(void *arg)
{
	for (size_t i = (size_t)arg; !over; i += 1000) {
		pthread_t t;
		if (pthread_create(&t, NULL, brief, (void *)i))
			continue;
		pthread_join(t, NULL);
	}
	return NULL;
}

/* ---- fork ---- */

static void fork_child(void)
{
	int status = 0;
	pid_t pid = fork();
	if (!pid) {
		for (int i = 0; i < 100; i++)
			free(keep(malloc(100)));
		_exit(7);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
	    WEXITSTATUS(status) != 7)
		fault("a child", pid, pid < 0 ? errno : status);
}

static void *forker(void *arg)
{
	(void)arg;
	while (!over) {
		fork_child();
		int status = 0;
		pid_t pid = vfork();
		if (!pid) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(9);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
			fault("a program", pid, status);
		free(keep(malloc(40)));
		atomic_fetch_add(&done, 1);
	}
	return NULL;
}

/* ---- doze ---- */

static void *dozer(void *arg)
{
	uint64_t x = (uint64_t)arg + 88172645463325252u;
	unsigned char *p[64] = {0};
	size_t n[64] = {0};
	for (unsigned i = 1; !over; i++) {
		churn_some(&x, p, n, 64, 20);
		nap((long)(next_random(&x) % 100000));
		if (i % 64 == 0)
			fork_child();
	}
	return NULL;
}

/* Children whose memory takes long to copy, so that one is nearly always being made. */
static void *breeder(void *arg)
{
	static char large[32 << 20];
	(void)arg;
	memset(large, 1, sizeof large);
	while (!over)
		fork_child();
	return NULL;
}

/* ---- plug ---- */

static void *plugger(void *arg)
{
	(void)arg;
	while (!over) {
		void *h = dlopen(file_name, RTLD_NOW);
		void *(*f)(size_t) = h ? (void *(*)(size_t))dlsym(h, "plug_alloc") : NULL;
		if (!f) {
			fault("dlopen", 0, 0);
			return NULL;
		}
		for (int i = 0; i < 50; i++)
			free(keep(f(32)));
		dlclose(h);
		atomic_fetch_add(&done, 1);
	}
	return NULL;
}

/* ---- main ---- */

static void start(void *(*f)(void *), size_t n)
{
	for (size_t i = 0; i < n; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, f, (void *)i))
			abort();
		pthread_detach(t);
	}
}

static bool begin_mode(const char *mode, size_t threads)
{
	if (!strcmp(mode, "churn") || !strcmp(mode, "watch"))
		start(churner, threads);
	else if (!strcmp(mode, "spin"))
		start(spinner, threads);
	else if (!strcmp(mode, "doze") || !strcmp(mode, "breed"))
		start(dozer, threads);
	else if (!strcmp(mode, "hog"))
		start(hog, threads);
	else if (!strcmp(mode, "nap"))
		start(sleeper, 1);
	else if (!strcmp(mode, "short"))
		start(starter, threads);
	else if (!strcmp(mode, "fork"))
		start(forker, 1);
	else if (!strcmp(mode, "filter"))
		start(locked, 1);
	else if (!strcmp(mode, "plug"))
		start(plugger, 1);
	else if (!strcmp(mode, "trap"))
		start(stepper, 1);
	else if (!strcmp(mode, "storm"))
		start(stormy, threads);
	else if (!strcmp(mode, "uring") || !strcmp(mode, "share") || !strcmp(mode, "moving"))
		start(churner, 1);
	else if (!strcmp(mode, "spawn"))
		start(spawner, threads);
	else if (!strcmp(mode, "vfork"))
		start(waiter, 1);
	else if (strcmp(mode, "close") != 0)
		return false;
	if (!strcmp(mode, "close")) {
		start(opener, 1);
		start(closer, 1);
	}
	if (!strcmp(mode, "watch"))
		start(watcher, 1);
	if (!strcmp(mode, "breed"))
		start(breeder, 1);
	if (!strcmp(mode, "moving"))
		start(mover, 1);
	if (!strcmp(mode, "uring"))
		begin_uring();
	if (!strcmp(mode, "storm"))
		begin_storm();
	return true;
}

/* A child that goes on by itself, as a daemon's. Its number is printed. */
static void heir(size_t threads)
{
	char line[32];
	pid_t pid = fork();
	if (!pid) {
		wrong = done = 0;
		start(churner, threads);
		return;
	}
	int n = snprintf(line, sizeof line, "%d\n", (int)pid);
	if (pid < 0 || write(1, line, (size_t)n) != n)
		fault("fork", pid, errno);
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	size_t threads = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	sigset_t set;
	int sig;
	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGWINCH);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sigdelset(&set, SIGWINCH);
	size_t number = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	if (!strcmp(mode, "count") && threads <= THREADS_MOST)
		return count(threads, number);
	if (!strcmp(mode, "tally") && argc > 3 && number <= THREADS_MOST)
		return tally(argv[2], number);
	file_name = argc > 2 ? argv[2] : "";
	if (!begin_mode(mode, threads))
		return 2;
	sigwait(&set, &sig);
	if (sig == SIGUSR1 && !strcmp(mode, "share"))
		start(sharer, 1);
	else if (sig == SIGUSR1)
		heir(threads);
	if (sig == SIGUSR1)
		sigwait(&set, &sig);
	over = true;
	nap(50000000);
	if (!strcmp(mode, "watch") || !strcmp(mode, "nap"))
		printf("stood still for %lu us, at most %lu at a time\n",
		       (unsigned long)still_ns / 1000, (unsigned long)still_most_ns / 1000);
	if (wrong)
		printf("%s: %lu faults, the first: %s\n", mode, wrong, first_wrong);
	else
		printf("%s ok %lu\n", mode, done);
	fflush(stdout);
	_exit(wrong != 0);
}
