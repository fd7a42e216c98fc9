/* SPDX-License-Identifier: MIT
 * The frames of a trace.
 */
#ifndef TOP_DRAW_TRACE_H
#define TOP_DRAW_TRACE_H

#include <stddef.h>
#include <stdint.h>

struct grid;
struct screen_state;
struct trace;

void draw_trace(struct grid *g, struct trace *t, const struct screen_state *st);
/* Rows that a frame needs to show everything, for plain output. */
int draw_trace_rows(const struct trace *t);

/* ---- among the files that draw a trace ---- */

/* draw_trace_views.c: each view, in rows from `row` to `end` - 1. */
void draw_trace_tree(struct grid *g, int row, int end, struct trace *t,
		     const struct screen_state *st);
void draw_trace_threads(struct grid *g, int row, int end, struct trace *t,
			const struct screen_state *st);
void draw_trace_sizes(struct grid *g, int row, int end, struct trace *t,
		      const struct screen_state *st);
void draw_trace_timeline(struct grid *g, int row, int end, struct trace *t);
/* draw_trace_site.c: the whole site, and what there is room for beneath the table. */
void draw_trace_site(struct grid *g, int row, int end, struct trace *t,
		     const struct screen_state *st);
/* How many rows it has on a screen of so many. */
int draw_trace_glimpse_rows(int rows);
void draw_trace_glimpse(struct grid *g, int row, int end, struct trace *t, uint32_t node);
/* A site's live bytes over time, in `width` columns. */
void draw_trace_history(struct grid *g, int row, int col, int width, const struct trace *t,
			uint32_t site);
/* What a screen without the header must say all the same: that it is frozen, or of the past, or
 * that the trace has a fault. Its length. */
size_t draw_trace_flags(const struct grid *g, const struct trace *t, const struct screen_state *st,
			char *text, size_t room);
/* A row of a table that is selected gets its mark. */
void draw_trace_mark(struct grid *g, int row, const struct screen_state *st, uint64_t id);

#endif
