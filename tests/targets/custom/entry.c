/* SPDX-License-Identifier: MIT
 * An allocator with a second way in, whose blocks its free takes, too: 20,000 of 30,000 blocks are
 * by that, and 10,000 of them are freed. SECOND: the name of that.
 */
#define _GNU_SOURCE
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

#ifndef SECOND
#define SECOND zone_alloc
#endif

static char *memory;
static size_t used;

__attribute__((noinline)) static void *cut(size_t size)
{
	if (!memory)
		memory = mmap(NULL, 1ul << 30, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	size_t *p = (size_t *)(void *)(memory + used);
	used += (size + 31) & ~15ul;
	*p = size;
	return p + 2;
}
__attribute__((noinline)) void *malloc(size_t size)
{
	return cut(size ? size : 1); /* more than a jump, by which the second were recorded, too */
}
__attribute__((noinline)) void *SECOND(int zone, size_t size);
__attribute__((noinline)) void *SECOND(int zone, size_t size)
{
	return cut(size + (size_t)zone);
}
__attribute__((noinline)) void free(void *p)
{
	if (p)
		((size_t *)p)[-1] = 0;
}
void *calloc(size_t n, size_t size)
{
	return memset(cut(n * size), 0, n * size);
}
void *realloc(void *old, size_t size)
{
	void *p = cut(size);
	size_t before = old ? ((size_t *)old)[-2] : 0;
	return old ? memcpy(p, old, before < size ? before : size) : p;
}

int main(void)
{
	for (int i = 0; i < 30000; i++) {
		void *volatile p = i % 3 ? SECOND(0, 1000) : malloc(1000);
		if (i % 2)
			free(p);
	}
	return 0;
}
