// SPDX-License-Identifier: MIT
// Modules for tests/host/scopes.c: with operators of their own (OWN is its name), which stop the
// program when they are given another one's block, or with the C++ library's. With THREAD a
// constructor waits for a thread that calls them.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <pthread.h>

#ifdef OWN
static char memory[1 << 20];
static size_t used;

static void *take(size_t size)
{
	size_t at = __atomic_fetch_add(&used, 16 + ((size + 15) & ~size_t(15)), __ATOMIC_RELAXED) %
		    (sizeof(memory) - 4096);
	strcpy(memory + at, "pool " OWN);
	return memory + at + 16;
}

static void give(void *block)
{
	char *name = static_cast<char *>(block) - 16;
	if (block && strcmp(name, "pool " OWN)) {
		puts("a block of another one was given to " OWN);
		abort();
	}
}

void *operator new(size_t size)
{
	return take(size);
}
void *operator new[](size_t size)
{
	return take(size);
}
void operator delete(void *block) noexcept
{
	give(block);
}
void operator delete[](void *block) noexcept
{
	give(block);
}
void operator delete(void *block, size_t) noexcept
{
	give(block);
}
void operator delete[](void *block, size_t) noexcept
{
	give(block);
}
#endif

extern "C" void *make(int array)
{
	char *p = array ? new char[100] : static_cast<char *>(::operator new(50));
	__asm__ volatile("" : "+r"(p));
	return p;
}

extern "C" void *jump(unsigned long size)
{
	return ::operator new(size);
}

extern "C" void drop(void *block, int array)
{
	__asm__ volatile("" : "+r"(block));
	if (array)
		delete[] static_cast<char *>(block);
	else
		::operator delete(block);
	__asm__ volatile("");
}

#ifdef THREAD
static void *run(void *)
{
	drop(make(1), 1);
	return nullptr;
}

__attribute__((constructor)) static void begin()
{
	pthread_t t;
	pthread_create(&t, nullptr, run, nullptr);
	pthread_join(t, nullptr);
	puts("a thread of a constructor");
}
#endif
