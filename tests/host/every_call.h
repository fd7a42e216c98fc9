/* SPDX-License-Identifier: MIT
 * One of each call that allocates or frees, and what they come to.
 */
#pragma once

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

struct sums {
	unsigned long allocations, frees, reallocs, failed, live_bytes, live_blocks;
};

/* Keeps the compiler from leaving calls out. */
static inline void *keep(void *p)
{
	__asm__ volatile("" : "+r"(p) : : "memory");
	return p;
}

/* One of each call; 60 bytes stay. */
static inline void round_of(struct sums *s, char **list)
{
	void *p;
	size_t huge = SIZE_MAX / 2;
	__asm__ volatile("" : "+r"(huge));
	free(keep(malloc(10)));
	free(keep(calloc(3, 7)));
	free(keep(memalign(64, 100)));
	free(keep(aligned_alloc(32, 64)));
	if (posix_memalign(&p, 128, 200))
		abort();
	free(keep(p));
	free(keep(valloc(50)));
	p = keep(realloc(NULL, 20));
	p = keep(realloc(p, 4000));
	p = keep(reallocarray(p, 3, 9));
	free(p);
	if (keep(malloc(huge)))
		abort();
	char *stay = keep(malloc(60));
	*(char **)(void *)stay = *list;
	*list = stay;
	free(NULL);
	s->allocations += 10;
	s->frees += 9;
	s->reallocs += 2;
	s->failed++;
	s->live_bytes += 60;
	s->live_blocks++;
}

static inline void add_sums(struct sums *all, const struct sums *s)
{
	all->allocations += s->allocations;
	all->frees += s->frees;
	all->reallocs += s->reallocs;
	all->failed += s->failed;
	all->live_bytes += s->live_bytes;
	all->live_blocks += s->live_blocks;
}
