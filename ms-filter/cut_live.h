/* SPDX-License-Identifier: MIT
 * The blocks that are live while a trace is cut, by allocation number.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/checkpoint.h"

struct live_block {
	struct ms_checkpoint_block b; /* as it was recorded; number UINT64_MAX: an empty slot */
	uint64_t as;                  /* its number in the trace that is written */
};

/* Open addressing with linear probing. All zero is an empty table. */
struct live {
	struct live_block *v;
	size_t n, slots; /* slots: 0 or a power of two */
};

/* The slot of a new block, whose number is set. */
struct live_block *live_add(struct live *l, uint64_t number);
/* Takes block `number` out. False when it is not live. */
bool live_take(struct live *l, uint64_t number, struct live_block *out);
/* All blocks in order of number: pointers to be freed, until the next change. */
struct live_block **live_sorted(const struct live *l);
void live_clear(struct live *l);
