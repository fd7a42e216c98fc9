/* SPDX-License-Identifier: MIT
 * The blocks that are live while a trace is cut, by allocation number.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/checkpoint.h"

struct cut_live_block {
	struct ms_checkpoint_block b; /* as it was recorded; number UINT64_MAX: an empty slot */
	uint64_t as;                  /* its number in the trace that is written */
};

/* Open addressing with linear probing. All zero is an empty table. */
struct cut_live {
	struct cut_live_block *v;
	size_t n, slots; /* slots: 0 or a power of two */
};

/* The slot of a new block, whose number is set. */
struct cut_live_block *cut_live_add(struct cut_live *l, uint64_t number);
/* Takes block `number` out. False when it is not live. */
bool cut_live_take(struct cut_live *l, uint64_t number, struct cut_live_block *out);
/* All blocks in order of number: pointers to be freed, until the next change. */
struct cut_live_block **cut_live_sorted(const struct cut_live *l);
void cut_live_clear(struct cut_live *l);
