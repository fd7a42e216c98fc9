/* SPDX-License-Identifier: MIT
 * A comparison: the figures of a site, kinds of change, and differences that may not be known.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A figure that is not known, where figures are signed: null in the database. Never added to. */
#define DELTA_UNKNOWN INT64_MIN

/* a + b and a - b; not known if either is not, or if it does not fit. */
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

/* Least and largest over several runs, or a 95 % interval; both DELTA_UNKNOWN: the figure is exact, or
 * nothing is known about how sure it is. */
struct limits {
	int64_t low, high;
};

/* Figures of a site, in the order of the columns of table site_diff. The first two are at the points
 * that are compared, the next two at the peak, the others over the whole run. */
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
/* Lists their names, with what stands before them in the columns of that table. */
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

/* The figure of that name, of `n` bytes; DIFF_FIGURES = there is none. */
enum diff_figure diff_figure_named(const char *name, size_t n);
