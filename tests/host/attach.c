/* SPDX-License-Identifier: MIT
 * Processes to attach to. Each checks itself and says at SIGTERM what it found: "MODE ok COUNT"
 * with status 0, or what went wrong with status 1.
 *
 *  - count THREADS N: at SIGUSR1 every thread makes N rounds of known calls; the sums are printed
 *  - churn THREADS: allocates without end, and looks whether contents stay
 *  - watch THREADS: churn, and one more thread that says for how long all stood still
 *  - tally FILE THREADS: from SIGUSR1 on, allocations and frees are counted in FILE
 *  - spin: malloc and free, and nothing else
 *  - short THREADS: threads that begin, allocate and end
 *  - fork: children that allocate and exit, by fork and by vfork
 *  - plug FILE: dlopen, a call, dlclose
 *  - filter: a thread that may only sleep, by a seccomp filter that kills
 *  - trap: a handler that stays for a while where it interrupted free: at its second instruction,
 * or wherever the recorder is then
 *  - storm THREADS: churn under a signal every 300 us, on an alternate stack
 *  - uring: churn beside a thread of the kernel's
 *  - close FILE: one thread closes all descriptors, another one opens FILE, which must not change
 *  - vfork: a child that has not run its program yet
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define THREADS_MOST 256

static atomic_bool over;
static atomic_ulong done, wrong;
static char first_wrong[200];

static void fault(const char *what, long a, long b)
{
	if (!atomic_fetch_add(&wrong, 1))
		snprintf(first_wrong, sizeof first_wrong, "%s: %ld, %ld", what, a, b);
}

static void nap(long ns)
{
	struct timespec t = {0, ns};
	nanosleep(&t, NULL);
}

/* Keeps the compiler from leaving calls out. */
static inline void *keep(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

/* ---- count ---- */

struct sums {
	unsigned long allocations, frees, reallocs, failed, live_bytes, live_blocks;
};
static unsigned long rounds;
static pthread_barrier_t begin, end;
static struct sums sums[THREADS_MOST];
static char *kept[THREADS_MOST];

/* One of each call; 60 bytes stay. */
static void round_of(struct sums *s, char **list)
{
	void *p;
	size_t huge = SIZE_MAX / 2;
	free(keep(malloc(10)));
	free(keep(calloc(3, 7)));
	free(keep(memalign(64, 100)));
	free(keep(aligned_alloc(32, 64)));
	if (posix_memalign(&p, 128, 200))
		abort();
	free(keep(p));
	free(keep(valloc(50)));
	p = keep(realloc(NULL, 20));
	p = keep(realloc(p, 4000));
	p = keep(reallocarray(p, 3, 9));
	free(p);
	if (keep(malloc(huge)))
		abort();
	char *stay = keep(malloc(60));
	*(char **)(void *)stay = *list;
	*list = stay;
	free(NULL);
	s->allocations += 10;
	s->frees += 9;
	s->reallocs += 2;
	s->failed++;
	s->live_bytes += 60;
	s->live_blocks++;
}

static void *counter(void *arg)
{
	size_t i = (size_t)arg;
	pthread_barrier_wait(&begin);
	for (unsigned long n = 0; n < rounds; n++) {
		round_of(&sums[i], &kept[i]);
		if (n % 20 == 0)
			nap(100000);
	}
	pthread_barrier_wait(&end);
	return NULL;
}

static int count(size_t threads)
{
	pthread_t t[THREADS_MOST];
	struct sums all = {0};
	sigset_t set;
	int sig;
	static char line[300]; /* printf would allocate */
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGTERM);
	pthread_barrier_init(&begin, NULL, (unsigned)threads + 1);
	pthread_barrier_init(&end, NULL, (unsigned)threads + 1);
	for (size_t i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, counter, (void *)i);
	sigwait(&set, &sig);
	/* One event begins the session; of threads that began it together, one might come before.
	 */
	free(keep(malloc(1)));
	all.allocations = all.frees = 1;
	pthread_barrier_wait(&begin);
	pthread_barrier_wait(&end);
	for (size_t i = 0; i < threads; i++) {
		const struct sums *s = &sums[i];
		all.allocations += s->allocations;
		all.frees += s->frees;
		all.reallocs += s->reallocs;
		all.failed += s->failed;
		all.live_bytes += s->live_bytes;
		all.live_blocks += s->live_blocks;
	}
	int n = snprintf(line, sizeof line, "%lu %lu %lu %lu %lu %lu\n", all.allocations, all.frees,
			 all.reallocs, all.failed, all.live_bytes, all.live_blocks);
	if (write(1, line, (size_t)n) != n)
		return 1;
	sigwait(&set, &sig);
	return 0;
}

/* ---- tally ---- */

/* Of a thread; in a file, which is there when the process is not. */
struct tally {
	_Alignas(64) volatile uint64_t allocations;
	volatile uint64_t frees;
};
static struct tally *tallies;

/* A block that the thread frees some rounds later: a few are always live. */
static void *tallier(void *arg)
{
	enum { LIVE = 8 };
	struct tally *t = &tallies[(size_t)arg];
	void *p[LIVE] = {0};
	pthread_barrier_wait(&begin);
	for (unsigned i = 0;; i++) {
		void **at = &p[i % LIVE];
		if (*at) {
			free(*at);
			t->frees++;
		}
		*at = keep(malloc(40));
		t->allocations++;
		if (i % 20 == 0)
			nap(1000000);
	}
	return NULL;
}

static int tally(const char *file, size_t threads)
{
	size_t bytes = THREADS_MOST * sizeof *tallies;
	int fd = open(file, O_RDWR | O_CREAT | O_TRUNC, 0600), sig;
	sigset_t set;
	if (fd < 0 || ftruncate(fd, (off_t)bytes))
		return 9;
	tallies = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (tallies == MAP_FAILED)
		return 9;
	pthread_barrier_init(&begin, NULL, (unsigned)threads + 1);
	for (size_t i = 0; i < threads; i++) {
		pthread_t t;
		if (pthread_create(&t, NULL, tallier, (void *)i))
			return 9;
	}
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigwait(&set, &sig);
	pthread_barrier_wait(&begin);
	sigaddset(&set, SIGTERM);
	sigwait(&set, &sig);
	return 0;
}

/* ---- churn, spin, short ---- */

static uint64_t next(uint64_t *x)
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

static void churn_some(uint64_t *x, unsigned char **p, size_t *n, unsigned blocks, unsigned steps)
{
	for (unsigned k = 0; k < steps; k++) {
		uint64_t r = next(x);
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

/* Ahead of all that merely computes, where that is permitted: then it comes late only when it is
 * kept from coming. */
static void *watcher(void *arg)
{
	enum { NAP_NS = 100000, USUAL_NS = 200000 };
	struct sched_param first = {.sched_priority = 5};
	(void)arg;
	pthread_setschedparam(pthread_self(), SCHED_FIFO, &first);
	while (!over) {
		uint64_t begin_ns = now_ns();
		nap(NAP_NS);
		uint64_t late = now_ns() - begin_ns - NAP_NS;
		still_ns += late > USUAL_NS ? late : 0;
		still_most_ns = late > still_most_ns ? late : still_most_ns;
	}
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

static void *forker(void *arg)
{
	(void)arg;
	while (!over) {
		int status = 0;
		pid_t pid = fork();
		if (!pid) {
			for (int i = 0; i < 100; i++)
				free(keep(malloc(100)));
			_exit(7);
		}
		if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status) ||
		    WEXITSTATUS(status) != 7)
			fault("a child", pid, status);
		pid = vfork();
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

/* ---- plug ---- */

static const char *plug_file;

static void *plugger(void *arg)
{
	(void)arg;
	while (!over) {
		void *h = dlopen(plug_file, RTLD_NOW);
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

static void *locked(void *arg)
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

static void *stepper(void *arg)
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
		stay_at = 1 + (unsigned)(next(&x) % 300);
		unsigned long flags = __builtin_ia32_readeflags_u64();
		__builtin_ia32_writeeflags_u64(flags | FLAG_TRAP);
		give(p);
		__builtin_ia32_writeeflags_u64(flags);
		atomic_fetch_add(&done, 1);
		nap(1000000);
	}
	return NULL;
}

/* ---- storm ---- */

static void struck(int sig)
{
	(void)sig;
	nap(30000);
}

static void *stormy(void *arg)
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

static void begin_storm(void)
{
	struct sigaction a = {.sa_handler = struck, .sa_flags = SA_ONSTACK | SA_RESTART};
	struct itimerval each = {{0, 300}, {0, 300}};
	sigaction(SIGALRM, &a, NULL);
	setitimer(ITIMER_REAL, &each, NULL);
}

/* ---- uring, close ---- */

static void begin_uring(void)
{
	struct io_uring_params p = {.flags = IORING_SETUP_SQPOLL, .sq_thread_idle = 1};
	if (syscall(SYS_io_uring_setup, 4, &p) < 0)
		printf("no io_uring here\n");
}

static void *closer(void *arg)
{
	(void)arg;
	while (!over) {
		syscall(SYS_close_range, 3, ~0u, 0);
		nap(1000000);
		free(keep(malloc(30)));
	}
	return NULL;
}

static void *opener(void *arg)
{
	struct stat st;
	char text[512];
	(void)arg;
	memset(text, 'x', sizeof text);
	while (!over) {
		int fd = open(plug_file, O_RDWR | O_CREAT, 0600);
		if (fd >= 0 && pwrite(fd, text, sizeof text, 0) < 0)
			errno = 0; /* closed meanwhile */
		if (!stat(plug_file, &st) && st.st_size && st.st_size != sizeof text)
			fault("the file's size", (long)st.st_size, 0);
		atomic_fetch_add(&done, 1);
		free(keep(malloc(30)));
	}
	return NULL;
}

/* ---- vfork ---- */

static void *waiter(void *arg)
{
	char line[32];
	int status;
	(void)arg;
	pid_t pid = vfork();
	if (!pid) {
		int n = snprintf(line, sizeof line, "%d\n", (int)getpid());
		if (write(1, line, (size_t)n) == n)
			nap(900000000);
		_exit(7);
	}
	if (waitpid(pid, &status, 0) != pid || WEXITSTATUS(status) != 7)
		fault("a child of vfork", pid, status);
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
		start(spinner, 1);
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
	else if (!strcmp(mode, "uring"))
		start(churner, 1);
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
	rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
	if (!strcmp(mode, "count") && threads <= THREADS_MOST)
		return count(threads);
	if (!strcmp(mode, "tally") && argc > 3 && rounds <= THREADS_MOST)
		return tally(argv[2], rounds);
	plug_file = argc > 2 ? argv[2] : "";
	if (!begin_mode(mode, threads))
		return 2;
	sigwait(&set, &sig);
	if (sig == SIGUSR1)
		heir(threads);
	if (sig == SIGUSR1)
		sigwait(&set, &sig);
	over = true;
	nap(50000000);
	if (!strcmp(mode, "watch"))
		printf("stood still for %lu us, at most %lu at a time\n",
		       (unsigned long)still_ns / 1000, (unsigned long)still_most_ns / 1000);
	if (wrong)
		printf("%s: %lu faults, the first: %s\n", mode, wrong, first_wrong);
	else
		printf("%s ok %lu\n", mode, done);
	fflush(stdout);
	_exit(wrong != 0);
}
