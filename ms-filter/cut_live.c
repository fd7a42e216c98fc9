/* SPDX-License-Identifier: MIT
 * The blocks that are live while a trace is cut, by allocation number.
 */
#include "cut_live.h"

#include <stdlib.h>

#include "libcommon/base/arena.h"

static size_t home(const struct live *l, uint64_t number)
{
	return (size_t)((number * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & (l->slots - 1);
}

static bool empty(const struct live *l, size_t i)
{
	return l->v[i].b.number == UINT64_MAX;
}

static struct live_block *insert(struct live *l, uint64_t number)
{
	size_t i = home(l, number);
	while (!empty(l, i))
		i = (i + 1) & (l->slots - 1);
	l->v[i] = (struct live_block){.b.number = number};
	l->n++;
	return &l->v[i];
}

static void grow(struct live *l)
{
	struct live old = *l;
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

struct live_block *live_add(struct live *l, uint64_t number)
{
	if (l->n * 2 >= l->slots)
		grow(l);
	return insert(l, number);
}

bool live_take(struct live *l, uint64_t number, struct live_block *out)
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
	/* what would not be found any more behind the gap moves into it */
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
	const struct live_block *x = *(struct live_block *const *)a,
				*y = *(struct live_block *const *)b;
	return x->b.number < y->b.number ? -1 : x->b.number > y->b.number;
}

struct live_block **live_sorted(const struct live *l)
{
	struct live_block **all = ms_xrealloc(NULL, l->n + 1, sizeof *all);
	size_t n = 0;
	for (size_t i = 0; i < l->slots; i++)
		if (!empty(l, i))
			all[n++] = &l->v[i];
	qsort(all, n, sizeof *all, by_number);
	return all;
}

void live_clear(struct live *l)
{
	free(l->v);
	*l = (struct live){0};
}
