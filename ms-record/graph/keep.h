/* SPDX-License-Identifier: MIT
 * Finds what keeps live blocks alive: for each root, the blocks that would become unreachable
 * without it, summed up by site as a tree of rows.
 *
 * Nodes are blocks, mappings and roots. A root keeps (retains) the blocks that it dominates: every
 * path to them from any root leads through it. Blocks to which several roots lead on separate paths
 * are kept by a set of roots. Roots have ranks, 1 first: a node has the least rank of the roots that
 * lead to it, and an edge counts only between nodes of equal rank, so that a temporary pointer in
 * a stack frame does not share what a variable owns.
 *
 * Only plain numbers come in and go out: processes, modules and threads are the caller's matter.
 * Nothing depends on the order of blocks, mappings, edges and words, nor on that of roots if
 * `order` tells them apart.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph.h"

#define KEEP_NONE UINT32_MAX
#define KEEP_SET_ROOTS 63u
#define KEEP_PATH_STEPS 16u
/* the usual limits of rows */
#define KEEP_LEAST 0.0002
#define KEEP_ROWS_MOST 20000u

/* Lists the kinds of roots. KEEP_OTHER: heap memory outside of recorded blocks, the kernel, roots
 * that the program registered. KEEP_MAPPING: a mapping that no other root leads to; keep_find adds
 * these. */
enum keep_kind {
	KEEP_VARIABLE,
	KEEP_SECTION,
	KEEP_THREAD_LOCAL,
	KEEP_FRAME,
	KEEP_REGISTERS,
	KEEP_CONTROL,
	KEEP_MAPPING,
	KEEP_OTHER,
};

struct keep_root {
	uint8_t kind;  /* enum keep_kind */
	uint32_t rank; /* from 1; the root of a lower rank owns first */
	/* the lower one is named first, and nearer, of roots that are equal in all else; then the
	 * lower index */
	uint32_t order;
	/* it owns before the others of rank 1: all that it leads to leads back to it */
	bool first;
	/* Set by keep_find: 1 + index of the root that this one observes; 0 = none. An observer
	 * reaches hardly anything that the other root does not reach on a shorter path. It owns
	 * after all others of its rank. Or it leads to what the other one owns only by pointers
	 * that may be stale, which do not count then (keep_cut.c). Only roots of rank 1 observe,
	 * and only if what observers share with others is worth a row. */
	uint32_t observes;
};

/* Describes a word of a root that points to a node. */
struct keep_word {
	uint32_t root, node;
	uint32_t offset; /* bytes behind the start of the root; KEEP_NONE = larger, or no matter */
};

struct keep_input {
	/* Nodes 0 .. block_count - 1. Each block counts with its whole size, as in the lists of
	 * leaks, also if it lies in another one; an edge then leads to it from the outer block. */
	const struct graph_block *blocks;
	uint32_t block_count;
	/* Nodes block_count .. block_count + mapping_count - 1. */
	const uint64_t *mapping_bytes;
	const uint32_t *mapping_stacks; /* 0 = not known; NULL = none is known */
	uint32_t mapping_count;
	const uint32_t *first_edge; /* each node's first index in `edges`; one more at the end */
	const uint32_t *edges;      /* target nodes; duplicates are allowed, also in any order */
	/* of each edge: bytes behind the start of its source; KEEP_NONE = larger; NULL = no matter */
	const uint32_t *offsets;
	const struct keep_word *words; /* in any order, duplicates are allowed */
	size_t word_count;
	struct keep_root *roots;
	uint32_t root_count;
	const uint64_t *types; /* of each node; 0 = not known; NULL = none is known */
	uint64_t memory_max;   /* bytes that keep_find may allocate */
	uint64_t deadline_ns;  /* CLOCK_MONOTONIC; 0 = none */
	/* Atomic: once *word is `value` or more, keep_find gives up as at the deadline; NULL = never. */
	const uint32_t *word;
	uint32_t value;
	double least; /* rows that retain less than this share of the live bytes are left out */
	uint32_t rows_most; /* the same, until so many are left */
};

/* Describes a row of the tree. What it retains is what it has itself and what the rows below it
 * retain. A row at the top is a root, a set of roots, or the rest; a row below it the blocks, or the
 * mappings, of one stack that it dominates. A block joins the row of an ancestor of its own stack,
 * so that lists and trees fold. A `rest` has what was left out below its parent; it is the last row
 * there, and all that it has is its own. */
struct keep_row {
	uint32_t parent; /* 1 + index, which is lower than the row's own; 0 = at the top */
	/* At the top: 1 + index of the root, where index root_count + i is mapping i, which is a
	 * root by itself; 0 = none. */
	uint32_t root;
	uint32_t set;   /* at the top: 1 + index in `sets`; 0 = none */
	uint32_t stack; /* below the top; 0 = not known */
	bool mapping, rest;
	uint64_t bytes, blocks; /* of its own; of mappings 0 */
	uint64_t retained_bytes, retained_blocks;
	uint64_t mapped_bytes; /* size of the row's own mappings */
	/* of the pointer, in the dominating block or root; KEEP_NONE: differs, or it has none */
	uint32_t offset;
	/* Directly below a variable: the least and the greatest offset of the variable's pointers
	 * that lead to its own blocks, by any path; KEEP_NONE = not known. */
	uint32_t from, to;
	uint32_t depth; /* longest chain of blocks that joined the row; 1 = none joined */
	uint64_t type;  /* type of at least 90 % of its own blocks; 0 = none */
	uint32_t path;  /* index in `paths` of the path of most of its blocks; KEEP_NONE = none */
	uint64_t path_blocks; /* number of blocks of its own that are reached on this path */
};

struct keep_set {
	uint32_t count;
	bool others;                    /* and further roots */
	uint32_t roots[KEEP_SET_ROOTS]; /* 1 + index, as in struct keep_row */
};

/* Describes one stack's blocks on a path. */
struct keep_step {
	uint32_t stack;
	uint32_t count; /* most blocks of this stack one behind the other; 1 = never repeated */
	bool mapping;
};

/* Describes a shortest path from the nearest root to blocks, these included. */
struct keep_path {
	uint32_t root; /* 1 + index, as in struct keep_row */
	uint32_t count;
	bool cut; /* further steps were left out at the end */
	struct keep_step steps[KEEP_PATH_STEPS];
};

enum keep_state { KEEP_DONE, KEEP_MEMORY, KEEP_TIME };

struct keep_result {
	enum keep_state state; /* rows, sets, paths and what is kept are there only if KEEP_DONE */
	uint64_t live_bytes, kept_bytes, kept_blocks;
	uint64_t blocks, edges;
	uint64_t took_ns, memory_bytes; /* memory_bytes: the most that was allocated at once */
	struct keep_row
		*rows; /* a row stands before those below it; siblings: most retained first */
	struct keep_set *sets;
	struct keep_path *paths;
	uint32_t row_count, set_count, path_count;
};

/* Fills in `out`, to be freed with keep_result_free in any state, and the roots' `observes`.
 * The retained bytes of the rows at the top add up to kept_bytes. */
void keep_find(const struct keep_input *in, struct keep_result *out);
void keep_result_free(struct keep_result *out);
