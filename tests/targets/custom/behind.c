/* SPDX-License-Identifier: MIT
 * An allocator like Firefox's: its malloc, free, calloc and realloc are nothing but jumps to functions
 * without a name, which it calls itself, and there are second entries that take an arena. Of its
 * blocks 1,700 are allocated, 300 times one is made larger, and 1,100 are freed; 600 are live, of
 * 50,450 B. The prefix of the second entries is from -DARENA.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define JUMP(name, inner, marked)                                                                  \
	__asm__(".text\n.p2align 4\n.globl " name "\n.type " name ", @function\n" name             \
		":\n" marked "\t.byte 0xe9\n\t.long " inner " - . - 4\n.size " name ", . - " name  \
		"\n\t.fill 11, 1, 0xcc\n")
#define NAME(a, b) NAMED(a, b)
#define NAMED(a, b) a##b

JUMP("malloc", "inner_malloc", "");
JUMP("free", "inner_free", "endbr64\n");
JUMP("calloc", "inner_calloc", "endbr64\n");
JUMP("realloc", "inner_realloc", "");
JUMP("cfree", "free", "");
void *malloc(size_t size);
void free(void *p);

static char *memory;
static size_t used;

static void *cut(size_t size)
{
	if (!memory)
		memory = mmap(NULL, 1ul << 26, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t *p = (size_t *)(void *)(memory + used);
	used += (size + 31) & ~15ul;
	*p = size;
	return p + 2;
}
static void *larger(void *old, size_t size)
{
	void *p = cut(size);
	return old ? memcpy(p, old, ((size_t *)old)[-2]) : p;
}
__attribute__((used, noinline)) void *inner_malloc(size_t size);
__attribute__((used, noinline)) void *inner_malloc(size_t size)
{
	return cut(size);
}
__attribute__((used, noinline)) void inner_free(void *p);
__attribute__((used, noinline)) void inner_free(void *p)
{
	if (p)
		((size_t *)p)[-1] = 1;
}
__attribute__((used, noinline)) void *inner_calloc(size_t n, size_t size);
__attribute__((used, noinline)) void *inner_calloc(size_t n, size_t size)
{
	return memset(cut(n * size), 0, n * size);
}
__attribute__((used, noinline)) void *inner_realloc(void *old, size_t size);
__attribute__((used, noinline)) void *inner_realloc(void *old, size_t size)
{
	return larger(old, size);
}

__attribute__((noinline)) void *NAME(ARENA, malloc)(size_t arena, size_t size);
__attribute__((noinline)) void *NAME(ARENA, malloc)(size_t arena, size_t size)
{
	return cut(size + 0 * arena);
}
__attribute__((noinline)) void *NAME(ARENA, calloc)(size_t arena, size_t n, size_t size);
__attribute__((noinline)) void *NAME(ARENA, calloc)(size_t arena, size_t n, size_t size)
{
	return memset(cut(n * size), (int)(arena - arena), n * size);
}
__attribute__((noinline)) void *NAME(ARENA, realloc)(size_t arena, void *old, size_t size);
__attribute__((noinline)) void *NAME(ARENA, realloc)(size_t arena, void *old, size_t size)
{
	return larger(old, size + 0 * arena);
}
__attribute__((noinline)) void *NAME(ARENA, memalign)(size_t arena, size_t align, size_t size);
__attribute__((noinline)) void *NAME(ARENA, memalign)(size_t arena, size_t align, size_t size)
{
	return cut(size + 0 * (arena + align));
}
__attribute__((noinline)) void NAME(ARENA, free)(size_t arena, void *p);
__attribute__((noinline)) void NAME(ARENA, free)(size_t arena, void *p)
{
	if (p)
		((size_t *)p)[-1] = arena;
}

__attribute__((noinline)) static char *copy(const char *text)
{
	size_t n = strlen(text) + 1;
	return memcpy(inner_malloc(n), text, n);
}

__attribute__((noinline)) void work(void);
__attribute__((noinline)) void work(void)
{
	for (int i = 0; i < 1000; i++) {
		char *volatile p = copy("0123456789");
		if (i % 2)
			inner_free(p);
		else if (i % 4)
			free(p);
	}
	for (int i = 0; i < 100; i++)
		free(malloc(100));
	for (int i = 0; i < 300; i++) {
		void *volatile p = NAME(ARENA, malloc)(1, 50);
		p = NAME(ARENA, realloc)(1, p, 100);
		if (i % 3)
			NAME(ARENA, free)(1, p);
	}
	for (int i = 0; i < 200; i++) {
		void *volatile p = NAME(ARENA, calloc)(1, 5, 40);
		if (i % 4 == 3)
			free(p);
	}
	for (int i = 0; i < 100; i++) {
		void *volatile p = NAME(ARENA, memalign)(1, 64, 77);
		(void)p;
	}
}

int main(int n, char **v)
{
	char c;
	(void)v;
	if (n > 1 && (write(2, "started\n", 8) != 8 || read(0, &c, 1) < 0))
		return 1;
	work();
	return 0;
}
