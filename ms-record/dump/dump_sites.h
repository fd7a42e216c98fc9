/* SPDX-License-Identifier: MIT
 * Sites of blocks whose call stacks are not known: by type, else by size.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/lookup.h"

struct dump_blocks;
struct graph_block;
struct session;

/* All zero but `s` = no sites yet. */
struct dump_sites {
	struct session *s;
	uint32_t module; /* stands for the dump in the trace; 0 = not there yet */
	uint64_t sites;  /* functions of the module */
	uint32_t small[64],
		large[64]; /* nodes, by size in units of 16 bytes, and by its power of 2 */
	struct dump_site {
		char *type;
		uint32_t node;
	} * v;
	size_t n, cap;
	struct ms_lookup index; /* of `v` by type */
};

/* Returns the stack node of a block. `type`: the symbol or name of its type; NULL = not known. */
uint32_t dump_site(struct dump_sites *t, const char *type, uint64_t size);
void dump_sites_free(struct dump_sites *t);
/* Returns the blocks in the order of their allocation, as far as it is known: their indexes, in memory
 * to be freed. */
uint32_t *dump_order(const struct dump_blocks *b, const struct graph_block *v, uint32_t count);
