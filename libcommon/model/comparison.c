/* SPDX-License-Identifier: MIT
 * Names the figures of a comparison and its kinds of change.
 */
#include "comparison.h"

#include <string.h>

const char *const diff_figure_names[DIFF_FIGURES] = DIFF_FIGURE_NAMES("");
const char *const diff_kind_names[DIFF_KINDS] = {"new",    "gone",      "grown",
						 "shrunk", "unchanged", "unmatched"};

enum diff_figure diff_figure_named(const char *name, size_t n)
{
	int f = 0;
	while (f < DIFF_FIGURES &&
	       (strlen(diff_figure_names[f]) != n || memcmp(name, diff_figure_names[f], n) != 0))
		f++;
	return (enum diff_figure)f;
}
