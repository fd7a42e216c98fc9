// SPDX-License-Identifier: MIT
// A function in the middle of two stacks has another name.
// sites: 3=3 renamed, 5=5 renamed
#include "pair.h"
#ifdef NEW
#define handle serve
#endif
static NOINLINE void read_all(void)
{
	TAKE(3);
}
static NOINLINE void write_all(void)
{
	TAKE(5);
}
static NOINLINE void handle(void)
{
	read_all();
	write_all();
}
int main(void)
{
	handle();
}
