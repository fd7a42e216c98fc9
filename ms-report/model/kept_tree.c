/* SPDX-License-Identifier: MIT
 * Makes the tree of what keeps blocks alive, by the functions and lines of sites.
 */
#include "kept_tree.h"

struct making {
	const struct model *m;
	const struct kept *k;
	bool fold;
};

/* Returns the hash of the place of a row's blocks; 0 = not known. */
static uint64_t place_of(const struct model *m, const struct kept_row *row)
{
	const struct site *s = row->site ? model_site(m, row->site) : NULL;
	uint32_t node = !s ? NONE : s->user != NONE ? s->user : s->stack;
	if (node == NONE)
		return 0;
	const struct frame *f = &m->frames.v[m->nodes.v[node].frame];
	if (!f->function)
		return ms_mix(1, m->nodes.v[node].frame);
	return ms_mix(ms_mix_text(ms_mix_text(ms_mix(2, f->module), f->function), f->file),
		      f->line);
}

static struct ms_kept_row row_of(void *arg, uint32_t number)
{
	const struct making *g = arg;
	const struct kept_row *x = &g->k->rows[number - 1];
	return (struct ms_kept_row){.parent = x->parent == NONE ? 0 : x->parent + 1,
				    .place = g->fold ? place_of(g->m, x) : 0,
				    .bytes = x->bytes,
				    .blocks = x->blocks,
				    .retained_bytes = x->retained.bytes,
				    .retained_blocks = x->retained.blocks,
				    .offset = x->offset,
				    .depth = x->depth,
				    .type = x->type,
				    .rest = x->rest};
}

struct ms_kept_tree kept_tree_make(struct model *m, const struct kept *k, bool fold)
{
	struct making g = {m, k, fold};
	struct ms_kept_tree t = {0};
	ms_kept_fold(&t, k->n, row_of, &g);
	return t;
}

uint32_t kept_tree_next(const struct ms_kept_tree *t, uint32_t b)
{
	if (t->b.v[b].first)
		return t->b.v[b].first;
	while (t->b.v[b].parent && !t->b.v[b].next)
		b = t->b.v[b].parent;
	return t->b.v[b].next;
}
