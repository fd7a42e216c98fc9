// SPDX-License-Identifier: MIT
// A call through a pointer became a direct one.
// sites: 3=3, 5=5 exact
#include "pair.h"
static NOINLINE void parse(void)
{
	TAKE(3);
}
#ifndef NEW
static NOINLINE void each(void (*f)(void))
{
	f();
	kept = 0;
}
#endif
int main(void)
{
#ifdef NEW
	parse();
#else
	each(parse);
#endif
	TAKE(5);
}
