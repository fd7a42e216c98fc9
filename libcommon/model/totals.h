/* SPDX-License-Identifier: MIT
 * Names the figures of a whole run and those of its quality.
 */
#pragma once

#include "model.h"

enum figure_unit { FIGURE_COUNT, FIGURE_BYTES, FIGURE_TIME, FIGURE_FLAG };

struct figure {
	const char *name; /* also the name of the table's column */
	enum figure_unit unit;
	size_t offset;
};

/* Lists the figures in struct totals. The last four come from scans and samples, not from table
 * process alone. The FIGURES_BESIDE entries after figure_count are not part of "totals" and exist
 * for all processes together only: two of visible sites, two of growth. */
extern const struct figure figures[];
extern const size_t figure_count;
#define FIGURES_OF_GROWTH 2
#define FIGURES_BESIDE (2 + FIGURES_OF_GROWTH)
#define FIGURES_NOTED (figure_count - 4)

/* Lists the figures in struct quality; the last one is not reported. */
extern const struct figure quality_figures[];
extern const size_t quality_figure_count;
