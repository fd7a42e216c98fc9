/* SPDX-License-Identifier: MIT
 * Gives numbers to the nodes that roots lead to, depth first; finds the blocks that need none, and
 * the mappings that are roots. Nothing recurses: a list of millions of blocks is one path.
 */
#include <string.h>

#include "keep_work.h"

/* ---- leaves ---- */

#define NOBODY UINT32_MAX
#define SEVERAL (UINT32_MAX - 1)

/* Notes in `only` for each node the only other one that points to it; SEVERAL = also roots. */
static void find_sources(struct keep *k, uint32_t *only)
{
	const struct keep_input *in = k->in;
	memset(only, 0xff, k->nodes * sizeof *only);
	for (uint32_t i = 0; i < k->nodes && !keep_over_at(k, i); i++)
		for (uint32_t e = in->first_edge[i]; e < in->first_edge[i + 1]; e++) {
			uint32_t to = in->edges[e];
			if (to != i)
				only[to] = only[to] == NOBODY || only[to] == i ? i : SEVERAL;
		}
	for (size_t w = 0; w < in->word_count; w++)
		only[in->words[w].node] = SEVERAL;
}

/* Finds the leaves, whose bytes it adds to the only block that points to each. */
static void find_leaves(struct keep *k)
{
	const struct keep_input *in = k->in;
	uint32_t leaves = 0, *only = k->pre;
	find_sources(k, only);
	for (uint32_t i = 0; i < in->block_count; i++) {
		bool leaf = only[i] < SEVERAL && in->first_edge[i] == in->first_edge[i + 1];
		uint32_t *w = &k->heavy[leaf ? only[i] : i];
		uint64_t bytes = in->blocks[i].size;
		*w = bytes < UINT32_MAX - *w ? *w + (uint32_t)bytes : UINT32_MAX;
		k->pre[i] = leaf ? PRE_LEAF : 0;
		leaves += leaf;
	}
	memset(&k->pre[k->mappings_at], 0, in->mapping_count * sizeof *k->pre);
	k->room = k->nodes - leaves + in->root_count + 2;
}

/* ---- the search ---- */

/* Describes what is gone through: nodes, or numbers given before. */
struct walk {
	const uint32_t *first, *edges; /* edges: as `target`, or nodes */
	uint32_t *pre;                 /* numbers, or as there */
	bool again;
	uint32_t *vertex, *slot, *target; /* filled in by number; vertex: of what is gone through */
	uint32_t *next;                   /* of each number: the next slot to follow */
};

/* Returns the edges, or words, of a node or number. */
static inline const uint32_t *edges_of(const struct keep *k, const struct walk *w, uint32_t node,
				       uint32_t *count)
{
	bool root = !w->again && keep_is_root(k, node);
	const uint32_t *first = root ? &k->first_word[node - k->nodes] : &w->first[node];
	*count = first[1] - first[0];
	return (root ? k->word_to : w->edges) + first[0];
}

static uint32_t enter(struct keep *k, struct walk *w, uint32_t node, uint32_t parent)
{
	uint32_t i = ++k->count, count;
	const uint32_t *to = edges_of(k, w, node, &count);
	for (uint32_t e = 0; e < count && e < 8 && !w->again; e++) {
		__builtin_prefetch(&w->pre[to[e]]);
		__builtin_prefetch(&w->first[to[e]]);
	}
	w->vertex[i] = node;
	k->idom[i] = parent;
	w->next[i] = w->slot[i];
	w->slot[i + 1] = w->slot[i] + count;
	if (w->again || !keep_is_root(k, node))
		w->pre[node] = i;
	return i;
}

/* Returns the target of an edge to what is gone through; 0 = it has no number yet. `from`: number
 * of its source. */
static inline uint32_t target_of(const struct keep *k, const struct walk *w, uint32_t to,
				 uint32_t from)
{
	uint32_t i = to == PRE_LEAF ? to : w->pre[to & ~TARGET_OTHER];
	return i && (i < k->rank_from || i == from) ? i | TARGET_OTHER : i;
}

/* Gives numbers to the node and to those that it leads to and that have none. These are of its
 * rank: what is of a lower one has a number already. Returns its own number. */
static uint32_t search(struct keep *k, struct walk *w, uint32_t node)
{
	uint32_t first = enter(k, w, node, 0), i = first, steps = 0;
	while (i && !keep_over_at(k, ++steps)) {
		uint32_t at = w->next[i], end = w->slot[i + 1], from = w->slot[i], count;
		const uint32_t *to = edges_of(k, w, w->vertex[i], &count);
		while (at < end && (w->target[at] = target_of(k, w, to[at - from], i)))
			at++;
		w->next[i] = at + 1;
		if (at == end)
			i = k->idom[i];
		else
			i = w->target[at] = enter(k, w, to[at - from] & ~TARGET_OTHER, i);
	}
	return first;
}

/* ---- mappings that are roots ---- */

/* Changes `pre` of the node, and of the nodes that it leads to, from `from` to `to`. Puts them into
 * the queue, which ends at `at`. Returns its new end. */
static uint32_t sweep(struct keep *k, uint32_t node, uint32_t from, uint32_t to, uint32_t at)
{
	const struct keep_input *in = k->in;
	uint32_t *queue = k->vertex, end = at;
	if (k->pre[node] != from)
		return at;
	k->pre[node] = to;
	for (queue[end++] = node; at < end && !keep_over_at(k, at); at++)
		for (uint32_t e = in->first_edge[queue[at]]; e < in->first_edge[queue[at] + 1]; e++)
			if (k->pre[in->edges[e]] == from) {
				k->pre[in->edges[e]] = to;
				queue[end++] = in->edges[e];
			}
	return end;
}

/* Finds the mappings that are roots by themselves: no root leads to them, and no other mapping
 * either but one to which they lead themselves. A mapping to which an earlier one did not lead may be
 * led to by a later one; so those that were begun with are gone through again, backwards. */
static void find_lone(struct keep *k)
{
	uint32_t n = k->in->mapping_count, begun = 0, end = k->count + 1;
	uint32_t *starts = keep_take(k, n, sizeof *starts);
	for (uint32_t i = 0; i < n && k->state == KEEP_DONE; i++) {
		uint32_t before = end;
		end = sweep(k, k->mappings_at + k->by_size[i], 0, PRE_SEEN, end);
		if (end > before)
			starts[begun++] = k->by_size[i];
	}
	end = k->count + 1;
	while (begun && k->state == KEEP_DONE) {
		uint32_t before = end, mapping = starts[--begun];
		end = sweep(k, k->mappings_at + mapping, PRE_SEEN, PRE_COVERED, end);
		k->lone[mapping] = end > before;
	}
	for (uint32_t i = k->count + 1; i < end; i++)
		k->pre[k->vertex[i]] = 0;
	keep_drop(k, starts);
}

/* ---- numbers ---- */

static void number_all(struct keep *k, struct walk *w)
{
	uint32_t roots = k->in->root_count, *at = k->seed_at;
	k->count = w->slot[1] = 0;
	for (uint32_t i = 0; i < roots && k->state == KEEP_DONE; i++) {
		uint32_t root = k->turns[i];
		if (!i || !keep_same_rank(k, i - 1, i))
			k->rank_from = k->count + 1;
		at[root] = search(k, w, w->again ? at[root] : k->nodes + root);
	}
	if (!w->again && k->state == KEEP_DONE)
		find_lone(k);
	k->rank_from = k->count + 1;
	for (uint32_t i = 0; i < k->in->mapping_count && k->state == KEEP_DONE; i++) {
		uint32_t mapping = k->by_size[i], seed = roots + i;
		if (k->lone[mapping])
			at[seed] = search(k, w, w->again ? at[seed] : k->mappings_at + mapping);
	}
}

static void take_arrays(struct keep *k, uint32_t **const *arrays, size_t count)
{
	for (size_t i = 0; i < count; i++)
		*arrays[i] = keep_take(k, k->room, sizeof(uint32_t));
}

/* Notes by number what is known by node. */
static void gather(struct keep *k)
{
	for (uint32_t i = 1; i <= k->count && !keep_over_at(k, i); i++) {
		uint32_t node = i + 16 <= k->count ? k->vertex[i + 16] : 0;
		if (node < k->mappings_at) {
			__builtin_prefetch(&k->in->blocks[node]);
			__builtin_prefetch(&k->heavy[node]);
		}
		node = k->vertex[i];
		k->site[i] = keep_is_root(k, node) ? 0 : keep_stack(k, node);
		k->weight[i] = keep_is_root(k, node) ? 0 : k->heavy[node];
	}
}

void keep_number(struct keep *k)
{
	const struct keep_input *in = k->in;
	uint64_t edges = (uint64_t)in->first_edge[k->nodes] + in->word_count;
	k->pre = keep_take(k, k->nodes, sizeof *k->pre);
	k->heavy = keep_take(k, k->nodes, sizeof *k->heavy);
	k->seed_at = keep_take(k, (uint64_t)in->root_count + in->mapping_count, sizeof *k->seed_at);
	if (k->state != KEEP_DONE)
		return;
	find_leaves(k);
	uint32_t **const first[] = {&k->vertex, &k->slot, &k->idom, &k->scratch[0]};
	take_arrays(k, first, 4);
	k->target = keep_take(k, edges, sizeof *k->target);
	struct walk w = {in->first_edge, in->edges, k->pre,    false,
			 k->vertex,      k->slot,   k->target, k->scratch[0]};
	if (!keep_over(k))
		number_all(k, &w);
	uint32_t **const second[] = {&k->site, &k->weight, &k->scratch[1]};
	take_arrays(k, second, 3);
	if (!keep_over(k))
		gather(k);
	keep_drop(k, k->heavy);
	uint32_t **const third[] = {&k->pred, &k->near, &k->scratch[2]};
	take_arrays(k, third, 3);
}

/* Brings what is known by the former numbers into the order of the new ones, by way of `near`. */
static void bring(struct keep *k, uint32_t **v, const uint32_t *former)
{
	uint32_t *old = *v;
	for (uint32_t i = 1; i <= k->count; i++)
		k->near[i] = old[former[i]];
	*v = k->near;
	k->near = old;
}

void keep_number_again(struct keep *k)
{
	uint32_t slots = k->slot[k->count + 1], *old = k->slot;
	uint32_t *target = keep_take(k, slots, sizeof *target), *former = k->scratch[1];
	struct walk w = {old,    k->target, k->scratch[2], true,
			 former, k->pred,   target,        k->scratch[0]};
	if (!target)
		return;
	memset(w.pre, 0, ((size_t)k->count + 1) * sizeof *w.pre);
	number_all(k, &w);
	keep_drop(k, k->target);
	k->target = target;
	k->slot = k->pred;
	k->pred = old;
	if (keep_over(k))
		return;
	bring(k, &k->vertex, former);
	bring(k, &k->site, former);
	bring(k, &k->weight, former);
}
