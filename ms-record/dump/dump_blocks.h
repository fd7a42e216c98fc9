/* SPDX-License-Identifier: MIT
 * The blocks that were live in a core dump.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ms-record/graph/graph.h"

struct dump_file;
struct dump_join;
struct ms_err;

/* Describes a block as the trace of the same run has it. */
struct dump_known {
	uint64_t address, size, number, tick;
	uint32_t stack, thread, slack;
};

struct dump_blocks {
	/* In no order. `number`: 1 + index in `known`, 0 = the trace does not have the block. */
	struct graph_block *v;
	uint32_t count;
	uint64_t bytes;
	struct dump_known *known; /* borrowed from the joined trace */
	bool glibc;    /* glibc's heap was found; else only the trace's blocks are here */
	char why[160]; /* what of the heap is missing; "" = nothing */
	uint64_t joined,
		absent; /* blocks of the trace that are in the dump's heap, and that are not */
};

/* Finds the blocks. `j`: the trace of the same run, borrowed; NULL = there is none. Names the mapping of
 * the main heap. Returns 0, or -1 with `err` set: no heap was found. */
int dump_find_blocks(struct dump_file *d, const struct dump_join *j, struct dump_blocks *b,
		     struct ms_err *err);
