// SPDX-License-Identifier: MIT
// A function that allocates became a part of its caller.
// sites: 3=3 frames, 5=5
#include "pair.h"
static NOINLINE void load(void)
{
#ifdef NEW
	TAKE(3);
#else
	extern void table(void);
	table();
	kept = 0;
#endif
}
#ifndef NEW
NOINLINE void table(void)
{
	TAKE(3);
}
#endif
int main(void)
{
	load();
	TAKE(5);
}
