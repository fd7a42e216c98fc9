/* SPDX-License-Identifier: MIT
 * The figures of "totals" in the JSON report, by name: what --fail-on can ask about.
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

/* In struct site. */
extern const struct figure site_figures[];
extern const size_t site_figure_count;

/* Lists the figures that are told of a site, of all sites and of what filters hide, as of the
 * moment of --at. The first TOLD_ESTIMATES are estimates in a sampled recording. */
enum told {
	TOLD_LIVE,
	TOLD_LIVE_BLOCKS,
	TOLD_PEAK,
	TOLD_PEAK_BLOCKS,
	TOLD_ALLOCATED,
	TOLD_ALLOCATIONS,
	TOLD_FREES,
	TOLD_ESTIMATES,
	TOLD_TEMPORARY = TOLD_ESTIMATES,
	TOLD_REALLOCATIONS,
	TOLD_FAILED,
	TOLD_LOST,
	TOLD_LOST_BLOCKS,
	TOLD_LEAK,
	TOLD_LEAK_BLOCKS,
	TOLD_LATE,
	TOLD_LATE_BLOCKS,
	TOLD_USABLE,
	TOLD_MAPS,
	TOLD_MAPPED,
	TOLD_COUNT
};
struct told_figure {
	const char *name;
	enum est_figure est; /* EST_COUNT = it is no estimate */
	size_t in[3];        /* offsets by enum told_of */
};
extern const struct told_figure told[TOLD_COUNT];
/* That of a struct site, of all in a struct model, of a struct hidden. */
enum told_of { TOLD_OF_SITE, TOLD_OF_ALL, TOLD_OF_HIDDEN };
uint64_t told_value(enum told f, enum told_of of, const void *what);
