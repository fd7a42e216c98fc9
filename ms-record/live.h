/* SPDX-License-Identifier: MIT
 * The table of live blocks: address -> allocation number and size.
 *
 * Open addressing with linear probing, grown at half full (small ones at a quarter, where it costs
 * little and most blocks are found at first sight), bit by bit; removal shifts back what follows,
 * so there are no tombstones and a long run does not slow down.
 */
#ifndef LIVE_H
#define LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct live_block {
	uint64_t address; /* 0 = empty slot */
	uint64_t number;
	uint64_t size;
};

struct live_table {
	struct live_block *slots; /* NULL: none */
	size_t mask;
	unsigned shift;
};

struct live {
	struct live_table now, old; /* old: while it grows */
	size_t count;               /* of both */
	size_t room;                /* count at which it grows; 0 while it does */
	size_t at, left;            /* slots of the old table: where to go on, how many are left */
};

void live_init(struct live *l);
void live_free(struct live *l);
/* Ends growing, if it is under way: then all blocks are in `now`. */
void live_settle(struct live *l);
/* Makes `to` an equal table, settled. */
void live_copy(struct live *to, const struct live *from);
/* The block at `address` (not 0), or NULL. Valid until the next live_make or live_take. */
struct live_block *live_find(const struct live *l, uint64_t address);
/* What live_make and live_take do when it is not simple. */
struct live_block *live_make_slow(struct live *l, uint64_t address, bool *made);
bool live_take_slow(struct live *l, uint64_t address, struct live_block *out);

static inline size_t live_slot(const struct live_table *t, uint64_t address)
{
	return (size_t)(((address >> 4) * UINT64_C(0x9e3779b97f4a7c15)) >> t->shift);
}
/* The block at `address`, made when it is not there: then *made is true, and number and size are to
 * be filled in. Valid until the next live_make or live_take. */
static inline struct live_block *live_make(struct live *l, uint64_t address, bool *made)
{
	struct live_block *b = &l->now.slots[live_slot(&l->now, address)];
	if (b->address || l->count >= l->room)
		return live_make_slow(l, address, made);
	l->count++;
	*made = true;
	b->address = address;
	return b;
}
/* Removes the block at `address` into *out; false when there is none. */
static inline bool live_take(struct live *l, uint64_t address, struct live_block *out)
{
	size_t i = live_slot(&l->now, address);
	struct live_block *b = &l->now.slots[i];
	if (b->address != address || l->now.slots[(i + 1) & l->now.mask].address || !l->room)
		return live_take_slow(l, address, out);
	l->count--;
	*out = *b;
	b->address = 0;
	return true;
}
/* Brings the place of `address` into the cache. */
static inline void live_prefetch(const struct live *l, uint64_t address)
{
	__builtin_prefetch(&l->now.slots[live_slot(&l->now, address)]);
}

#endif
