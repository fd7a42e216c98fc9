/* SPDX-License-Identifier: MIT
 * A program whose blocks' verdicts are known: lost ones of two call stacks, held ones, and one
 * stack of which every second block is lost.
 */
#include <stdlib.h>
#include <string.h>

static void *keep[60];

static __attribute__((noinline)) void lost(void)
{
	for (int i = 0; i < 10; i++)
		memset(malloc(100), 0, 100);
	for (int i = 0; i < 5; i++)
		memset(malloc(1000), 0, 1000);
}

static __attribute__((noinline)) void mixed(void)
{
	for (size_t i = 0; i < 20; i++) {
		void *p = calloc(1, 200 + i);
		if (i % 2)
			keep[i] = p;
	}
}

static __attribute__((noinline)) void held(void)
{
	for (size_t i = 30; i < 60; i++)
		keep[i] = calloc(1, 300);
	for (size_t i = 30; i < 40; i++) {
		free(keep[i]);
		keep[i] = NULL;
	}
}

int main(void)
{
	lost();
	mixed();
	held();
	void *volatile stack[64]; /* nothing of the calls before stays on the stack */
	memset((void *)stack, 0, sizeof stack);
	return 0;
}
