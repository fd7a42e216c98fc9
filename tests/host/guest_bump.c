/* SPDX-License-Identifier: MIT
 * An allocator that may be called anywhere, in a signal handler that interrupted it too: it only
 * ever moves on. Counts its calls.
 */
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#define BYTES (256u << 20)

static char memory[BYTES] __attribute__((aligned(64)));
static atomic_size_t used;
atomic_ulong bump_mallocs, bump_frees, bump_reallocs;

static void *take(size_t n)
{
	size_t at = atomic_fetch_add(&used, (n + 31) & ~(size_t)15);
	if (at + n + 16 > BYTES)
		return NULL;
	memcpy(memory + at, &n, sizeof(n));
	return memory + at + 16;
}

void *malloc(size_t n)
{
	atomic_fetch_add(&bump_mallocs, 1);
	return take(n);
}

void *calloc(size_t n, size_t size)
{
	return malloc(n * size);
}

void free(void *p)
{
	if (p)
		atomic_fetch_add(&bump_frees, 1);
}

void *realloc(void *p, size_t n)
{
	size_t old = 0;
	if (!p)
		return malloc(n);
	atomic_fetch_add(&bump_reallocs, 1);
	memcpy(&old, (char *)p - 16, sizeof(old));
	void *to = take(n);
	if (to)
		memcpy(to, p, old < n ? old : n);
	return to;
}
