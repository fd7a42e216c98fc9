/* SPDX-License-Identifier: MIT
 * What a comparison is about, by name: figures of a site, and kinds of change.
 */
#pragma once

#include <stddef.h>

/* Figures of a site, in the order of the columns of table site_diff. */
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
extern const char *const diff_figure_names[DIFF_FIGURES];

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
