/* SPDX-License-Identifier: MIT
 * Blocks of 0 bytes, and calls that must fail: they are counted apart and change nothing.
 */
#include "truth.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>

/* Sizes stay below PTRDIFF_MAX for some, above it for others: the library refuses those at once. */
static volatile size_t sizes[] = {SIZE_MAX,        SIZE_MAX / 2,    SIZE_MAX / 2 - 65536,
				  (size_t)1 << 62, (size_t)1 << 47, SIZE_MAX - ((size_t)1 << 40)};

static void report(const char *what, void *p)
{
	tm_say_number(what, p ? -1 : errno);
	errno = 0;
}

static SITE void fail_malloc(void)
{
	for (int i = 0; i < 6; i++)
		report("malloc", MALLOC(sizes[i]));
}

static SITE void fail_calloc(void)
{
	report("calloc", CALLOC(sizes[3], 1));
	volatile size_t n = sizes[2];
	tm_enter();
	void *p = calloc(n, 3);
	tm_alloc(__func__, p, SIZE_MAX);
	tm_leave();
	report("calloc overflow", p);
}

static SITE void fail_aligned(void)
{
	report("memalign", MEMALIGN(64, sizes[3]));
	report("aligned_alloc", ALIGNED_ALLOC(64, sizes[3]));
	void *p = POSIX_MEMALIGN(64, sizes[3]);
	tm_say(p ? "posix_memalign gave a block\n" : "posix_memalign failed\n");
	errno = 0;
	report("valloc", VALLOC(sizes[3]));
	report("pvalloc", PVALLOC(sizes[3]));
}

static SITE void *zero(void)
{
	return MALLOC(0);
}

static SITE void *zeroes(void)
{
	void *p = CALLOC(0, 8);
	FREE(CALLOC(8, 0));
	FREE(MEMALIGN(64, 0));
	return p;
}

int main(void)
{
	tm_pure = 1;
	void *a = zero(), *b = zero();
	tm_say(a && b && a != b ? "two blocks of 0\n" : "no two blocks of 0\n");
	fail_malloc();
	fail_calloc();
	FREE(a);
	fail_aligned();
	zeroes();
	FREE(MALLOC(1 << 20));
	return 0;
}
