/* SPDX-License-Identifier: MIT
 * What is lost with the unreachable blocks of a site, and what its own are lost with.
 */
#pragma once

#include "libcommon/model/model.h"

/* Sites, or one, named after the same frame: those of a recursion are one row. */
struct retained_row {
	const struct site *site; /* with the most bytes of them */
	size_t sites;
	struct live live;
};
struct retained_rows {
	struct retained_row *v; /* the most bytes first */
	size_t n;
};

/* Returns, as of the scan at the end, the sites here that `s` retains blocks of, or (`roots`)
 * those that retain blocks of `s`; `s` itself where it retains its own. `folded`: sites that are
 * named after the same frame are one row. Lives in the model's arena. */
struct retained_rows retained_rows(struct model *m, const struct site *s, bool roots, bool folded);
/* Returns where most of what `s` retains comes from that is of another function than `s`, or of
 * another caller of the same function: sites of one function and caller are one row. A recursion
 * is one call. NULL = nothing is. Lives in the model's arena. */
const struct retained_row *retained_elsewhere(struct model *m, const struct site *s);
