// SPDX-License-Identifier: MIT
// Lines were added between two sites of one function.
// sites: 3=3, 5=5
#include "pair.h"
static NOINLINE void load(void)
{
	TAKE(3);
#ifdef NEW
	kept = 0;
	kept = 0;
#endif
	TAKE(5);
}
int main(void)
{
	load();
}
