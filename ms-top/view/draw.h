/* SPDX-License-Identifier: MIT
 * The frames: what is shown of the system and of a process.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ms-top/rows/columns.h"
#include "ms-top/rows/list.h"
#include "ms-top/rows/rows.h"
#include "ms-top/trace/trace.h"

struct grid;
struct process;
struct trace;

struct screen_state {
	const struct column_set *columns;
	struct list *list;
	const char *message; /* in the last line instead of the keys; NULL = none */
	const char *typed;   /* what is being typed after `message`; NULL = nothing is */
	bool frozen;
	unsigned where; /* which keys mean something, bits of term.h */
	double delay_s;
};

/* Frames of a screen's size: the grid was begun. */
void draw_system(struct grid *g, struct system *s, const struct rows *r, const struct chosen *c,
		 const struct screen_state *st);
void draw_process(struct grid *g, const struct process *p, const struct screen_state *st);
/* Keys, a screen of them at a time: page 0 and so on. How many pages there are. */
int draw_help(struct grid *g, unsigned where, int page);
void draw_columns(struct grid *g, const struct column_set *set, int at, enum column_id sort);
/* Rows that a frame needs to show everything, for plain output. */
int draw_system_rows(const struct rows *r);
int draw_process_rows(const struct process *p);

/* ---- among the files that draw ---- */

/* The `n` views of a frame, of which `now` is shown. Returns the column behind them. */
int draw_tabs(struct grid *g, int row, const char *const *names, int n, int now);
/* Titles of columns; that of the one that rows are sorted by has a mark. */
void draw_titles(struct grid *g, int row, const struct column *c, const struct column_places *p,
		 int sort, bool reverse);

/* Keys, a message, or what is being typed. */
void draw_last_line(struct grid *g, const struct screen_state *st);
/* Returns a trend in a few words. */
const char *draw_verdict(const struct ms_trend *t);

/* ---- draw_trace.c ---- */

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
/* draw_trace_names.c: what `n` sites are called, from the one at `top` on, each in a row. */
void draw_trace_names(struct grid *g, int row, int col, struct trace *t, size_t top, size_t n);
/* A frame's name in `room` columns; whole where full names are wanted. Valid until the next screen
 * begins, before which draw_trace_names_begin is called. */
const char *draw_frame_name(const struct trace *t, const struct trace_frame *f, int room);
void draw_trace_names_begin(void);
/* A frame's name and place in `room` columns; of those of one group no two read the same. */
struct draw_name {
	struct trace_frame frame;
	uint32_t group;
	int room;
	const char *name, *place; /* set by draw_names; valid as long as draw_frame_name's */
};
void draw_names(const struct trace *t, struct draw_name *v, size_t n);
/* draw_trace_site.c: the whole site, and what there is room for beneath the table. */
void draw_trace_site(struct grid *g, int row, int end, struct trace *t,
		     const struct screen_state *st);
/* How many rows it has on a screen of so many, of which so many would be free else. */
int draw_trace_glimpse_rows(int rows, int free);
void draw_trace_glimpse(struct grid *g, int row, int end, struct trace *t, uint32_t node);
/* A site's live bytes over time, in `width` columns and `height` rows. */
void draw_trace_history(struct grid *g, int row, int height, int col, int width,
			const struct trace *t, uint32_t site);
/* Returns what must be said even without a header: that the screen is frozen, or of the past, or
 * that the trace has a fault. */
const char *draw_trace_flags(const struct grid *g, const struct trace *t,
			     const struct screen_state *st);
/* Gives a row of a table its mark when it is selected. */
void draw_trace_mark(struct grid *g, int row, const struct screen_state *st, uint64_t id);
