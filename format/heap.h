/* SPDX-License-Identifier: MIT
 * A model of the C library's heap, which says where the next block will be; private to format/.
 *
 * It does what glibc's malloc (2.26 and later) does, without the memory: caches by thread, arenas
 * with fast lists, sorted and unsorted bins of free chunks, and a top that grows. Told every
 * allocation and free, it gives the same addresses as the real one; where that is not so (another
 * allocator, threads that race, calls that were not seen) it is told what really happened, and
 * goes on from there. ms-trace(5) defines it in words: it is part of the format.
 *
 *   cache[thread][g]   up to 7 addresses, newest last          (not free for the arena)
 *   arena: fast[2..8]  lists of chunks, newest first           (not merged with neighbours)
 *          unsorted    list, newest first                      \
 *          2..63       lists by size in granules, newest first  > free chunks, found by their
 *          64..126     lists by size class, largest first      /  begin and by their end
 *          top, end    where fresh memory begins, and what the arena has
 *
 * Sizes are in granules of 16 bytes, with the word that malloc keeps in front.
 */
#ifndef MS_FORMAT_HEAP_H
#define MS_FORMAT_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "event.h"

#define MS_HEAP_NODES (1u << 18)    /* chunks that can be kept, and one */
#define MS_HEAP_BUCKETS (1u << 17)  /* of the tables that find them */
#define MS_HEAP_ODD_SETS (1u << 14) /* of blocks known to be in a larger chunk than they need */
#define MS_HEAP_ODD_WAYS 4u
#define MS_HEAP_ARENAS 64u
#define MS_HEAP_LISTS 137u /* 0 is none, 1 unsorted, 2..126 bins, 128 + g fast */
#define MS_HEAP_CACHED 66u /* sizes below this are cached */
#define MS_HEAP_CACHE 7u   /* addresses of each size */
#define MS_HEAP_CALLERS (1u << 16)

struct ms_heap_node {
	uint64_t address;
	uint32_t granules;
	uint32_t next, previous; /* in its list; next: in the list of unused ones */
	uint32_t begin, end;     /* the next ones in its buckets */
	uint8_t list, arena;
};

struct ms_heap_arena {
	uint64_t top, end; /* 0: nothing is known of it */
	uint64_t remainder;
	uint64_t map[2]; /* lists that are not empty, of the first 128 */
	uint32_t fast;   /* chunks in the fast lists */
	uint32_t head[MS_HEAP_LISTS], tail[MS_HEAP_LISTS];
};

struct ms_heap_odd {
	uint64_t address;
	uint64_t granules;
};

/* A cache line, if the whole is aligned so. */
struct ms_heap_cache {
	uint64_t count;
	uint64_t address[MS_HEAP_CACHE]; /* newest last */
};

/* About 10 MB, of which is touched what the heap needs. */
struct ms_heap {
	uint64_t map_from, trim_from; /* thresholds, in bytes */
	uint32_t used, unused;        /* nodes ever used; the list of those free again */
	bool begun;                   /* something may not be 0 */
	bool told;                    /* it was wrong, so that it may hold what is not so */
	uint8_t arena_of[MS_EVENT_THREAD_SLOTS];
	struct ms_heap_cache cache[MS_EVENT_THREAD_SLOTS][MS_HEAP_CACHED];
	uint8_t past_cache[MS_HEAP_CALLERS]; /* by stack: it last got a block past the cache */
	struct ms_heap_arena arenas[MS_HEAP_ARENAS];
	uint8_t odd_tags[MS_HEAP_ODD_SETS][MS_HEAP_ODD_WAYS]; /* 0 = nothing there */
	struct ms_heap_odd odd[MS_HEAP_ODD_SETS][MS_HEAP_ODD_WAYS];
	uint32_t begins[MS_HEAP_BUCKETS], ends[MS_HEAP_BUCKETS];
	struct ms_heap_node nodes[MS_HEAP_NODES]; /* 0 is none */
};

/* Ways to get a block. */
enum ms_heap_way {
	MS_HEAP_EXPECTED = 0,
	MS_HEAP_STAYS = 1, /* realloc: where it is */
	MS_HEAP_CACHED_BLOCK = 2,
	MS_HEAP_ARENA = 3,
};

/* What is being allocated. */
struct ms_heap_call {
	uint32_t thread, granules;
	bool realloc;
	uint8_t *past_cache;
	bool cached;  /* there were addresses in the cache */
	uint64_t old; /* realloc: the block, 0 = not known, and its chunk */
	uint32_t old_granules;
	bool joined; /* realloc: what the arena gives is what follows the block */
	enum ms_heap_way expected;
	bool asked;       /* the arena */
	bool from_cache;  /* it would give what it just put into the cache */
	uint32_t node;    /* or this; 0 = the top */
	uint64_t address; /* where that is */
};

/* The first time, all must be 0 already. */
void ms_heap_reset(struct ms_heap *h);
/* Starts an allocation: of `ev`, which releases the block at `old_address` of `old_size` bytes if
 * it is a realloc (0: not known). */
void ms_heap_begin(struct ms_heap *h, struct ms_heap_call *c, const struct ms_event *ev,
		   uint64_t old_address, uint64_t old_size);
/* Place of an address in the cache, from the newest, or -1; and the address at such a place, or 0.
 */
int ms_heap_cache_find(const struct ms_heap *h, const struct ms_heap_call *c, uint64_t address);
uint64_t ms_heap_cache_at(const struct ms_heap *h, const struct ms_heap_call *c, uint32_t place);
/* The address that the arena gives. Sorts its free chunks, as the allocator does at this. */
uint64_t ms_heap_ask(struct ms_heap *h, struct ms_heap_call *c);
/* How many chunks an allocation of that size passes over until the one at `address`: -1, it is not
 * among the first few; and the address of the chunk there, or 0. */
int ms_heap_list_find(const struct ms_heap *h, const struct ms_heap_call *c, uint64_t address);
uint64_t ms_heap_list_at(const struct ms_heap *h, const struct ms_heap_call *c, uint32_t place);
/* The block was got that way. */
void ms_heap_take(struct ms_heap *h, const struct ms_heap_call *c, enum ms_heap_way way);
/* It was got from the cache, but from another place of it. */
void ms_heap_take_cached(struct ms_heap *h, const struct ms_heap_call *c, uint32_t place);
/* It is at `address`, which was not expected; the arena was asked. */
void ms_heap_take_at(struct ms_heap *h, const struct ms_heap_call *c, uint64_t address);
/* A block was released; by a realloc that moved it if `moved`. */
void ms_heap_release(struct ms_heap *h, uint32_t thread, uint64_t address, uint64_t size,
		     bool moved);

/* Granules of a block of that size: size and a word, at least two. */
static inline uint64_t ms_granules(uint64_t size)
{
	return size < 24 ? 2 : (size >> 4) + ((size & 15) > 8) + 1;
}

#endif
