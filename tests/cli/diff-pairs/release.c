// SPDX-License-Identifier: MIT
// A block is freed now: the same site, and nothing of it is left.
// sites: 3=3 exact, 1=1 exact
#include "pair.h"
static NOINLINE void parse(void)
{
	TAKE(3);
	void *p = malloc(1000);
	kept = p;
#ifdef NEW
	free(p);
#endif
}
int main(void)
{
	parse();
}
