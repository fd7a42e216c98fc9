/* SPDX-License-Identifier: MIT
 * Figures of a sampled recording: each with its 95 % interval, also where they are added up.
 */
#ifndef REPORT_ESTIMATE_H
#define REPORT_ESTIMATE_H

#include "libcommon/stats/estimate.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cell;
struct model;
struct ms_err;
struct table;

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

/* Figures for people, in the arena: "1.31 GiB (1.19-1.44)", "102 k (96.7-107)", "3 blocks (1-12)".
 * Without a spread as say_size, say_count and say_things have it. */
const char *est_size(struct model *m, uint64_t bytes, const struct ms_spread *e);
const char *est_count(struct model *m, uint64_t n, const struct ms_spread *e);
const char *est_things(struct model *m, uint64_t n, const struct ms_spread *e, const char *one,
		       const char *many);

/* The spread of a figure, or NULL. */
const struct ms_spread *est_of(const struct estimates *e, enum est_figure figure);
/* The limits of a figure that is known. */
void est_limits(uint64_t value, const struct ms_spread *e, uint64_t *low, uint64_t *high);

/* Gives the cells of a row whose columns are estimated figures, by their names, their spreads; adds
 * to those that have one already. */
void est_cells(struct model *m, const struct table *t, struct cell *cells,
	       const struct estimates *e);
/* Adds a spread to that of a cell. */
void est_cell_add(struct model *m, struct cell *to, const struct ms_spread *e);
/* A cell of bytes for people. */
const char *est_cell_size(struct model *m, const struct cell *x);
/* Its interval; false: it is exact, or not known. */
bool est_cell_limits(const struct cell *x, uint64_t *low, uint64_t *high);
/* Has any cell of a column an interval? */
bool est_column(const struct table *t, size_t column);

#endif
