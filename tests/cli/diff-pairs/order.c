// SPDX-License-Identifier: MIT
// Functions are in another order in the file, and called in another order.
// sites: 3=3, 50=50
#include "pair.h"
#ifdef NEW
static NOINLINE void load(void)
{
	TAKE(50);
}
static NOINLINE void parse(void)
{
	TAKE(3);
}
#else
static NOINLINE void parse(void)
{
	TAKE(3);
}
static NOINLINE void load(void)
{
	TAKE(50);
}
#endif
int main(void)
{
#ifdef NEW
	load();
	parse();
#else
	parse();
	load();
#endif
}
