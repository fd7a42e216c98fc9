/* SPDX-License-Identifier: MIT
 * Folds the rows of a retention scan.
 */
#include "kept_fold.h"

#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_of(uint32_t parent, uint64_t place)
{
	return (uint32_t)(ms_mix(place, parent) >> 32);
}

/* Returns the branch that a row joins: one above it, or one beside it; 0 = there is none. */
static uint32_t find(const struct ms_kept_tree *t, uint32_t parent, uint64_t place, bool *above)
{
	uint32_t hash = hash_of(parent, place), b;
	*above = true;
	for (b = parent; t->b.v[b].depth; b = t->b.v[b].parent)
		if (t->b.v[b].place == place)
			return b;
	*above = false;
	for (size_t at = hash; (b = ms_lookup_next(&t->by_place, hash, &at));)
		if (t->b.v[b].parent == parent && t->b.v[b].place == place)
			return b;
	return 0;
}

static uint32_t add_branch(struct ms_kept_tree *t, const struct ms_kept_row *row, uint32_t number,
			   uint32_t parent, uint64_t place)
{
	uint32_t b = (uint32_t)t->b.n;
	*MS_PUSH(&t->b) = (struct ms_kept_branch){.row = number,
						  .id = number,
						  .parent = parent,
						  .depth = parent ? t->b.v[parent].depth + 1 : 0,
						  .place = place,
						  .bytes = parent ? 0 : row->retained_bytes,
						  .blocks = parent ? 0 : row->retained_blocks,
						  .offset = row->offset,
						  .type = row->type,
						  .rest = row->rest};
	if (place)
		ms_lookup_add(&t->by_place, hash_of(parent, place), b);
	return b;
}

static void add_row(struct ms_kept_tree *t, const struct ms_kept_row *row, uint32_t number)
{
	uint32_t parent = t->of_row[row->parent];
	uint64_t place = parent ? row->place : 0;
	bool above = false;
	uint32_t b = place ? find(t, parent, place, &above) : 0;
	if (!b)
		b = add_branch(t, row, number, parent, place);
	struct ms_kept_branch *x = &t->b.v[b];
	t->of_row[number] = b;
	x->linked |= above || row->depth > 1;
	if (!above && x->offset != row->offset)
		x->offset = UINT64_MAX;
	if (!x->type || !row->type || strcmp(x->type, row->type) != 0)
		x->type = NULL;
	if (row->bytes > x->most) {
		x->most = row->bytes;
		x->row = number;
	}
	x->own_bytes += row->bytes;
	x->own_blocks += row->blocks;
	x->bytes += parent ? row->bytes : 0;
	x->blocks += parent ? row->blocks : 0;
}

/* Orders branches by their parents, those of one parent by what they retain, the least first. */
static int by_parent(const void *a, const void *b, void *arg)
{
	const struct ms_kept_branch *v = arg, *x = &v[*(const uint32_t *)a],
				    *y = &v[*(const uint32_t *)b];
	return MS_ORDER(x->parent, y->parent) ?:
	       MS_ORDER(y->rest, x->rest) ?:
	       MS_ORDER(x->bytes, y->bytes) ?:
	       MS_ORDER(x->blocks, y->blocks) ?:
	       MS_ORDER(y, x);
}

static void link_branches(struct ms_kept_tree *t)
{
	struct ms_kept_branch *v = t->b.v;
	uint32_t *order = ms_xrealloc(NULL, t->b.n, sizeof *order);
	for (size_t i = t->b.n; i-- > 1;) {
		order[i] = (uint32_t)i;
		if (v[i].depth < 2)
			continue;
		v[v[i].parent].bytes += v[i].bytes;
		v[v[i].parent].blocks += v[i].blocks;
	}
	qsort_r(order + 1, t->b.n - 1, sizeof *order, by_parent, v);
	for (size_t i = 1; i < t->b.n; i++) {
		uint32_t *first = &v[v[order[i]].parent].first;
		v[order[i]].next = *first;
		*first = order[i];
	}
	free(order);
}

void ms_kept_fold(struct ms_kept_tree *t, size_t n,
		  struct ms_kept_row (*row)(void *arg, uint32_t number), void *arg)
{
	t->of_row = ms_xgrow(t->of_row, &t->row_room, n + 1, sizeof *t->of_row);
	t->of_row[0] = 0;
	t->b.n = 0;
	ms_lookup_clear(&t->by_place);
	*MS_PUSH(&t->b) = (struct ms_kept_branch){0};
	for (uint32_t i = 1; i <= n; i++) {
		struct ms_kept_row r = row(arg, i);
		add_row(t, &r, i);
	}
	link_branches(t);
}

void ms_kept_free(struct ms_kept_tree *t)
{
	MS_FREE(t->b.v, t->by_place.slots, t->of_row);
}
