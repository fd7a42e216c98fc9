// SPDX-License-Identifier: MIT
// A function was divided into two that allocate.
// sites: 13=13 frames, 5=5 exact
#include "pair.h"
#ifdef NEW
static NOINLINE void words(void)
{
	TAKE(3);
}
static NOINLINE void lines(void)
{
	TAKE(10);
}
static NOINLINE void parse(void)
{
	words();
	lines();
	kept = 0;
}
#else
static NOINLINE void parse(void)
{
	TAKE(13);
}
#endif
int main(void)
{
	parse();
	TAKE(5);
}
