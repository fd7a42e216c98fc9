// SPDX-License-Identifier: MIT
// The new build has no debug information, but names.
// new: -g0
// sites: 3=3, 50=50
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
