/* SPDX-License-Identifier: MIT
 * The figures of a site by name, for --fail-on and for reports.
 */
#pragma once

#include "libcommon/model/totals.h"

/* Lists the figures that are members of struct site. */
extern const struct figure site_figures[];
extern const size_t site_figure_count;

/* Lists the figures that are shown for a site, for all sites and for hidden sites, at the moment of
 * --at. The first TOLD_ESTIMATES are estimates in a sampled recording. */
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
	enum est_figure est; /* estimate of this figure in sampled recordings; EST_COUNT = always
				exact */
	size_t in[3];        /* offset in each struct of enum told_of */
};
extern const struct told_figure told[TOLD_COUNT];
/* Lists the structs with figures: struct site, struct model (all sites), struct hidden. */
enum told_of { TOLD_OF_SITE, TOLD_OF_ALL, TOLD_OF_HIDDEN };
uint64_t told_value(enum told f, enum told_of of, const void *what);
