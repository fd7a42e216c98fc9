/* SPDX-License-Identifier: MIT
 * Finds by which part of a variable the blocks below it are reached: for each block that the variable
 * itself dominates, the least and the greatest offset of the pointers in the variable that lead to
 * it. What lies between these is in one member of a struct, or in several, which readers tell by its
 * declaration.
 *
 * A path from a root to a block that it dominates passes only through blocks that it dominates, so
 * each root is looked at for itself: from its pointers in order of their offsets, and from the last
 * to the first, each block is noted by the first pointer that leads to it.
 */
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/order.h"
#include "keep_work.h"

struct pointer {
	uint32_t offset, to; /* to: a number */
};

static int by_offset(const void *a, const void *b)
{
	const struct pointer *x = a, *y = b;
	return MS_ORDER(x->offset, y->offset) ?: MS_ORDER(x->to, y->to);
}

/* Lists the pointers from number `i`, a root, to what it dominates, by their offsets. Returns their
 * number. */
static uint32_t list_pointers(const struct keep *k, uint32_t i, struct pointer *v)
{
	const uint32_t *offsets = &k->word_offset[k->first_word[k->vertex[i] - k->nodes]];
	uint32_t n = 0;
	for (uint32_t s = k->slot[i]; s < k->slot[i + 1]; s++)
		if (k->target[s] < TARGET_OTHER && k->idom[k->target[s]] == i)
			v[n++] = (struct pointer){offsets[s - k->slot[i]], k->target[s]};
	qsort(v, n, sizeof *v, by_offset);
	return n;
}

/* Notes the pointer's offset for all that it leads to in its group and that has none yet. */
static void flow(struct keep *k, const struct pointer *p, uint32_t *noted)
{
	const uint32_t *group = k->scratch[2];
	uint32_t *queue = k->scratch[0], end = 0, of = group[p->to];
	if (noted[p->to] != KEEP_NONE)
		return;
	noted[p->to] = p->offset;
	queue[end++] = p->to;
	for (uint32_t at = 0; at < end && !keep_over_at(k, at); at++)
		for (uint32_t s = k->slot[queue[at]]; s < k->slot[queue[at] + 1]; s++) {
			uint32_t to = k->target[s];
			if (to >= TARGET_OTHER || group[to] != of || noted[to] != KEEP_NONE)
				continue;
			noted[to] = p->offset;
			queue[end++] = to;
		}
}

static void look_at(struct keep *k, uint32_t root, struct pointer *v)
{
	uint32_t n = list_pointers(k, root, v), same = 0;
	while (same < n && v[same].to == v->to)
		same++;
	if (n && same == n) { /* the only block that it dominates itself */
		k->from[v->to] = v->offset;
		k->to[v->to] = v[n - 1].offset;
		return;
	}
	for (uint32_t i = 0; i < n; i++)
		flow(k, &v[i], k->from);
	for (uint32_t i = n; i--;)
		flow(k, &v[i], k->to);
}

void keep_span(struct keep *k)
{
	double least = k->in->least * (double)k->live_bytes;
	size_t bytes = ((size_t)k->count + 1) * sizeof *k->to;
	keep_drop(k, k->pred_of);
	k->pred_of = NULL;
	k->from = k->pred; /* predecessors have been of use */
	k->to = keep_take(k, (uint64_t)k->count + 1, sizeof *k->to);
	struct pointer *v = keep_take(k, k->in->word_count, sizeof *v);
	if (k->state != KEEP_DONE)
		return;
	memset(k->from, 0xff, bytes);
	memset(k->to, 0xff, bytes);
	for (uint32_t r = 0; r < k->in->root_count && !keep_over(k); r++) {
		uint32_t i = k->seed_at[r], kind = k->in->roots[k->outer[r]].kind;
		bool data = kind == KEEP_VARIABLE || kind == KEEP_THREAD_LOCAL;
		if (i && data && (double)k->group_bytes[k->scratch[2][i]] >= least)
			look_at(k, i, v);
	}
	keep_drop(k, v);
}
