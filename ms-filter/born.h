/* SPDX-License-Identifier: MIT
 * Conditions --when=born and --when=alive-at on single blocks, which are identified by allocation
 * number.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "options.h"

struct ms_err;

struct number_span {
	uint64_t from, to; /* allocation numbers; `to` is excluded */
};
struct born {
	MS_ARRAY(struct number_span) born; /* span of each --when=born condition */
	MS_ARRAY(uint64_t) alive;          /* blocks live at any of the moments; sorted numbers */
};

/* Returns the name of the first option that is a condition on blocks; NULL = none. */
const char *born_asked(const struct options *o);
/* Reads the trace o->input up to each of the moments. Returns 0, or -1 with `err` set; call
 * born_free in both cases. */
int born_find(struct born *b, const struct options *o, struct ms_err *err);
/* Returns the bits of the conditions that hold for a block. */
uint64_t born_bits(const struct born *b, uint64_t number);
void born_free(struct born *b);

/* Divides the options: `blocks` gets the conditions on blocks, and `sites` all others, each with
 * its own text of the filter. Both borrow from `o`; the arrays are in o->arena. */
void born_divide(const struct options *o, struct options *blocks, struct options *sites);
