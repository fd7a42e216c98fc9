// SPDX-License-Identifier: MIT
// std::map became std::unordered_map: the frames of both are the library's, the site is where they are used.
// (The C++ library itself allocates one block when it is loaded.)
// sites: 10=10 exact, 1=1 exact, -=1, 5=5 exact
#include "pair.h"
#ifdef NEW
#include <unordered_map>
static std::unordered_map<int, int> m;
#else
#include <map>
static std::map<int, int> m;
#endif
static NOINLINE void fill()
{
#ifdef NEW
	m.reserve(100);
#endif
	for (int i = 0; i < 10; i++)
		m.emplace(i, i);
}
int main()
{
	fill();
	TAKE(5);
}
