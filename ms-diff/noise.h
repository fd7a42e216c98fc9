/* SPDX-License-Identifier: MIT
 * Whether a change of a figure is more than what differs from run to run anyway.
 */
#pragma once

#include "libcommon/model/comparison.h"

#include <stddef.h>

/* A figure in each run of both sides. */
struct series {
	const int64_t *old, *new;
	size_t olds, news;
	bool bytes;
	int64_t least; /* bytes by which a figure in bytes must change */
	bool history;  /* the old ones are in order of time, and tell the noise alone */
};

/* Are there too few runs to know how figures differ from run to run? */
bool noise_is_unknown(size_t olds, size_t news, bool history);

/* Least and largest; both DELTA_UNKNOWN if one is, or there is none. */
struct limits series_range(const int64_t *v, size_t n);

/* The rule of ms-diff(1), SIGNIFICANCE. False also where a figure is not known. */
bool series_differ(const struct series *s);

/* Returns the interval of new - old, where these have intervals: Zou and Donner's, of independent
 * estimates. DELTA_UNKNOWN if nothing is sampled. `old` and `new` are the estimates. */
struct limits delta_interval(int64_t old, struct limits of_old, int64_t new, struct limits of_new);
/* Returns the interval of a sum, in the way of delta_interval: x more with interval `of_x` added to
 * `sum` with interval `of_sum`. */
struct limits sum_interval(int64_t sum, struct limits of_sum, int64_t x, struct limits of_x);
