// SPDX-License-Identifier: MIT
// There is another way to the same function.
// sites: 3=3 exact, -=20
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
#ifdef NEW
static NOINLINE void second(void)
{
	grow(20);
	kept = 0;
}
#endif
int main(void)
{
	first();
#ifdef NEW
	second();
#endif
}
