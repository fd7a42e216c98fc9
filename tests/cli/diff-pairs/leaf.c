// SPDX-License-Identifier: MIT
// The function that allocates has another name.
// sites: 3=3 renamed, 5=5 exact
#include "pair.h"
#ifdef NEW
#define grow enlarge
#endif
static NOINLINE void grow(void)
{
	TAKE(3);
}
int main(void)
{
	grow();
	TAKE(5);
}
