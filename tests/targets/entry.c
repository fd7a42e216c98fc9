/* SPDX-License-Identifier: MIT
 * Every allocation entry point of the C library, at several sizes and alignments.
 */
#include "truth.h"

#include <malloc.h>
#include <string.h>

#define KEEP 4

static void *kept[64];
static int count;

static SITE void by_malloc(void)
{
	for (size_t n = 1; n <= 1 << 20; n *= 4)
		FREE(MALLOC(n));
	kept[count++] = MALLOC(1000);
}

static SITE void by_calloc(void)
{
	unsigned char *p = CALLOC(100, 30);
	for (int i = 0; i < 3000; i++)
		if (p[i])
			tm_say("calloc did not clear\n");
	kept[count++] = p;
	kept[count++] = CALLOC(1, 7);
}

static SITE void by_realloc(void)
{
	void *p = REALLOC(NULL, 10);
	p = REALLOC(p, 5000);
	kept[count++] = REALLOC(p, 20);
}

static SITE void by_reallocarray(void)
{
	void *p = REALLOCARRAY(NULL, 10, 30);
	kept[count++] = REALLOCARRAY(p, 100, 30);
}

static SITE void by_memalign(void)
{
	for (size_t a = 16; a <= 65536; a *= 4) {
		void *p = MEMALIGN(a, 3 * a / 2);
		if ((uintptr_t)p % a)
			tm_say("memalign is not aligned\n");
		kept[count++] = p;
	}
}

static SITE void by_aligned_alloc(void)
{
	kept[count++] = ALIGNED_ALLOC(64, 640);
	FREE(ALIGNED_ALLOC(4096, 4096));
}

static SITE void by_posix_memalign(void)
{
	kept[count++] = POSIX_MEMALIGN(32, 77);
	FREE(POSIX_MEMALIGN(4096, 1));
}

static SITE void by_valloc(void)
{
	kept[count++] = VALLOC(123);
}

static SITE void by_pvalloc(void)
{
	kept[count++] = PVALLOC(123);
}

int main(int argc, char **argv)
{
	(void)argv;
	tm_pure = 1;
	by_malloc();
	by_calloc();
	by_realloc();
	by_reallocarray();
	by_memalign();
	by_aligned_alloc();
	by_posix_memalign();
	by_valloc();
	if (argc < 2) /* any argument: without it, since Valgrind has no pvalloc */
		by_pvalloc();
	for (int i = KEEP; i < count; i++)
		FREE(kept[i]);
	FREE(NULL);
	tm_say_number("usable", (long)malloc_usable_size(kept[0]));
	return 0;
}
