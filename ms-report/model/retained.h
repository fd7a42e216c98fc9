/* SPDX-License-Identifier: MIT
 * Blocks that are lost with a site's unreachable blocks, and the sites that a site's blocks are
 * lost with.
 */
#pragma once

#include "libcommon/model/model.h"

/* Holds a site, or several sites that are named after the same frame. */
struct retained_row {
	const struct site *site; /* the site; if several, the one with the most bytes */
	size_t sites;
	struct live live;
};
struct retained_rows {
	struct retained_row *v; /* in descending order of bytes */
	size_t n;
};

/* Returns, as of the scan at the end, the sites whose blocks are lost with blocks of `s`, or
 * (`roots`) the sites whose blocks retain blocks of `s`; `s` itself can be among them. `folded`:
 * sites named after the same frame are one row. Lives in the model's arena. */
struct retained_rows retained_rows(struct model *m, const struct site *s, bool roots, bool folded);
/* Groups the sites whose blocks `s` retains by function and caller, where a recursion counts as one
 * call, and returns the sum of the largest group whose function or caller differs from that of `s`.
 * Returns NULL if there is none. Lives in the model's arena. */
const struct retained_row *retained_elsewhere(struct model *m, const struct site *s);
