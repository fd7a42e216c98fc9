/* SPDX-License-Identifier: MIT
 * Stores the live blocks while a trace is cut, by allocation number.
 */
#include "cut_live.h"

#include <stdlib.h>

#include "libcommon/base/arena.h"

static size_t home(const struct cut_live *l, uint64_t number)
{
	return (size_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (l->slots - 1);
}

static bool empty(const struct cut_live *l, size_t i)
{
	return l->v[i].b.number == UINT64_MAX;
}

static struct cut_live_block *insert(struct cut_live *l, uint64_t number)
{
	size_t i = home(l, number);
	while (!empty(l, i))
		i = (i + 1) & (l->slots - 1);
	l->v[i] = (struct cut_live_block){.b.number = number};
	l->n++;
	return &l->v[i];
}

static void grow(struct cut_live *l)
{
	struct cut_live old = *l;
	l->n = 0;
	l->slots = old.slots ? old.slots * 2 : 1024;
	l->v = ms_xrealloc(NULL, l->slots, sizeof *l->v);
	for (size_t i = 0; i < l->slots; i++)
		l->v[i].b.number = UINT64_MAX;
	for (size_t i = 0; i < old.slots; i++)
		if (!empty(&old, i))
			*insert(l, old.v[i].b.number) = old.v[i];
	free(old.v);
}

struct cut_live_block *cut_live_add(struct cut_live *l, uint64_t number)
{
	if (l->n * 2 >= l->slots)
		grow(l);
	return insert(l, number);
}

bool cut_live_take(struct cut_live *l, uint64_t number, struct cut_live_block *out)
{
	if (!l->n)
		return false;
	size_t mask = l->slots - 1, i = home(l, number);
	while (!empty(l, i) && l->v[i].b.number != number)
		i = (i + 1) & mask;
	if (empty(l, i))
		return false;
	*out = l->v[i];
	l->n--;
	/* a lookup stops at an empty slot, so each later entry whose hash slot is at or before the
	 * gap moves into it */
	for (size_t k = (i + 1) & mask; !empty(l, k); k = (k + 1) & mask) {
		size_t want = home(l, l->v[k].b.number);
		if (((k - want) & mask) < ((k - i) & mask))
			continue;
		l->v[i] = l->v[k];
		i = k;
	}
	l->v[i].b.number = UINT64_MAX;
	return true;
}

static int by_number(const void *a, const void *b)
{
	const struct cut_live_block *x = *(struct cut_live_block *const *)a,
				    *y = *(struct cut_live_block *const *)b;
	return x->b.number < y->b.number ? -1 : x->b.number > y->b.number;
}

struct cut_live_block **cut_live_sorted(const struct cut_live *l)
{
	struct cut_live_block **all = ms_xrealloc(NULL, l->n + 1, sizeof *all);
	size_t n = 0;
	for (size_t i = 0; i < l->slots; i++)
		if (!empty(l, i))
			all[n++] = &l->v[i];
	qsort(all, n, sizeof *all, by_number);
	return all;
}

void cut_live_clear(struct cut_live *l)
{
	free(l->v);
	*l = (struct cut_live){0};
}
