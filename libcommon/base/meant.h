/* SPDX-License-Identifier: MIT
 * "did you mean": the known word that is nearest to a mistyped one.
 */
#pragma once

#include <stddef.h>

/* Holds the known word that is most similar to a mistyped one, NULL = none. Start with {0}. */
struct ms_meant {
	const char *word;
	unsigned distance;
};

/* Keeps `known` (borrowed while `m` is used) if it is nearer to the `n` bytes typed than earlier
 * words, and at most n / 3 edits away. An edit adds, removes or replaces a letter, or swaps two. */
void ms_meant_try(struct ms_meant *m, const char *typed, size_t n, const char *known);
