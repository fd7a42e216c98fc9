/* SPDX-License-Identifier: MIT
 * Sums up blocks to rows: those of one stack below the row of their dominators are one row.
 *
 * A dominator has a lower number than what it dominates, so its row is known when it is needed.
 * Each number has its row in scratch[1], the offset of the pointer to it in scratch[0], and in
 * scratch[2] how many blocks before it, each the next one's dominator, joined rows of ancestors.
 * A leaf, which has no number, is put into its row together with the only node that points to it;
 * its `pre` holds the offset until then.
 */
#include <string.h>

#include "keep_work.h"

#define AHEAD 8u

/* ---- rows ---- */

/* Returns the row with that key below row `parent`. */
static uint32_t child(struct keep *k, uint32_t parent, enum keep_row_kind kind, uint32_t key)
{
	uint32_t *at = keep_map_at(k, &k->row_map, (uint64_t)parent << 32 | key, kind);
	if (*at)
		return *at;
	k->rows = keep_grow(k, k->rows, &k->row_room, k->row_count + 1, sizeof *k->rows);
	if (k->state != KEEP_DONE)
		return 0;
	k->rows[k->row_count] = (struct keep_tree_row){.parent = parent,
						       .key = key,
						       .kind = kind,
						       .offset = KEEP_NONE,
						       .depth = 1,
						       .from = KEEP_NONE};
	return *at = k->row_count++;
}

/* Returns the row that blocks or mappings of a stack have below row `parent`: it, or an ancestor of
 * it, if that is of the same stack, which sets *joined. */
static uint32_t row_below(struct keep *k, uint32_t parent, enum keep_row_kind kind, uint32_t stack,
			  bool *joined)
{
	uint32_t r = parent;
	while (k->rows[r].kind >= ROW_BLOCKS &&
	       (k->rows[r].kind != kind || k->rows[r].key != stack))
		r = k->rows[r].parent;
	*joined = k->rows[r].kind == kind;
	return *joined ? r : child(k, parent, kind, stack);
}

/* Returns the row at the top of a number whose dominator is the top. */
static uint32_t top_row(struct keep *k, uint32_t i, uint64_t mask)
{
	uint32_t node = k->vertex[i];
	if (keep_is_seed(k, node))
		return child(k, 0, ROW_ROOT, keep_root_of(k, node));
	uint32_t *at = keep_map_at(k, &k->mask_map, mask, 0);
	if (!*at) {
		k->masks =
			keep_grow(k, k->masks, &k->mask_room, k->mask_count + 1, sizeof *k->masks);
		if (k->state != KEEP_DONE)
			return 0;
		k->masks[k->mask_count++] = mask;
		*at = k->mask_count;
	}
	return child(k, 0, ROW_SET, *at - 1);
}

/* ---- blocks ---- */

/* Returns the row of a block, and counts it with those that were reached on the same path. */
static struct keep_pair *pair_of(struct keep *k, uint32_t parent, uint32_t stack, uint32_t class,
				 bool leaf)
{
	uint64_t key = (uint64_t)parent << 32 | class << 1 | leaf;
	if (k->last_pair && k->last_key == key && k->last_stack == stack)
		return &k->pairs[k->last_pair - 1];
	uint32_t *at = keep_map_at(k, &k->pair_map, key, stack);
	if (!*at) {
		k->pairs =
			keep_grow(k, k->pairs, &k->pair_room, k->pair_count + 1, sizeof *k->pairs);
		struct keep_pair p = {0};
		p.row = row_below(k, parent, ROW_BLOCKS, stack, &p.joined);
		p.class = leaf ? keep_class_below(k, class, stack, false) : class;
		if (k->state != KEEP_DONE)
			return NULL;
		p.repeats = leaf && k->classes[p.class].stack == stack &&
			    k->classes[p.class].depth <= k->classes[class].depth;
		k->pairs[k->pair_count++] = p;
		*at = k->pair_count;
	}
	k->last_pair = *at;
	k->last_key = key;
	k->last_stack = stack;
	return &k->pairs[*at - 1];
}

static void count_type(struct keep *k, uint32_t row, uint64_t type)
{
	uint32_t *at = keep_map_at(k, &k->type_map, type, row);
	if (!*at) {
		k->typed = keep_grow(k, k->typed, &k->typed_room, k->typed_count + 1,
				     sizeof *k->typed);
		if (k->state != KEEP_DONE)
			return;
		k->typed[k->typed_count++] = (struct keep_typed){row, type, 0};
		*at = k->typed_count;
	}
	k->typed[*at - 1].blocks++;
}

/* Describes where a block is put. */
struct put {
	uint32_t node, stack;
	uint32_t parent,
		class; /* the dominator's row; the block's path class, a leaf's pointer's */
	bool leaf;
	uint32_t offset;
	uint32_t joined; /* blocks that joined rows one behind the other, up to the dominator */
};

/* Puts a block into its row, but for its bytes. Returns the row; *joined as in struct put, with this
 * block. */
static uint32_t put_block(struct keep *k, const struct put *p, uint32_t *joined)
{
	struct keep_pair *pair = pair_of(k, p->parent, p->stack, p->class, p->leaf);
	*joined = 0;
	if (!pair)
		return 0;
	struct keep_tree_row *r = &k->rows[pair->row];
	if (pair->joined)
		*joined = p->joined + 1;
	else if (!r->blocks)
		r->offset = p->offset;
	else if (r->offset != p->offset)
		r->offset = KEEP_NONE;
	r->depth = r->depth > *joined ? r->depth : *joined + 1;
	r->blocks++;
	pair->blocks++;
	struct keep_class *c = &k->classes[pair->class];
	if (pair->repeats && c->run <= *joined) /* the search for paths did not come to leaves */
		c->run = *joined + 1;
	if (k->in->types && k->in->types[p->node])
		count_type(k, pair->row, k->in->types[p->node]);
	return pair->row;
}

static uint32_t put_mapping(struct keep *k, uint32_t node, uint32_t stack, uint32_t parent)
{
	bool joined;
	uint32_t r = row_below(k, parent, ROW_MAPPINGS, stack, &joined);
	k->rows[r].mapped_bytes += k->in->mapping_bytes[node - k->mappings_at];
	return r;
}

/* ---- all numbers ---- */

/* Returns the offset of the pointer in slot `s` of number `i`. */
static uint32_t offset_at(const struct keep *k, uint32_t i, uint32_t s)
{
	uint32_t node = k->vertex[i];
	if (keep_is_root(k, node))
		return k->word_offset[k->first_word[node - k->nodes] + s - k->slot[i]];
	return k->in->offsets ? k->in->offsets[k->in->first_edge[node] + s - k->slot[i]]
			      : KEEP_NONE;
}

/* Notes the least offset of a pointer to each block that number `i` dominates and points to. Returns
 * whether there are leaves among them. */
static bool note_offsets(struct keep *k, uint32_t i)
{
	bool leaves = false;
	for (uint32_t s = k->slot[i]; s < k->slot[i + 1]; s++) {
		uint32_t to = k->target[s], *at = k->pre;
		if (to != PRE_LEAF && (to >= TARGET_OTHER || k->idom[to] != i))
			continue;
		if (to == PRE_LEAF) {
			to = k->in->edges[k->in->first_edge[k->vertex[i]] + s - k->slot[i]];
			__builtin_prefetch(&k->in->blocks[to]);
			leaves = true;
		} else
			at = k->scratch[0];
		uint32_t offset = offset_at(k, i, s);
		if (offset < at[to] && offset != PRE_COUNTED)
			at[to] = offset;
	}
	return leaves;
}

/* Puts the leaves that number `i` points to into their rows. Returns their bytes. */
static uint64_t put_leaves(struct keep *k, uint32_t i)
{
	const uint32_t *edges = &k->in->edges[k->in->first_edge[k->vertex[i]]];
	uint64_t bytes = 0;
	struct put p = {.parent = k->scratch[1][i],
			.class = k->near[i],
			.leaf = true,
			.joined = k->scratch[2][i]};
	for (uint32_t s = k->slot[i]; s < k->slot[i + 1]; s++) {
		uint32_t joined, row;
		p.node = edges[s - k->slot[i]];
		if (k->target[s] != PRE_LEAF || k->pre[p.node] == PRE_COUNTED)
			continue;
		const struct graph_block *b = &k->in->blocks[p.node];
		p.offset = k->pre[p.node];
		p.stack = b->stack;
		k->pre[p.node] = PRE_COUNTED;
		row = put_block(k, &p, &joined); /* which may move the rows */
		k->rows[row].bytes += b->size;
		bytes += b->size;
	}
	return bytes;
}

static inline void prefetch(const struct keep *k, uint32_t i)
{
	if (i + AHEAD > k->count || keep_is_root(k, k->vertex[i + AHEAD]) ||
	    k->slot[i + AHEAD] == k->slot[i + AHEAD + 1])
		return;
	__builtin_prefetch(&k->in->first_edge[k->vertex[i + AHEAD]]);
}

/* Puts number `i` into its row, but for its bytes; `parent`: the row of its dominator. */
static void put_number(struct keep *k, uint32_t i, uint32_t parent)
{
	uint32_t *row = k->scratch[1], *joined = k->scratch[2];
	struct put p = {.node = k->vertex[i],
			.stack = k->site[i],
			.parent = parent,
			.class = k->near[i],
			.offset = k->scratch[0][i],
			.joined = joined[k->idom[i]]};
	if (p.node < k->mappings_at)
		row[i] = put_block(k, &p, &joined[i]);
	else
		row[i] = put_mapping(k, p.node, p.stack, parent);
	struct keep_tree_row *r = &k->rows[row[i]];
	if (k->from[i] == KEEP_NONE || k->rows[parent].kind != ROW_ROOT)
		return;
	r->from = k->from[i] < r->from ? k->from[i] : r->from;
	r->to = k->to[i] > r->to ? k->to[i] : r->to;
}

static void put_all(struct keep *k)
{
	uint32_t *row = k->scratch[1], group = 0;
	for (uint32_t i = 1; i <= k->count && !keep_over_at(k, i); i++) {
		uint32_t node = k->vertex[i], parent = row[k->idom[i]];
		prefetch(k, i);
		if (!k->idom[i]) {
			parent = top_row(k, i, k->group_mask[group++]);
			row[i] = parent;
		}
		if (k->state != KEEP_DONE)
			return;
		if (k->idom[i] || !keep_is_seed(k, node))
			put_number(k, i, parent);
		else if (!keep_is_root(k, node))
			k->rows[row[i]].mapped_bytes += k->in->mapping_bytes[node - k->mappings_at];
		uint64_t leaves = note_offsets(k, i) ? put_leaves(k, i) : 0, all = k->weight[i];
		if (node < k->mappings_at)
			k->rows[row[i]].bytes +=
				all < UINT32_MAX ? all - leaves : k->in->blocks[node].size;
	}
}

/* Adds to each row what the rows below it retain, and sets its type. */
static void add_up(struct keep *k)
{
	for (uint32_t r = k->row_count - 1; r; r--) {
		struct keep_tree_row *x = &k->rows[r], *up = &k->rows[x->parent];
		x->retained_bytes += x->bytes;
		x->retained_blocks += x->blocks;
		up->retained_bytes += x->retained_bytes;
		up->retained_blocks += x->retained_blocks;
	}
	for (uint32_t i = 0; i < k->typed_count; i++) {
		const struct keep_typed *t = &k->typed[i];
		if (t->blocks >= k->rows[t->row].blocks - k->rows[t->row].blocks / 10)
			k->rows[t->row].type = t->type;
	}
}

void keep_sum(struct keep *k)
{
	memset(k->scratch[0], 0xff, ((size_t)k->count + 1) * sizeof(uint32_t));
	memset(k->scratch[2], 0, ((size_t)k->count + 1) * sizeof(uint32_t));
	k->scratch[1][0] = 0;
	k->rows = keep_grow(k, k->rows, &k->row_room, 1, sizeof *k->rows);
	if (k->state != KEEP_DONE)
		return;
	k->rows[k->row_count++] = (struct keep_tree_row){.kind = ROW_TOP};
	put_all(k);
	if (k->state == KEEP_DONE)
		add_up(k);
}
