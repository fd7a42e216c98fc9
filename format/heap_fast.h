/* SPDX-License-Identifier: MIT
 * The model of the heap: the most usual cases, short enough to be inline; private to format/.
 */
#ifndef MS_FORMAT_HEAP_FAST_H
#define MS_FORMAT_HEAP_FAST_H

#include "heap_odd.h"

static inline uint8_t *ms_heap_past_cache(struct ms_heap *h, const struct ms_event *ev)
{
	return &h->past_cache[ev->stack * UINT32_C(0x9e3779b1) >> 16];
}

/* The cache for blocks of that size, or NULL. */
static inline struct ms_heap_cache *ms_heap_cache_of(struct ms_heap *h, uint32_t thread,
						     uint64_t size)
{
	uint64_t g = ms_granules(size);
	return g < MS_HEAP_CACHED ? &h->cache[thread % MS_EVENT_THREAD_SLOTS][g] : NULL;
}

/* All of an allocation that is no realloc, if its address, not 0, is the newest in the cache.
 * *expected: that was to be expected. False: it is not, and nothing was done. */
static inline bool ms_heap_take_newest(struct ms_heap *h, const struct ms_event *ev, bool *expected)
{
	struct ms_heap_cache *c = ms_heap_cache_of(h, ev->thread, ev->size);
	if (!c || !c->count || c->address[c->count - 1] != ev->address)
		return false;
	uint8_t *past = ms_heap_past_cache(h, ev);
	c->count--;
	*expected = !*past;
	*past = 0;
	return true;
}

/* The same, for a reader: whether the way `way` leads there. The address, or 0: nothing was done.
 */
static inline uint64_t ms_heap_next_newest(struct ms_heap *h, const struct ms_event *ev,
					   unsigned way)
{
	struct ms_heap_cache *c = ms_heap_cache_of(h, ev->thread, ev->size);
	if (way > MS_HEAP_CACHED_BLOCK || way == MS_HEAP_STAYS || !c || !c->count)
		return 0;
	uint8_t *past = ms_heap_past_cache(h, ev);
	uint64_t address = c->address[c->count - 1];
	if (!address || (way == MS_HEAP_EXPECTED && *past))
		return 0;
	*past = 0;
	c->count--;
	return address;
}

/* All of a release, if the block goes to the cache. False: it does not, and nothing was done. */
static inline bool ms_heap_release_to_cache(struct ms_heap *h, uint32_t thread, uint64_t address,
					    uint64_t size)
{
	struct ms_heap_cache *c = ms_heap_cache_of(h, thread, size);
	uint32_t tags;
	memcpy(&tags, h->odd_tags[odd_set(address)], sizeof tags);
	if (!c || tags || c->count >= MS_HEAP_CACHE)
		return false;
	c->address[c->count++] = address;
	return true;
}

#endif
