/* SPDX-License-Identifier: MIT
 * Folds the rows of a retention scan into a tree of what a reader can tell apart. The recorder tells
 * rows by their call stacks; rows below one branch whose blocks are of one place are one branch, and
 * join a branch of that place above them:
 *
 *   g_cache                          g_cache
 *     insert cache.c:7 < get           insert cache.c:7
 *       copy                             copy
 *     insert cache.c:7 < put
 *       copy
 */
#pragma once

#include "libcommon/base/arena.h"
#include "libcommon/base/lookup.h"

#include <stdbool.h>
#include <stdint.h>

/* Describes a row to be folded; rows are numbered from 1. */
struct ms_kept_row {
	uint64_t parent; /* number of an earlier row; 0 = the row stands for a keeper */
	uint64_t place;  /* number or hash of the place of its blocks; 0 = a branch of its own */
	uint64_t bytes, blocks;                   /* its own */
	uint64_t retained_bytes, retained_blocks; /* of a keeper: what would be free without it */
	uint64_t
		offset; /* of the pointer to its blocks in those of the parent; UINT64_MAX = differs */
	uint64_t depth;   /* most blocks in one chain */
	const char *type; /* NULL = not known */
	bool rest;        /* all that was too little for rows of its own */
};

struct ms_kept_branch {
	uint32_t row;         /* number of its row with most bytes */
	uint32_t id;          /* number of its first row */
	uint32_t parent;      /* index of the parent, which is lower; 0 = it stands for a keeper */
	uint32_t first, next; /* first child, next sibling, the largest first; 0 = none */
	uint32_t depth;       /* number of ancestors */
	uint64_t place, most; /* most: own bytes of the row `row` */
	uint64_t own_bytes, own_blocks;
	uint64_t bytes, blocks; /* retained: its own, and those of all branches below it */
	uint64_t offset;        /* as in struct ms_kept_row */
	const char *type;       /* NULL = not known, or several */
	bool linked;            /* its blocks point to each other: a list, a tree */
	bool rest;
	bool open; /* its children are shown; for the tree's reader */
};

/* Holds the tree. All zero = empty. */
struct ms_kept_tree {
	MS_ARRAY(struct ms_kept_branch) b; /* branch 0 is above all keepers */
	struct ms_lookup by_place;
	uint32_t *of_row; /* by row number: its branch */
	size_t row_room;
};

/* Makes the tree of `n` rows, which it asks for in their order. */
void ms_kept_fold(struct ms_kept_tree *t, size_t n,
		  struct ms_kept_row (*row)(void *arg, uint32_t number), void *arg);
void ms_kept_free(struct ms_kept_tree *t);
