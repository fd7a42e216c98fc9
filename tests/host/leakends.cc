/* SPDX-License-Identifier: MIT
 * The same in C++: see leakends.c.
 */
#include <cstdlib>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#define APART __attribute__((noinline, unused))

static void use(void *p)
{
	__asm__ volatile("" ::"r"(p) : "memory");
}

/* 32 bytes and 48. */
APART static void lose()
{
	use(new std::string("a string of so many bytes that it has a block.."));
}

struct ends {
	~ends()
	{
		lose();
		std::exit(0);
	}
};
static std::unique_ptr<int> held;

int main()
{
#if CASE == 1
	lose();
#elif CASE == 2
	lose();
	try {
		throw std::runtime_error("of which so much is said that it has a block");
	} catch (std::exception &e) {
		std::cout << e.what() << std::endl;
	}
#elif CASE == 3
	ends e;
#elif CASE == 4
	held.reset(new int(5));
	lose();
	std::exit(0);
#elif CASE == 5
	std::thread(lose).join();
#elif CASE == 6
	std::thread([] {
		lose();
		std::exit(0);
	}).join();
#elif CASE == 7
	std::string local("a string of so many bytes that it has a block..");
	lose();
	std::exit(0);
#elif CASE == 8
	std::set_terminate([] {
		lose();
		std::exit(3);
	});
	throw 1;
#elif CASE == 9
	lose();
	throw std::runtime_error("nobody catches it");
#endif
	return 0;
}
