/* SPDX-License-Identifier: MIT
 * What the files that draw have in common.
 */
#ifndef TOP_DRAW_PRIVATE_H
#define TOP_DRAW_PRIVATE_H

#include "ms-top/rows/columns.h"

struct grid;
struct ms_trend;
struct screen_state;

/* The `n` views of a frame, of which `now` is shown. Returns the column behind them. */
int draw_tabs(struct grid *g, int row, const char *const *names, int n, int now);
/* Titles of columns; that of the one that rows are sorted by has a mark. */
void draw_titles(struct grid *g, int row, const struct column *c, const struct column_places *p,
		 int sort, bool reverse);

/* Keys, a message, or what is being typed. */
void draw_last_line(struct grid *g, const struct screen_state *st);
/* What a trend says, in a few words. */
const char *draw_verdict(const struct ms_trend *t);

#endif
