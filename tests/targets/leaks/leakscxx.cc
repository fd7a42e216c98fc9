/* SPDX-License-Identifier: MIT
 * Leaks of C++ programs, one for each name that is given: see leaks.h and leaks.py.
 */
#include "leaks.h"

#include <cstdio>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <memory_resource>
#include <set>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

static std::vector<int *> *volatile kept_vector;
static std::map<int, std::string> *kept_map;
static std::string kept_string;
static std::unique_ptr<int[]> kept_unique;
static void *volatile kept;

struct cell {
	std::shared_ptr<cell> next;
	char rest[40];
};

/* Each step is told by the name of the function that makes it. */
APART static std::vector<int> *direct_vector()
{
	return new std::vector<int>();
}
APART static void indirect_fill(std::vector<int> *v)
{
	v->resize(100);
}
APART static std::map<int, std::string> *direct_map()
{
	return new std::map<int, std::string>();
}
APART static std::map<int, std::string> *reachable_map()
{
	return new std::map<int, std::string>();
}
APART static void indirect_insert(std::map<int, std::string> *m, int i)
{
	(*m)[i] = std::string(100, 'x');
}
APART static void reachable_insert(std::map<int, std::string> *m, int i)
{
	(*m)[i] = std::string(100, 'x');
}
APART static std::list<int> *direct_list()
{
	return new std::list<int>();
}
APART static void indirect_push(std::list<int> *l)
{
	l->push_back(1);
}
APART static std::shared_ptr<cell> direct_cell()
{
	return std::make_shared<cell>();
}
APART static std::shared_ptr<cell> indirect_cell()
{
	return std::make_shared<cell>();
}
APART static void reachable_string()
{
	kept_string = std::string(200, 'y');
}
APART static void reachable_unique()
{
	kept_unique.reset(new int[100]);
}

APART static void vector_dropped()
{
	indirect_fill(direct_vector());
}

APART static void map_dropped()
{
	std::map<int, std::string> *m = direct_map();
	for (int i = 0; i < 10; i++)
		indirect_insert(m, i);
}

APART static void map_kept()
{
	kept_map = reachable_map();
	for (int i = 0; i < 10; i++)
		reachable_insert(kept_map, i);
}

APART static void list_dropped()
{
	std::list<int> *l = direct_list();
	for (int i = 0; i < 5; i++)
		indirect_push(l);
}

APART static void shared_cycle()
{
	std::shared_ptr<cell> a = direct_cell(), b = indirect_cell();
	a->next = b;
	b->next = a;
}

APART static void shared_fine()
{
	std::shared_ptr<cell> a = direct_cell(), b = indirect_cell();
	a->next = b;
}

/* The pointer that is kept is to the second base, in the middle of the block. */
struct first {
	virtual ~first()
	{
	}
	char room[64];
};
struct second {
	virtual ~second()
	{
	}
	char room[64];
};
struct both : first, second {
};
static second *volatile kept_second;
APART static second *reachable_both()
{
	return new both;
}
APART static void second_base()
{
	kept_second = reachable_both();
}

/* An array of what has a destructor: the pointer is behind the count. */
static std::string *volatile kept_array;
APART static std::string *reachable_array()
{
	return new std::string[10];
}
APART static std::string *direct_array()
{
	return new std::string[10];
}
APART static void arrays()
{
	kept_array = reachable_array();
	direct_array();
}

/* Freed by a static destructor, which runs late. */
struct owner {
	void *p = nullptr;
	~owner()
	{
		free(p);
	}
};
static owner owns;
APART static void freed_by_static()
{
	owns.p = direct_block(100);
}

APART static void freed_by_thread_local()
{
	std::thread t([] {
		static thread_local std::string s;
		s = std::string(300, 'z');
		static thread_local owner o;
		o.p = direct_block(100);
	});
	t.join();
}

APART static std::exception_ptr direct_exception()
{
	try {
		throw 5;
	} catch (...) {
		return std::current_exception();
	}
}
APART static void exception_dropped()
{
	/* Nobody gives it back: the pointer to it is lost with its holder. */
	alignas(std::exception_ptr) static char holder[sizeof(std::exception_ptr)];
	new (holder) std::exception_ptr(direct_exception());
	memset(holder, 0, sizeof holder);
}

APART static std::unordered_map<int, int> *reachable_table()
{
	auto *m = new std::unordered_map<int, int>();
	for (int i = 0; i < 50; i++)
		(*m)[i] = i;
	return m;
}
APART static void function_static()
{
	static std::unordered_map<int, int> *table = reachable_table();
	kept = table->begin() == table->end() ? nullptr : static_cast<void *>(&table);
}

APART static void strings()
{
	reachable_string();
	reachable_unique();
}

/* Its constructor allocates, too: that is told apart. */
APART static void *direct_memory(size_t n)
{
	return operator new(n);
}
APART static void indirect_deque(void *at)
{
	new (at) std::deque<int>();
}
APART static void deque_dropped()
{
	indirect_deque(direct_memory(sizeof(std::deque<int>)));
}

static std::set<int> *kept_set;
APART static std::set<int> *reachable_set()
{
	return new std::set<int>();
}
APART static void reachable_insert(int i)
{
	kept_set->insert(i);
}
APART static void set_kept()
{
	kept_set = reachable_set();
	for (int i = 0; i < 30; i++)
		reachable_insert(i);
}

/* Five lists in a map, of one shared cell each. */
using nested = std::map<int, std::list<std::shared_ptr<cell>>>;
APART static nested *direct_nested()
{
	return new nested();
}
APART static std::list<std::shared_ptr<cell>> *indirect_place(nested *m, int i)
{
	return &(*m)[i];
}
APART static void indirect_share(std::list<std::shared_ptr<cell>> *l)
{
	l->push_back(std::make_shared<cell>());
}
APART static void nested_dropped()
{
	nested *m = direct_nested();
	for (int i = 0; i < 5; i++)
		indirect_share(indirect_place(m, i));
}

/* The object is gone; what counts its weak references keeps its memory. */
APART static std::weak_ptr<cell> *direct_weak()
{
	return new std::weak_ptr<cell>();
}
APART static void weak_left()
{
	*direct_weak() = indirect_cell();
}

APART static int *direct_number()
{
	return new int(5);
}
APART static void released()
{
	std::unique_ptr<int> p(direct_number());
	kept = p.get();
	p.release();
	kept = nullptr;
}

struct large {
	char room[200];
};
APART static void indirect_capture(std::function<int()> *f)
{
	large l = {};
	*f = [l] { return static_cast<int>(l.room[5]); };
}
APART static std::function<int()> *direct_function()
{
	return new std::function<int()>();
}
APART static void function_dropped()
{
	indirect_capture(direct_function());
}

/* The pointer that is kept is to the virtual base, behind all else in the block. */
struct root {
	virtual ~root()
	{
	}
	long room[8];
};
struct left : virtual root {
	long room[8];
};
struct right : virtual root {
	long room[8];
};
struct joined : left, right {
};
static root *volatile kept_root;
APART static root *reachable_joined()
{
	return new joined;
}
APART static void virtual_base()
{
	kept_root = reachable_joined();
}

/* A vector in static memory, by an allocator of its own. */
APART static int *reachable_number()
{
	return new int(7);
}
APART static void polymorphic()
{
	alignas(16) static char room[1024];
	static std::pmr::monotonic_buffer_resource resource(room, sizeof room,
							    std::pmr::null_memory_resource());
	alignas(16) static char holder[sizeof(std::pmr::vector<int *>)];
	auto *v = new (holder) std::pmr::vector<int *>(&resource);
	for (int i = 0; i < 3; i++)
		v->push_back(reachable_number());
}

namespace space
{
template <typename T> struct box {
	APART static T *direct_make(int n)
	{
		return new T[static_cast<size_t>(n)];
	}
};
} // namespace space

APART static void several()
{
	vector_dropped();
	map_dropped();
	list_dropped();
	weak_left();
	space::box<long>::direct_make(10);
	space::box<long>::direct_make(20);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*f)();
	} cases[] = {
#define CASE(name) {#name, name}
		CASE(vector_dropped),    CASE(map_dropped),
		CASE(map_kept),          CASE(list_dropped),
		CASE(shared_cycle),      CASE(shared_fine),
		CASE(second_base),       CASE(arrays),
		CASE(freed_by_static),   CASE(freed_by_thread_local),
		CASE(exception_dropped), CASE(function_static),
		CASE(strings),           CASE(deque_dropped),
		CASE(set_kept),          CASE(nested_dropped),
		CASE(weak_left),         CASE(released),
		CASE(function_dropped),  CASE(virtual_base),
		CASE(polymorphic),       CASE(several),
	};
	for (const auto &c : cases)
		if (argc > 1 && !strcmp(c.name, argv[1]))
			c.f();
	kept_vector = nullptr;
	scrub();
	if (argc > 2)
		_Exit(0);
	return 0;
}
