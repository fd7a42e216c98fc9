/* SPDX-License-Identifier: MIT
 * The tree of what keeps blocks alive, as people read it: rows of one place are one branch.
 */
#pragma once

#include "libcommon/model/kept.h"
#include "libcommon/names/kept_fold.h"

/* Makes the tree; free it with ms_kept_free. Row number N is k->rows[N - 1]. `fold`: rows below one
 * branch whose sites are in the same function and line are one branch, and join a branch of that place
 * above them. */
struct ms_kept_tree kept_tree_make(struct model *m, const struct kept *k, bool fold);
/* Returns the branch that follows `b` when the tree is written: the first below it, the next beside
 * it, or the next beside the nearest of its parents; 0 = it is the last. */
uint32_t kept_tree_next(const struct ms_kept_tree *t, uint32_t b);
