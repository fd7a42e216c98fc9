/* SPDX-License-Identifier: MIT
 * The tree of callers, from the outermost frame on: what each function and all that it called hold.
 *
 * Nodes number from their parents on, so one pass from the last to the first adds everything up,
 * and links children in front of their siblings.
 */
#include <stdlib.h>
#include <string.h>

#include "trace.h"
#include "libcommon/arena.h"

#define OPEN_SHARE 10u /* a branch with at least a tenth of all is open at first */

#define DEEPEST 1000u /* of a damaged trace */

enum { UNDECIDED, CLOSED, OPEN };

static void make_room(struct trace_tree *tree, size_t n)
{
	if (n <= tree->room)
		return;
	size_t room = n + n / 2;
	tree->bytes = ms_xrealloc(tree->bytes, room, sizeof *tree->bytes);
	tree->blocks = ms_xrealloc(tree->blocks, room, sizeof *tree->blocks);
	tree->first = ms_xrealloc(tree->first, room, sizeof *tree->first);
	tree->next = ms_xrealloc(tree->next, room, sizeof *tree->next);
	tree->open = ms_xrealloc(tree->open, room, 1);
	memset(tree->open + tree->room, UNDECIDED, room - tree->room);
	tree->room = room;
}

static void add_up(struct trace *t, size_t n)
{
	const struct ms_recording *rec = t->follow->rec;
	struct trace_tree *tree = &t->tree;
	memset(tree->bytes, 0, n * sizeof *tree->bytes);
	memset(tree->blocks, 0, n * sizeof *tree->blocks);
	memset(tree->first, 0, n * sizeof *tree->first);
	memset(tree->next, 0, n * sizeof *tree->next);
	for (size_t i = 0; i < t->site_count; i++) {
		const struct trace_site *s = &t->sites[i];
		if (s->node < n) {
			tree->bytes[s->node] += s->sum.live_bytes;
			tree->blocks[s->node] += s->sum.live_blocks;
		}
	}
	for (size_t i = n; i-- > 1;) {
		uint32_t parent = rec->nodes.v[i].parent;
		if (!tree->blocks[i] || parent >= i)
			continue;
		if (parent) {
			tree->bytes[parent] += tree->bytes[i];
			tree->blocks[parent] += tree->blocks[i];
		}
		tree->next[i] = tree->first[parent];
		tree->first[parent] = (uint32_t)i;
	}
}

static bool node_before(const void *arg, uint32_t a, uint32_t b)
{
	const struct trace_tree *tree = arg;
	if (tree->bytes[a] != tree->bytes[b])
		return tree->bytes[a] > tree->bytes[b];
	return a < b;
}

static void more_rows(struct trace_tree *tree, size_t n)
{
	if (n <= tree->rows_room)
		return;
	tree->rows_room = n + n / 2 + 64;
	tree->rows = ms_xrealloc(tree->rows, tree->rows_room, sizeof *tree->rows);
	tree->ids = ms_xrealloc(tree->ids, tree->rows_room, sizeof *tree->ids);
	tree->depth = ms_xrealloc(tree->depth, tree->rows_room, sizeof *tree->depth);
}

static bool is_open(struct trace *t, uint32_t node)
{
	struct trace_tree *tree = &t->tree;
	/* decided once, so that nothing opens or closes by itself */
	if (tree->open[node] == UNDECIDED)
		tree->open[node] =
			tree->bytes[node] * OPEN_SHARE >= t->total.live_bytes ? OPEN : CLOSED;
	return tree->open[node] == OPEN;
}

/* Rows of the children of `node`, in order; the deepest stack is as deep as this recurses. */
static void put_children(struct trace *t, uint32_t node, unsigned depth)
{
	struct trace_tree *tree = &t->tree;
	size_t from = tree->n, n = 0;
	for (uint32_t c = tree->first[node]; c; c = tree->next[c])
		n++;
	/* sorted where they are going to be, and moved apart by what is open */
	more_rows(tree, from + n);
	n = 0;
	for (uint32_t c = tree->first[node]; c; c = tree->next[c])
		tree->rows[from + n++] = c;
	trace_sort(tree->rows + from, n, node_before, tree);
	/* relink in that order */
	uint32_t *link = &tree->first[node];
	for (size_t i = 0; i < n; i++) {
		*link = tree->rows[from + i];
		link = &tree->next[*link];
	}
	*link = 0;
	for (uint32_t c = tree->first[node]; c; c = tree->next[c]) {
		more_rows(tree, tree->n + 1);
		tree->rows[tree->n] = c;
		tree->depth[tree->n] = (uint16_t)(depth < UINT16_MAX ? depth : UINT16_MAX);
		tree->ids[tree->n++] = c;
		if (tree->first[c] && depth < DEEPEST && is_open(t, c))
			put_children(t, c, depth + 1);
	}
}

void tree_make(struct trace *t)
{
	size_t n = t->follow->rec->nodes.n;
	make_room(&t->tree, n);
	add_up(t, n);
	t->tree.n = 0;
	put_children(t, 0, 0);
	list_set(&t->lists[TRACE_TREE], t->tree.ids, t->tree.n);
}

bool tree_toggle(struct trace *t, size_t row)
{
	uint32_t node = t->tree.rows[row];
	if (!t->tree.first[node])
		return false;
	t->tree.open[node] = t->tree.open[node] == OPEN ? CLOSED : OPEN;
	tree_make(t);
	return true;
}

void tree_free(struct trace_tree *tree)
{
	free(tree->bytes);
	free(tree->blocks);
	free(tree->first);
	free(tree->next);
	free(tree->open);
	free(tree->rows);
	free(tree->ids);
	free(tree->depth);
	*tree = (struct trace_tree){0};
}
