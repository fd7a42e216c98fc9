/* SPDX-License-Identifier: MIT
 * One thread, many blocks of random sizes and lives, from many call paths.
 */
#include "truth.h"

#define SLOTS 1000

static void *slots[SLOTS];
static uint64_t seed = 7;

static SITE void *leaf_malloc(size_t n)
{
	return MALLOC(n);
}

static SITE void *leaf_calloc(size_t n)
{
	return CALLOC(1, n);
}

static SITE void *leaf_realloc(void *p, size_t n)
{
	return REALLOC(p, n);
}

static SITE void act(unsigned slot)
{
	size_t n = tm_random(&seed) % 3000;
	switch (tm_random(&seed) % 4) {
	case 0:
		FREE(slots[slot]);
		slots[slot] = leaf_malloc(n);
		break;
	case 1:
		FREE(slots[slot]);
		slots[slot] = leaf_calloc(n);
		break;
	case 2:
		slots[slot] = leaf_realloc(slots[slot], n + 1);
		break;
	default:
		FREE(slots[slot]);
		slots[slot] = NULL;
	}
}

static SITE void descend(unsigned depth)
{
	if (depth == 0)
		act((unsigned)(tm_random(&seed) % SLOTS));
	else
		descend(depth - 1);
}

int main(void)
{
	tm_pure = 1;
	for (int i = 0; i < 50000; i++)
		descend((unsigned)(tm_random(&seed) % 20));
	return 0;
}
