/* SPDX-License-Identifier: MIT
 * The figures of a whole run, and of how far they can be relied on, by name.
 */
#pragma once

#include "model.h"

enum figure_unit { FIGURE_COUNT, FIGURE_BYTES, FIGURE_TIME, FIGURE_FLAG };

struct figure {
	const char *name; /* of the column of the table, too */
	enum figure_unit unit;
	size_t offset;
};

/* In struct totals; the last four are of no column of table process alone, but of scans and samples.
 * Behind figure_count are those that are no "totals", and only of all processes: two of what filters
 * leave, then two of growth. */
extern const struct figure figures[];
extern const size_t figure_count;
#define FIGURES_OF_GROWTH 2
#define FIGURES_BESIDE (2 + FIGURES_OF_GROWTH)
#define FIGURES_NOTED (figure_count - 4)

/* In struct quality; the last one is no figure of the report. */
extern const struct figure quality_figures[];
extern const size_t quality_figure_count;
