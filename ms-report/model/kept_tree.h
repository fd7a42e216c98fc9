/* SPDX-License-Identifier: MIT
 * The tree of what keeps blocks alive, as people read it: rows of one place are one branch.
 */
#pragma once

#include "libcommon/model/kept.h"

struct kept_branch {
	uint32_t parent, first,
		next; /* indices or NONE; the branches below one are in descending order */
	const struct kept_row *row; /* its row with most bytes of its own */
	struct live own, retained;  /* retained: its own, and of all branches below it */
	uint64_t offset;            /* as in struct kept_row */
	const char *type;           /* NULL = not known, or several */
	bool linked;                /* its blocks point to each other: a list, a tree */
	bool rest;                  /* stands for all that was too small for a row of its own */
};

struct kept_tree {
	struct kept_branch *v; /* a parent precedes its children */
	size_t n;
	uint32_t first; /* index of the largest top-level branch, or NONE */
};

/* Makes the tree in the model's arena. `fold`: rows below one branch whose sites are in the same
 * function and line are one branch, and join a branch of that place above them. */
struct kept_tree kept_tree_make(struct model *m, const struct kept *k, bool fold);
/* Returns the branch that follows `b` when the tree is written: the first below it, the next beside
 * it, or the next beside the nearest of its parents; NONE = it is the last. */
uint32_t kept_tree_next(const struct kept_tree *t, uint32_t b);
