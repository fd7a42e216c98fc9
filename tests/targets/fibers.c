/* SPDX-License-Identifier: MIT
 * Coroutines on stacks of their own (swapcontext), whose allocations interleave with those of the
 * main stack.
 */
#include "truth.h"

#include <ucontext.h>

#define FIBERS 4

static ucontext_t home, fibers[FIBERS];
static char stacks[FIBERS][65536];

static SITE void yield_from(int i)
{
	swapcontext(&fibers[i], &home);
}

static SITE void body(int i)
{
	void *kept = MALLOC(100);
	for (int round = 0; round < 50; round++) {
		void *p = MALLOC((size_t)(10 * i + 1));
		yield_from(i);
		FREE(p);
	}
	FREE(kept);
	for (;;)
		yield_from(i);
}

static SITE void resume(int i)
{
	swapcontext(&home, &fibers[i]);
}

int main(void)
{
	tm_pure = 1;
	for (int i = 0; i < FIBERS; i++) {
		getcontext(&fibers[i]);
		fibers[i].uc_stack.ss_sp = stacks[i];
		fibers[i].uc_stack.ss_size = sizeof stacks[i];
		makecontext(&fibers[i], (void (*)(void))body, 1, i);
	}
	for (int round = 0; round < 60; round++)
		for (int i = 0; i < FIBERS; i++) {
			void *p = MALLOC(7);
			resume(i);
			FREE(p);
		}
	(void)!MALLOC(99);
	return 0;
}
