/* SPDX-License-Identifier: MIT
 * The tables of a snapshot as the model's arrays.
 */
#pragma once

#include "model.h"

/* Rows of a query, and the columns of one in turn. */
struct reader {
	struct model *m;
	sqlite3_stmt *st;
	int col; /* next column */
};
struct reader_table {
	void (*row)(struct reader *r);
	const char *sql;
};
/* Hands each row on. 0, or -1 with `err` set. */
int reader_read(struct model *m, const struct reader_table *t, struct ms_err *err);
/* Text of the next column, in the model's arena, or NULL. */
const char *reader_text(struct reader *r);

/* Reads processes and moments; then m->at_label is to be set. 0, or -1 with `err` set. */
int rows_read_moments(struct model *m, struct ms_err *err);
/* Reads all other tables. 0, or -1 with `err` set. */
int rows_read(struct model *m, struct ms_err *err);
