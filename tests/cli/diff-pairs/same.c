// SPDX-License-Identifier: MIT
// Nothing changed.
// sites: 3=3 exact, 5=5 exact
#include "pair.h"
static NOINLINE void parse(void)
{
	TAKE(3);
}
int main(void)
{
	parse();
	TAKE(5);
}
