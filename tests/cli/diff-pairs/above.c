// SPDX-License-Identifier: MIT
// Lines were added above everything.
// sites: 3=3 exact, 5=5 exact
#include "pair.h"
#ifdef NEW

static int more;
#endif
static NOINLINE void parse(void)
{
	TAKE(3);
}
static NOINLINE void load(void)
{
	parse();
	TAKE(5);
}
int main(void)
{
	load();
}
