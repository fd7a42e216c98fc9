/* SPDX-License-Identifier: MIT
 * The table of live blocks: address -> allocation number and size.
 *
 * Open addressing with linear probing, grown at half full; removal shifts back what follows, so
 * there are no tombstones and a long run does not slow down.
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

struct live {
	struct live_block *slots;
	size_t mask, count;
	unsigned shift;
};

void live_init(struct live *l);
void live_free(struct live *l);
/* Makes `to` an equal table. */
void live_copy(struct live *to, const struct live *from);
/* The block at `address` (not 0), or NULL. Valid until the next live_make or live_take. */
struct live_block *live_find(const struct live *l, uint64_t address);
/* The block at `address`, made when it is not there: then *made is true, and number and size are to
 * be filled in. Valid until the next live_make or live_take. */
struct live_block *live_make(struct live *l, uint64_t address, bool *made);
/* Removes the block at `address` into *out; false when there is none. */
bool live_take(struct live *l, uint64_t address, struct live_block *out);
/* Brings the place of `address` into the cache. */
static inline size_t live_slot(const struct live *l, uint64_t address)
{
	return (size_t)(((address >> 4) * UINT64_C(0x9e3779b97f4a7c15)) >> l->shift);
}
static inline void live_prefetch(const struct live *l, uint64_t address)
{
	__builtin_prefetch(&l->slots[live_slot(l, address)]);
}

#endif
