/* SPDX-License-Identifier: MIT
 * A pool that takes 64 KiB at a time: eight, a mark, two more; then it is another program's (with an
 * argument), which does the same. */
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "memscope.h"

enum { CHUNK = 65536 };
static char *chunk;
static size_t used = CHUNK;

__attribute__((noipa)) void *pool_alloc(size_t size)
{
	if (used + size > CHUNK) {
		chunk = malloc(CHUNK);
		used = 0;
	}
	used += size;
	return chunk + used - size;
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 16; i++)
		pool_alloc(CHUNK / 2);
	ms_mark("middle");
	for (int i = 0; i < 4; i++)
		pool_alloc(CHUNK / 2);
	if (argc > 1) {
		argv[1] = NULL;
		execv("/proc/self/exe", argv);
	}
	return 0;
}
