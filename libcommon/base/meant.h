/* SPDX-License-Identifier: MIT
 * "did you mean": the known word that is nearest to a mistyped one.
 */
#pragma once

#include <stddef.h>

/* Start with {0}; `word` is NULL as long as none is near. */
struct ms_meant {
	const char *word;
	unsigned distance;
};

/* Keeps `known` (as long as `m` is used) if it is nearer to the `n` bytes typed than those before:
 * a third of these wrong at most, where a letter left out, put in, replaced or two exchanged is one. */
void ms_meant_try(struct ms_meant *m, const char *typed, size_t n, const char *known);
