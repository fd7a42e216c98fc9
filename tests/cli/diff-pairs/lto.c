// SPDX-License-Identifier: MIT
// Optimised at link time.
// old: -O2
// new: -O2 -flto
// sites: 3=3 exact, 50=50 exact
#include "pair.h"
static inline void small(void)
{
	TAKE(3);
}
static NOINLINE void load(void)
{
	small();
	TAKE(50);
}
int main(void)
{
	load();
	kept = 0;
	return 0;
}
