/* SPDX-License-Identifier: MIT
 * The tree of callers, from the outermost frame on: live memory of each function including its
 * callees.
 *
 * All calls of a function in one caller are one branch, as in ms-report's tree; inlined functions
 * are branches, too. A branch is found by its id, a hash of the functions from the outermost one to
 * it. The id stays the same when the tree is rebuilt, which happens when new names are known. New
 * nodes are added. A run of runtime frames is one branch, that of the outermost one, which user
 * code called; those outside of all user code have no branch (with --full-names each has its own).
 *
 *   nodes of the trace: main:7 -> load:3, main:9 -> load:3     branches: main -> load
 *
 * Parents have lower numbers than their children, so one pass from the last branch to the first
 * sums everything up, and links children in front of their siblings.
 */
#include <stdlib.h>

#include "trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/order.h"

#define OPEN_SHARE 10u /* branches with 1/OPEN_SHARE of all live bytes are open initially */
#define DEEPEST 1000u  /* limit of the depth in damaged traces */

enum { UNDECIDED, CLOSED, OPEN };

/* ---- branches ---- */

/* Returns the id of a frame's branch: by function and module, or by address if it has no name. */
static uint64_t id_of(const struct trace_tree *tree, uint64_t parent, const struct trace_frame *f)
{
	uint64_t h = ms_mix_text(ms_mix(parent, 1), f->module);
	if (f->note)
		return ms_mix_text(h, f->note);
	if (!f->function)
		return ms_mix(h, f->address);
	h = ms_mix_text(h, f->full);
	return tree->lines ? ms_mix(ms_mix_text(h, f->file), f->line) : h;
}

/* Creates the root, branch 0. */
static void begin(struct trace_tree *tree)
{
	tree->b.n = tree->nodes = 0;
	*MS_PUSH(&tree->b) = (struct trace_branch){.open = OPEN};
	ms_lookup_clear(&tree->by_id);
}

/* Returns the branch of a frame below `parent`; if the frame is folded, `parent` itself. */
static uint32_t below(struct trace *t, uint32_t parent, uint32_t node, uint16_t part, bool fold)
{
	struct trace_tree *tree = &t->tree;
	uint32_t frame = t->follow->rec->nodes.v[node].frame;
	struct trace_frame f = trace_part(t, frame, part);
	bool runtime = f.runtime && !f.note;
	if (fold && runtime && (!parent || tree->b.v[parent].runtime))
		return parent;
	uint64_t id = id_of(tree, tree->b.v[parent].id, &f);
	uint32_t hash = (uint32_t)(id >> 32), i, depth = parent ? tree->b.v[parent].depth + 1 : 0;
	for (size_t at = hash; (i = ms_lookup_next(&tree->by_id, hash, &at));)
		if (tree->b.v[i].id == id)
			break;
	if (!i) {
		i = (uint32_t)tree->b.n;
		ms_lookup_add(&tree->by_id, hash, i);
		*MS_PUSH(&tree->b) = (struct trace_branch){.id = id,
							   .parent = parent,
							   .frame = frame,
							   .node = node,
							   .line = f.line,
							   .depth = depth,
							   .part = part,
							   .runtime = runtime};
	}
	struct trace_branch *b = &tree->b.v[i];
	b->several |= b->frame != frame && b->line != f.line;
	return i;
}

/* Returns the branch of the logical frame `part` of a node. */
static uint32_t branch_of(struct trace *t, uint32_t node, size_t part)
{
	const struct ms_node *n = &t->follow->rec->nodes.v[node];
	uint32_t at = n->parent && n->parent < node ? t->tree.of_node[n->parent] : 0;
	for (size_t i = trace_parts(t, n->frame); i-- > part;)
		at = below(t, at, node, (uint16_t)i, !t->full_names);
	return at;
}

/* Adds the branches of new nodes. */
static void add_nodes(struct trace *t)
{
	struct trace_tree *tree = &t->tree;
	size_t n = t->follow->rec->nodes.n;
	tree->of_node = ms_xgrow(tree->of_node, &tree->node_room, n, sizeof *tree->of_node);
	for (; tree->nodes < n; tree->nodes++)
		tree->of_node[tree->nodes] =
			tree->nodes ? branch_of(t, (uint32_t)tree->nodes, 0) : 0;
}

/* ---- made anew ---- */

/* Rebuilds the tree. Branches that the user opened or closed stay so, and the selection is kept:
 * they are found again by their nodes. */
static void make_anew(struct trace *t)
{
	struct trace_tree *tree = &t->tree;
	struct list *l = &t->lists[TRACE_TREE];
	struct trace_branch *old = tree->b.v;
	size_t n = tree->b.n;
	tree->b.v = NULL;
	tree->b.cap = 0;
	begin(tree);
	add_nodes(t);
	for (size_t i = 1; i < n; i++) {
		uint32_t heir =
			old[i].node < tree->nodes ? branch_of(t, old[i].node, old[i].part) : 0;
		struct trace_branch *b = &tree->b.v[heir];
		/* a branch closed for being small may be part of a larger one now */
		if (heir && (old[i].chosen || (old[i].open == OPEN && !b->chosen))) {
			b->open = old[i].open;
			b->chosen = old[i].chosen;
		}
		if (heir && l->has && l->selected == old[i].id)
			l->selected = tree->b.v[heir].id;
	}
	free(old);
}

void tree_forget(struct trace *t)
{
	t->tree.b.n = t->tree.nodes = 0;
}

void tree_lines(struct trace *t)
{
	t->tree.lines = !t->tree.lines;
	t->tree.answers = UINT64_MAX;
}

/* ---- figures ---- */

/* Returns the branch of a site. If all its frames are runtime, the innermost one gets a branch of
 * its own. */
static uint32_t branch_of_site(struct trace *t, uint32_t node)
{
	uint32_t at = t->tree.of_node[node];
	return at || !node ? at : below(t, 0, node, 0, false);
}

static void add_up(struct trace *t)
{
	struct trace_tree *tree = &t->tree;
	for (size_t i = 0; i < tree->b.n; i++) {
		struct trace_branch *b = &tree->b.v[i];
		b->bytes = b->blocks = b->most = 0;
		b->first = b->next = b->site = b->sites = 0;
	}
	for (size_t i = 0; i < t->site_count; i++) {
		const struct trace_site *s = &t->sites[i];
		if (s->node >= tree->nodes || !s->sum.live_blocks)
			continue;
		uint32_t at = branch_of_site(t, s->node); /* may move the branches */
		struct trace_branch *b = &tree->b.v[at];
		b->bytes += s->sum.live_bytes;
		b->blocks += s->sum.live_blocks;
		b->sites++;
		if (!b->site || s->sum.live_bytes > b->most) {
			b->most = s->sum.live_bytes;
			b->site = s->node;
		}
	}
	for (size_t i = tree->b.n; i-- > 1;) {
		struct trace_branch *b = &tree->b.v[i], *p = &tree->b.v[b->parent];
		if (!b->blocks)
			continue;
		p->bytes += b->bytes;
		p->blocks += b->blocks;
		b->next = p->first;
		p->first = (uint32_t)i;
	}
}

static int larger_first(const void *a, const void *b, void *branches)
{
	const struct trace_branch *v = branches, *x = &v[*(const uint32_t *)a],
				  *y = &v[*(const uint32_t *)b];
	return MS_ORDER(y->bytes, x->bytes) ?: MS_ORDER(x, y);
}

/* ---- rows ---- */

static bool is_open(struct trace *t, struct trace_branch *b)
{
	/* decided once, so that branches do not open or close by themselves */
	if (b->open == UNDECIDED)
		b->open = b->bytes * OPEN_SHARE >= t->total.live_bytes ? OPEN : CLOSED;
	return b->open == OPEN;
}

/* Appends rows for the children of a branch, sorted. Recurses as deep as the deepest stack. */
static void put_children(struct trace *t, uint32_t branch)
{
	struct trace_tree *tree = &t->tree;
	struct trace_branch *v = tree->b.v;
	/* sorts the children in the space where their rows will be stored */
	size_t from = tree->rows.n;
	for (uint32_t c = v[branch].first; c; c = v[c].next)
		*MS_PUSH(&tree->rows) = c;
	qsort_r(tree->rows.v + from, tree->rows.n - from, sizeof *tree->rows.v, larger_first, v);
	/* relinks the children in that order */
	uint32_t *link = &v[branch].first;
	for (size_t i = from; i < tree->rows.n; i++) {
		*link = tree->rows.v[i];
		link = &v[*link].next;
	}
	*link = 0;
	tree->rows.n = from;
	for (uint32_t c = v[branch].first; c; c = v[c].next) {
		*MS_PUSH(&tree->rows) = c;
		if (v[c].first && v[c].depth < DEEPEST && is_open(t, &v[c]))
			put_children(t, c);
	}
}

void tree_make(struct trace *t)
{
	struct trace_tree *tree = &t->tree;
	/* changes when names become known, from symbol files or at the end of the trace */
	uint64_t answers = ms_names_answers(t->names, NULL) ^ (uint64_t)t->follow->rec->chain_count
								      << 32;
	if (!tree->b.n)
		begin(tree);
	if (tree->answers != answers && tree->b.n > 1)
		make_anew(t);
	else
		add_nodes(t);
	tree->answers = answers;
	add_up(t);
	tree->rows.n = 0;
	if (tree->b.v[0].first)
		put_children(t, 0);
	tree->ids = ms_xgrow(tree->ids, &tree->ids_room, tree->rows.n, sizeof *tree->ids);
	for (size_t i = 0; i < tree->rows.n; i++)
		tree->ids[i] = tree->b.v[tree->rows.v[i]].id;
	list_set(&t->lists[TRACE_TREE], tree->ids, tree->rows.n);
}

bool tree_toggle(struct trace *t, size_t row)
{
	struct trace_branch *b = &t->tree.b.v[t->tree.rows.v[row]];
	if (!b->first)
		return false;
	b->open = b->open == OPEN ? CLOSED : OPEN;
	b->chosen = true;
	tree_make(t);
	return true;
}

void tree_free(struct trace_tree *tree)
{
	MS_FREE(tree->b.v, tree->of_node, tree->by_id.slots, tree->rows.v, tree->ids);
	*tree = (struct trace_tree){0};
}
