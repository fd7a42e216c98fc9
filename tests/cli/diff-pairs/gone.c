// SPDX-License-Identifier: MIT
// One of two ways to a function is gone.
// sites: 3=3 exact, 20=-
#include "pair.h"
static NOINLINE void grow(int n)
{
	TAKE(n);
}
static NOINLINE void first(void)
{
	grow(3);
	kept = 0;
}
#ifndef NEW
static NOINLINE void second(void)
{
	grow(20);
	kept = 0;
}
#endif
int main(void)
{
	first();
#ifndef NEW
	second();
#endif
}
