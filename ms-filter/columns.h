/* SPDX-License-Identifier: MIT
 * Lists the columns of a site: the names for --where, and their SQL.
 */
#pragma once

#include <stddef.h>

struct ms_arena;
struct ms_err;
struct sqlite3;
struct sqlite3_stmt;

enum column_type { COLUMN_COUNT, COLUMN_SIZE, COLUMN_DURATION, COLUMN_TEXT, COLUMN_STACK };

struct column {
	const char *name;
	enum column_type type;
	const char *sql;  /* expression on the joined rows; NULL for COLUMN_STACK */
	const char *what; /* description in one line */
};

/* Lists the columns in the order of columns_query, whose rows begin with the site's id. */
extern const struct column columns[];
extern const size_t column_count;

/* Returns the index of the column whose name is the `n` bytes at `name`; -1 = none. */
int column_find(const char *name, size_t n);
/* Returns the list for --where help, in `a`. */
const char *columns_help(struct ms_arena *a);
/* Queries all columns of all sites, in order of id; live figures are of the moment `point`. Returns
 * NULL with `err` set on failure. */
struct sqlite3_stmt *columns_query(struct sqlite3 *db, struct ms_arena *a, const char *point,
				   struct ms_err *err);
