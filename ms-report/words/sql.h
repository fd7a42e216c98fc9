/* SPDX-License-Identifier: MIT
 * --sql: somebody's question to the snapshot, answered as a table.
 */
#pragma once

#include "table.h"

struct ms_err;

/* An answer: its columns and all its rows, in the model's arena. */
struct answer {
	struct column *columns;
	size_t column_count;
	struct row *rows;
	size_t n;
};

/* Asks one SELECT of the tables and views of ms-snapshot(5). Nothing can be changed, no other file
 * reached; time, memory and rows are limited. 0, or -1 with `err` set. */
int sql_ask(struct model *m, const char *query, struct answer *a, struct ms_err *err);

/* Its first `limit` rows. */
struct table sql_table(struct model *m, const struct answer *a, size_t limit);
