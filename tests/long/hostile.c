/* SPDX-License-Identifier: MIT
 * Programs that do what is hard on a recorder. Each scene prints what must be the same with and without one.
 *
 *   hostile SCENE   HOSTILE_SELF: the folder of this program and its libraries
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static void *keep(void *p)
{
	__asm__ volatile("" : "+r"(p)::"memory");
	return p;
}

static void churn(unsigned n)
{
	void *v[64] = {0};
	for (unsigned i = 0; i < n; i++) {
		free(v[i % 64]);
		v[i % 64] = keep(malloc(i % 700 + 1));
	}
	for (unsigned i = 0; i < 64; i++)
		free(v[i]);
}

static void check(bool good, const char *what)
{
	if (good)
		return;
	printf("wrong: %s\n", what);
	fflush(stdout);
	_exit(9);
}

static int child_status(pid_t c)
{
	int status = -1;
	while (waitpid(c, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* ---- libraries ---- */

static void *library(const char *name, int flags, bool apart)
{
	char path[4096];
	snprintf(path, sizeof path, "%s/%s", getenv("HOSTILE_SELF"), name);
	void *h = apart ? dlmopen(LM_ID_NEWLM, path, flags) : dlopen(path, flags);
	if (!h)
		printf("%s\n", dlerror());
	return h;
}

static void call(void *h)
{
	check(h, "a library");
	int (*work)(int) = (int (*)(int))dlsym(h, "work");
	check(work, "work");
	printf("%d\n", work(1000));
}

static void deepbind(void)
{
	for (int i = 0; i < 3; i++) {
		void *h = library("hostile_own.so", RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND, false);
		call(h);
		dlclose(h);
	}
}

static void namespaces(void)
{
	void *h[3];
	for (int i = 0; i < 3; i++)
		call(h[i] = library("hostile_lib.so", RTLD_NOW | RTLD_LOCAL, true));
	for (int i = 0; i < 3; i++)
		dlclose(h[i]);
	churn(1000);
}

/* Libraries that want static TLS, until there is no more: some are refused with and without. */
static void static_tls(void)
{
	call(library("hostile_tls.so", RTLD_NOW, false));
}

static int one(void)
{
	return 1;
}

static int (*resolve(void))(void)
{
	return one;
}

static int chosen(void) __attribute__((ifunc("resolve")));

static void ifunc(void)
{
	printf("%d\n", chosen());
	call(library("hostile_lib.so", RTLD_NOW, false));
	churn(1000);
}

/* ---- threads ---- */

static void *small_thread(void *arg)
{
	churn(50);
	return arg;
}

static void small_stacks(void)
{
	pthread_attr_t a;
	pthread_t t[8];
	pthread_attr_init(&a);
	check(!pthread_attr_setstacksize(&a, 16384), "16 KB");
	for (int i = 0; i < 50; i++) {
		for (int k = 0; k < 8; k++)
			check(!pthread_create(&t[k], &a, small_thread, NULL), "thread");
		for (int k = 0; k < 8; k++)
			pthread_join(t[k], NULL);
	}
}

static atomic_bool over;
static atomic_ulong handled;

static void on_signal(int sig)
{
	int e = errno;
	char *p = keep(malloc(40));
	check(p, "malloc in a handler");
	free(p);
	atomic_fetch_add(&handled, 1);
	if (sig == SIGUSR1 && atomic_load(&handled) % 3 == 0)
		raise(SIGUSR2);
	errno = e;
}

/* Only while the thread computes: glibc's malloc is not to be entered twice. */
static void storm(int us, int flags)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART | flags};
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGUSR2, &sa, NULL);
	sigaction(SIGALRM, &sa, NULL);
	struct itimerval every = {{0, us}, {0, us}};
	sigset_t all, none;
	sigfillset(&all);
	sigemptyset(&none);
	setitimer(ITIMER_REAL, &every, NULL);
	for (unsigned i = 0; i < 3000; i++) {
		sigprocmask(SIG_SETMASK, &all, NULL);
		churn(10);
		sigprocmask(SIG_SETMASK, &none, NULL);
		raise(SIGUSR1);
		for (volatile int k = 0; k < 500; k++)
			;
	}
	setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
	check(atomic_load(&handled) >= 4000, "signals");
}

static void signals(void)
{
	storm(100, SA_NODEFER);
}

static void signals_deferred(void)
{
	storm(100, 0);
}

static void signals_faster(void)
{
	storm(50, SA_NODEFER);
}

static void signals_deferred_faster(void)
{
	storm(50, 0);
}

/* A storm whose pace is that of the program, whatever the machine's: each instruction of an
 * allocation traps, and one of STEPS traps allocates, which is what takes so long at first. */
#ifdef __x86_64__
#define STEPS 6000
#define TRAP_FLAG "0x100"
static volatile unsigned steps, handlers;

static void allocate_in_steps(void)
{
	__asm__ volatile("pushf; orq $" TRAP_FLAG ", (%%rsp); popf" ::: "memory", "cc");
	free(keep(malloc(40)));
	__asm__ volatile("pushf; andq $~" TRAP_FLAG ", (%%rsp); popf" ::: "memory", "cc");
}

static void on_step(int sig)
{
	int e = errno;
	(void)sig;
	steps = steps + 1;
	if (steps % STEPS == 0) {
		handlers = handlers + 1;
		check(handlers <= 16, "handlers in handlers");
		allocate_in_steps();
		handlers = handlers - 1;
	}
	errno = e;
}

static void stepped(void)
{
	struct sigaction sa = {.sa_handler = on_step, .sa_flags = SA_NODEFER};
	sigaction(SIGTRAP, &sa, NULL);
	free(keep(malloc(40)));
	steps = STEPS - 200; /* the first is in an allocation that is not the first */
	for (int i = 0; i < 3; i++)
		allocate_in_steps();
}
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void *forker(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10; i++) {
		pthread_mutex_lock(&lock);
		pid_t c = fork();
		if (!c) {
			churn(200);
			_exit(4);
		}
		check(child_status(c) == 4 << 8, "a child");
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void *churner(void *arg)
{
	while (!atomic_load(&over))
		churn(100);
	return arg;
}

static void forks(void)
{
	pthread_t t[4];
	for (int i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, i < 2 ? forker : churner, NULL);
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	atomic_store(&over, true);
	pthread_join(t[2], NULL);
	pthread_join(t[3], NULL);
}

/* ---- the kernel ---- */

static void uring(void)
{
	struct io_uring_params p = {0};
	long fd = syscall(SYS_io_uring_setup, 8, &p);
	if (fd < 0) {
		printf("refused: %s\n", strerror(errno));
		churn(1000);
		return;
	}
	size_t n = p.sq_off.array + p.sq_entries * sizeof(unsigned);
	char *sq = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, (int)fd,
			IORING_OFF_SQ_RING);
	struct io_uring_sqe *e = mmap(NULL, p.sq_entries * sizeof *e, PROT_READ | PROT_WRITE,
				      MAP_SHARED | MAP_POPULATE, (int)fd, IORING_OFF_SQES);
	check(sq != MAP_FAILED && (void *)e != MAP_FAILED, "rings");
	for (unsigned i = 0; i < 1000; i++) {
		e[0] = (struct io_uring_sqe){.opcode = IORING_OP_NOP, .user_data = i};
		*(unsigned *)(sq + p.sq_off.array) = 0;
		unsigned *tail = (unsigned *)(sq + p.sq_off.tail),
			 *mask = (unsigned *)(sq + p.sq_off.ring_mask);
		((unsigned *)(sq + p.sq_off.array))[*tail & *mask] = 0;
		__atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
		churn(10);
		check(syscall(SYS_io_uring_enter, fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) == 1,
		      "enter");
		*(unsigned *)(sq + p.cq_off.head) += 1;
	}
	close((int)fd);
}

/* glibc has registered its own: the same answer, and the thread's number stays right. */
static void restartable(void)
{
	static struct {
		unsigned v[8];
	} mine __attribute__((aligned(32)));
	printf("%ld\n", syscall(SYS_rseq, &mine, 32, 0, 0x53053053));
	printf("%d\n", errno);
	for (int i = 0; i < 1000; i++) {
		churn(10);
		check(sched_getcpu() >= 0, "processor");
	}
}

static void close_all(void)
{
	closefrom(3);
	churn(20000);
	int fd = open("/dev/null", O_RDONLY);
	printf("%d\n", fd);
	check(fd == 3, "the first descriptor");
}

static void daemonize(void)
{
	int fds[2];
	char c = 0;
	check(!pipe(fds), "pipe");
	fflush(stdout);
	pid_t p = fork();
	if (!p) {
		check(!daemon(0, 0), "daemon");
		churn(5000);
		_exit(write(fds[1], "x", 1) != 1);
	}
	close(fds[1]);
	check(child_status(p) == 0, "the first child");
	printf("%zd %c\n", read(fds[0], &c, 1), c);
}

static void limit(int what, rlim_t most)
{
	struct rlimit r = {most, most};
	check(!setrlimit(what, &r), "limit");
}

static void tiny_limits(void)
{
	limit(RLIMIT_FSIZE, 0);
	limit(RLIMIT_MEMLOCK, 0);
	limit(RLIMIT_STACK, 65536);
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");
	check(f && fscanf(f, "%lu", &pages) == 1, "statm");
	fclose(f);
	limit(RLIMIT_NOFILE, 3);
	limit(RLIMIT_AS, pages * 4096 + (1 << 20));
	for (int i = 0; i < 1000; i++) {
		void *p = keep(malloc(100));
		check(p != NULL || i > 100, "a little memory");
	}
	check(!keep(malloc(64 << 20)), "64 MB");
	churn(100);
}

static void huge_limits(void)
{
	struct rlimit r;
	check(!getrlimit(RLIMIT_NOFILE, &r), "getrlimit");
	r.rlim_cur = r.rlim_max;
	check(!setrlimit(RLIMIT_NOFILE, &r), "setrlimit");
	limit(RLIMIT_STACK, RLIM_INFINITY);
	pid_t c = fork();
	if (!c) {
		churn(1000);
		execl("/proc/self/exe", "hostile", "churn", (char *)NULL);
		_exit(1);
	}
	check(child_status(c) == 3 << 8, "exec");
}

static void just_churn(void)
{
	churn(20000);
}

static void *sigstack_thread(void *arg)
{
	stack_t s = {.ss_sp = malloc(65536), .ss_size = 65536};
	check(!sigaltstack(&s, NULL), "sigaltstack");
	raise(SIGUSR2);
	s.ss_flags = SS_DISABLE;
	sigaltstack(&s, NULL);
	free(s.ss_sp);
	return arg;
}

static void altstacks(void)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR2, &sa, NULL);
	pthread_t t;
	for (int i = 0; i < 100; i++) {
		pthread_create(&t, NULL, sigstack_thread, NULL);
		pthread_join(t, NULL);
	}
	printf("%lu\n", atomic_load(&handled));
}

/* Deadly, each in a child: what the parent sees is its status. */
static void deaths(void)
{
	static const int with[] = {SIGSEGV, SIGABRT, SIGKILL, SIGTERM, SIGILL, SIGXCPU, SIGPIPE};
	limit(RLIMIT_CORE, 0);
	for (size_t i = 0; i < sizeof with / sizeof *with; i++) {
		fflush(stdout);
		pid_t c = fork();
		if (!c) {
			churn(500);
			raise(with[i]);
			_exit(0);
		}
		printf("%d\n", child_status(c));
	}
}

static const struct {
	const char *name;
	void (*play)(void);
} scenes[] = {{"deepbind", deepbind},
	      {"dlmopen", namespaces},
	      {"static-tls", static_tls},
	      {"ifunc", ifunc},
	      {"small-stacks", small_stacks},
	      {"signals", signals},
	      {"signals-deferred", signals_deferred},
	      {"signals-faster", signals_faster},
	      {"signals-deferred-faster", signals_deferred_faster},
#ifdef __x86_64__
	      {"stepped", stepped},
#endif
	      {"forks", forks},
	      {"io_uring", uring},
	      {"rseq", restartable},
	      {"closefrom", close_all},
	      {"daemonize", daemonize},
	      {"tiny-limits", tiny_limits},
	      {"huge-limits", huge_limits},
	      {"churn", just_churn},
	      {"altstacks", altstacks},
	      {"deaths", deaths}};

int main(int argc, char **argv)
{
	if (argc == 1)
		for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
			puts(scenes[i].name);
	for (size_t i = 0; argc > 1 && i < sizeof scenes / sizeof *scenes; i++)
		if (!strcmp(argv[1], scenes[i].name)) {
			scenes[i].play();
			puts("done");
			return 3;
		}
	return 0;
}
