// SPDX-License-Identifier: MIT
// Functions were moved to another file.
// sites: 3=3, 5=5
#include "pair.h"
#ifdef NEW
#line 100 "elsewhere.c"
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
#ifdef NEW
#line 20 "file.c"
#endif
int main(void)
{
	load();
}
