/* SPDX-License-Identifier: MIT
 * Leaks of C++ programs, one for each name that is given: see leaks.h and leaks.py.
 */
#include "leaks.h"

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <list>
#include <map>
#include <memory>
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
		CASE(strings),
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
