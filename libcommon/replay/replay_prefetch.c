/* SPDX-License-Identifier: MIT
 * Prefetches what the next events will read: the steps.
 */
#include "replay_prefetch.h"

#include "replay_cells.h"

#define DISTANCE 6u /* events between two steps */

/* Prefetches the two lines of the cache that an event uses of a site or of a cell. */
static MS_PREFETCHES void fetch(const void *p)
{
	__builtin_prefetch(p, 1);
	__builtin_prefetch((const char *)p + 64, 1);
}

/* Returns the cell of a live block, NULL if it has none. */
static inline const struct ms_replay_cell *owner_of(const struct ms_replay *r, uint64_t number)
{
	const struct ms_block_slot *s = ms_blocks_find(&r->blocks, number);
	return s && s->owner < r->cell_count ? &r->cells[s->owner] : NULL;
}

/* Returns the site of a node, NULL if it has none yet. */
static inline const struct ms_replay_site *site_of(const struct ms_replay *r, uint32_t stack)
{
	uint32_t site = stack < r->node_count ? r->site_of_node[stack] : 0;
	return site ? &r->sites[site - 1] : NULL;
}

/* Returns the place in the table of cells where the search for a cell begins. */
static inline const struct ms_lookup_slot *place_of(const struct ms_replay *r,
						    const struct ms_replay_site *s, uint32_t key)
{
	const struct ms_lookup *x = &r->cell_index;
	return &x->slots[ms_hash((uint64_t)(s - r->sites), key) & x->mask];
}

/* ---- steps ---- */

static inline bool is_free(const struct ms_event *ev)
{
	return ev->kind == MS_EV_FREE || ev->kind == MS_EV_REALLOC;
}

static MS_PREFETCHES void first(const struct ms_replay *r, const struct ms_event *ev)
{
	if (is_free(ev))
		ms_blocks_expect(&r->blocks, ev->freed);
	else
		__builtin_prefetch(&r->site_of_node[ev->stack < r->node_count ? ev->stack : 0]);
}

static MS_PREFETCHES void second(const struct ms_replay *r, const struct ms_event *ev)
{
	const struct ms_replay_site *s;
	if (is_free(ev)) {
		if (ev->freed < r->blocks.base)
			__builtin_prefetch(ms_blocks_find(&r->blocks, ev->freed), 1);
	} else if ((s = site_of(r, ev->stack))) {
		fetch(s);
	}
}

static MS_PREFETCHES void third(const struct ms_replay *r, const struct ms_event *ev)
{
	if (is_free(ev)) {
		const struct ms_replay_cell *c = owner_of(r, ev->freed);
		if (c)
			fetch(c);
		return;
	}
	const struct ms_replay_site *s = site_of(r, ev->stack);
	uint32_t key = ms_cell_key(ev->thread, ev->size);
	if (s && s->cell_key == key)
		fetch(&r->cells[s->cell]);
	else if (s)
		__builtin_prefetch(place_of(r, s, key));
}

static MS_PREFETCHES void fourth(const struct ms_replay *r, const struct ms_event *ev)
{
	if (is_free(ev)) {
		const struct ms_replay_cell *c = owner_of(r, ev->freed);
		if (c)
			fetch(&r->sites[c->site]);
		return;
	}
	const struct ms_replay_site *s = site_of(r, ev->stack);
	uint32_t key = ms_cell_key(ev->thread, ev->size), n;
	if (s && s->cell_key != key && r->cell_index.n && (n = place_of(r, s, key)->number))
		fetch(&r->cells[n - 1]);
}

/* Makes the steps that are due when the first of `n` events is applied. */
void ms_prefetch_due(const struct ms_replay *r, const struct ms_event *ev, size_t n)
{
	if (n > 4 * DISTANCE)
		first(r, ev + 4 * DISTANCE);
	if (n > 3 * DISTANCE)
		second(r, ev + 3 * DISTANCE);
	if (n > 2 * DISTANCE)
		third(r, ev + 2 * DISTANCE);
	if (n > DISTANCE)
		fourth(r, ev + DISTANCE);
}

/* Makes the steps that would have been due before the first of `n` events. */
void ms_prefetch_begin(const struct ms_replay *r, const struct ms_event *ev, size_t n)
{
	const size_t d = DISTANCE;
	for (size_t i = 0; i < n && i < 4 * d; i++)
		first(r, ev + i);
	for (size_t i = 0; i < n && i < 3 * d; i++)
		second(r, ev + i);
	for (size_t i = 0; i < n && i < 2 * d; i++)
		third(r, ev + i);
	for (size_t i = 0; i < n && i < d; i++)
		fourth(r, ev + i);
}
