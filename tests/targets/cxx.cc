/* SPDX-License-Identifier: MIT
 * Every form of new and delete: single, array, aligned, nothrow, sized, placement, virtual, from
 * containers.
 */
#include "truth.h"

#include <malloc.h>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <vector>

#define NEW(type, size, expression)                                                                \
	__extension__({                                                                            \
		tm_enter();                                                                        \
		type *tm_p = expression;                                                           \
		tm_alloc(__func__, tm_p, (size));                                                  \
		tm_leave();                                                                        \
		tm_p;                                                                              \
	})
#define DELETE(p, statement)                                                                       \
	__extension__({                                                                            \
		tm_enter();                                                                        \
		tm_free(p);                                                                        \
		statement;                                                                         \
		tm_leave();                                                                        \
	})

/* Containers say what they take through an allocator of ours, which goes on to the usual one. */
template <class T> struct counted {
	using value_type = T;
	counted() = default;
	template <class U> counted(const counted<U> &)
	{
	}
	__attribute__((noinline)) T *allocate(size_t n)
	{
		return static_cast<T *>(NEW(void, n * sizeof(T), ::operator new(n * sizeof(T))));
	}
	__attribute__((noinline)) void deallocate(T *p, size_t)
	{
		DELETE(p, ::operator delete(p));
	}
	template <class U> bool operator==(const counted<U> &) const
	{
		return true;
	}
	template <class U> bool operator!=(const counted<U> &) const
	{
		return false;
	}
};

struct plain {
	int a[10];
};
struct base {
	virtual ~base() = default;
	int x = 1;
};
struct derived : base {
	char more[100];
};
struct alignas(256) wide {
	char c[300];
};
struct counted_array {
	~counted_array()
	{
		sum++;
	}
	static int sum;
	char c[12];
};
int counted_array::sum;

static SITE void single()
{
	plain *p = NEW(plain, sizeof(plain), new plain);
	base *b = NEW(derived, sizeof(derived), new derived);
	DELETE(b, delete b);
	DELETE(p, delete p);
}

static SITE void arrays()
{
	int *p = NEW(int, 400, new int[100]);
	char *none = NEW(char, 0 + 1, new char[1]);
	DELETE(none, delete[] none);
	DELETE(p, delete[] p);
	/* Eight bytes in front hold the number of elements to destroy. */
	tm_enter();
	counted_array *a = new counted_array[7];
	tm_alloc(__func__, reinterpret_cast<char *>(a) - 8, 7 * sizeof(counted_array) + 8);
	tm_free(reinterpret_cast<char *>(a) - 8);
	delete[] a;
	tm_leave();
	tm_say_number("destroyed", counted_array::sum);
}

static SITE void aligned()
{
	wide *w = NEW(wide, sizeof(wide), new wide);
	wide *many = NEW(wide, 3 * sizeof(wide), new wide[3]);
	if (reinterpret_cast<uintptr_t>(w) % 256 || reinterpret_cast<uintptr_t>(many) % 256)
		tm_say("not aligned\n");
	DELETE(w, delete w);
	DELETE(many, delete[] many);
}

static SITE void nothrow()
{
	int *p = NEW(int, 4, new (std::nothrow) int);
	int *q = NEW(int, 40, new (std::nothrow) int[10]);
	wide *w = NEW(wide, sizeof(wide), new (std::nothrow) wide);
	volatile size_t huge = SIZE_MAX / 4;
	char *failing = NEW(char, huge, new (std::nothrow) char[huge]);
	/* Inside, the library catches what the throwing operator throws (8 bytes, and 128 in front). */
	tm_via("__cxa_allocate_exception", 136);
	tm_say(failing ? "a huge array\n" : "no huge array\n");
	DELETE(p, delete p);
	DELETE(q, ::operator delete[](q, std::nothrow));
	DELETE(w, delete w);
}

static SITE void functions()
{
	void *p = NEW(void, 50, ::operator new(50));
	/* Before version 13 the library asks aligned_alloc for a multiple of the alignment. */
	void *q;
	q = NEW(void, malloc_usable_size(tm_p) < 128 ? 65 : 128,
		::operator new(65, std::align_val_t(64)));
	plain *r = new (p) plain;
	r->a[0] = 1;
	DELETE(p, ::operator delete(p, (size_t)50));
	DELETE(q, ::operator delete(q, (size_t)65, std::align_val_t(64)));
}

/* The library asks for 1 byte where a program asks for none. */
static SITE void of_nothing()
{
	void *p = NEW(void, 1, ::operator new(0));
	DELETE(p, ::operator delete(p));
}

static SITE void containers()
{
	std::vector<int, counted<int>> v;
	for (int i = 0; i < 1000; i++)
		v.push_back(i);
	std::map<int, int, std::less<int>, counted<std::pair<const int, int>>> m;
	for (int i = 0; i < 200; i++)
		m[i * 7 % 100] = i;
	std::basic_string<char, std::char_traits<char>, counted<char>> s;
	for (int i = 0; i < 500; i++)
		s += "x";
	auto shared = std::allocate_shared<plain>(counted<plain>());
	auto copy = shared;
	shared.reset();
	tm_say_number("size", static_cast<long>(v.size() + m.size() + s.size()));
}

/* Made before main, deleted after it. */
static std::vector<long, counted<long>> global(500);

namespace deep
{
struct holder {
	int *p;
	SITE holder() : p(nullptr)
	{
		p = NEW(int, 80, new int[20]);
	}
	SITE ~holder()
	{
		DELETE(p, delete[] p);
	}
};
} // namespace deep

int main()
{
	single();
	arrays();
	aligned();
	nothrow();
	functions();
	of_nothing();
	containers();
	deep::holder h;
	void *place = NEW(void, sizeof(deep::holder), ::operator new(sizeof(deep::holder)));
	deep::holder *leaked = new (place) deep::holder;
	tm_say_number("held", static_cast<long>(leaked->p != nullptr));
	return 0;
}
