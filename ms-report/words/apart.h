/* SPDX-License-Identifier: MIT
 * Additional lines for list rows that read the same although their call stacks differ.
 */
#pragma once

#include "names.h"

/* Describes what a row shows of a site besides the frame that it is named after. */
struct apart_shown {
	bool called;               /* the row shows the function that the frame called */
	bool caller, caller_place; /* the frame's caller; the caller's source location */
	/* columns to which each part is cut; 0 = not cut */
	size_t name_columns, place_columns, called_columns;
};

/* Describes an additional line, cleaned, that distinguishes a row. `sign`: '<' for an outer frame,
 * '>' for an inner frame, ' ' for the rest of the name, an address or a process. If there is no
 * name, `place` is that of the caller named in the row. */
struct apart_line {
	char sign;
	const char *name, *place; /* "" = none */
};
struct apart {
	struct apart_line *v;
	size_t n;
};

/* Returns the additional lines of each of `n` sites, in the model's arena. */
struct apart *apart_make(struct model *m, const struct site *const *sites, size_t n,
			 struct apart_shown shown, const struct style *st);
