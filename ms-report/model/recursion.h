/* SPDX-License-Identifier: MIT
 * Sites whose stacks differ only in how often a recursion went round, as one.
 */
#pragma once

#include "libcommon/model/model.h"

/* The sites of a list: those of the model, and where several have the same stack without its
 * recursion, one with the sums of all. That one has the number, the stack and the remarks of the
 * heaviest of them, and `folded` says how many more it stands for. Lives as long as the model, and
 * is made once; *n is how many. */
const struct site *const *recursion_fold(struct model *m, size_t *n);
/* The sum of `n` sites, indices that are kept, as such a one: it has the number, the stack and the
 * remarks of the first. */
const struct site *recursion_sum(struct model *m, const uint32_t *members, size_t n);
/* The outermost node in the function that a site is named after: where a recursion of it begins; NONE
 * = the site has no stack. */
uint32_t recursion_entry(const struct model *m, const struct site *s);
