// SPDX-License-Identifier: MIT
// Not optimised, and optimised: small functions are inlined.
// old: -O0
// new: -O2
// sites: 3=3 exact, 5=5 exact, 7=7 exact
#include "pair.h"
static inline void small(void)
{
	TAKE(3);
}
static void medium(void)
{
	small();
	TAKE(5);
}
static NOINLINE void large(void)
{
	medium();
	TAKE(7);
}
int main(void)
{
	large();
	kept = 0;
	return 0;
}
