/* SPDX-License-Identifier: MIT
 * Blocks that the program says are no leaks (ms_ignore).
 *
 * An address alone does not tell a block, as another one may be made there later. Blocks are numbered
 * in the order of their allocation: the block meant is the one that is there and has a number below
 * that of the next allocation at the time. So nothing has to be looked up when a block is freed, and
 * the address may be any within the block.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ignored_at {
	uint64_t address;
	uint64_t next; /* number of the next allocation then */
};

struct ignored {
	struct ignored_at *v; /* of one address, the last counts */
	size_t n, cap;
	size_t least; /* entries below which it is not worth while to look for such */
};

/* Notes that the block that holds `address` is ignored. */
void ignored_add(struct ignored *g, uint64_t address, uint64_t next);
/* Makes `to`, which keeps its memory, equal. */
void ignored_copy(struct ignored *to, const struct ignored *from);
void ignored_free(struct ignored *g);
