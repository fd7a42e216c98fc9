/* SPDX-License-Identifier: MIT
 * What tells rows of a list apart that would read the same, though their call stacks differ.
 */
#pragma once

#include "names.h"

/* How far a row says where a site is, besides the frame that it is named after. */
struct apart_shown {
	bool called;               /* what that called */
	bool caller, caller_place; /* what called it, and where */
	/* columns to which each is cut; 0 = it is not */
	size_t name_columns, place_columns, called_columns;
};

/* A line more: a frame outside of these ("<"), inside (">"), or " ": more of the name that rows have,
 * or, where all names are the same, an address or a process. Cleaned.
 * Without a name: where the caller is, which is shown. */
struct apart_line {
	char sign;
	const char *name, *place; /* "" = none */
};
struct apart {
	struct apart_line *v;
	size_t n;
};

/* For each of `n` sites, in the model's arena. */
struct apart *apart_make(struct model *m, const struct site *const *sites, size_t n,
			 struct apart_shown shown, const struct style *st);
