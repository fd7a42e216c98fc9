/* SPDX-License-Identifier: MIT
 * The frames: what is shown of the system and of a process.
 */
#ifndef TOP_DRAW_H
#define TOP_DRAW_H

#include <stdbool.h>

#include "ms-top/rows/columns.h"
#include "ms-top/rows/list.h"
#include "ms-top/rows/rows.h"

struct ms_trend;
struct chosen;
struct grid;
struct process;

struct screen_state {
	const struct column_set *columns;
	struct list *list;
	const char *message; /* in the last line instead of the keys; NULL = none */
	const char *typed;   /* what is being typed after `message`; NULL = nothing is */
	bool frozen;
	unsigned where; /* which keys mean something, bits of keys.h */
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
/* What a trend says, in a few words. */
const char *draw_verdict(const struct ms_trend *t);

#endif
