/* SPDX-License-Identifier: MIT
 * An allocator whose functions have the prefix P, and a program (MAIN), or a library, that takes
 * 2005 blocks from it and frees 1001: live are 1000 of 1000 bytes, and 100, 500, 700, 128. VISIBLE:
 * what others see of its functions. WRAPS: it is a wrapper of malloc instead, which is called through
 * a pointer (3, 4) or not, with a header in front of each block (2, 4), or has one block of malloc's
 * from which all of its own are cut (5); 6: as 5, but malloc's blocks are its own tables. OTHER: its
 * functions have one argument more.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define JOIN(a, b) a##b
#define NAMED(p, name) JOIN(p, name)
#define F(name) NAMED(P, name)
#define KEPT __attribute__((noinline))
#ifdef HIDDEN
#define VISIBLE __attribute__((noinline, visibility("hidden")))
#else
#define VISIBLE KEPT
#endif
#ifdef OTHER
#define FIRST int arena,
#define ARENA 3,
#else
#define FIRST
#define ARENA
#endif

#if !defined WRAPS || WRAPS == 0
static char *memory;
static size_t used;
KEPT static void *cut(size_t size, size_t align)
{
	if (!memory)
		memory = mmap(NULL, 1ul << 30, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	used = (used + sizeof(size_t) + align - 1) & ~(align - 1);
	size_t *p = (size_t *)(void *)(memory + used);
	p[-1] = size;
	used += size;
	return p;
}
VISIBLE void *F(malloc)(FIRST size_t size)
{
	return cut(size, 16);
}
VISIBLE void F(free)(FIRST void *p)
{
	if (p)
		((size_t *)p)[-1] = 0;
}
VISIBLE void *F(calloc)(FIRST size_t n, size_t size)
{
	return memset(cut(n * size, 16), 0, n * size);
}
VISIBLE void *F(realloc)(FIRST void *old, size_t size)
{
	void *p = F(malloc)(ARENA size);
	size_t before = old ? ((size_t *)old)[-1] : 0;
	if (old)
		memcpy(p, old, before < size ? before : size);
	F(free)(ARENA old);
	return p;
}
VISIBLE int F(posix_memalign)(void **out, size_t align, size_t size)
{
	if (align & (align - 1))
		return EINVAL;
	*out = cut(size, align);
	return 0;
}
VISIBLE void *F(aligned_alloc)(size_t align, size_t size)
{
	return cut(size, align);
}
#elif WRAPS <= 4
#if WRAPS >= 3
static void *(*volatile take)(size_t) = malloc;
static void *(*volatile change)(void *, size_t) = realloc;
static void (*volatile give)(void *) = free;
#else
#define take malloc
#define change realloc
#define give free
#endif
#define HEAD (WRAPS % 2 ? 0 : 2) /* words */
KEPT void *F(malloc)(size_t size)
{
	size_t *p = take(size + HEAD * sizeof(size_t));
	return p + HEAD;
}
KEPT void F(free)(void *p)
{
	give(p ? (size_t *)p - HEAD : NULL);
}
KEPT void *F(realloc)(void *p, size_t size)
{
	size_t *q = change(p ? (size_t *)p - HEAD : NULL, size + HEAD * sizeof(size_t));
	return q + HEAD;
}
#else
static void *(*volatile take)(size_t) = malloc;
static char *memory, *table;
static size_t used;
KEPT void *F(malloc)(size_t size)
{
	if (!memory)
		memory = WRAPS == 5 ? take(16 << 20)
				    : mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE,
					   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (WRAPS == 6 && !table)
		table = take(5000);
	used += 16 + ((size + 15) & ~15ul);
	return memory + used;
}
KEPT void F(free)(void *p)
{
	if (p)
		*(char *)p = 0;
}
KEPT void *F(realloc)(void *p, size_t size)
{
	(void)p;
	return F(malloc)(size);
}
#endif

static void *volatile kept[2100];

KEPT void *take_one(size_t size)
{
	void *p = F(malloc)(ARENA size);
	memset(p, 1, size);
	return p;
}

void work(void);
KEPT void work(void)
{
	for (int i = 0; i < 2000; i++)
		kept[i] = take_one(1000);
	for (int i = 0; i < 1000; i++)
		F(free)(ARENA kept[i]);
#if !defined WRAPS || WRAPS == 0
	void *out = NULL;
	kept[2000] = F(calloc)(ARENA 10, 10);
	kept[2001] = F(realloc)(ARENA F(malloc)(ARENA 50), 500);
	if (F(posix_memalign)(&out, 3, 5) != EINVAL || F(posix_memalign)(&out, 64, 700))
		abort();
	kept[2002] = out;
	kept[2003] = F(aligned_alloc)(64, 128);
#endif
}

#ifdef MAIN
int main(int argc, char **argv)
{
	char c;
	(void)argv;
	/* "started" says so, and waits */
	if (argc > 1 && (write(2, "started\n", 8) != 8 || read(0, &c, 1) < 0))
		return 1;
	work();
	return 0;
}
#endif
