/* SPDX-License-Identifier: MIT
 * Figures of a sampled recording: each with its 95 % interval, also where they are added up.
 */
#ifndef REPORT_ESTIMATE_H
#define REPORT_ESTIMATE_H

#include "libcommon/stats/estimate.h"

#include <stdint.h>

struct model;
struct ms_err;

/* Which figures are estimates. Those in pairs are bytes, then blocks or calls. */
enum est_figure {
	EST_ALLOCATED, /* of the whole run */
	EST_ALLOCATIONS,
	EST_END, /* live at the end */
	EST_END_BLOCKS,
	EST_PEAK, /* live at the peak */
	EST_PEAK_BLOCKS,
	EST_AT, /* live at the moment of --at */
	EST_AT_BLOCKS,
	EST_FREES,
	EST_COUNT
};

/* What the figures of a site, a thread, a process or all rest on. Who has none has exact figures.
 */
struct estimates {
	struct ms_spread of[EST_COUNT];
};

/* Reads table estimate. 0, or -1 with `err` set. After the other tables, before sums are made. */
int estimates_read(struct model *m, struct ms_err *err);

/* The spread of a figure, or NULL. */
const struct ms_spread *est_of(const struct estimates *e, enum est_figure figure);
/* The figure of that name, as columns and rows of table estimate call it; EST_COUNT = none of ours.
 */
enum est_figure est_figure_of(const char *name);
/* The limits of a figure that is known. */
void est_limits(uint64_t value, const struct ms_spread *e, uint64_t *low, uint64_t *high);

#endif
