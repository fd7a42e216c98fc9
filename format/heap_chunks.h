/* SPDX-License-Identifier: MIT
 * Free chunks of the model of the heap, in their lists; private to format/heap*.c.
 */
#ifndef MS_FORMAT_HEAP_CHUNKS_H
#define MS_FORMAT_HEAP_CHUNKS_H

#include "heap.h"

/* Lists of an arena. */
#define LIST_UNSORTED 1u
#define LIST_LARGE 64u
#define LIST_LAST 126u
#define LIST_FAST 128u /* + granules */

#define FAST_LAST 8u  /* granules of the largest chunk of the fast lists */
#define LARGE 64u     /* and of the smallest one of the large bins */
#define MAPPED 8192u  /* and of the smallest that may be a mapping of its own */
#define MAPPED_AT 16u /* where in its page that begins */
#define PAGE UINT64_C(4096)
#define TOP_PAD UINT64_C(0x20000)
#define CHUNK_MIN 32u
#define HEAP_SIZE (UINT64_C(1) << 26)     /* heaps of further arenas are aligned so */
#define MAIN_BELOW (UINT64_C(0x70) << 40) /* the first arena's addresses */
#define GRANULES_MAX (UINT32_MAX / 2)

/* Neighbours have places near each other, and what is far away is strewn. */
static inline uint64_t heap_place(uint64_t address, unsigned shift)
{
	return (address >> shift) + (address >> 22) * 40503;
}
static inline uint32_t bucket_of(uint64_t address)
{
	return heap_place(address, 5) % MS_HEAP_BUCKETS;
}

static inline uint64_t end_of(const struct ms_heap_node *n)
{
	return n->address + UINT64_C(16) * n->granules;
}

static inline uint64_t behind(uint64_t address, uint32_t granules)
{
	return address + UINT64_C(16) * granules;
}

static inline unsigned arena_at(uint64_t address)
{
	return address < MAIN_BELOW ? 0
				    : 1 + (uint32_t)(address / HEAP_SIZE) % (MS_HEAP_ARENAS - 1);
}

static inline uint32_t clamp(uint64_t granules)
{
	return granules > GRANULES_MAX ? GRANULES_MAX : (uint32_t)granules;
}

/* Bytes from the top to the end, with the word in front. */
static inline uint64_t top_bytes(const struct ms_heap_arena *a)
{
	return a->end - a->top + 16;
}

static inline bool is_mapped(uint64_t address, uint32_t granules)
{
	return granules >= MAPPED && address % PAGE == MAPPED_AT && address >= MAIN_BELOW;
}

static inline void cache(struct ms_heap *h, uint32_t t, uint32_t granules, uint64_t address)
{
	struct ms_heap_cache *c = &h->cache[t][granules];
	c->address[c->count++] = address;
}
static inline bool can_cache(const struct ms_heap *h, uint32_t t, uint32_t granules)
{
	return granules < MS_HEAP_CACHED && h->cache[t][granules].count < MS_HEAP_CACHE;
}

/* ---- free chunks ---- */

/* The free chunk that begins there, or ends there, but for those of the fast lists; 0 = none. */
static inline uint32_t begins_at(const struct ms_heap *h, uint64_t address)
{
	uint32_t i = h->begins[bucket_of(address)];
	while (i && h->nodes[i].address != address)
		i = h->nodes[i].begin;
	return i;
}
static inline uint32_t ends_at(const struct ms_heap *h, uint64_t address)
{
	uint32_t i = h->ends[bucket_of(address)];
	while (i && end_of(&h->nodes[i]) != address)
		i = h->nodes[i].end;
	return i;
}

/* Its bin. */
unsigned ms_chunk_bin(uint32_t granules);
/* Takes the node out of its list. */
void ms_chunk_unlink(struct ms_heap *h, uint32_t i);
/* Into its bin: the large ones largest first, a further one of a size as the second of that. */
void ms_chunk_sort_in(struct ms_heap *h, uint32_t i, unsigned arena);
/* The first in its list of those as large as `i`, which is one of them. */
uint32_t ms_chunk_first_equal(const struct ms_heap *h, uint32_t i);
/* Takes it out of its list and the buckets, and forgets it. */
void ms_chunk_drop(struct ms_heap *h, uint32_t i);
/* A chunk at the head of a list. Without a node or a place in the buckets, it is forgotten. */
void ms_chunk_add(struct ms_heap *h, uint64_t address, uint32_t granules, unsigned arena,
		  unsigned list);
/* A chunk grows up or down, to the head of the unsorted ones. */
void ms_chunk_grow(struct ms_heap *h, uint32_t i, uint64_t address, uint32_t granules);

/* ---- release (heap_release.c) ---- */

/* Merges what is in the fast lists of the arena. */
void ms_heap_empty_fast(struct ms_heap *h, unsigned arena);
/* To the cache of thread `t`, or to the arena. */
void ms_heap_release_chunk(struct ms_heap *h, uint32_t t, uint64_t address, uint32_t granules);

#endif
