// SPDX-License-Identifier: MIT
// A call at the end of a function became a jump: its caller is missing in the stack.
// old: -O1
// new: -O2
// sites: 3=3 frames, 5=5
#include "pair.h"
static NOINLINE void leaf(void)
{
	TAKE(3);
}
static NOINLINE void caller(void)
{
	TAKE(5);
	leaf();
}
int main(void)
{
	caller();
	kept = 0;
	return 0;
}
