/* SPDX-License-Identifier: MIT
 * What can be shown of a process, one column each.
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
	int width;    /* 0 = what is left */
	bool right;   /* figures stand at the right */
	bool up;      /* sorted from the smallest on */
	int lasts;    /* the larger, the later it goes when the terminal is narrow */
	bool history; /* wider where the screen is so wide */
};
extern const struct column columns[COLUMN_COUNT];

/* Those of a table that are shown, by their numbers, in their order. */
struct column_set {
	int v[COLUMN_COUNT];
	size_t n;
};
extern const struct column_set columns_default;

/* "pid,rss,command". 0, or -1 with `err` set: names them all. */
int columns_parse(const char *text, struct column_set *out, struct ms_err *err);
/* -1 with `err` set when there is no such column. */
int column_find(const char *name, size_t length, struct ms_err *err);
/* Holds the first column on the screen, and the width, of each column of a table. */
struct column_places {
	struct column_set set;
	int at[COLUMN_COUNT], width[COLUMN_COUNT];
};
/* Those of the table `c` that fit in `width` columns, when rows are sorted by `sort`: its title has
 * a mark. The one without a width takes what is left, at least `open`. */
struct column_places columns_fit(const struct column *c, struct column_set set, int sort, int width,
				 int open);
/* Gives the width of a history, in columns. */
#define COLUMN_HISTORY_WIDE 24

/* Is it not read of all processes at every look? */
bool column_is_dear(enum column_id id);

/* Less than 0: `a` comes first. Unknown figures come last. */
int column_compare(struct system *s, enum column_id id, struct system_process *a,
		   struct system_process *b);
/* The cell of a process, or of a group; `indent` is for its command. */
void column_draw(struct grid *g, int row, int col, int width, struct system *s, enum column_id id,
		 struct system_process *p, const char *indent);
