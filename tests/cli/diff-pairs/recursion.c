// SPDX-License-Identifier: MIT
// A recursion is deeper.
// sites: 1=1 exact, 1=1 exact, 1=1 exact, 1=1 exact, -=1, -=1, 5=5 exact
#include "pair.h"
#ifdef NEW
#define DEPTH 6
#else
#define DEPTH 4
#endif
static NOINLINE void descend(int n)
{
	if (n > 1)
		descend(n - 1);
	TAKE(1);
}
int main(void)
{
	descend(DEPTH);
	TAKE(5);
}
