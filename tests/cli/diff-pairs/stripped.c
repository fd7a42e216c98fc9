// SPDX-License-Identifier: MIT
// The new build is stripped.
// new: -s
// sites: 3=3 figures, 50=50 figures
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
