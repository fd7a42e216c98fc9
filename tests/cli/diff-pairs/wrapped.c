// SPDX-License-Identifier: MIT
// malloc is called by a wrapper now.
// sites: 3=3, 5=5, 7=7
#include "pair.h"
#ifdef NEW
static NOINLINE void *xmalloc(size_t n)
{
	void *p = malloc(n);
	if (!p)
		abort();
	return p;
}
#define GET xmalloc(64)
#else
#define GET malloc(64)
#endif
static NOINLINE void parse(void)
{
	ALL(3, GET);
}
static NOINLINE void load(void)
{
	ALL(7, GET);
}
int main(void)
{
	parse();
	load();
	ALL(5, GET);
}
