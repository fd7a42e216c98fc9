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

#define OPEN_SHARE 10u /* branches with 1/OPEN_SHARE of all live bytes are open initially */
#define DEEPEST 1000u  /* limit of the depth in damaged traces */

enum { UNDECIDED, CLOSED, OPEN };

/* ---- branches ---- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static uint64_t mix_text(uint64_t h, const char *s)
{
	for (; s && *s; s++)
		h = (h ^ (unsigned char)*s) * UINT64_C(1099511628211);
	return mix(h, 0);
}

/* Returns the id of a frame's branch: by function and module, or by address if it has no name. */
static uint64_t id_of(const struct trace_tree *tree, uint64_t parent, const struct trace_frame *f)
{
	uint64_t h = mix_text(mix(parent, 1), f->module);
	if (f->note)
		return mix_text(h, f->note);
	if (!f->function)
		return mix(h, f->address);
	h = mix_text(h, f->full);
	return tree->lines ? mix(mix_text(h, f->file), f->line) : h;
}

/* Creates the root, branch 0. */
static void begin(struct trace_tree *tree)
{
	tree->b.n = tree->nodes = 0;
	*MS_PUSH(&tree->b) = (struct trace_branch){.open = OPEN};
	ms_lookup_clear(&tree->by_id);
}

static uint32_t child(struct trace *t, uint32_t parent, uint32_t node, uint32_t frame,
		      uint16_t part)
{
	struct trace_tree *tree = &t->tree;
	struct trace_frame f = trace_part(t, frame, part);
	uint64_t id = id_of(tree, tree->b.v[parent].id, &f);
	uint32_t hash = (uint32_t)(id >> 32), i;
	for (size_t at = hash; (i = ms_lookup_next(&tree->by_id, hash, &at));)
		if (tree->b.v[i].id == id)
			break;
	if (!i) {
		i = (uint32_t)tree->b.n;
		ms_lookup_add(&tree->by_id, hash, i);
		*MS_PUSH(&tree->b) = (struct trace_branch){
			.id = id, .parent = parent, .frame = frame, .node = node, .part = part};
	}
	struct trace_branch *b = &tree->b.v[i];
	if (b->frame != frame)
		b->several |= trace_part(t, b->frame, b->part).line != f.line;
	return i;
}

/* Returns the branch of a frame below `parent`; if the frame is folded, `parent` itself. */
static uint32_t below(struct trace *t, uint32_t parent, uint32_t node, uint16_t part)
{
	const struct trace_tree *tree = &t->tree;
	uint32_t frame = t->follow->rec->nodes.v[node].frame;
	struct trace_frame f = trace_part(t, frame, part), outer;
	if (t->full_names || !f.runtime || f.note)
		return child(t, parent, node, frame, part);
	if (!parent)
		return 0;
	outer = trace_part(t, tree->b.v[parent].frame, tree->b.v[parent].part);
	return outer.runtime && !outer.note ? parent : child(t, parent, node, frame, part);
}

/* Adds the branches of new nodes. */
static void add_nodes(struct trace *t)
{
	struct trace_tree *tree = &t->tree;
	const struct ms_recording *rec = t->follow->rec;
	tree->of_node =
		ms_xgrow(tree->of_node, &tree->node_room, rec->nodes.n, sizeof *tree->of_node);
	for (; tree->nodes < rec->nodes.n; tree->nodes++) {
		uint32_t i = (uint32_t)tree->nodes, parent = rec->nodes.v[i].parent,
			 frame = rec->nodes.v[i].frame;
		uint32_t at = parent && parent < i ? tree->of_node[parent] : 0;
		for (size_t part = i ? trace_parts(t, frame) : 0; part-- > 0;)
			at = below(t, at, i, (uint16_t)part);
		tree->of_node[i] = at;
	}
}

/* ---- made anew ---- */

/* Returns the branch that corresponds to a branch of the previous tree; 0 = none. */
static uint32_t heir_of(struct trace *t, const struct trace_branch *old)
{
	const struct trace_tree *tree = &t->tree;
	const struct ms_recording *rec = t->follow->rec;
	if (old->node >= tree->nodes)
		return 0;
	uint32_t parent = rec->nodes.v[old->node].parent;
	uint32_t at = parent && parent < old->node ? tree->of_node[parent] : 0;
	for (size_t part = trace_parts(t, rec->nodes.v[old->node].frame); part-- > old->part;)
		at = below(t, at, old->node, (uint16_t)part);
	return at;
}

/* Rebuilds the tree. Branches that the user opened or closed stay so, and the selection is kept. */
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
		uint32_t heir = heir_of(t, &old[i]);
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
	return at || !node ? at : child(t, 0, node, t->follow->rec->nodes.v[node].frame, 0);
}

static void add_up(struct trace *t)
{
	struct trace_tree *tree = &t->tree;
	for (size_t i = 0; i < t->site_count; i++)
		if (t->sites[i].node < tree->nodes && t->sites[i].sum.live_blocks)
			branch_of_site(t, t->sites[i].node);
	for (size_t i = 0; i < tree->b.n; i++) {
		struct trace_branch *b = &tree->b.v[i];
		b->bytes = b->blocks = b->most = 0;
		b->first = b->next = b->site = b->sites = 0;
	}
	for (size_t i = 0; i < t->site_count; i++) {
		const struct trace_site *s = &t->sites[i];
		if (s->node >= tree->nodes || !s->sum.live_blocks)
			continue;
		struct trace_branch *b = &tree->b.v[branch_of_site(t, s->node)];
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

static bool branch_before(const void *arg, uint32_t a, uint32_t b)
{
	const struct trace_branch *v = arg;
	return v[a].bytes != v[b].bytes ? v[a].bytes > v[b].bytes : a < b;
}

/* ---- rows ---- */

static void more_rows(struct trace_tree *tree, size_t n)
{
	tree->rows = ms_xgrow(tree->rows, &tree->rows_room, n, sizeof *tree->rows);
	tree->ids = ms_xgrow(tree->ids, &tree->ids_room, n, sizeof *tree->ids);
	tree->depth = ms_xgrow(tree->depth, &tree->depth_room, n, sizeof *tree->depth);
}

static bool is_open(struct trace *t, struct trace_branch *b)
{
	/* decided once, so that branches do not open or close by themselves */
	if (b->open == UNDECIDED)
		b->open = b->bytes * OPEN_SHARE >= t->total.live_bytes ? OPEN : CLOSED;
	return b->open == OPEN;
}

/* Appends rows for the children of a branch, sorted. Recurses as deep as the deepest stack. */
static void put_children(struct trace *t, uint32_t branch, unsigned depth)
{
	struct trace_tree *tree = &t->tree;
	struct trace_branch *v = tree->b.v;
	size_t from = tree->n, n = 0;
	for (uint32_t c = v[branch].first; c; c = v[c].next)
		n++;
	if (!n)
		return;
	/* sorts the children in the space where their rows will be stored */
	more_rows(tree, from + n);
	n = 0;
	for (uint32_t c = v[branch].first; c; c = v[c].next)
		tree->rows[from + n++] = c;
	sort_numbers(tree->rows + from, n, branch_before, v);
	/* relink the children in that order */
	uint32_t *link = &v[branch].first;
	for (size_t i = 0; i < n; i++) {
		*link = tree->rows[from + i];
		link = &v[*link].next;
	}
	*link = 0;
	for (uint32_t c = v[branch].first; c; c = v[c].next) {
		more_rows(tree, tree->n + 1);
		tree->rows[tree->n] = c;
		tree->depth[tree->n] = (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
		tree->ids[tree->n++] = v[c].id;
		if (v[c].first && depth < DEEPEST && is_open(t, &v[c]))
			put_children(t, c, depth + 1);
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
	tree->n = 0;
	put_children(t, 0, 0);
	list_set(&t->lists[TRACE_TREE], tree->ids, tree->n);
}

bool tree_toggle(struct trace *t, size_t row)
{
	struct trace_branch *b = &t->tree.b.v[t->tree.rows[row]];
	if (!b->first)
		return false;
	b->open = b->open == OPEN ? CLOSED : OPEN;
	b->chosen = true;
	tree_make(t);
	return true;
}

void tree_free(struct trace_tree *tree)
{
	MS_FREE(tree->b.v, tree->of_node, tree->by_id.slots, tree->rows, tree->ids, tree->depth);
	*tree = (struct trace_tree){0};
}
