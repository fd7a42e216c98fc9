/* SPDX-License-Identifier: MIT
 * A view as a table of typed cells, which each format writes in its own way.
 */
#ifndef REPORT_TABLE_H
#define REPORT_TABLE_H

#include "lists.h"

struct style;

enum cell_kind {
	CELL_TEXT,     /* s, raw: formats make it harmless */
	CELL_FUNCTION, /* s, raw: shortened for people */
	CELL_PATH,     /* s, raw: cut at its start where room is short */
	CELL_SIZE,     /* n bytes */
	CELL_COUNT,    /* n */
	CELL_ID,       /* n, without commas */
	CELL_TIME,     /* n ns */
};

struct column {
	const char *title; /* for people; NULL = only for machines */
	const char *name;  /* for machines; NULL = only for people */
	enum cell_kind kind;
	bool sum;      /* rows add up to the total */
	bool optional; /* left out where the line is narrow */
};

static inline bool column_is_number(const struct column *c)
{
	return c->kind >= CELL_SIZE;
}

struct cell {
	uint64_t n;    /* UNKNOWN = not known */
	const char *s; /* NULL = none */
};

enum row_kind { ROW_ITEM, ROW_MORE, ROW_HIDDEN, ROW_OTHER, ROW_TOTAL };

struct row {
	enum row_kind kind;
	struct cell *cells;
};

struct table {
	const char *title; /* NULL = none */
	const char *empty; /* what to say when there are no rows */
	const struct column *columns;
	size_t column_count;
	struct row *rows;
	size_t n;
};

/* The views. `limit` rows at most, the rest in one ROW_MORE with its sums; all live in the model's
 * arena. */
struct table table_summary(struct model *m);
struct table table_threads(struct model *m, size_t limit);
struct table table_timeline(struct model *m, size_t limit);
struct table table_sizes(struct model *m, size_t limit);
struct table table_modules(struct model *m, size_t limit);
struct table table_processes(struct model *m, size_t limit);

enum group_key {
	BY_FUNCTION,
	BY_FILE,
	BY_MODULE,
	BY_STACK,
	BY_THREAD,
	BY_PROCESS,
	BY_SIZE,
	BY_COUNT
};
extern const char *const group_names[BY_COUNT]; /* the spelling of --by */
/* Sites grouped by what their user frame says (BY_FUNCTION, BY_FILE, BY_MODULE), largest `metric`
 * first. */
struct table table_groups(struct model *m, enum group_key key, enum metric metric, size_t limit);

#endif
