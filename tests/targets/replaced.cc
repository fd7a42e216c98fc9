/* SPDX-License-Identifier: MIT
 * Replaces operator new and delete by its own, which call malloc: counted once, under that name.
 */
#include "truth.h"

#include <list>
#include <new>
#include <string>
#include <vector>

void *operator new(size_t n)
{
	tm_enter();
	void *p = malloc(n ? n : 1);
	tm_alloc("operator new", p, n ? n : 1);
	tm_leave();
	if (!p)
		throw std::bad_alloc();
	return p;
}

void operator delete(void *p) noexcept
{
	tm_enter();
	tm_free(p);
	free(p);
	tm_leave();
}

void operator delete(void *p, size_t) noexcept
{
	operator delete(p);
}

static SITE void strings()
{
	std::string s;
	for (int i = 0; i < 1000; i++)
		s += "ab";
	std::vector<std::string> v(20, s);
	v.resize(50, "a string that is not short enough to stay inside");
	std::list<int> l(100, 1);
	tm_say_number("length", static_cast<long>(v.back().size() + l.size()));
}

static SITE void arrays()
{
	int *p = new int[50];
	delete[] p;
	std::string *left =
		new std::string("another string that is longer than fifteen characters");
	tm_say_number("length", static_cast<long>(left->size()));
}

int main()
{
	strings();
	arrays();
	return 0;
}
