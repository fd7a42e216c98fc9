/* SPDX-License-Identifier: MIT
 * Rows of a snapshot's tables, by a list of the columns that are wanted and the members they go to.
 */
#pragma once

#include "model.h"

#include "libcommon/snapshot/snapshot_insert.h"

/* How the value of a column stands in a row. */
enum cell {
	CELL_ID,       /* int64_t */
	CELL_FIGURE,   /* uint64_t, UNKNOWN where it is no number or below 0, */
	CELL_FIGURE_0, /* or 0 then */
	CELL_REAL,     /* double */
	CELL_SMALL,    /* uint32_t, 0 where there is none, or one that is too large */
	CELL_TRUE,     /* bool */
	CELL_TEXT,     /* const char *, NULL where it is null; in the model's arena, */
	CELL_BORROWED, /* or until the next row */
	/* uint32_t, the index in the model of the row that the column refers to, or NONE: */
	CELL_PROCESS,
	CELL_SNAPSHOT,
	CELL_MODULE,
	CELL_FRAME,
	CELL_NODE,
	CELL_SITE
};
struct cell_column {
	const char *name;
	enum cell cell;
	size_t at; /* offset in the row */
};
#define CELL(kind, row, member)                                                                    \
	{                                                                                          \
#member, CELL_##kind, offsetof(struct row, member)                                 \
	}
#define CELL_AS(column, kind, row, member)                                                         \
	{                                                                                          \
		column, CELL_##kind, offsetof(struct row, member)                                  \
	}

struct reader;
typedef void reader_row(struct reader *r);
struct reader_table {
	const char *name, *rest; /* rest: of the query, after the table's name; NULL = nothing */
	const struct cell_column *columns;
	size_t column_count;
	reader_row *row; /* called for each */
};
#define READER_TABLE(name, rest, columns, row)                                                     \
	{                                                                                          \
		name, rest, columns, sizeof(columns) / sizeof *(columns), row                      \
	}

#define READER_COLUMNS 40

/* Rows of a query, or rows that were handed over, and the columns of one in turn. */
struct reader {
	struct model *m;
	void *arg; /* as it was given to reader_read_table */
	sqlite3_stmt *st;
	int col;                       /* next column */
	const struct reader_table *of; /* NULL = of a query of the caller's */
	/* of what is handed over, where `st` is NULL: */
	const char *table; /* as ms_row_taker has it */
	const struct ms_value *row;
	size_t row_size, at[READER_COLUMNS]; /* where in `row` each column is; row_size: nowhere */
};
/* Puts the columns of the current row into the struct that the table's list is of. */
void reader_fill(struct reader *r, void *row);
/* Hands each row of a table, or of a query, on. 0, or -1 with `err` set. */
int reader_read_table(struct model *m, const struct reader_table *table, void *arg,
		      struct ms_err *err);
int reader_read(struct model *m, reader_row *row, const char *sql, struct ms_err *err);
/* The next column: text in the model's arena, or NULL; a number, UNKNOWN (0) if it is none or below
 * 0; any number. */
const char *reader_text(struct reader *r);
uint64_t reader_number(struct reader *r);
uint64_t reader_number_or_0(struct reader *r);
int64_t reader_id(struct reader *r);
