/* SPDX-License-Identifier: MIT
 * The live blocks of a replay, by allocation number, in memory that depends on how many are live
 * and not on how many ever were.
 *
 *    numbers:  0 ............ base ........................... base + WINDOW
 *              |   old groups  |  window: a ring, one slot each  |
 *
 * Most blocks are freed soon: allocations land in the window, an array that is indexed by the low
 * bits of the number, with one bit a slot that says "live". When the window moves on, a group of 64
 * slots leaves it; what is still live in it is packed into an old group, found by a hash of the
 * group's number. So hashing costs once per 64 numbers that leave and once per free of an old
 * block; memory is the window and at most 4 slots of 24 bytes, with a group's head of 24, for each
 * live old block.
 *
 * Invariants: base is a multiple of 64; bits of numbers not yet seen are 0; an old group's `live`
 * is a non-zero subset of its `had`, whose n-th set bit is slot n of it; a group is in the window
 * or old, never both.
 */
#ifndef MS_BLOCKS_H
#define MS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_BLOCKS_WINDOW (UINT64_C(1) << 16)

struct ms_live_block {
	uint64_t size; /* bytes */
	uint64_t tick; /* when it was allocated */
	uint32_t site;
	uint32_t thread;
};

struct ms_blocks {
	struct ms_live_block *window;
	uint64_t *bits; /* a word per group of 64 slots */
	uint64_t base;
	struct ms_block_group **old; /* open addressing, linear probing */
	size_t old_count, old_mask;
	struct ms_block_group *filling; /* the old group in hand while blocks are put back */
};

void ms_blocks_init(struct ms_blocks *b);
void ms_blocks_free(struct ms_blocks *b);

/* Moves the window so that it holds `number`. */
void ms_blocks_advance(struct ms_blocks *b, uint64_t number);
bool ms_blocks_take_old(struct ms_blocks *b, uint64_t number, struct ms_live_block *out);

/* Forgets all blocks; those of a checkpoint follow by ms_blocks_put_back in order of number, all
 * below `next`, then ms_blocks_all_back. */
void ms_blocks_clear(struct ms_blocks *b, uint64_t next);
struct ms_live_block *ms_blocks_put_back(struct ms_blocks *b, uint64_t number);
void ms_blocks_all_back(struct ms_blocks *b);

/* The slot of a new block, to be filled in. `number` is above all numbers added before. */
static inline struct ms_live_block *ms_blocks_add(struct ms_blocks *b, uint64_t number)
{
	if (__builtin_expect(number - b->base >= MS_BLOCKS_WINDOW, 0))
		ms_blocks_advance(b, number);
	uint64_t slot = number & (MS_BLOCKS_WINDOW - 1);
	b->bits[slot >> 6] |= UINT64_C(1) << (slot & 63);
	return &b->window[slot];
}

/* Removes block `number` and copies it to `out`. False when it is not live. */
static inline bool ms_blocks_take(struct ms_blocks *b, uint64_t number, struct ms_live_block *out)
{
	if (number < b->base)
		return ms_blocks_take_old(b, number, out);
	if (number - b->base >= MS_BLOCKS_WINDOW)
		return false;
	uint64_t slot = number & (MS_BLOCKS_WINDOW - 1), bit = UINT64_C(1) << (slot & 63);
	if (!(b->bits[slot >> 6] & bit))
		return false;
	b->bits[slot >> 6] &= ~bit;
	*out = b->window[slot];
	return true;
}

/* Calls `f` for every live block, in no particular order. */
void ms_blocks_each(const struct ms_blocks *b, void (*f)(void *arg, const struct ms_live_block *),
		    void *arg);
/* The same with each block's number. */
void ms_blocks_each_number(const struct ms_blocks *b,
			   void (*f)(void *arg, uint64_t number, const struct ms_live_block *),
			   void *arg);

#endif
