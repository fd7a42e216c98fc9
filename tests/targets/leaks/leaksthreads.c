/* SPDX-License-Identifier: MIT
 * Small programs whose leaks depend on threads, and on stacks of other kinds, one for each name
 * that is given: see leaks.h and leaks.py.
 */
#include "leaks.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "main.h"

static void *volatile kept, *volatile kept2;
static __thread void *volatile tls; /* or nobody would read it, and nothing be stored */

/* ---- threads ---- */

static volatile bool ready;

static void *live_stack(void *unused)
{
	void *volatile p = reachable_block(100);
	(void)unused;
	ready = true;
	for (;;)
		pause();
	return p;
}

static void *live_tls(void *unused)
{
	(void)unused;
	tls = reachable_block(100);
	ready = true;
	for (;;)
		pause();
	return NULL;
}

/* The pointer is in a register only; what made it is not there any more. */
static void *live_register(void *unused)
{
	(void)unused;
	void *p = reachable_block(100);
	uint64_t hidden = ~(uint64_t)(uintptr_t)p;
	p = NULL;
	scrub();
	ready = true;
	__asm__ volatile("mov %0, %%r12\n not %%r12\n xor %0, %0\n xor %%eax, %%eax\n"
			 "1: pause\n jmp 1b"
			 : "+r"(hidden)
			 :
			 : "r12", "rax", "memory");
	return NULL;
}

static void *dead(void *unused)
{
	void *volatile p = direct_block(100);
	(void)unused;
	tls = direct_block(100);
	return p ? NULL : unused;
}

static void start(void *(*f)(void *))
{
	pthread_t t;
	pthread_create(&t, NULL, f, NULL);
	while (!ready)
		usleep(1000);
	/* It is where it waits. */
	usleep(20000);
}

APART static void thread_stack(void)
{
	start(live_stack);
}

APART static void thread_tls(void)
{
	start(live_tls);
}

APART static void thread_register(void)
{
	start(live_register);
}

APART static void thread_dead(void)
{
	pthread_t t;
	pthread_create(&t, NULL, dead, NULL);
	pthread_join(t, NULL);
}

APART static void thread_detached(void)
{
	pthread_t t;
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	pthread_create(&t, &a, dead, NULL);
	struct stat threads;
	for (int i = 0; i < 10000 && !stat("/proc/self/task", &threads) && threads.st_nlink > 3;
	     i++)
		usleep(1000); /* until this one alone is left */
}

static void *arena(void *unused)
{
	kept = reachable_block(100);
	direct_block(100);
	void **n = direct_block(48);
	*n = indirect_block(5000);
	kept2 = malloc(100);
	return unused;
}

APART static void thread_arena(void)
{
	pthread_t t;
	pthread_create(&t, NULL, arena, NULL);
	pthread_join(t, NULL);
}

static void *last_thread(void *unused)
{
	usleep(20000);
	direct_block(100);
	kept = reachable_block(100);
	scrub();
	return unused;
}

static void main_leaves(void)
{
	pthread_t t;
	pthread_create(&t, NULL, last_thread, NULL);
	pthread_exit(NULL);
}

static void *allocates(void *unused)
{
	for (;;)
		free(malloc(50));
	return unused;
}

APART static void raced(void)
{
	for (int i = 0; i < 8; i++) {
		pthread_t t;
		pthread_create(&t, NULL, allocates, NULL);
	}
	usleep(20000);
	direct_block(100);
	kept = reachable_block(100);
}

static void *exits(void *unused)
{
	exit(0);
	return unused;
}

APART static void two_exit(void)
{
	direct_block(100);
	kept = reachable_block(100);
	pthread_t t;
	pthread_create(&t, NULL, exits, NULL);
	_exit(0);
}

/* ---- beside the stacks of threads ---- */

static void *returns(void *unused)
{
	return unused;
}

static void one_ends(void)
{
	pthread_t t;
	pthread_create(&t, NULL, returns, NULL);
	pthread_join(t, NULL);
}

APART static void fill(size_t bytes)
{
	void **table =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 10; i++)
		table[i * 50] = reachable_block(100);
}

/* Between the stack of a thread that ended and one without a guard. */
APART static void table_between(void)
{
	pthread_t t;
	pthread_attr_t a;
	pthread_attr_init(&a);
	pthread_attr_setguardsize(&a, 0);
	pthread_create(&t, &a, live_stack, NULL);
	while (!ready)
		usleep(1000);
	usleep(20000);
	fill(65536);
	one_ends();
}

/* Pages that the program made inaccessible, where the kernel can and tells of it (Linux 6.15). */
APART static void guarded(void)
{
	enum { INSTALL = 102, REMOVE = 103 };
	uint64_t page = 0;
	char *m = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(m, 0, 65536);
	madvise(m + 8192, 8192, INSTALL);
	int fd = open("/proc/self/pagemap", O_RDONLY);
	if (pread(fd, &page, sizeof page, (off_t)(((uintptr_t)m + 8192) / 4096 * sizeof page)) !=
		    sizeof page ||
	    !(page >> 58 & 1))
		madvise(m + 8192, 8192, REMOVE);
	close(fd);
	direct_block(100);
	*(void **)(void *)(m + 16384) = reachable_block(100);
}

/* ---- stacks of other kinds ---- */

static ucontext_t from, to;

static void fiber(void)
{
	void *volatile p = reachable_block(100);
	swapcontext(&to, &from);
	kept = p;
}

APART static void fiber_stack(void)
{
	getcontext(&to);
	to.uc_stack.ss_sp = kept2 = malloc(65536);
	to.uc_stack.ss_size = 65536;
	to.uc_link = &from;
	makecontext(&to, fiber, 0);
	swapcontext(&from, &to);
}

static void on_signal(int sig)
{
	void *volatile p = reachable_block(100);
	(void)sig;
	direct_block(100);
	scrub();
	exit(p ? 0 : 1);
}

APART static void signal_exit(void)
{
	stack_t s = {.ss_size = 65536};
	s.ss_sp = mmap(NULL, s.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaltstack(&s, NULL);
	struct sigaction a = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
	sigaction(SIGUSR1, &a, NULL);
	raise(SIGUSR1);
}

static void leave(int sig)
{
	_exit(sig ? 0 : 1);
}

/* The signal comes in malloc or in its hook, sooner or later. */
APART static void signal_in_malloc(void)
{
	struct itimerval soon = {.it_value = {.tv_usec = 3000}};
	direct_block(100);
	kept = reachable_block(100);
	scrub();
	signal(SIGALRM, leave);
	setitimer(ITIMER_REAL, &soon, NULL);
	for (;;)
		free(malloc(100));
}

/* ---- main ---- */

static const struct leak_case cases[] = {
	CASE(thread_stack),    CASE(thread_tls),   CASE(thread_register), CASE(thread_dead),
	CASE(thread_detached), CASE(thread_arena), CASE(main_leaves),     CASE(raced),
	CASE(two_exit),        CASE(fiber_stack),  CASE(signal_exit),     CASE(signal_in_malloc),
	CASE(table_between),   CASE(guarded),
};

int main(int argc, char **argv)
{
	run_case(argv, cases, sizeof cases / sizeof *cases);
	end_as(argc > 2 ? argv[2] : "return");
	return 0;
}
