// SPDX-License-Identifier: MIT
// A part of a function became a function of its own.
// sites: 3=3 frames, 5=5 exact
#include "pair.h"
static NOINLINE void table(void)
{
	TAKE(3);
}
#ifdef NEW
static NOINLINE void prepare(void)
{
	table();
	kept = 0;
}
#else
#define prepare table
#endif
int main(void)
{
	prepare();
	TAKE(5);
}
