/* SPDX-License-Identifier: MIT
 * Implements the table of live blocks: address -> allocation number and size.
 *
 * A block takes 10 bytes, and six blocks share a cache line, so that finding, adding or removing
 * one touches one line and has hardly an unpredictable branch:
 *
 *   bucket   | high 0 | .. | high 5 | low 0 | .. | low 5 | size 0 | .. | size 5 | used, spilled |
 *   word:    rest of the hash (shift - 2 bits) | number + 1 (66 - shift)     in halves, high and low
 *
 *   hash:    45 bits, from the address in units of 8 bytes (44 bits, and one for blocks of
 *            ms_alloc), different for all addresses: multiplied twice, since after one
 *            multiplication blocks of one size, at equal distances, would share few buckets
 *   hash * scale, 4 <= scale < 8, is  index of the bucket | fraction (shift bits)
 *
 * The fractions of a bucket's hashes are `scale` apart, so they still differ without the two lowest
 * bits, and index and rest determine the address. A table has scale << (45 - shift) buckets; the
 * larger it is, the more bits it has for the number: 29 at first. It also grows to get more of
 * them, up to 39.
 *
 * `overflow` holds, in full, the blocks that do not fit: those with an unusual address, number or
 * size, and the seventh of a bucket. L1: `spilled` of a bucket counts its blocks in `overflow`
 * whose address fits. So if `spilled` is 0 and no word matches, there is no block. While the table
 * grows, `spilled` is not kept, and any block may be in `overflow`; afterwards the blocks that fit
 * move back, and the others are counted.
 *
 * The table grows by a half, then a third. Four buckets move with each added block, in order of
 * hash, so that an address belongs to one bucket at any time; old pages are freed as they empty.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ms-record/base/cpu.h"

struct live_block {
	uint64_t address; /* not 0 */
	uint64_t number;
	uint64_t size;
};

#define LIVE_SLOTS 6u

struct live_bucket {
	uint32_t high[LIVE_SLOTS], low[LIVE_SLOTS]; /* the high halves are compared all at once */
	uint16_t size[LIVE_SLOTS];
	/* one bit per used slot; above them, in units of LIVE_SPILLED, the count `spilled` */
	uint32_t state;
};
#define LIVE_USED ((1u << LIVE_SLOTS) - 1)
#define LIVE_SPILLED (1u << 8) /* unit of the count `spilled` */
_Static_assert(sizeof(struct live_bucket) == 64, "a line of the cache");

struct live_buckets {
	struct live_bucket *buckets; /* NULL: no table */
	size_t count;
	unsigned scale, shift;
};

/* Holds the blocks that fit no bucket: open addressing with linear probing, at most three quarters
 * full. */
struct live_overflow {
	struct live_block *slots; /* address 0 = empty */
	size_t mask, count;
};

struct live_table {
	struct live_buckets now, old; /* old: former table while growing, from bucket `moved` on */
	size_t moved;
	/* packed: blocks in buckets; room: limit at which to grow, 0 while growing */
	size_t packed, room;
	size_t count; /* number of all blocks */
	struct live_overflow overflow;
};

void live_init(struct live_table *l);
void live_free(struct live_table *l);
/* Initializes `to` as a copy of `from`. */
void live_copy(struct live_table *to, const struct live_table *from);
/* Calls `f` for every block; `f` must not change the table. */
void live_each(const struct live_table *l, void (*f)(void *arg, const struct live_block *),
	       void *arg);
/* Copies the block at `address` to *out. Returns false if there is none. */
bool live_find(const struct live_table *l, uint64_t address, struct live_block *out);

/* Handles the rarer cases of live_add and live_take. */
bool live_add_slow(struct live_table *l, const struct live_block *b);
bool live_take_slow(struct live_table *l, uint64_t address, struct live_block *out);

#define LIVE_USER (UINT64_C(1) << 63) /* set in the address of a block that ms_alloc allocated */
#define LIVE_ADDRESS ((UINT64_C(1) << CPU_ADDRESS_BITS) - 8)
#define LIVE_SIZE UINT64_C(0xffff)
#define LIVE_HASH_BITS (CPU_ADDRESS_BITS - 2)
#define LIVE_HASH ((UINT64_C(1) << LIVE_HASH_BITS) - 1)
#define LIVE_FACTOR UINT64_C(0x13c6ef372fe9)  /* derived from the golden ratio */
#define LIVE_INVERSE UINT64_C(0x76d7d9ae9859) /* inverse of LIVE_FACTOR modulo 2^48 */

static inline bool live_fits(uint64_t address)
{
	return !(address & ~(LIVE_USER | LIVE_ADDRESS));
}

static inline uint64_t live_hash(uint64_t address)
{
	uint64_t units = (address & LIVE_ADDRESS) >> 3 | address >> 63 << (CPU_ADDRESS_BITS - 3);
	uint64_t half = units * LIVE_FACTOR & LIVE_HASH;
	return (half ^ half >> 23) * LIVE_FACTOR & LIVE_HASH;
}

/* Locates the bucket that a block has or would have. */
struct live_place {
	struct live_bucket *bucket;
	uint64_t key;   /* the block's word without the number */
	uint64_t above; /* block numbers up to this fit into the word */
};

static inline struct live_place live_place_in(const struct live_buckets *t, uint64_t hash)
{
	uint64_t at = hash * t->scale, limit = UINT64_C(1) << (66 - t->shift);
	return (struct live_place){.bucket = &t->buckets[at >> t->shift],
				   .key = at << (64 - t->shift) & -limit,
				   .above = limit - 1};
}

static inline struct live_place live_place(const struct live_table *l, uint64_t address)
{
	uint64_t hash = live_hash(address);
	if (l->old.buckets && hash * l->old.scale >> l->old.shift >= l->moved)
		return live_place_in(&l->old, hash);
	return live_place_in(&l->now, hash);
}

static inline uint64_t live_word(const struct live_bucket *b, unsigned slot)
{
	return (uint64_t)b->high[slot] << 32 | b->low[slot];
}

/* Returns the bucket's slot with that key, whatever the block number in the slot; LIVE_SLOTS =
 * none. */
static inline unsigned live_slot(const struct live_place *p)
{
	unsigned bits =
		cpu_match8(p->bucket->high, (uint32_t)(~p->above >> 32), (uint32_t)(p->key >> 32));
	for (bits &= p->bucket->state & LIVE_USED; bits; bits &= bits - 1) {
		unsigned slot = (unsigned)__builtin_ctz(bits);
		if ((live_word(p->bucket, slot) ^ p->key) <= p->above)
			return slot;
	}
	return LIVE_SLOTS;
}

static inline unsigned live_empty(const struct live_bucket *b)
{
	return ~b->state & LIVE_USED;
}

static inline bool live_packs(const struct live_place *p, const struct live_block *b)
{
	return live_fits(b->address) && b->number < p->above && b->size <= LIVE_SIZE;
}

static inline void live_pack(const struct live_place *p, unsigned slot, uint64_t number,
			     uint64_t size)
{
	uint64_t word = p->key | (number + 1);
	p->bucket->high[slot] = (uint32_t)(word >> 32);
	p->bucket->low[slot] = (uint32_t)word;
	p->bucket->size[slot] = (uint16_t)size;
	p->bucket->state |= 1u << slot;
}

/* Returns the block in a slot of the bucket. */
static inline struct live_block live_unpack(const struct live_place *p, unsigned slot,
					    uint64_t address)
{
	return (struct live_block){address, (live_word(p->bucket, slot) ^ p->key) - 1,
				   p->bucket->size[slot]};
}

/* Adds a block. Returns false, and changes nothing, if there is a block at its address already. */
static inline bool live_add(struct live_table *l, const struct live_block *b)
{
	struct live_place p = live_place(l, b->address);
	bool simple = p.bucket->state < LIVE_USED; /* the bucket is not full, and its count
						      `spilled` is 0 */
	if (!simple || !live_packs(&p, b) || l->packed >= l->room)
		return live_add_slow(l, b);
	if (live_slot(&p) < LIVE_SLOTS)
		return false;
	live_pack(&p, (unsigned)__builtin_ctz(live_empty(p.bucket)), b->number, b->size);
	l->packed++;
	l->count++;
	return true;
}

/* Removes the block at `address` and stores it in *out. Returns false if there is none. */
static inline bool live_take(struct live_table *l, uint64_t address, struct live_block *out)
{
	struct live_place p = live_place(l, address);
	unsigned slot = live_fits(address) ? live_slot(&p) : LIVE_SLOTS;
	if (slot == LIVE_SLOTS)
		return live_take_slow(l, address, out);
	*out = live_unpack(&p, slot, address);
	p.bucket->state &= ~(1u << slot);
	l->packed--;
	l->count--;
	return true;
}

/* Prefetches the bucket of `address`. Always inlined: the compiler considers a function that
 * only prefetches to have no effect, and drops calls of it that are not inlined first. */
static inline __attribute__((always_inline)) void live_prefetch(const struct live_table *l,
								uint64_t address)
{
	__builtin_prefetch(live_place(l, address).bucket);
}
