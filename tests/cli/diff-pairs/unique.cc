// SPDX-License-Identifier: MIT
// new became make_unique.
// old: -std=c++17
// new: -DNEW -std=c++17
// (The C++ library itself allocates one block when it is loaded.)
// sites: 1=1, 3=3, 5=5 exact
#include "pair.h"
#include <memory>
struct Node {
	char bytes[64];
};
static NOINLINE void *build()
{
#ifdef NEW
	return std::make_unique<Node>().release();
#else
	return new Node;
#endif
}
int main()
{
	ALL(3, build());
	TAKE(5);
}
