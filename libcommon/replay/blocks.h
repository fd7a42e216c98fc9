/* SPDX-License-Identifier: MIT
 * The live blocks of a replay, by allocation number, in memory proportional to the number of live
 * blocks, not of all allocations.
 *
 *    numbers:  0 ............ base ........................... base + WINDOW
 *              |   old groups  |  window: a ring, one slot each  |
 *
 * Most blocks are freed soon: allocations land in the window, an array that is indexed by the low
 * bits of the number, with one bit a slot that says "live". When the window moves on, a group of 64
 * slots leaves it; what is still live in it is packed into an old group, found by a hash of the
 * group's number. So hashing costs once per 64 numbers that leave and once per free of an old
 * block; memory is the window and at most 4 slots of 12 bytes, with a group's place of 32 bytes in
 * the table, of whose places at least a third is free, for each live old block. A group's bits
 * stand in the table: a free reads one line there and one slot, and both can be prefetched.
 *
 * A slot is small, so that the window stays in the cache: size and tick have 32 bits. Blocks that
 * need more are in the table `wide`, and their slot has the index there.
 *
 * Invariants: base is a multiple of 64; bits of numbers not yet seen are 0; an old group's `live`
 * is a non-zero subset of its `had`, whose n-th set bit is slot n of it; a group is in the window
 * or old, never both.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"

#define MS_BLOCKS_WINDOW (UINT64_C(1) << 16)

struct ms_live_block {
	uint64_t size;  /* bytes */
	uint64_t tick;  /* tick of the block's allocation */
	uint32_t owner; /* as given to ms_blocks_add; in a free wide block: index of the next free
			   one, plus 1 */
};

struct ms_block_slot {
	uint32_t size, tick;
	uint32_t owner; /* MS_BLOCK_WIDE: `size` is an index in `wide` */
};
#define MS_BLOCK_WIDE UINT32_MAX

/* Describes an old group: a place in the table. */
struct ms_block_group {
	uint64_t key;                /* block number / 64 */
	uint64_t had, live;          /* live 0 = the place is free */
	struct ms_block_slot *slots; /* one for each bit of `had`, in order */
};
#define MS_BLOCK_LINE 64u /* bytes of two groups and of a line of the cache */

/* Number of sizes of groups of blocks older than the window; each size has a list of free
 * slots. */
#define MS_BLOCK_ROOMS 12u

struct ms_blocks {
	struct ms_block_slot *window;
	uint64_t *bits; /* bit set of live blocks in the window: one word per group of 64 slots */
	uint64_t base;
	void *memory; /* of `old` */
	struct ms_block_group *
		old; /* hash table with linear probing, aligned so that a line of the cache holds two places */
	size_t old_count, old_mask;
	struct ms_block_slot *rooms[MS_BLOCK_ROOMS]; /* free slots of groups by size, linked */
	struct ms_block_chunk *chunks;               /* memory that slots of groups are cut from */
	size_t chunk_left, chunk_bytes;              /* of the first one; of all */
	MS_ARRAY(struct ms_live_block) wide;
	uint32_t free_wide; /* index of the first free element of `wide`, plus 1 */
};

void ms_blocks_init(struct ms_blocks *b);
void ms_blocks_free(struct ms_blocks *b);

/* Moves the window forward so that it includes `number`. */
void ms_blocks_advance(struct ms_blocks *b, uint64_t number);
bool ms_blocks_take_old(struct ms_blocks *b, uint64_t number, struct ms_block_slot *out);
/* Convert a block whose size or tick exceeds 32 bits to a slot, and back. ms_blocks_narrow frees
 * the wide block. */
struct ms_block_slot ms_blocks_widen(struct ms_blocks *b, uint64_t size, uint64_t tick,
				     uint32_t owner);
struct ms_live_block ms_blocks_narrow(struct ms_blocks *b, struct ms_block_slot slot);

/* Removes all blocks. */
void ms_blocks_clear(struct ms_blocks *b);

/* Returns the number of set bits. */
static inline unsigned ms_blocks_ones(uint64_t v)
{
	v -= v >> 1 & UINT64_C(0x5555555555555555);
	v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
	v = (v + (v >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (unsigned)((v * UINT64_C(0x0101010101010101)) >> 56);
}

/* Returns the index of the slot of the block whose bit in the group is `bit`. */
static inline unsigned ms_blocks_place(const struct ms_block_group *g, uint64_t bit)
{
	return ms_blocks_ones(g->had & (bit - 1));
}

static inline size_t ms_blocks_home(const struct ms_blocks *b, uint64_t key)
{
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & b->old_mask;
}

/* Returns the old group with that key, or a free place. */
static inline struct ms_block_group *ms_blocks_group(const struct ms_blocks *b, uint64_t key)
{
	size_t i = ms_blocks_home(b, key);
	while (b->old[i].live && b->old[i].key != key)
		i = (i + 1) & b->old_mask;
	return &b->old[i];
}

/* Marks a function that only prefetches. GCC 12 takes one that it does not inline at once for a
 * function without effects, and drops its calls. */
#define MS_PREFETCHES inline __attribute__((always_inline))

/* Prefetches the place in the table of a block that is older than the window, or the slot of any
 * other. */
static MS_PREFETCHES void ms_blocks_expect(const struct ms_blocks *b, uint64_t number)
{
	const void *group = &b->old[ms_blocks_home(b, number >> 6)];
	const void *slot = &b->window[number & (MS_BLOCKS_WINDOW - 1)];
	__builtin_prefetch(number < b->base ? group : slot, 1);
}

/* Returns the slot of a live block; NULL if it is not live. Reads what ms_blocks_expect
 * prefetches. */
static inline const struct ms_block_slot *ms_blocks_find(const struct ms_blocks *b, uint64_t number)
{
	uint64_t bit = UINT64_C(1) << (number & 63);
	if (number < b->base) {
		const struct ms_block_group *g = ms_blocks_group(b, number >> 6);
		return g->live & bit ? &g->slots[ms_blocks_place(g, bit)] : NULL;
	}
	uint64_t slot = number & (MS_BLOCKS_WINDOW - 1);
	return number - b->base < MS_BLOCKS_WINDOW && b->bits[slot >> 6] & bit ? &b->window[slot]
									       : NULL;
}

static inline struct ms_block_slot ms_blocks_slot(struct ms_blocks *b, uint64_t size, uint64_t tick,
						  uint32_t owner)
{
	if (__builtin_expect((size | tick) > UINT32_MAX, 0))
		return ms_blocks_widen(b, size, tick, owner);
	return (struct ms_block_slot){(uint32_t)size, (uint32_t)tick, owner};
}

/* Adds a block. `number` must be above all numbers added before. */
static inline void ms_blocks_add(struct ms_blocks *b, uint64_t number, uint64_t size, uint64_t tick,
				 uint32_t owner)
{
	if (__builtin_expect(number - b->base >= MS_BLOCKS_WINDOW, 0))
		ms_blocks_advance(b, number);
	uint64_t slot = number & (MS_BLOCKS_WINDOW - 1);
	b->bits[slot >> 6] |= UINT64_C(1) << (slot & 63);
	b->window[slot] = ms_blocks_slot(b, size, tick, owner);
}

/* Removes block `number` and copies it to `out`. Returns false if it is not live. */
static inline bool ms_blocks_take(struct ms_blocks *b, uint64_t number, struct ms_live_block *out)
{
	struct ms_block_slot s;
	if (number < b->base) {
		if (!ms_blocks_take_old(b, number, &s))
			return false;
	} else {
		uint64_t slot = number & (MS_BLOCKS_WINDOW - 1), bit = UINT64_C(1) << (slot & 63);
		if (number - b->base >= MS_BLOCKS_WINDOW || !(b->bits[slot >> 6] & bit))
			return false;
		b->bits[slot >> 6] &= ~bit;
		s = b->window[slot];
	}
	*out = (struct ms_live_block){s.size, s.tick, s.owner};
	if (__builtin_expect(s.owner == MS_BLOCK_WIDE, 0))
		*out = ms_blocks_narrow(b, s);
	return true;
}

/* Calls `f` for every live block, in no particular order. */
void ms_blocks_each(const struct ms_blocks *b,
		    void (*f)(void *arg, uint64_t number, const struct ms_live_block *), void *arg);
