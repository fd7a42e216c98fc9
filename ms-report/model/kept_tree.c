/* SPDX-License-Identifier: MIT
 * Makes the tree of what keeps blocks alive. The recorder tells rows by their call stacks; here
 * those become one that a reader cannot tell apart:
 *
 *   g_cache                          g_cache
 *     insert cache.c:7 < get           insert cache.c:7
 *       copy                             copy
 *     insert cache.c:7 < put
 *       copy
 */
#include "kept_tree.h"

#include "libcommon/base/lookup.h"
#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

struct making {
	const struct model *m;
	struct kept_tree t;
	struct ms_lookup lookup; /* branches by their parent and place */
	uint32_t *of_row;        /* branch of each row */
	uint32_t *places;        /* by branch: index of the frame of its place, or NONE */
};

/* Returns the index of the frame that stands for the place of a row's blocks; NONE = not known. */
static uint32_t frame_of(const struct model *m, const struct kept_row *row)
{
	const struct site *s = row->site ? model_site(m, row->site) : NULL;
	uint32_t node = !s ? NONE : s->user != NONE ? s->user : s->stack;
	return node == NONE ? NONE : m->nodes.v[node].frame;
}

static bool is_equal(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool is_same_place(const struct model *m, uint32_t a, uint32_t b)
{
	if (a == b || a == NONE || b == NONE)
		return a == b && a != NONE;
	const struct frame *x = &m->frames.v[a], *y = &m->frames.v[b];
	return x->function && is_equal(x->function, y->function) && is_equal(x->file, y->file) &&
	       x->line == y->line && x->module == y->module;
}

static uint32_t hash_of(const struct model *m, uint32_t parent, uint32_t place)
{
	const struct frame *f = &m->frames.v[place];
	return ms_hash(parent, f->function ? ms_hash_text(f->function) ^ f->line : place);
}

/* Returns the branch that a row joins: one above it, or one beside it; NONE = there is none. */
static uint32_t find(const struct making *g, uint32_t parent, uint32_t place, bool *above)
{
	uint32_t n;
	*above = true;
	for (uint32_t b = parent; b != NONE; b = g->t.v[b].parent)
		if (g->t.v[b].parent != NONE && is_same_place(g->m, place, g->places[b]))
			return b;
	*above = false;
	uint32_t hash = hash_of(g->m, parent, place);
	for (size_t at = hash; (n = ms_lookup_next(&g->lookup, hash, &at));)
		if (g->t.v[n - 1].parent == parent && is_same_place(g->m, place, g->places[n - 1]))
			return n - 1;
	return NONE;
}

static uint32_t add_branch(struct making *g, const struct kept_row *row, uint32_t parent,
			   uint32_t place)
{
	uint32_t b = (uint32_t)g->t.n++;
	g->t.v[b] = (struct kept_branch){.parent = parent,
					 .first = NONE,
					 .next = NONE,
					 .row = row,
					 .offset = row->offset,
					 .type = row->type,
					 .rest = row->rest};
	g->places[b] = place;
	if (place != NONE && parent != NONE)
		ms_lookup_add(&g->lookup, hash_of(g->m, parent, place), b + 1);
	return b;
}

static void add_row(struct making *g, const struct kept *k, uint32_t i, bool fold)
{
	const struct kept_row *row = &k->rows[i];
	uint32_t parent = row->parent == NONE ? NONE : g->of_row[row->parent],
		 place = fold ? frame_of(g->m, row) : NONE, b = NONE;
	bool above = false;
	if (place != NONE && parent != NONE)
		b = find(g, parent, place, &above);
	if (b == NONE)
		b = add_branch(g, row, parent, place);
	struct kept_branch *x = &g->t.v[b];
	g->of_row[i] = b;
	x->linked |= above || row->depth > 1;
	if (!above && x->offset != row->offset)
		x->offset = UNKNOWN;
	if (!is_equal(x->type, row->type))
		x->type = NULL;
	if (row->bytes > x->row->bytes)
		x->row = row;
	live_add(&x->own, (struct live){row->bytes, row->blocks});
}

/* Orders branches by their parents, those of one parent by what they retain, the least first. */
static int by_parent(const void *a, const void *b, void *arg)
{
	const struct kept_branch *v = arg, *x = &v[*(const uint32_t *)a],
				 *y = &v[*(const uint32_t *)b];
	return MS_ORDER(x->parent, y->parent) ?:
	       MS_ORDER(y->rest, x->rest) ?:
	       MS_ORDER(x->retained.bytes, y->retained.bytes) ?:
	       MS_ORDER(x->retained.blocks, y->retained.blocks) ?: MS_ORDER(y, x);
}

static void link_branches(struct kept_tree *t)
{
	uint32_t *order = ms_xrealloc(NULL, t->n + 1, sizeof *order);
	t->first = NONE;
	for (uint32_t i = 0; i < t->n; i++)
		order[i] = i;
	for (size_t i = t->n; i-- > 0;) {
		struct kept_branch *x = &t->v[i];
		live_add(&x->retained, x->own);
		if (x->parent == NONE)
			x->retained = x->row->retained;
		else
			live_add(&t->v[x->parent].retained, x->retained);
	}
	if (t->n)
		qsort_r(order, t->n, sizeof *order, by_parent, t->v);
	for (size_t i = 0; i < t->n; i++) {
		struct kept_branch *x = &t->v[order[i]];
		uint32_t *first = x->parent == NONE ? &t->first : &t->v[x->parent].first;
		x->next = *first;
		*first = order[i];
	}
	free(order);
}

struct kept_tree kept_tree_make(struct model *m, const struct kept *k, bool fold)
{
	struct making g = {.m = m};
	g.t.v = ms_arena_alloc(&m->arena, (k->n + 1) * sizeof *g.t.v);
	g.places = ms_xrealloc(NULL, k->n + 1, sizeof *g.places);
	g.of_row = ms_xrealloc(NULL, k->n + 1, sizeof *g.of_row);
	for (uint32_t i = 0; i < k->n; i++)
		add_row(&g, k, i, fold);
	link_branches(&g.t);
	MS_FREE(g.places, g.of_row, g.lookup.slots);
	return g.t;
}

uint32_t kept_tree_next(const struct kept_tree *t, uint32_t b)
{
	if (t->v[b].first != NONE)
		return t->v[b].first;
	while (t->v[b].parent != NONE && t->v[b].next == NONE)
		b = t->v[b].parent;
	return t->v[b].next;
}
