// SPDX-License-Identifier: MIT
// A function became a virtual one of a derived class.
// (The C++ library itself allocates one block when it is loaded.)
// sites: -=1, 3=3, 5=5 exact
#include "pair.h"
#ifdef NEW
struct Base {
	virtual void parse() = 0;
};
struct Parser : Base {
	NOINLINE void parse() override
	{
		TAKE(3);
	}
};
#else
struct Base {
	NOINLINE void parse()
	{
		TAKE(3);
	}
};
using Parser = Base;
#endif
int main()
{
	Parser p;
	p.parse();
	TAKE(5);
}
