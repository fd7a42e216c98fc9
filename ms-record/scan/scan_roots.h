/* SPDX-License-Identifier: MIT
 * Finds the memory that can hold the program's pointers, and passes it to the graph.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ms-record/graph/graph.h"
#include "scan_memory.h"

/* Number of words for a thread's general registers and its whole vector state. */
#define SCAN_REGS 420u

/* Describes a stopped thread. */
struct scan_thread {
	uint64_t sp, tp; /* tp: thread pointer */
	uint64_t ip;     /* 0 = not known */
	bool exits;      /* the thread is in the system call exit_group */
	bool calls;      /* stopped in a call: nothing below sp is in use */
	uint32_t tid;    /* thread id, in our namespace or, with `inner`, in its own */
	bool inner;
	uint64_t regs[SCAN_REGS];
	unsigned reg_count;
};

struct ms_range;

/* Addresses that are passed to the graph for words that lie in no root memory. */
#define ROOTS_REGISTERS (UINT64_C(1) << 63) /* + thread << ROOTS_THREAD + offset in its registers */
#define ROOTS_KERNEL (UINT64_C(1) << 62)
#define ROOTS_MARKED (UINT64_C(1) << 61) /* + address in memory that the program registered */
#define ROOTS_THREAD 16u

/* Holds what is needed to find what keeps blocks reachable. */
struct roots_kept {
	struct graph_kept graph;
	/* ranges: mappings of the program's own: private anonymous memory that is no heap, stack
	 * or rest of a module; heaps: memory of allocators. Both are sorted by address. */
	MS_ARRAY(struct graph_range) ranges;
	MS_ARRAY(struct graph_range) heaps;
	/* Set by the caller: blocks of the heap from before the recording, sorted by address. Each
	 * becomes a range, too. */
	struct {
		struct graph_range *v;
		size_t n, cap;
	} before;
	/* Set by the caller, or empty: for each thread, its storage and control block. */
	MS_ARRAY(struct graph_range) locals;
	/* Set by the caller: mappings that were seen being made, sorted by address, borrowed. Each is
	 * a range of its own. */
	const struct ms_range *mapped;
	size_t mapped_count;
};

struct roots {
	struct memory *memory;
	struct graph *graph;
	const struct scan_thread *threads;
	size_t thread_count;
	const uint64_t *kernel; /* words that only the kernel holds: scan_kernel.c */
	size_t kernel_count;
	const uint64_t (*own)[2]; /* MemScope's memory in the process: start, end */
	size_t own_count;
	const uint64_t (*arenas)[2]; /* the allocator's own mappings: start, end */
	size_t arena_count;
	const struct mg_root *user; /* roots that the program registered (ms_root) */
	size_t user_count;
	/* main thread: sp at the program's entry, thread pointer; 0 = not known */
	uint64_t main_entry, main_tp;
	uint64_t own_inode; /* inode of MemScope's shared memory */
	bool own_brk;       /* all of the brk area is searched, because not only glibc uses it */
	bool wide;          /* blocks may be missing: heap memory outside blocks is searched, too */
	bool dense;         /* unknown heap layout: small gaps between blocks are no roots */
	struct roots_kept *kept; /* filled in by roots_look if not NULL */
	/* Filled in by roots_look: end address and last word of the piece searched last. */
	uint64_t last_end, last_word;
	uint64_t user_seen; /* number of entries of `user` that are still mapped */
};

/* Searches registers and all root memory, then all blocks, for pointers. Flags in `memory` report
 * what could not be read or was not reached in time. */
void roots_look(struct roots *r);
