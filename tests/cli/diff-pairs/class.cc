// SPDX-License-Identifier: MIT
// A class has another name.
// sites: 3=3, 5=5, 7=7
#include "pair.h"
#ifdef NEW
#define Cache Store
#endif
struct Cache {
	NOINLINE Cache()
	{
		TAKE(3);
	}
	NOINLINE void put()
	{
		TAKE(5);
	}
	NOINLINE void grow()
	{
		TAKE(7);
	}
};
int main()
{
	Cache c;
	c.put();
	c.grow();
}
