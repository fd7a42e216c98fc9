/* SPDX-License-Identifier: MIT
 * The blocks on the heap of another process that runs, by what glibc's malloc keeps of them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/trace.h"
#include "ms-record/ptrace/attach_elf.h"

struct heapwalk_block {
	uint64_t address, bytes; /* usable ones */
};

struct heapwalk_blocks {
	struct heapwalk_block *v;
	size_t n, cap;
};

struct heapwalk {
	enum ms_before_state state;
	char why[120]; /* what is missing, or why there is nothing; "" = all is there */
	struct heapwalk_blocks used;   /* what the program has, sorted by address in each arena */
	struct heapwalk_blocks cached; /* given back, and kept by the allocator for next time */
	uint64_t arenas, mapped;       /* how many arenas, and blocks with a mapping of their own */
};

/* Holds what the walk needs to know of the process. */
struct heapwalk_from {
	struct attach_memory memory;
	int proc;            /* folder /proc/PID */
	const uint64_t *tps; /* thread pointers; those that are wrong do no harm */
	size_t tp_count;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	const int *stop;      /* atomic: not 0 = give up */
};

/* Walks the heap while the process runs: nothing is stopped, written or locked, and what changes
 * meanwhile may be found as it was or as it is. A damaged heap gives MS_BEFORE_PART or _UNKNOWN, in
 * bounded time. The result belongs to the caller (heapwalk_free). */
void heapwalk(struct heapwalk *w, const struct heapwalk_from *from);
void heapwalk_free(struct heapwalk *w);
