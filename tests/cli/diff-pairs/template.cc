// SPDX-License-Identifier: MIT
// A container has elements of another type.
// (The C++ library itself allocates one block when it is loaded.)
// sites: 1=1, 1=1, 5=5 exact
#include "pair.h"
#include <vector>
#ifdef NEW
using element = long;
#else
using element = int;
#endif
static NOINLINE void fill()
{
	static std::vector<element> v;
	v.reserve(100);
}
int main()
{
	fill();
	TAKE(5);
}
