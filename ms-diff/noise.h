/* SPDX-License-Identifier: MIT
 * Decides whether a change of a figure exceeds the noise between runs.
 */
#pragma once

#include "libcommon/model/comparison.h"

#include <stddef.h>

/* Holds the values of a figure in each run of both sides. */
struct series {
	const int64_t *old, *new;
	size_t olds, news;
	bool bytes;
	int64_t least; /* minimum change of a figure in bytes */
	bool history;  /* the old runs are of many builds, in order of time */
};

/* Tells whether there are too few runs to measure the noise of figures between runs. */
bool noise_is_unknown(size_t olds, size_t news, bool history);

/* Returns the minimum and maximum of `n` values; DELTA_UNKNOWN if a value is unknown, or if `n` is
 * 0. */
struct limits series_range(const int64_t *v, size_t n);

/* Tells whether the sides differ significantly by the rule in ms-diff(1), SIGNIFICANCE. Returns
 * false if a figure is not known. */
bool series_differ(const struct series *s);

/* Returns the interval of new - old by Zou and Donner's method for independent estimates. `old` and
 * `new` are the estimates, with their intervals. Returns DELTA_UNKNOWN if nothing is sampled. */
struct limits delta_interval(int64_t old, struct limits of_old, int64_t new, struct limits of_new);
/* Returns the interval of sum + x by the method of delta_interval; `of_sum` and `of_x` are the
 * intervals of `sum` and `x`. */
struct limits sum_interval(int64_t sum, struct limits of_sum, int64_t x, struct limits of_x);
