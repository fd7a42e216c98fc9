/* SPDX-License-Identifier: MIT
 * Draws the frames of the system, of a process and of a trace.
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
	const char *message; /* shown in the last line instead of the keys; NULL = none */
	const char *typed;   /* text being typed after `message`; NULL = none */
	bool frozen;
	unsigned where; /* keys with a meaning, as bits of term.h */
	double delay_s;
};

/* Draw a screen into a grid that has the size of the terminal (grid_begin). */
void draw_system(struct grid *g, struct system *s, const struct rows *r, const struct chosen *c,
		 const struct screen_state *st);
void draw_process(struct grid *g, const struct process *p, const struct screen_state *st);
/* Draws the keys, one screen per page, from page 0. Returns the number of pages. */
int draw_help(struct grid *g, unsigned where, int page);
void draw_columns(struct grid *g, const struct column_set *set, int at, enum column_id sort);
/* Return the number of rows that a complete screen needs, for plain output. */
int draw_system_rows(const struct rows *r);
int draw_process_rows(const struct process *p);

/* ---- for the files that draw ---- */

/* Draws the names of the `n` views of a screen, and marks `now`. Returns the column after them. */
int draw_tabs(struct grid *g, int row, const char *const *names, int n, int now);
/* Draws titles of columns; the sort column has a mark. */
void draw_titles(struct grid *g, int row, const struct column *c, const struct column_places *p,
		 int sort, bool reverse);

/* Draws keys, a message, or the text being typed. */
void draw_last_line(struct grid *g, const struct screen_state *st);
/* Returns a trend in a few words. */
const char *draw_verdict(const struct ms_trend *t);

/* ---- draw_trace.c ---- */

void draw_trace(struct grid *g, struct trace *t, const struct screen_state *st);
/* Returns the number of rows that a complete screen needs, for plain output. */
int draw_trace_rows(const struct trace *t);

/* ---- for the files that draw a trace ---- */

/* draw_trace_views.c: draws each view in rows `row` to `end` - 1. */
void draw_trace_tree(struct grid *g, int row, int end, struct trace *t,
		     const struct screen_state *st);
void draw_trace_threads(struct grid *g, int row, int end, struct trace *t,
			const struct screen_state *st);
void draw_trace_sizes(struct grid *g, int row, int end, struct trace *t,
		      const struct screen_state *st);
void draw_trace_timeline(struct grid *g, int row, int end, struct trace *t);
/* draw_trace_kept.c: draws the view, and on the screen of a site what keeps its blocks, in at most
 * the rows up to `end`. Returns the first row after that. */
void draw_trace_kept(struct grid *g, int row, int end, struct trace *t,
		     const struct screen_state *st);
int draw_trace_keepers(struct grid *g, int row, int end, struct trace *t, uint32_t node);
/* draw_trace_names.c: draws the names of `n` sites from `top` on, one per row. */
void draw_trace_names(struct grid *g, int row, int col, struct trace *t, size_t top, size_t n);
/* Returns a frame's name in `room` columns, complete if full names are requested. Valid until
 * draw_trace_names_begin, which is called before each screen. */
const char *draw_frame_name(const struct trace *t, const struct trace_frame *f, int room);
void draw_trace_names_begin(void);
/* Holds a frame whose name and place are shown in `room` columns. draw_names makes the frames with
 * the same `group` distinguishable. */
struct draw_name {
	struct trace_frame frame;
	uint32_t group;
	int room;
	const char *name, *place; /* set by draw_names; valid as long as draw_frame_name's result */
};
void draw_names(const struct trace *t, struct draw_name *v, size_t n);
/* draw_trace_site.c: draws the screen of a site, and its preview below the table. */
void draw_trace_site(struct grid *g, int row, int end, struct trace *t,
		     const struct screen_state *st);
/* Returns the rows of the preview on a screen of `rows` rows, `free` of which are otherwise
 * unused. */
int draw_trace_glimpse_rows(int rows, int free);
void draw_trace_glimpse(struct grid *g, int row, int end, struct trace *t, uint32_t node);
/* Draws a site's live bytes over time, in `width` columns and `height` rows. */
void draw_trace_history(struct grid *g, int row, int height, int col, int width,
			const struct trace *t, uint32_t site);
/* Returns the notes that are shown even without a header: the screen is frozen, or shows an earlier
 * moment, or the trace has a problem. */
const char *draw_trace_flags(const struct grid *g, const struct trace *t,
			     const struct screen_state *st);
/* Marks a row of a table if it is selected. */
void draw_trace_mark(struct grid *g, int row, const struct screen_state *st, uint64_t id);
