/* SPDX-License-Identifier: MIT
 * The table of live blocks: address -> allocation number and size.
 *
 * A block takes 16 bytes, and four of them a line of the cache, so that to find, add or remove one
 * costs one line and hardly a branch that goes either way:
 *
 *   bucket, by hash of the address
 *   | key 0 | key 1 | key 2 | key 3 | rest 0 | rest 1 | rest 2 | rest 3 |      0 = no block
 *   key:  address (47 bits and one for blocks of ms_alloc) << 16 | size, bits 0 to 15
 *   rest: size, bits 16 to 35 << 44 | number (42 bits) << 2 | spilled (in rest 0)
 *
 * `others` has, in full, the blocks that do not fit: an unusual address, number or size, or a fifth
 * one of a bucket. L1: of every block there whose address fits, the bucket knows: `spilled` counts
 * them up to 3, and a 3 stays. So where `spilled` is 0 and no key matches, there is no block.
 *
 * It doubles at two blocks a bucket (small ones at one), four buckets moving with each block that
 * is added: bucket n of the old table to 2n and 2n+1 of the new one, in order, so that an address
 * is in one bucket at any time.
 */
#ifndef LIVE_H
#define LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_block {
	uint64_t address; /* not 0 */
	uint64_t number;
	uint64_t size;
};

struct live_bucket {
	uint64_t key[4], rest[4];
} __attribute__((aligned(64)));

struct live_table {
	struct live_bucket *buckets; /* NULL: none */
	size_t count;
	unsigned shift;
};

/* Open addressing with linear probing, at most half full. */
struct live_others {
	struct live_block *slots; /* address 0 = empty */
	size_t mask, count;
};

struct live {
	struct live_table now, old; /* old: while it grows, its buckets from `moved` on */
	size_t moved;
	size_t packed, room; /* blocks in buckets; at so many it grows, 0 while it does */
	size_t count;        /* of all blocks */
	struct live_others others;
};

void live_init(struct live *l);
void live_free(struct live *l);
/* Makes `to` an equal table. */
void live_copy(struct live *to, const struct live *from);
/* Calls `f` for every block, which may not change the table. */
void live_each(const struct live *l, void (*f)(void *arg, const struct live_block *), void *arg);
/* Gives the block at `address`; false when there is none. */
bool live_find(const struct live *l, uint64_t address, struct live_block *out);

/* What live_add and live_take do when it is not simple. */
bool live_add_slow(struct live *l, const struct live_block *b);
bool live_take_slow(struct live *l, uint64_t address, struct live_block *out);

#define LIVE_USER (UINT64_C(1) << 63)
#define LIVE_ADDRESS ((UINT64_C(1) << 47) - 1)
#define LIVE_NUMBER ((UINT64_C(1) << 42) - 1)
#define LIVE_SIZE ((UINT64_C(1) << 36) - 1)
#define LIVE_SPILLED UINT64_C(3)

static inline bool live_fits(uint64_t address)
{
	return !(address & ~(LIVE_USER | LIVE_ADDRESS));
}

/* The key of a block of 0 bytes there. */
static inline uint64_t live_key(uint64_t address)
{
	return (address & LIVE_ADDRESS) << 16 | (address & LIVE_USER);
}

static inline struct live_bucket *live_bucket(const struct live *l, uint64_t address)
{
	uint64_t hash = (address >> 4) * UINT64_C(0x9e3779b97f4a7c15);
	if (l->old.buckets && hash >> l->old.shift >= l->moved)
		return &l->old.buckets[hash >> l->old.shift];
	return &l->now.buckets[hash >> l->now.shift];
}

/* A bit for each slot that has that key, whatever the size. */
static inline unsigned live_match(const struct live_bucket *b, uint64_t key)
{
	unsigned bits = 0;
#pragma GCC unroll 4
	for (unsigned i = 0; i < 4; i++)
		bits |= (unsigned)((b->key[i] ^ key) < 0x10000) << i;
	return bits;
}

static inline struct live_block live_unpack(const struct live_bucket *b, unsigned slot)
{
	uint64_t key = b->key[slot], rest = b->rest[slot];
	return (struct live_block){.address = (key >> 16 & LIVE_ADDRESS) | (key & LIVE_USER),
				   .number = rest >> 2 & LIVE_NUMBER,
				   .size = (key & 0xffff) | (rest >> 44) << 16};
}

static inline void live_pack(struct live_bucket *b, unsigned slot, const struct live_block *from)
{
	b->key[slot] = live_key(from->address) | (from->size & 0xffff);
	b->rest[slot] = (from->size >> 16) << 44 | from->number << 2 | (b->rest[slot] & 3);
}

/* Adds a block; false when there is one at its address: then nothing is changed. */
static inline bool live_add(struct live *l, const struct live_block *b)
{
	bool plain = live_fits(b->address) && b->number <= LIVE_NUMBER && b->size <= LIVE_SIZE;
	struct live_bucket *at = live_bucket(l, b->address);
	uint64_t key = live_key(b->address);
	unsigned empty = 0;
#pragma GCC unroll 4
	for (unsigned i = 0; i < 4; i++)
		empty |= (unsigned)!at->key[i] << i;
	if (!plain || !empty || at->rest[0] & LIVE_SPILLED || l->packed >= l->room)
		return live_add_slow(l, b);
	if (live_match(at, key))
		return false;
	live_pack(at, (unsigned)__builtin_ctz(empty), b);
	l->packed++;
	l->count++;
	return true;
}

/* Removes the block at `address` into *out; false when there is none. */
static inline bool live_take(struct live *l, uint64_t address, struct live_block *out)
{
	struct live_bucket *at = live_bucket(l, address);
	unsigned match = live_fits(address) ? live_match(at, live_key(address)) : 0;
	if (!match)
		return live_take_slow(l, address, out);
	unsigned slot = (unsigned)__builtin_ctz(match);
	*out = live_unpack(at, slot);
	at->key[slot] = 0;
	l->packed--;
	l->count--;
	return true;
}

/* Brings the place of `address` into the cache. */
static inline void live_prefetch(const struct live *l, uint64_t address)
{
	__builtin_prefetch(live_bucket(l, address));
}

#endif
