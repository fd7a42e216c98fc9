/* SPDX-License-Identifier: MIT
 * What memory of a process can hold the program's pointers, and its way into the graph.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "scan_graph.h"
#include "scan_memory.h"

/* General registers, and the state of all others. */
#define SCAN_REGS 420u

/* A thread that is held still. */
struct scan_thread {
	uint64_t sp, tp; /* tp: thread pointer */
	uint64_t ip;     /* 0 = not known */
	bool exits;      /* it is in exit_group */
	bool calls;      /* another function: below sp is nothing */
	uint64_t regs[SCAN_REGS];
	unsigned reg_count;
};

struct roots {
	struct memory *memory;
	struct graph *graph;
	const struct scan_thread *threads;
	size_t thread_count;
	const uint64_t *kernel; /* what only the kernel has: scan_kernel.c */
	size_t kernel_count;
	const uint64_t (*own)[2]; /* the recorder's memory in the process: start, end */
	size_t own_count;
	const uint64_t (*arenas)[2]; /* what the allocator mapped for itself */
	size_t arena_count;
	const struct mg_root *user; /* what the program says are roots */
	size_t user_count;
	uint64_t main_entry, main_tp; /* where the main thread began, if both are known */
	uint64_t own_inode;           /* and its shared memory */
	bool own_brk; /* somebody beside glibc took of its heap: all of that is searched */
	bool wide;    /* blocks may be missing: heap memory that is no block counts as the program's
		     */
	bool dense; /* an allocator whose heap we do not know: what lies close between two blocks is
		     its own */
	/* Filled in here: where the piece of memory that was looked at last ends, and its last word.
	 */
	uint64_t last_end, last_word;
	uint64_t user_seen; /* those of `user` that are there still */
};

/* Looks through registers and all root memory, then through all blocks. What could not be read or
 * was not reached in time is told by the memory's flags. */
void roots_look(struct roots *r);
