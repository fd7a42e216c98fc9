/* SPDX-License-Identifier: MIT
 * longjmp over frames that have allocated; the next stacks must not remember them.
 */
#include "truth.h"

#include <setjmp.h>

static jmp_buf back;
static void *pending;

static SITE void *plain(size_t n)
{
	return MALLOC(n);
}

static SITE int dive(int depth, int jump)
{
	volatile char room[32 + depth * 16];
	room[0] = 1;
	if (depth == 0) {
		pending = plain(64);
		if (jump)
			longjmp(back, 1);
		FREE(pending);
		return 0;
	}
	return dive(depth - 1, jump) + room[0];
}

static SITE void leap(volatile int depth)
{
	if (setjmp(back) == 0)
		dive(depth, 1);
	else
		FREE(pending);
	FREE(plain((size_t)depth));
}

int main(void)
{
	tm_pure = 1;
	for (int depth = 1; depth < 40; depth++) {
		leap(depth);
		dive(40 - depth, 0);
	}
	(void)!plain(4000);
	return 0;
}
