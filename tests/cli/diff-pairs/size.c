// SPDX-License-Identifier: MIT
// Optimised for speed, and for size.
// old: -O3
// new: -Os
// sites: 3=3 exact, 5=5 exact
#include "pair.h"
static inline void small(void)
{
	TAKE(3);
}
static NOINLINE void large(int n)
{
	for (int i = 0; i < n; i++)
		kept = 0;
	small();
	TAKE(5);
}
int main(int argc, char **argv)
{
	(void)argv;
	large(argc);
	kept = 0;
	return 0;
}
