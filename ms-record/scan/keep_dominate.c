/* SPDX-License-Identifier: MIT
 * Numbers the nodes depth first and finds their dominators, by the semi-NCA algorithm (Georgiadis
 * and Tarjan). Nothing recurses: a list of millions of blocks is one path.
 */
#include <string.h>

#include "keep_work.h"

#define STEPS 0xfffffu /* steps between two looks at the clock, less 1 */

/* ---- numbers ---- */

/* Returns the nodes that edges or words of a node point to. */
static inline const uint32_t *targets_of(const struct keep *k, uint32_t node, uint32_t *count)
{
	const uint32_t *first =
		keep_is_root(k, node) ? &k->first_word[node - k->nodes] : &k->in->first_edge[node];
	*count = first[1] - first[0];
	return (keep_is_root(k, node) ? k->word_to : k->in->edges) + first[0];
}

static uint32_t enter(struct keep *k, uint32_t node, uint32_t parent)
{
	uint32_t i = ++k->count, count;
	const uint32_t *to = targets_of(k, node, &count);
	for (uint32_t e = 0; e < count && e < 8; e++) {
		__builtin_prefetch(&k->pre[to[e]]);
		__builtin_prefetch(&k->in->first_edge[to[e]]);
	}
	k->vertex[i] = node;
	k->idom[i] = parent;
	k->scratch[0][i] = k->slot[i];
	k->slot[i + 1] = k->slot[i] + count;
	if (!keep_is_root(k, node))
		k->pre[node] = i;
	return i;
}

/* Gives numbers to the node and to those that it leads to and that have none. These are of its
 * rank: what is of a lower one has a number already. */
static void search(struct keep *k, uint32_t node)
{
	uint32_t *next = k->scratch[0]; /* of each number: the next slot to follow */
	uint32_t i = enter(k, node, 0), steps = 0;
	while (i && !keep_over_at(k, ++steps)) {
		uint32_t at = next[i], end = k->slot[i + 1], known = 1, count;
		uint32_t from = k->slot[i];
		const uint32_t *to = targets_of(k, k->vertex[i], &count);
		for (; at < end && (known = k->pre[to[at - from]]); at++)
			k->target[at] = known < k->rank_from || known == i ? 0 : known;
		next[i] = at + 1;
		if (at == end)
			i = k->idom[i];
		else
			i = k->target[at] = enter(k, to[at - from], i);
	}
}

static void number(struct keep *k)
{
	const uint32_t *turns = k->turns;
	k->count = k->slot[1] = 0;
	for (uint32_t i = 0; i < k->nodes; i++)
		k->pre[i] = k->near[i] == NEAR_LEAF ? PRE_LEAF : 0;
	for (uint32_t i = 0; i < k->in->root_count; i++) {
		if (!i || !keep_same_rank(k, i - 1, i))
			k->rank_from = k->count + 1;
		search(k, k->nodes + turns[i]);
	}
	k->rank_from = k->count + 1;
	for (uint32_t i = 0; i < k->in->mapping_count; i++)
		if (k->lone[i])
			search(k, k->mappings_at + i);
}

/* ---- predecessors ---- */

/* Lists the predecessors of each number that has more than one, the node from which it was numbered
 * among them; of others this is the only one. */
static void find_predecessors(struct keep *k)
{
	uint32_t *count = k->scratch[0], slots = k->slot[k->count + 1], sum = 0;
	memset(count, 0, ((size_t)k->count + 1) * sizeof *count);
	for (uint32_t s = 0; s < slots; s++)
		if (k->target[s] != PRE_LEAF)
			count[k->target[s]]++;
	count[0] = 0;
	for (uint32_t i = 1; i <= k->count; i++) {
		sum += count[i] > 1 ? count[i] : 0;
		k->pred[i] = sum; /* the end, from where the list is filled */
	}
	k->pred[k->count + 1] = sum;
	keep_drop(k, k->pred_of);
	k->pred_of = keep_take(k, sum, sizeof *k->pred_of);
	for (uint32_t i = k->count; i && !keep_over_at(k, i); i--)
		for (uint32_t s = k->slot[i]; s < k->slot[i + 1]; s++) {
			uint32_t to = k->target[s];
			if (to != PRE_LEAF && count[to] > 1)
				k->pred_of[--k->pred[to]] = i;
		}
}

/* ---- semi-NCA ---- */

/* Returns the least label on the way from `v` up to the numbers below `last`, and lets the way there
 * be one step from now on. On the way up the pointers are turned round, so that it is found back. */
static uint32_t least_label(uint32_t *up, uint32_t *label, uint32_t v, uint32_t last)
{
	uint32_t from = 0, u = v;
	while (up[u] >= last) {
		uint32_t next = up[u];
		up[u] = from;
		from = u;
		u = next;
	}
	uint32_t top = up[u];
	while (from) {
		uint32_t next = up[from];
		label[from] = label[u] < label[from] ? label[u] : label[from];
		up[from] = top;
		u = from;
		from = next;
	}
	return label[v];
}

static void find_dominators(struct keep *k)
{
	uint32_t *up = k->scratch[0], *label = k->scratch[1], *semi = k->scratch[2], steps = 0;
	memcpy(up, k->idom, ((size_t)k->count + 1) * sizeof *up);
	for (uint32_t i = k->count; i && !keep_over_at(k, i); i--) {
		uint32_t least = k->idom[i];
		for (uint32_t p = k->pred[i]; p < k->pred[i + 1]; p++) {
			uint32_t from = k->pred_of[p];
			if (from > i)
				from = least_label(up, label, from, i + 1);
			least = from < least ? from : least;
		}
		semi[i] = label[i] = least;
	}
	for (uint32_t i = 1; i <= k->count && k->state == KEEP_DONE; i++) {
		uint32_t d = k->idom[i];
		while (d > semi[i] && (++steps & STEPS || !keep_over(k)))
			d = k->idom[d];
		k->idom[i] = d;
	}
}

void keep_dominate(struct keep *k)
{
	number(k);
	if (!keep_over(k))
		find_predecessors(k);
	if (!keep_over(k))
		find_dominators(k);
}
