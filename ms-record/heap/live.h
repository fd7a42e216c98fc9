/* SPDX-License-Identifier: MIT
 * The table of live blocks: address -> allocation number and size.
 *
 * A block takes 10 bytes, and six of them a line of the cache, so that to find, add or remove one
 * costs one line and hardly a branch that goes either way:
 *
 *   bucket   | high 0 | .. | high 5 | low 0 | .. | low 5 | size 0 | .. | size 5 | used, spilled |
 *   word:    rest of the hash (shift - 2 bits) | number + 1 (66 - shift)     in halves, high and low
 *
 *   hash:    of the address in units of 8 bytes (44 bits and one for blocks of ms_alloc), 45 bits,
 *            of which no two addresses have the same: multiplied twice, since after one product
 *            blocks of one size, at equal distances, would share few buckets
 *   hash * scale, 4 <= scale < 8, is  index of the bucket | fraction (shift bits)
 *
 * The fractions of a bucket's hashes are `scale` apart, so without the two lowest bits they differ
 * still, and the address follows from index and rest. A table of scale << (45 - shift) buckets has
 * the more bits for the number the larger it is: 29 to begin with, and it grows for their sake too,
 * up to 39.
 *
 * `overflow` has, in full, the blocks that do not fit: an unusual address, number or size, or a
 * seventh one of a bucket. L1: of those whose address fits, the bucket has in `spilled` how many
 * there are. So where that is 0 and no word matches, there is no block. While the table grows it is
 * not kept, and every block may be there; then those that fit go back, and the rest is counted.
 *
 * It grows by a half, then a third, four buckets moving with each block that is added, in order of
 * hash, so that an address is in one bucket at any time; the pages behind are given back.
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
	uint32_t high[LIVE_SLOTS], low[LIVE_SLOTS]; /* the high ones are compared all at once */
	uint16_t size[LIVE_SLOTS];
	uint32_t
		state; /* a bit for each slot that holds a block, and `spilled` from LIVE_SPILLED on */
};
#define LIVE_USED ((1u << LIVE_SLOTS) - 1)
#define LIVE_SPILLED (1u << 8) /* once */
_Static_assert(sizeof(struct live_bucket) == 64, "a line of the cache");

struct live_buckets {
	struct live_bucket *buckets; /* NULL: none */
	size_t count;
	unsigned scale, shift;
};

/* Open addressing with linear probing, at most three quarters full. */
struct live_overflow {
	struct live_block *slots; /* address 0 = empty */
	size_t mask, count;
};

struct live_table {
	struct live_buckets now, old; /* old: while it grows, its buckets from `moved` on */
	size_t moved;
	size_t packed, room; /* blocks in buckets; at so many it grows, 0 while it does */
	size_t count;        /* of all blocks */
	struct live_overflow overflow;
};

void live_init(struct live_table *l);
void live_free(struct live_table *l);
/* Makes `to` an equal table. */
void live_copy(struct live_table *to, const struct live_table *from);
/* Calls `f` for every block, which may not change the table. */
void live_each(const struct live_table *l, void (*f)(void *arg, const struct live_block *),
	       void *arg);
/* Gives the block at `address`; false when there is none. */
bool live_find(const struct live_table *l, uint64_t address, struct live_block *out);

/* Handles the cases that are not simple, for live_add and live_take. */
bool live_add_slow(struct live_table *l, const struct live_block *b);
bool live_take_slow(struct live_table *l, uint64_t address, struct live_block *out);

#define LIVE_USER (UINT64_C(1) << 63) /* of an address: a block of ms_alloc */
#define LIVE_ADDRESS ((UINT64_C(1) << 47) - 8)
#define LIVE_SIZE UINT64_C(0xffff)
#define LIVE_HASH_BITS 45u
#define LIVE_HASH ((UINT64_C(1) << LIVE_HASH_BITS) - 1)
#define LIVE_FACTOR UINT64_C(0x13c6ef372fe9)  /* of the golden section */
#define LIVE_INVERSE UINT64_C(0x16d7d9ae9859) /* modulo 2 to the 45th */

static inline bool live_fits(uint64_t address)
{
	return !(address & ~(LIVE_USER | LIVE_ADDRESS));
}

static inline uint64_t live_hash(uint64_t address)
{
	uint64_t units = (address & LIVE_ADDRESS) >> 3 | address >> 63 << 44;
	uint64_t half = units * LIVE_FACTOR & LIVE_HASH;
	return (half ^ half >> 23) * LIVE_FACTOR & LIVE_HASH;
}

/* Locates the place that a block has or would have. */
struct live_place {
	struct live_bucket *bucket;
	uint64_t key;   /* its word but for the number */
	uint64_t above; /* numbers that fit are below */
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

/* The slot that has that key, whatever the number; LIVE_SLOTS if none has. */
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

/* The block in a slot. */
static inline struct live_block live_unpack(const struct live_place *p, unsigned slot,
					    uint64_t address)
{
	return (struct live_block){address, (live_word(p->bucket, slot) ^ p->key) - 1,
				   p->bucket->size[slot]};
}

/* Adds a block; false when there is one at its address: then nothing is changed. */
static inline bool live_add(struct live_table *l, const struct live_block *b)
{
	struct live_place p = live_place(l, b->address);
	bool simple = p.bucket->state < LIVE_USED; /* not full, nothing spilled */
	if (!simple || !live_packs(&p, b) || l->packed >= l->room)
		return live_add_slow(l, b);
	if (live_slot(&p) < LIVE_SLOTS)
		return false;
	live_pack(&p, (unsigned)__builtin_ctz(live_empty(p.bucket)), b->number, b->size);
	l->packed++;
	l->count++;
	return true;
}

/* Removes the block at `address` into *out; false when there is none. */
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

/* Brings the place of `address` into the cache. The compiler takes a function that does only this for
 * one without effect, and leaves calls out that it does not inline first of all. */
static inline __attribute__((always_inline)) void live_prefetch(const struct live_table *l,
								uint64_t address)
{
	__builtin_prefetch(live_place(l, address).bucket);
}
