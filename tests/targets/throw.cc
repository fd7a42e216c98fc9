/* SPDX-License-Identifier: MIT
 * Exceptions through frames that hold blocks, from constructors, rethrown, and from new itself.
 */
#include "truth.h"

#include <new>

/* What libstdc++ puts in front of the thrown object (Itanium C++ ABI, x86-64). */
#define IN_FRONT 128

struct held {
	void *p;
	explicit held(void *block) : p(block)
	{
	}
	~held()
	{
		FREE(p);
	}
	held(const held &) = delete;
	held &operator=(const held &) = delete;
};

struct failure {
	int code[8];
};

static SITE void *make(size_t n)
{
	return MALLOC(n);
}

static SITE void raise_one(int code)
{
	failure f = {{code}};
	tm_via("__cxa_allocate_exception", sizeof f + IN_FRONT);
	throw f;
}

static SITE int dive(int depth, int code)
{
	held h(make(static_cast<size_t>(depth) * 10));
	if (depth == 0)
		raise_one(code);
	int r = dive(depth - 1, code);
	FREE(make(1));
	return r + 1;
}

struct thrower {
	held first;
	thrower() : first(make(500))
	{
		tm_via("__cxa_allocate_exception", sizeof(int) + IN_FRONT);
		throw 42;
	}
};

static SITE void construct()
{
	try {
		tm_enter();
		void *place = ::operator new(sizeof(thrower));
		tm_alloc(__func__, place, sizeof(thrower));
		tm_leave();
		held memory_is_freed_by_delete(nullptr);
		try {
			new (place) thrower;
		} catch (...) {
			tm_enter();
			tm_free(place);
			::operator delete(place);
			tm_leave();
			throw;
		}
	} catch (int n) {
		tm_say_number("constructor threw", n);
	}
}

static SITE void too_much()
{
	volatile size_t huge = SIZE_MAX / 4;
	tm_enter();
	try {
		char *p = new char[huge];
		tm_say(p ? "a huge array\n" : "null\n");
	} catch (const std::bad_alloc &) {
		tm_alloc(__func__, nullptr, huge);
		tm_say("bad_alloc\n");
	}
	tm_leave();
	tm_via("__cxa_allocate_exception", sizeof(std::bad_alloc) + IN_FRONT);
}

int main()
{
	make(1000);
	for (int depth = 0; depth < 50; depth++) {
		try {
			dive(depth, depth);
		} catch (const failure &f) {
			tm_say_number("caught", f.code[0]);
			FREE(make(20));
		}
	}
	construct();
	too_much();
	make(20000);
	return 0;
}
