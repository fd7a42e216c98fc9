/* SPDX-License-Identifier: MIT
 * "did you mean": the known word that is nearest to a mistyped one.
 */
#pragma once

#include <stddef.h>

/* Holds the nearest word so far, NULL = none. Start with {0}. */
struct ms_meant {
	const char *word;
	unsigned distance;
};

/* Keeps `known` (borrowed while `m` is used) if it is nearer to the `n` bytes typed than earlier
 * words, with edits (a letter missing, added or replaced, or two exchanged) of a third of `n` at
 * most. */
void ms_meant_try(struct ms_meant *m, const char *typed, size_t n, const char *known);
