// SPDX-License-Identifier: MIT
// malloc became calloc.
// sites: 3=3 exact, 5=5 exact
#include "pair.h"
#ifdef NEW
#define GET calloc(1, 64)
#else
#define GET malloc(64)
#endif
static NOINLINE void parse(void)
{
	ALL(3, GET);
}
int main(void)
{
	parse();
	TAKE(5);
}
