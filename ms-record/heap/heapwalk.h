/* SPDX-License-Identifier: MIT
 * Finds the blocks on the heap of another process, which keeps running, from the data of glibc's
 * malloc.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/trace.h"
#include "ms-record/ptrace/attach_elf.h"

struct heapwalk_block {
	uint64_t address, bytes; /* bytes: usable size */
};

struct heapwalk_blocks {
	struct heapwalk_block *v;
	size_t n, cap;
};

struct heapwalk {
	enum ms_before_state state;
	char why[120];               /* what is missing, or why nothing was found; "" = complete */
	struct heapwalk_blocks used; /* blocks in use, sorted by address within each arena */
	struct heapwalk_blocks cached; /* freed blocks that the allocator keeps for reuse */
	uint64_t arenas, mapped;       /* number of arenas, and of blocks with their own mapping */
	uint64_t top;                  /* address of the main heap's end; 0 = not known */
};

/* Describes the process to walk. */
struct heapwalk_from {
	struct attach_memory memory;
	int proc; /* folder /proc/PID; -1 = `maps` and `exe` are set */
	/* For memory that does not change, such as a dump's: its mappings, borrowed, and the path
	 * of the program. */
	const struct attach_maps *maps;
	const char *exe;
	const uint64_t *tps; /* thread pointers; wrong ones do no harm */
	size_t tp_count;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	const int *stop;      /* atomic: not 0 = give up */
};

/* Walks the heap while the process runs: stops, writes and locks nothing. A block that changes
 * meanwhile may be found in its old or new state. A damaged heap gives MS_BEFORE_PART or _UNKNOWN,
 * in bounded time. The caller frees the result (heapwalk_free). */
void heapwalk(struct heapwalk *w, const struct heapwalk_from *from);
void heapwalk_free(struct heapwalk *w);
