/* SPDX-License-Identifier: MIT
 * A timer's handler that allocates, interrupting the program at any instruction outside the
 * allocator.
 */
#include "truth.h"

#include <signal.h>
#include <string.h>
#include <sys/time.h>

#define WANTED 300

static volatile sig_atomic_t ticks;
static void *volatile held;
static volatile unsigned sink;

static SITE void tick(int sig)
{
	(void)sig;
	FREE(held);
	held = MALLOC((size_t)(ticks % 100));
	if (ticks < WANTED)
		ticks++;
}

static SITE unsigned leaf(unsigned x)
{
	return x * 2654435761u ^ x >> 7;
}

static SITE unsigned middle(unsigned x)
{
	volatile unsigned a[8];
	for (unsigned i = 0; i < 8; i++)
		a[i] = leaf(x + i);
	return a[x & 7] + leaf(x);
}

static SITE unsigned top(unsigned x)
{
	return middle(x) ^ middle(leaf(x));
}

/* The handler may not run while malloc does: that is undefined with any allocator. */
static SITE void allocate(const sigset_t *blocked)
{
	sigset_t old;
	sigprocmask(SIG_BLOCK, blocked, &old);
	FREE(MALLOC(1000));
	sigprocmask(SIG_SETMASK, &old, NULL);
}

int main(void)
{
	tm_pure = 1;
	struct sigaction a;
	memset(&a, 0, sizeof a);
	a.sa_handler = tick;
	sigaction(SIGALRM, &a, NULL);
	struct itimerval every = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};
	sigset_t blocked;
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGALRM);
	setitimer(ITIMER_REAL, &every, NULL);
	for (unsigned i = 0; ticks < WANTED; i++) {
		sink = top(i);
		if (i % 1000 == 0)
			allocate(&blocked);
	}
	setitimer(ITIMER_REAL, &off, NULL);
	sigprocmask(SIG_BLOCK, &blocked, NULL);
	FREE(held);
	(void)!MALLOC(50000);
	tm_say("done\n");
	return 0;
}
