// SPDX-License-Identifier: MIT
// The compiler made a copy of a function for one argument (parse.constprop.0).
// old: -O2 -fno-ipa-cp
// new: -O2
// sites: 3=3 exact
#include "pair.h"
static void __attribute__((noinline)) parse(int n, int depth)
{
	if (depth > 3)
		parse(n, depth - 1);
	TAKE(n);
}
int main(void)
{
	parse(3, 2);
	kept = 0;
	return 0;
}
