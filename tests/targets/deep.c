/* SPDX-License-Identifier: MIT
 * A recursion of 10,000 frames, which stacks of at most 512 frames show with their middle cut out.
 */
#include "truth.h"

static SITE void bottom(void)
{
	FREE(MALLOC(10));
	(void)!MALLOC(20);
}

static SITE int fall(int depth)
{
	if (depth == 0) {
		bottom();
		return 0;
	}
	return fall(depth - 1) + 1;
}

/* Recurses with frames that differ in size, so that no two states on the way are alike. */
static SITE int fall_unevenly(int depth)
{
	volatile char room[16 + depth % 7 * 16];
	room[0] = 0;
	if (depth % 1000 == 0)
		bottom();
	return depth == 0 ? 0 : fall_unevenly(depth - 1) + 1 + room[0];
}

int main(void)
{
	tm_pure = 1;
	bottom();
	tm_say_number("depth", fall(10000));
	tm_say_number("depth", fall(400));
	tm_say_number("depth", fall_unevenly(10000));
	bottom();
	return 0;
}
