// SPDX-License-Identifier: MIT
// Functions were moved to a library.
// new: -DNEW library
// sites: 3=3 module, 5=5 module, 7=7 exact
#include "pair.h"
void load(void);
#ifdef PART
#define SHARED
#endif
#if defined(SHARED) || !defined(NEW)
static NOINLINE void parse(void)
{
	TAKE(3);
}
NOINLINE void load(void)
{
	parse();
	TAKE(5);
}
#endif
#ifndef SHARED
int main(void)
{
	load();
	TAKE(7);
}
#endif
