/* SPDX-License-Identifier: MIT
 * Sites whose stacks differ only in the number of rounds of a recursion, folded into one.
 */
#pragma once

#include "libcommon/model/model.h"

/* Returns the sites to list, *n of them. Sites whose stacks are equal without recursion are merged
 * into one with their sums, which has the number, stack and remarks of the heaviest; its `folded`
 * is the number of the others. Made once; lives as long as the model. */
const struct site *const *recursion_fold(struct model *m, size_t *n);
/* Returns one site with the sums of `n` sites, given by index, in the way of recursion_fold; it has
 * the number, stack and remarks of the first. `members` is kept. */
const struct site *recursion_sum(struct model *m, const uint32_t *members, size_t n);
/* Returns the outermost node of the function that a site is named after, where its recursion
 * begins; NONE = the site has no stack. */
uint32_t recursion_entry(const struct model *m, const struct site *s);
