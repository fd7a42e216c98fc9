// SPDX-License-Identifier: MIT
// A site was added between two sites of one function.
// sites: 3=3, 5=5, -=40
#include "pair.h"
static NOINLINE void load(void)
{
	TAKE(3);
#ifdef NEW
	TAKE(40);
#endif
	TAKE(5);
}
int main(void)
{
	load();
}
