/* SPDX-License-Identifier: MIT
 * Stores the live blocks while a trace is cut, by allocation number.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/checkpoint.h"

struct cut_live_block {
	struct ms_checkpoint_block b; /* the block as recorded; number UINT64_MAX = empty slot */
	uint64_t as;                  /* the block's number in the trace being written */
};

/* Holds live blocks in a hash table with linear probing. All zero is an empty table. */
struct cut_live {
	struct cut_live_block *v;
	size_t n, slots; /* number of blocks; number of slots, 0 or a power of two */
};

/* Adds a block and returns its slot, in which only the number is set. */
struct cut_live_block *cut_live_add(struct cut_live *l, uint64_t number);
/* Removes block `number` and copies it to `out`. Returns false if it is not live. */
bool cut_live_take(struct cut_live *l, uint64_t number, struct cut_live_block *out);
/* Returns pointers to all blocks, sorted by number, valid until the next change. The caller frees
 * the array. */
struct cut_live_block **cut_live_sorted(const struct cut_live *l);
void cut_live_clear(struct cut_live *l);
