/* SPDX-License-Identifier: MIT
 * The figures of a site that are compared, and arithmetic on figures that may not be known.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Names the figures of a site. The first two are at the points that are compared, the next two at
 * the peak, the others over the whole run. */
enum figure {
	LIVE_BYTES,
	LIVE_BLOCKS,
	PEAK_BYTES,
	PEAK_BLOCKS,
	ALLOCATIONS,
	FREES,
	ALLOCATED_BYTES,
	TEMPORARY,
	FIGURES
};
/* Lists the names of the figures as in the columns old_*, new_* and delta_*. */
#define FIGURE_NAMES(prefix)                                                                       \
	{                                                                                          \
		prefix "live_bytes", prefix "live_blocks", prefix "peak_bytes",                    \
			prefix "peak_blocks", prefix "allocations", prefix "frees",                \
			prefix "allocated_bytes", prefix "temporary"                               \
	}
extern const char *const figure_names[FIGURES];

/* Not known: null in the database. Never added to. */
#define UNKNOWN INT64_MIN

/* a + b and a - b; not known if either is not, or if it does not fit. */
static inline int64_t figure_add(int64_t a, int64_t b)
{
	int64_t sum;
	return a == UNKNOWN || b == UNKNOWN || __builtin_add_overflow(a, b, &sum) ? UNKNOWN : sum;
}
static inline int64_t figure_sub(int64_t a, int64_t b)
{
	int64_t rest;
	return a == UNKNOWN || b == UNKNOWN || __builtin_sub_overflow(a, b, &rest) ? UNKNOWN : rest;
}

static inline bool figure_is_bytes(enum figure f)
{
	return f == LIVE_BYTES || f == PEAK_BYTES || f == ALLOCATED_BYTES;
}

/* A 95 % interval of a figure that was sampled; both UNKNOWN: the figure is exact, or nothing is
 * known about how sure it is. */
struct interval {
	int64_t low, high;
};
