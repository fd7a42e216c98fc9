/* SPDX-License-Identifier: MIT
 * Lists blocks that the program declared to be no leaks (ms_ignore).
 *
 * An address alone does not identify a block, as another one may be allocated there later. Blocks
 * are numbered in the order of their allocation: the ignored block is the one that holds the
 * address and has a number below that of the next allocation at the time. So nothing has to be
 * looked up when a block is freed, and any address within the block will do.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct ignored_at {
	uint64_t address;
	uint64_t next; /* number of the first allocation after the entry was added */
};

struct ignored {
	struct ignored_at *v; /* for equal addresses the last entry counts */
	size_t n, cap;
	size_t least; /* number of entries at which duplicates are removed next */
};

/* Notes that the block that holds `address` is ignored. */
void ignored_add(struct ignored *g, uint64_t address, uint64_t next);
/* Makes `to` equal to `from`; reuses the memory of `to`. */
void ignored_copy(struct ignored *to, const struct ignored *from);
void ignored_free(struct ignored *g);
