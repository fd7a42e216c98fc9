// SPDX-License-Identifier: MIT
// A function allocates more, and its lines have moved.
// sites: 3=300 exact, 5=5 exact
#include "pair.h"
#ifdef NEW

#define N 300
#else
#define N 3
#endif
static NOINLINE void parse(void)
{
	TAKE(N);
}
int main(void)
{
	parse();
	TAKE(5);
}
