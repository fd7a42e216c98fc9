/* SPDX-License-Identifier: MIT
 * Reads rows of a snapshot's tables into structs, by a list of columns with the members that
 * receive the values.
 */
#pragma once

#include "model.h"

#include "libcommon/snapshot/snapshot_insert.h"

/* Lists the types of cells in a row. */
enum cell {
	CELL_ID,       /* int64_t */
	CELL_FIGURE,   /* uint64_t; UNKNOWN if not a number, or negative */
	CELL_FIGURE_0, /* uint64_t; 0 if not a number, or negative */
	CELL_REAL,     /* double */
	CELL_SMALL,    /* uint32_t; 0 if null or too large */
	CELL_TRUE,     /* bool */
	CELL_TEXT,     /* const char * in the model's arena; NULL for null */
	CELL_BORROWED, /* const char *, valid until the next row */
	/* uint32_t: index of the row that the cell's id stands for, or NONE */
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
	size_t at; /* offset in the row's struct */
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
	const char *name, *rest; /* rest: the query after the table's name; NULL = nothing */
	const struct cell_column *columns;
	size_t column_count;
	reader_row *row; /* called for each row */
};
#define READER_TABLE(name, rest, columns, row)                                                     \
	{                                                                                          \
		name, rest, columns, sizeof(columns) / sizeof *(columns), row                      \
	}

#define READER_COLUMNS 40

/* Reads the rows of a query, or the rows that a taker receives, column by column. */
struct reader {
	struct model *m;
	void *arg; /* argument of reader_read_table */
	sqlite3_stmt *st;
	int col;                       /* index of the next column */
	const struct reader_table *of; /* NULL = a query of the caller */
	/* used for rows that a taker receives, for which `st` is NULL: */
	const char *table; /* name of the table as in ms_row_taker */
	const struct ms_value *row;
	size_t row_size, at[READER_COLUMNS]; /* index in `row` of each column; row_size stands for
						an absent column */
};
/* Stores the columns of the current row in the struct that the table's column list describes. */
void reader_fill(struct reader *r, void *row);
/* Calls the table's function for each of its rows. reader_read() calls `row` for each row of a
 * query. Returns 0, or -1 with `err` set. */
int reader_read_table(struct model *m, const struct reader_table *table, void *arg,
		      struct ms_err *err);
int reader_read(struct model *m, reader_row *row, const char *sql, struct ms_err *err);
/* Read the next column. reader_text: a text in the model's arena, or NULL; reader_number: a number,
 * UNKNOWN if it is null or negative (reader_number_or_0: 0); reader_id: an id. */
const char *reader_text(struct reader *r);
uint64_t reader_number(struct reader *r);
uint64_t reader_number_or_0(struct reader *r);
int64_t reader_id(struct reader *r);
