/* SPDX-License-Identifier: MIT
 * Finds the nearest root of each number, and the stacks on the way, breadth first.
 */
#include <string.h>

#include "keep_work.h"

#define CLASSES_MOST (UINT32_C(1) << 18)

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
		k->classes[i] = (struct keep_class){.key = 1, .root = i};
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

/* Reaches number `to` from one of class `class`. Numbers that are reached at the same distance from
 * several ones keep the class that goes first. `run`: blocks of that class one behind the other. */
static inline void reach(struct keep *k, uint32_t to, uint32_t class, uint32_t run)
{
	uint32_t *queue = k->scratch[0], *runs = k->scratch[1];
	uint32_t old = k->near[to], fresh = class | NEAR_PENDING | k->parity;
	if (old == NEAR_NONE)
		queue[k->reached++] = to;
	else if ((old ^ fresh) & (NEAR_PENDING | NEAR_PARITY))
		return;
	else if (old == fresh)
		run = run > runs[to] ? run : runs[to];
	else if (!keep_class_before(k, class, old & NEAR_CLASS))
		return;
	k->near[to] = fresh;
	runs[to] = run;
}

/* Settles the class of a number that has been reached. */
static uint32_t settle(struct keep *k, uint32_t i)
{
	uint32_t from = k->near[i] & NEAR_CLASS, *run = &k->scratch[1][i];
	bool mapping = k->vertex[i] >= k->mappings_at;
	uint32_t c = keep_class_below(k, from, k->site[i], mapping);
	struct keep_class *class = &k->classes[c];
	k->near[i] = c;
	if (class->stack != k->site[i] || class->mapping != mapping)
		return c; /* the path was cut */
	*run = class->depth <= k->classes[from].depth ? *run + 1 : 1;
	class->run = class->run > *run ? class->run : *run;
	return c;
}

/* Follows the edges of the numbers in the queue, and of those that they reach. Only edges that count
 * are followed, so that all ranks take part at once. */
static void flow(struct keep *k)
{
	const uint32_t *queue = k->scratch[0];
	for (uint32_t at = 0; at < k->reached && k->state == KEEP_DONE;) {
		k->parity ^= NEAR_PARITY;
		for (uint32_t end = k->reached; at < end && !keep_over_at(k, at); at++) {
			uint32_t i = queue[at], class = k->near[i];
			if (class & NEAR_PENDING)
				class = settle(k, i);
			for (uint32_t s = k->slot[i]; s < k->slot[i + 1]; s++)
				if (k->target[s] < TARGET_OTHER)
					reach(k, k->target[s], class, k->scratch[1][i]);
		}
	}
}

void keep_reach(struct keep *k)
{
	uint32_t seeds = k->in->root_count + k->in->mapping_count;
	start_classes(k);
	memset(k->near, 0xff, ((size_t)k->count + 1) * sizeof *k->near);
	k->reached = 0;
	for (uint32_t r = 0; r < seeds && k->state == KEEP_DONE; r++)
		if (k->seed_at[r]) {
			k->near[k->seed_at[r]] = r;
			k->scratch[1][k->seed_at[r]] = 0;
			k->scratch[0][k->reached++] = k->seed_at[r];
		}
	flow(k);
}
