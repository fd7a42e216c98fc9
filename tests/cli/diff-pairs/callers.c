// SPDX-License-Identifier: MIT
// The function between two callers and an allocation has another name, and one caller allocates more.
// sites: 3=4, 50=50, 7=7 exact
#include "pair.h"
#ifdef NEW
#define grow enlarge
#define N 4
#else
#define N 3
#endif
static NOINLINE void grow(int n)
{
	TAKE(n);
	kept = 0;
}
static NOINLINE void parse(void)
{
	grow(N);
	kept = 0;
}
static NOINLINE void load(void)
{
	grow(50);
	kept = 0;
}
int main(void)
{
	parse();
	load();
	TAKE(7);
}
