// SPDX-License-Identifier: MIT
// A namespace has another name.
// sites: 3=3, 5=5, 7=7 exact
#include "pair.h"
#ifdef NEW
#define text words
#endif
namespace text
{
NOINLINE void parse()
{
	TAKE(3);
}
NOINLINE void load()
{
	TAKE(5);
}
} // namespace text
int main()
{
	text::parse();
	text::load();
	TAKE(7);
}
