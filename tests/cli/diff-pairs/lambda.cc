// SPDX-License-Identifier: MIT
// A lambda was added before another: the compiler numbers them.
// sites: 3=3, -=40
#include "pair.h"
template <class F> static NOINLINE void call(F f)
{
	f();
	kept = 0;
}
int main()
{
#ifdef NEW
	call([] { TAKE(40); });
#endif
	call([] { TAKE(3); });
}
