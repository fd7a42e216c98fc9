/* SPDX-License-Identifier: MIT
 * The least that any preloaded recorder must cost: every call of the malloc family goes through
 * here and on to the real one, and nothing is done.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Holds what dlsym allocates while the real functions are being looked up. */
static char early[65536];
static size_t early_used;

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static void (*real_free)(void *);
static int (*real_posix_memalign)(void **, size_t, size_t);
static void *(*real_aligned_alloc)(size_t, size_t);
static void *(*real_memalign)(size_t, size_t);

__attribute__((constructor, cold, noinline)) static void find(void)
{
	static int finding;
	if (finding++)
		return;
	real_calloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "calloc");
	real_realloc = (void *(*)(void *, size_t))dlsym(RTLD_NEXT, "realloc");
	real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
	real_posix_memalign = (int (*)(void **, size_t, size_t))dlsym(RTLD_NEXT, "posix_memalign");
	real_aligned_alloc = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "aligned_alloc");
	real_memalign = (void *(*)(size_t, size_t))dlsym(RTLD_NEXT, "memalign");
	real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
}

static void *from_early(size_t size)
{
	size = (size + 15) & ~(size_t)15;
	if (size > sizeof early - early_used)
		return NULL;
	early_used += size;
	return early + early_used - size;
}

static int is_early(const void *p)
{
	return (uintptr_t)p - (uintptr_t)early < sizeof early;
}

/* True when the real functions are known. */
static int found(void)
{
	if (__builtin_expect(!real_malloc, 0))
		find();
	return real_malloc != NULL;
}

void *malloc(size_t size)
{
	return found() ? real_malloc(size) : from_early(size);
}

void free(void *p)
{
	if (p && !is_early(p) && found())
		real_free(p);
}

void *calloc(size_t n, size_t size)
{
	return found() ? real_calloc(n, size) : from_early(n * size);
}

void *realloc(void *p, size_t size)
{
	if (p && is_early(p)) {
		void *q = malloc(size);
		size_t left = (size_t)(early + sizeof early - (char *)p);
		return q ? memcpy(q, p, size < left ? size : left) : NULL;
	}
	return found() ? real_realloc(p, size) : from_early(size);
}

int posix_memalign(void **out, size_t alignment, size_t size)
{
	return found() ? real_posix_memalign(out, alignment, size) : ENOMEM;
}

void *aligned_alloc(size_t alignment, size_t size)
{
	return found() ? real_aligned_alloc(alignment, size) : NULL;
}

void *memalign(size_t alignment, size_t size)
{
	return found() ? real_memalign(alignment, size) : NULL;
}
