/* SPDX-License-Identifier: MIT
 * Finds the dominators of the numbers, by the semi-NCA algorithm (Georgiadis and Tarjan).
 */
#include <string.h>

#include "keep_work.h"

#define STEPS 0xfffffu /* steps between two looks at the clock, less 1 */

/* ---- predecessors ---- */

/* Lists the predecessors of each number that has more than one, the node from which it was numbered
 * among them; of others this is the only one. */
static void find_predecessors(struct keep *k)
{
	uint32_t *count = k->scratch[0], slots = k->slot[k->count + 1], sum = 0;
	memset(count, 0, ((size_t)k->count + 1) * sizeof *count);
	for (uint32_t s = 0; s < slots; s++)
		if (k->target[s] < TARGET_OTHER)
			count[k->target[s]]++;
	for (uint32_t i = 1; i <= k->count; i++) {
		sum += count[i] > 1 ? count[i] : 0;
		k->pred[i] = sum; /* the end, from where the list is filled */
	}
	k->pred[k->count + 1] = sum;
	keep_drop(k, k->pred_of);
	k->pred_of = keep_take(k, sum, sizeof *k->pred_of);
	if (!k->pred_of)
		return;
	for (uint32_t i = k->count; i && !keep_over_at(k, i); i--)
		for (uint32_t s = k->slot[i]; s < k->slot[i + 1]; s++) {
			uint32_t to = k->target[s];
			if (to < TARGET_OTHER && count[to] > 1)
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
	find_predecessors(k);
	if (!keep_over(k))
		find_dominators(k);
}
