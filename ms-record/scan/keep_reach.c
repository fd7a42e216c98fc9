/* SPDX-License-Identifier: MIT
 * Finds the nearest root of each node, and the stacks on the way, breadth first; roots of a lower
 * rank before all others.
 */
#include <string.h>

#include "keep_work.h"

#define CLASSES_MOST (UINT32_C(1) << 18)
#define AHEAD 8u /* nodes of the queue whose memory is prefetched */

/* ---- leaves ---- */

#define SEVERAL (UINT32_MAX - 1)

/* Notes in `only` for each node the only other one that points to it; NEAR_NONE = none, SEVERAL =
 * also roots. */
static void find_sources(struct keep *k, uint32_t *only)
{
	const struct keep_input *in = k->in;
	memset(only, 0xff, k->nodes * sizeof *only);
	for (uint32_t i = 0; i < k->nodes && !keep_over_at(k, i); i++)
		for (uint32_t e = in->first_edge[i]; e < in->first_edge[i + 1]; e++) {
			uint32_t to = in->edges[e];
			if (to != i)
				only[to] = only[to] == NEAR_NONE || only[to] == i ? i : SEVERAL;
		}
	for (size_t w = 0; w < in->word_count; w++)
		only[in->words[w].node] = SEVERAL;
}

void keep_leaves(struct keep *k)
{
	const struct keep_input *in = k->in;
	k->near = keep_take(k, k->nodes, sizeof *k->near);
	k->weight = keep_take(k, k->nodes, sizeof *k->weight);
	if (k->state != KEEP_DONE)
		return;
	find_sources(k, k->near);
	uint32_t leaves = 0;
	for (uint32_t i = 0; i < in->block_count; i++) {
		bool leaf = k->near[i] < SEVERAL && in->first_edge[i] == in->first_edge[i + 1];
		uint32_t *w = &k->weight[leaf ? k->near[i] : i];
		uint64_t bytes = in->blocks[i].size;
		*w = bytes < UINT32_MAX - *w ? *w + (uint32_t)bytes : UINT32_MAX;
		k->near[i] = leaf ? NEAR_LEAF : NEAR_NONE;
		leaves += leaf;
	}
	for (uint32_t i = k->mappings_at; i < k->nodes; i++)
		k->near[i] = NEAR_NONE;
	k->room = k->nodes - leaves + in->root_count + 2;
}

/* ---- classes of paths ---- */

static uint64_t mix(uint64_t key, uint64_t more)
{
	key = (key ^ more) * UINT64_C(0x9e3779b97f4a7c15);
	return (key ^ key >> 32) * UINT64_C(0xbf58476d1ce4e5b9);
}

bool keep_class_before(const struct keep *k, uint32_t a, uint32_t b)
{
	const struct keep_class *x = &k->classes[a], *y = &k->classes[b];
	return x->root != y->root ? x->root < y->root : x->key < y->key;
}

/* Makes the classes of the roots and of mappings that are roots, by their inner numbers. */
static void start_classes(struct keep *k)
{
	uint32_t n = k->in->root_count + k->in->mapping_count;
	keep_map_clear(k, &k->class_map);
	k->classes = keep_grow(k, k->classes, &k->class_room, n, sizeof *k->classes);
	for (uint32_t i = 0; i < n && k->state == KEEP_DONE; i++)
		k->classes[i] = (struct keep_class){.key = mix(i, 1), .root = i};
	k->class_count = n;
}

static uint32_t add_class(struct keep *k, uint32_t from, uint32_t stack, bool mapping)
{
	bool full = k->classes[from].depth == KEEP_PATH_STEPS || k->class_count >= CLASSES_MOST;
	if (!full)
		k->classes = keep_grow(k, k->classes, &k->class_room, k->class_count + 1,
				       sizeof *k->classes);
	struct keep_class *f = &k->classes[from];
	if (full || k->class_count == k->class_room) {
		f->cut = true;
		return from;
	}
	k->classes[k->class_count] = (struct keep_class){
		.key = mix(f->key, stack | (uint64_t)(mapping + 1) << 32),
		.parent = from,
		.root = f->root,
		.stack = stack,
		.run = 1,
		.depth = f->depth + 1,
		.mapping = mapping,
	};
	return k->class_count++;
}

uint32_t keep_class_below(struct keep *k, uint32_t from, uint32_t stack, bool mapping)
{
	uint32_t *at = keep_map_at(k, &k->class_map, (uint64_t)from << 32 | stack, mapping);
	if (*at)
		return *at - 1;
	uint32_t c = from;
	while (k->classes[c].depth &&
	       (k->classes[c].stack != stack || k->classes[c].mapping != mapping))
		c = k->classes[c].parent;
	if (!k->classes[c].depth)
		c = add_class(k, from, stack, mapping);
	*at = c + 1;
	return c;
}

/* ---- the search ---- */

/* Reaches node `to` from one of class `class`. Nodes that are reached at the same distance from
 * several ones keep the class that goes first. `run`: blocks of that class one behind the other. */
static inline void reach(struct keep *k, uint32_t to, uint32_t class, uint32_t run)
{
	uint32_t old = k->near[to], fresh = class | NEAR_PENDING | k->parity, *queue = k->vertex;
	if (old == NEAR_NONE)
		queue[k->reached++] = to;
	else if (old & NEAR_SPECIAL || (old ^ fresh) & (NEAR_PENDING | NEAR_PARITY))
		return;
	else if (old == fresh)
		run = run > k->pre[to] ? run : k->pre[to];
	else if (!keep_class_before(k, class, old & NEAR_CLASS))
		return;
	k->near[to] = fresh;
	k->pre[to] = run;
}

/* Settles the class of a node that has been reached. */
static uint32_t settle(struct keep *k, uint32_t node)
{
	uint32_t from = k->near[node] & NEAR_CLASS, stack = keep_stack(k, node);
	bool mapping = node >= k->mappings_at;
	uint32_t c = keep_class_below(k, from, stack, mapping);
	struct keep_class *class = &k->classes[c];
	k->near[node] = c;
	if (class->stack != stack || class->mapping != mapping)
		return c; /* the path was cut */
	k->pre[node] = class->depth <= k->classes[from].depth ? k->pre[node] + 1 : 1;
	class->run = class->run > k->pre[node] ? class->run : k->pre[node];
	return c;
}

/* Prefetches what nodes further behind in the queue need; `end`: end of the queue. */
static inline void prefetch(const struct keep *k, uint32_t at, uint32_t end)
{
	const struct keep_input *in = k->in;
	const uint32_t *queue = k->vertex;
	if (at + 2 * AHEAD < end) {
		uint32_t node = queue[at + 2 * AHEAD];
		__builtin_prefetch(&in->first_edge[node]);
		__builtin_prefetch(&k->near[node]);
		__builtin_prefetch(&k->pre[node]);
		if (node < k->mappings_at)
			__builtin_prefetch(&in->blocks[node]);
		node = queue[at + AHEAD];
		__builtin_prefetch(&in->edges[in->first_edge[node]]);
	}
}

/* Follows the edges of the nodes in the queue from `at` on, and of those that they reach. */
static void flow(struct keep *k, uint32_t at)
{
	const struct keep_input *in = k->in;
	const uint32_t *queue = k->vertex;
	while (at < k->reached && k->state == KEEP_DONE) {
		k->parity ^= NEAR_PARITY;
		uint32_t end = k->reached;
		for (; at < end && !keep_over_at(k, at); at++) {
			prefetch(k, at, end);
			uint32_t node = queue[at], class = k->near[node];
			if (class & NEAR_PENDING)
				class = settle(k, node);
			for (uint32_t e = in->first_edge[node]; e < in->first_edge[node + 1]; e++)
				reach(k, in->edges[e], class, k->pre[node]);
		}
	}
}

/* Reaches what the words of the roots from turn `i` on point to, as far as these have one rank.
 * Returns the first turn of the next rank. */
static uint32_t flow_rank(struct keep *k, uint32_t i)
{
	uint32_t at = k->reached, first = i;
	for (; i < k->in->root_count && keep_same_rank(k, first, i); i++) {
		uint32_t root = k->turns[i];
		for (uint32_t w = k->first_word[root]; w < k->first_word[root + 1]; w++)
			reach(k, k->word_to[w], root, 0);
	}
	flow(k, at);
	return i;
}

/* ---- mappings that are roots ---- */

/* Changes what is known of `node`, and of the nodes that it leads to, from `from` to `to`. `at`: end
 * of the queue. Returns its new end. */
static uint32_t sweep(struct keep *k, uint32_t node, uint32_t from, uint32_t to, uint32_t at)
{
	const struct keep_input *in = k->in;
	uint32_t *queue = k->vertex, end = at;
	if (k->near[node] != from)
		return at;
	k->near[node] = to;
	for (queue[end++] = node; at < end && !keep_over_at(k, at); at++)
		for (uint32_t e = in->first_edge[queue[at]]; e < in->first_edge[queue[at] + 1]; e++)
			if (k->near[in->edges[e]] == from) {
				k->near[in->edges[e]] = to;
				queue[end++] = in->edges[e];
			}
	return end;
}

/* Finds the mappings that are roots by themselves: no root leads to them, and no other mapping
 * either but one to which they lead themselves. A mapping to which an earlier one did not lead may be
 * led to by a later one; so those that were begun with are gone through again, backwards. */
static void find_lone(struct keep *k)
{
	uint32_t n = k->in->mapping_count, begun = 0, end = k->reached;
	uint32_t *starts = keep_take(k, n, sizeof *starts);
	memset(k->lone, 0, n);
	for (uint32_t i = 0; i < n && k->state == KEEP_DONE; i++) {
		uint32_t before = end;
		end = sweep(k, k->mappings_at + k->by_size[i], NEAR_NONE, NEAR_SEEN, end);
		if (end > before)
			starts[begun++] = k->by_size[i];
	}
	end = k->reached;
	while (begun && k->state == KEEP_DONE) {
		uint32_t before = end, mapping = starts[--begun];
		end = sweep(k, k->mappings_at + mapping, NEAR_SEEN, NEAR_COVERED, end);
		k->lone[mapping] = end > before;
	}
	for (uint32_t i = k->reached; i < end; i++)
		k->near[k->vertex[i]] = NEAR_NONE;
	keep_drop(k, starts);
}

static void flow_lone(struct keep *k)
{
	uint32_t at = k->reached;
	find_lone(k);
	for (uint32_t i = 0; i < k->in->mapping_count && k->state == KEEP_DONE; i++)
		if (k->lone[i]) {
			uint32_t node = k->mappings_at + i;
			k->near[node] = keep_root_of(k, node);
			k->pre[node] = 0;
			k->vertex[k->reached++] = node;
		}
	flow(k, at);
}

void keep_reach(struct keep *k)
{
	start_classes(k);
	k->reached = 0;
	for (uint32_t i = 0; i < k->nodes; i++)
		k->near[i] = k->near[i] == NEAR_LEAF ? NEAR_LEAF : NEAR_NONE;
	for (uint32_t i = 0; i < k->in->root_count && k->state == KEEP_DONE;)
		i = flow_rank(k, i);
	if (k->in->mapping_count && k->state == KEEP_DONE)
		flow_lone(k);
}
