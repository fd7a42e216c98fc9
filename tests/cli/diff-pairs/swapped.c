// SPDX-License-Identifier: MIT
// Two sites of one function changed places: which is which cannot be told from the stack, both are one row.
// sites: 53=53
#include "pair.h"
static NOINLINE void load(void)
{
#ifdef NEW
	TAKE(50);
	TAKE(3);
#else
	TAKE(3);
	TAKE(50);
#endif
}
int main(void)
{
	load();
}
