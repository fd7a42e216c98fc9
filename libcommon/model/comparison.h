/* SPDX-License-Identifier: MIT
 * Defines the figures of a site in a comparison, kinds of change, and differences that may be
 * unknown.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A signed figure that is not known: null in the database. Never used in sums. */
#define DELTA_UNKNOWN INT64_MIN

/* Returns a + b; delta_sub() returns a - b. DELTA_UNKNOWN if either is not known, or on overflow.
 */
static inline int64_t delta_add(int64_t a, int64_t b)
{
	int64_t sum;
	return a == DELTA_UNKNOWN || b == DELTA_UNKNOWN || __builtin_add_overflow(a, b, &sum)
		       ? DELTA_UNKNOWN
		       : sum;
}
static inline int64_t delta_sub(int64_t a, int64_t b)
{
	int64_t rest;
	return a == DELTA_UNKNOWN || b == DELTA_UNKNOWN || __builtin_sub_overflow(a, b, &rest)
		       ? DELTA_UNKNOWN
		       : rest;
}

/* Holds the lowest and highest value of a figure over several runs, or its 95 % interval. Both are
 * DELTA_UNKNOWN if the figure is exact, or its accuracy is not known. */
struct limits {
	int64_t low, high;
};

/* Lists the figures of a site, in the order of the columns of table site_diff: two at the points
 * compared, two at the peak, then those over the whole run. */
enum diff_figure {
	DIFF_LIVE,
	DIFF_LIVE_BLOCKS,
	DIFF_PEAK,
	DIFF_PEAK_BLOCKS,
	DIFF_ALLOCATIONS,
	DIFF_FREES,
	DIFF_ALLOCATED,
	DIFF_TEMPORARY,
	DIFF_FIGURES
};
/* Lists the names of the figures, with the prefix of their columns in table site_diff. */
#define DIFF_FIGURE_NAMES(prefix)                                                                  \
	{                                                                                          \
		prefix "live_bytes", prefix "live_blocks", prefix "peak_bytes",                    \
			prefix "peak_blocks", prefix "allocations", prefix "frees",                \
			prefix "allocated_bytes", prefix "temporary"                               \
	}
extern const char *const diff_figure_names[DIFF_FIGURES];
static inline bool diff_figure_is_bytes(enum diff_figure f)
{
	return f == DIFF_LIVE || f == DIFF_PEAK || f == DIFF_ALLOCATED;
}

enum diff_kind {
	DIFF_NEW,
	DIFF_GONE,
	DIFF_GROWN,
	DIFF_SHRUNK,
	DIFF_UNCHANGED,
	DIFF_UNMATCHED,
	DIFF_KINDS
};
extern const char *const diff_kind_names[DIFF_KINDS];

/* Returns the figure whose name is the `n` bytes at `name`; DIFF_FIGURES = none. */
enum diff_figure diff_figure_named(const char *name, size_t n);
