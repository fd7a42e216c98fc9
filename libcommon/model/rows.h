/* SPDX-License-Identifier: MIT
 * The tables of a snapshot as the model's arrays.
 */
#pragma once

#include "model.h"

#include "libcommon/snapshot/snapshot_insert.h"

#define READER_COLUMNS 32

/* Rows of a query, or rows that were handed over, and the columns of one in turn. */
struct reader {
	struct model *m;
	sqlite3_stmt *st;
	int col; /* next column */
	/* of what is handed over, where `st` is NULL: */
	const struct reader_table *of;
	const char *table; /* as ms_row_taker has it */
	const struct ms_value *row;
	size_t row_size, at[READER_COLUMNS]; /* where in `row` each column is; row_size: nowhere */
};
typedef void reader_row(struct reader *r);
struct reader_table {
	reader_row *row;
	const char *sql;
};
/* Hands each row on. 0, or -1 with `err` set. */
int reader_read(struct model *m, reader_row *row, const char *sql, struct ms_err *err);
/* The next column: text in the model's arena, or NULL; a number, UNKNOWN (0) if it is none or below
 * 0; any number. */
const char *reader_text(struct reader *r);
uint64_t reader_number(struct reader *r);
uint64_t reader_number_or_0(struct reader *r);
int64_t reader_id(struct reader *r);

/* Reads processes and moments; then m->at_label is to be set. 0, or -1 with `err` set. */
int rows_read_moments(struct model *m, struct ms_err *err);
/* Reads all other tables, but those that were handed over. 0, or -1 with `err` set. */
int rows_read(struct model *m, struct ms_err *err);
