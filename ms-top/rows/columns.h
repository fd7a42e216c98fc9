/* SPDX-License-Identifier: MIT
 * Columns of figures about a process.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ms-top/proc/system.h"

struct grid;
struct ms_err;

enum column_id {
	COLUMN_PID,
	COLUMN_USER,
	COLUMN_RSS,
	COLUMN_PSS,
	COLUMN_USS,
	COLUMN_SWAP,
	COLUMN_FOOTPRINT,
	COLUMN_SHARED,
	COLUMN_HEAP,
	COLUMN_VSZ,
	COLUMN_RATE,
	COLUMN_START,
	COLUMN_HISTORY,
	COLUMN_VERDICT,
	COLUMN_STATE,
	COLUMN_THREADS,
	COLUMN_CPU,
	COLUMN_READ,
	COLUMN_WRITE,
	COLUMN_FAULTS,
	COLUMN_FROM,
	COLUMN_CGROUP,
	COLUMN_COMMAND,
	COLUMN_COUNT
};

struct column {
	const char *title, *help;
	int width;    /* 0 = the rest of the row */
	bool right;   /* right-aligned */
	bool up;      /* sorted in ascending order */
	int lasts;    /* priority: on a narrow terminal, lower ones are dropped first */
	bool history; /* shows a history, which is wider on wide screens */
};
extern const struct column columns[COLUMN_COUNT];

/* Lists the visible columns of a table, by number, in their order. */
struct column_set {
	int v[COLUMN_COUNT];
	size_t n;
};
extern const struct column_set columns_default;

/* Parses "pid,rss,command". Returns 0, or -1 with `err` listing all columns. */
int columns_parse(const char *text, struct column_set *out, struct ms_err *err);
/* Finds a column by name. -1 with `err` set = there is none. */
int column_find(const char *name, size_t length, struct ms_err *err);
/* Holds for each column of a table its first column on the screen, and its width. */
struct column_places {
	struct column_set set;
	int at[COLUMN_COUNT], width[COLUMN_COUNT];
};
/* Lays out the columns of table `c` that fit in `width`. The title of `sort`, the sort column, has
 * a mark. The column without a width gets the rest, at least `open`. */
struct column_places columns_fit(const struct column *c, struct column_set set, int sort, int width,
				 int open);
/* Width of a history on wide screens. */
#define COLUMN_HISTORY_WIDE 24

/* Tells whether the column is too costly to read for all processes at every update. */
bool column_is_dear(enum column_id id);

/* Compares two processes: less than 0 if `a` comes first. Unknown figures come last. */
int column_compare(struct system *s, enum column_id id, struct system_process *a,
		   struct system_process *b);
/* Draws the cell of a process or a group; `indent` precedes its command. */
void column_draw(struct grid *g, int row, int col, int width, struct system *s, enum column_id id,
		 struct system_process *p, const char *indent);
