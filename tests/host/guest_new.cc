// SPDX-License-Identifier: MIT
// Every kind of operator new and delete, a hundred times each, and one that throws.
#include <cstdlib>
#include <new>
#include <unistd.h>

struct alignas(64) aligned {
	char c[64];
};
static void *volatile sink;
static volatile std::size_t huge = std::size_t(1) << 60;

int main()
{
	for (int i = 0; i < 100; i++) {
		int *a = new int, *b = new int[10], *c = new (std::nothrow) int;
		aligned *d = new aligned, *e = new aligned[3];
		sink = a, sink = b, sink = c, sink = d, sink = e;
		delete a;
		delete[] b;
		delete c;
		delete d;
		delete[] e;
	}
	try {
		sink = ::operator new(huge);
	} catch (const std::bad_alloc &) {
		return write(1, "bad_alloc\n", 10) == 10 ? 0 : 1;
	}
	return 1;
}
