/* SPDX-License-Identifier: MIT
 * Odd chunks, larger than their block needs; private to format/heap*.c.
 */
#ifndef MS_FORMAT_HEAP_ODD_H
#define MS_FORMAT_HEAP_ODD_H

#include <string.h>

#include "heap_chunks.h"

static inline uint32_t odd_set(uint64_t address)
{
	return heap_place(address, 7) % MS_HEAP_ODD_SETS;
}

/* A byte of an address, not 0, which says that it may be there. */
static inline uint8_t odd_tag(uint64_t address)
{
	return (uint8_t)(address >> 4 | 1);
}

/* Almost no chunk is odd: the tags of its set, which stay in the cache, say so. */
static inline struct ms_heap_odd *odd_find(struct ms_heap *h, uint64_t address)
{
	uint32_t set = odd_set(address), tags;
	memcpy(&tags, h->odd_tags[set], sizeof tags);
	if (__builtin_expect(!tags, 1))
		return NULL;
	for (unsigned i = 0; i < MS_HEAP_ODD_WAYS; i++)
		if (h->odd_tags[set][i] == odd_tag(address) && h->odd[set][i].address == address)
			return &h->odd[set][i];
	return NULL;
}

static inline void odd_forget(struct ms_heap *h, struct ms_heap_odd *o)
{
	uint32_t set = odd_set(o->address);
	h->odd_tags[set][o - h->odd[set]] = 0;
	o->address = 0;
}

static inline void odd_enter(struct ms_heap *h, uint64_t address, uint32_t granules)
{
	uint32_t set = odd_set(address);
	unsigned i = 0;
	while (i + 1 < MS_HEAP_ODD_WAYS && h->odd_tags[set][i])
		i++;
	h->odd_tags[set][i] = odd_tag(address);
	h->odd[set][i] = (struct ms_heap_odd){address, granules};
}

static inline uint32_t chunk_of(struct ms_heap *h, uint64_t address, uint64_t size)
{
	const struct ms_heap_odd *o = odd_find(h, address);
	return o ? (uint32_t)o->granules : clamp(ms_granules(size));
}

/* The block needs `granules` and its chunk has `have`. */
static inline void note_chunk(struct ms_heap *h, uint64_t address, uint32_t granules, uint32_t have)
{
	struct ms_heap_odd *o = odd_find(h, address);
	if (have == granules) {
		if (o)
			odd_forget(h, o);
	} else if (o) {
		o->granules = have;
	} else {
		odd_enter(h, address, have);
	}
}

#endif
