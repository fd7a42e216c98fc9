/* SPDX-License-Identifier: MIT
 * Call stacks of known depth, for programs without .eh_frame_hdr: static ROUNDS [wait]
 *
 * Each round allocates at the end of recursions of 0 to 39 calls, in a function that qsort calls,
 * in a signal handler, and on a stack of its own. Then a thread does the recursions. With `wait`
 * it says that it has begun, and goes on until its standard input ends. musl has no stacks of a
 * program's own: NO_FIBER.
 */
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SITE __attribute__((noipa))
#define DEPTH 40

static void *volatile last;

static SITE void leaf(size_t size)
{
	last = malloc(size);
	free(last);
}

static SITE void recurse(int depth)
{
	volatile char room[16 + (depth & 7) * 16]; /* so that its frame is found by rbp */
	room[0] = 1;
	if (depth)
		recurse(depth - 1);
	else
		leaf(100);
	room[1] = 2;
}

static SITE int compare(const void *a, const void *b)
{
	leaf(10);
	return *(const int *)a - *(const int *)b;
}

static SITE void handle(int sig)
{
	(void)sig;
	leaf(30);
}

#ifndef NO_FIBER
#include <ucontext.h>
static ucontext_t home, fiber;
static char stack[65536];

static SITE void on_fiber(void)
{
	leaf(40);
	for (;;) {
		swapcontext(&fiber, &home);
		leaf(50);
	}
}

static void make_fiber(void)
{
	getcontext(&fiber);
	fiber.uc_stack.ss_sp = stack;
	fiber.uc_stack.ss_size = sizeof stack;
	fiber.uc_link = &home;
	makecontext(&fiber, on_fiber, 0);
}

static void run_fiber(void)
{
	swapcontext(&home, &fiber);
}
#else
static void make_fiber(void)
{
}
static void run_fiber(void)
{
}
#endif

static SITE void one_round(void)
{
	int v[] = {3, 1, 2};
	for (int i = 0; i < DEPTH; i++)
		recurse(i);
	qsort(v, 3, sizeof *v, compare);
	raise(SIGUSR1);
	run_fiber();
}

static SITE void *thread(void *arg)
{
	for (int i = 0; i < DEPTH; i++)
		recurse(i);
	return arg;
}

/* Waits 2 ms: with 500 rounds a second no copy of a stack without a root is left out. */
static SITE int waits(void)
{
	struct pollfd p = {0, POLLIN, 0};
	return poll(&p, 1, 2) == 0;
}

int main(int argc, char **argv)
{
	pthread_t t;
	int rounds = argc > 1 ? atoi(argv[1]) : 1;
	signal(SIGUSR1, handle);
	make_fiber();
	for (int i = 0; i < rounds; i++)
		one_round();
	if (pthread_create(&t, NULL, thread, NULL) || pthread_join(t, NULL))
		return 1;
	if (argc > 2 && write(1, "begun\n", 6) != 6)
		return 1;
	while (argc > 2 && waits())
		one_round();
	return write(1, "done\n", 5) != 5;
}
