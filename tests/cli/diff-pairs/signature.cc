// SPDX-License-Identifier: MIT
// A parameter has another type.
// sites: 3=3, 5=5 exact
#include "pair.h"
#ifdef NEW
using size = long;
#else
using size = int;
#endif
struct Parser {
	NOINLINE void parse(size n)
	{
		TAKE(n);
	}
};
int main()
{
	Parser().parse(3);
	TAKE(5);
}
