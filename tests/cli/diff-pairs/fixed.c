// SPDX-License-Identifier: MIT
// Position-independent, and not.
// new: -no-pie -fno-pie
// sites: 3=3 exact, 50=50 exact
#include "pair.h"
static NOINLINE void parse(void)
{
	TAKE(3);
}
static NOINLINE void load(void)
{
	TAKE(50);
}
int main(void)
{
	parse();
	load();
}
