/* SPDX-License-Identifier: MIT
 * The model of the heap: blocks released, and free chunks merged.
 */
#include "heap_odd.h"

#define MERGED_BIG 65536u /* bytes of a free chunk at which the fast lists are emptied */
#define MAP_MAX (UINT64_C(32) << 20)

/* Whether free chunk `i`, 0 = none, can be merged with so many granules in that arena. */
static bool joins(const struct ms_heap *h, uint32_t i, unsigned arena, uint32_t granules)
{
	return i && h->nodes[i].arena == arena &&
	       (uint64_t)granules + h->nodes[i].granules <= GRANULES_MAX;
}

/* Merges a chunk with what is free beside it. Returns how many bytes that gave. */
static uint64_t merge(struct ms_heap *h, unsigned arena, uint64_t address, uint32_t granules)
{
	struct ms_heap_arena *a = &h->arenas[arena];
	uint32_t low = ends_at(h, address), high;
	if (joins(h, low, arena, granules)) {
		address = h->nodes[low].address;
		granules += h->nodes[low].granules;
	} else {
		low = 0;
	}
	if (behind(address, granules) == a->top) {
		if (low)
			ms_chunk_drop(h, low);
		a->top = address;
		return top_bytes(a);
	}
	high = begins_at(h, behind(address, granules));
	if (joins(h, high, arena, granules)) {
		granules += h->nodes[high].granules;
		if (low)
			ms_chunk_drop(h, high);
		else
			low = high;
	}
	if (low)
		ms_chunk_grow(h, low, address, granules);
	else
		ms_chunk_add(h, address, granules, arena, LIST_UNSORTED);
	return UINT64_C(16) * granules;
}

void ms_heap_empty_fast(struct ms_heap *h, unsigned arena)
{
	for (unsigned g = 2; g <= FAST_LAST; g++) {
		uint32_t i;
		while ((i = h->arenas[arena].head[LIST_FAST + g])) {
			uint64_t address = h->nodes[i].address;
			ms_chunk_drop(h, i);
			merge(h, arena, address, g);
		}
	}
}

/* What is more than enough at the top goes back to the system. */
static void trim(const struct ms_heap *h, struct ms_heap_arena *a)
{
	uint64_t bytes = top_bytes(a);
	if (a->end > a->top && bytes >= h->trim_from && bytes > TOP_PAD + CHUNK_MIN + 1)
		a->end -= (bytes - CHUNK_MIN - 1 - TOP_PAD) & ~(PAGE - 1);
}

void ms_heap_release_chunk(struct ms_heap *h, uint32_t t, uint64_t address, uint32_t granules)
{
	unsigned arena = arena_at(address);
	if (can_cache(h, t, granules)) {
		cache(h, t, granules, address);
	} else if (granules <= FAST_LAST) {
		ms_chunk_add(h, address, granules, arena, LIST_FAST + granules);
	} else {
		uint32_t stale = h->told ? begins_at(h, address) : 0;
		if (stale)
			ms_chunk_drop(h, stale);
		if (merge(h, arena, address, granules) >= MERGED_BIG) {
			if (h->arenas[arena].fast)
				ms_heap_empty_fast(h, arena);
			trim(h, &h->arenas[arena]);
		}
	}
}

void ms_heap_release(struct ms_heap *h, uint32_t thread, uint64_t address, uint64_t size,
		     bool moved)
{
	struct ms_heap_odd *o = odd_find(h, address);
	uint32_t granules = o ? (uint32_t)o->granules : clamp(ms_granules(size));
	if (o)
		odd_forget(h, o);
	if (!is_mapped(address, granules)) {
		ms_heap_release_chunk(h, thread % MS_EVENT_THREAD_SLOTS, address, granules);
		return;
	}
	uint64_t bytes = (UINT64_C(16) * granules + 16 + PAGE - 1) & ~(PAGE - 1);
	if (!moved && bytes > h->map_from && bytes <= MAP_MAX) {
		h->map_from = bytes;
		h->trim_from = 2 * bytes;
	}
}
