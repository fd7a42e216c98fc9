// SPDX-License-Identifier: MIT
// One function went, and another came that does another thing.
// sites: 3=3 exact, 40=-, -=700
#include "pair.h"
static NOINLINE void parse(void)
{
	TAKE(3);
}
#ifdef NEW
static NOINLINE void index_words(void)
{
	TAKE(700);
}
#else
static NOINLINE void sort_lines(void)
{
	TAKE(40);
}
#endif
int main(void)
{
	parse();
#ifdef NEW
	index_words();
#else
	sort_lines();
#endif
}
