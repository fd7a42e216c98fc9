// SPDX-License-Identifier: MIT
// Custom allocators in C++ that count for themselves: a member function, a template's, one that throws when it
// is full, and what is destroyed on the way.
#include <cstdio>
#include <cstdlib>
#include <new>
#include <stdexcept>

struct Truth {
	const char *heap;
	unsigned long allocations, frees, failed, bytes, live;
	void made(size_t n) { allocations++, bytes += n, live += n; }
	void gone(size_t n) { frees++, live -= n; }
	void say() const { printf("%s|%lu|%lu|%lu|%lu|%lu\n", heap, allocations, frees, failed, bytes, live); }
};

namespace app {
class Pool {
	char *memory = nullptr;
	size_t used = 0, size;

public:
	explicit Pool(size_t n) : size(n) {}
	void *alloc(size_t n);
	void *alloc(size_t n, int twice);
	void release(void *p) noexcept;
};
__attribute__((noinline)) void *Pool::alloc(size_t n)
{
	if (!memory)
		memory = static_cast<char *>(operator new(size));
	if (used + n > size)
		throw std::length_error("pool is full");
	used += n;
	return memory + used - n;
}
__attribute__((noinline)) void *Pool::alloc(size_t n, int twice)
{
	return alloc(n * static_cast<size_t>(twice));
}
__attribute__((noinline)) void Pool::release(void *p) noexcept
{
	used -= p == nullptr;
}

template <class T> struct Slab {
	T objects[4096];
	unsigned n = 0;
	__attribute__((noinline)) T *take(unsigned count)
	{
		n += count;
		return objects + n - count;
	}
};
} // namespace app

static int destroyed;
struct Guard {
	~Guard() { destroyed++; }
};

/* Throws through a frame with something to destroy, and through the hook of an outer allocation. */
extern "C" __attribute__((noinline)) void *outer_alloc(app::Pool &pool, size_t n)
{
	Guard g;
	void *p = pool.alloc(n);
	return n == 3 ? nullptr : p;
}

int main()
{
	Truth members{"app::Pool::alloc(unsigned long)", 0, 0, 0, 0, 0}, outer{"outer_alloc", 0, 0, 0, 0, 0};
	app::Pool a(100000), b(5000), c(1000);
	unsigned caught = 0;
	for (size_t i = 1; i <= 400; i++) {
		void *p = a.alloc(i);
		members.made(i);
		if (i % 2) {
			a.release(p);
			members.gone(i);
		}
	}
	for (size_t i = 1; i <= 400; i++)
		try {
			Guard g;
			b.alloc(i);
			members.made(i);
		} catch (const std::length_error &) {
			caught++;
			members.failed++;
		}
	for (size_t i = 1; i <= 400; i++)
		try {
			if (outer_alloc(c, i))
				outer.made(i);
			else
				outer.failed++;
		} catch (const std::exception &) {
			caught++;
			outer.failed++;
			free(malloc(i)); /* not inside any more */
		}
	c.alloc(1, 2); /* an overload: calls the hooked one */
	members.made(2);
	Truth slab{"take", 0, 0, 0, 0, 0};
	static app::Slab<double> doubles;
	for (unsigned i = 1; i < 50; i++) {
		*doubles.take(i) = 1;
		slab.made(i);
	}
	members.say();
	outer.say();
	slab.say();
	fprintf(stderr, "%u %d\n", caught, destroyed);
	return 0;
}
