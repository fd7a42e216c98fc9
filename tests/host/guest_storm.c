/* SPDX-License-Identifier: MIT
 * A storm of signals whose handler allocates, into loops that do nothing but allocate. usage:
 * guest_storm count|jump count: prints the calls that reached the allocator. jump: the handler now
 * and then leaves by siglongjmp.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

extern atomic_ulong bump_mallocs, bump_frees, bump_reallocs;
static volatile int signals, jumping, armed;
static sigjmp_buf back;

static void handler(int sig)
{
	void *volatile p = malloc(40);
	p = realloc(p, 80);
	free(p);
	if (++signals % 7 == 0 && jumping && armed)
		siglongjmp(back, sig);
}

__attribute__((noinline)) static void work(int depth)
{
	void *volatile p = malloc((size_t)depth + 1);
	if (depth)
		work(depth - 1);
	p = realloc(p, 100);
	free(p);
}

int main(int argc, char **argv)
{
	static char out[4096];
	setvbuf(stdout, out, _IOFBF, sizeof out);
	free(malloc(
		1)); /* a handler that comes while its thread begins is counted, but not recorded */
	jumping = argc > 1 && !strcmp(argv[1], "jump");
	signal(SIGALRM, handler);
	/* siglongjmp lets the next signal in before it jumps: were that due by then, as when each
	 * stack is verified, handlers would nest without end. */
	int interval_us = jumping ? 1000 : 40;
	struct itimerval t = {{0, interval_us}, {0, interval_us}};
	setitimer(ITIMER_REAL, &t, NULL);
	for (volatile int i = 0; i < 20000 && signals < 4000; i = i + 1) {
		if (sigsetjmp(back, 1) == 0)
			armed = 1;
		work(i % 25);
		armed = 0;
	}
	memset(&t, 0, sizeof t);
	setitimer(ITIMER_REAL, &t, NULL);
	printf("signals %d\nmallocs %lu\nfrees %lu\nreallocs %lu\n", signals, bump_mallocs,
	       bump_frees, bump_reallocs);
	return 0;
}
