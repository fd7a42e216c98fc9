/* SPDX-License-Identifier: MIT
 * The columns of a site: what --where may name, and where each comes from.
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
	const char *sql;  /* of joined rows; NULL for COLUMN_STACK */
	const char *what; /* one line for people */
};

/* In the order in which columns_query gives them, after the site's id. */
extern const struct column columns[];
extern const size_t column_count;

/* The number of the column of that name, of `n` bytes; -1 = there is none. */
int column_find(const char *name, size_t n);
/* The list for --where help, made in `a`. */
const char *columns_help(struct ms_arena *a);
/* All sites with all columns, in order of id; live figures are those of the moment `point`. NULL
 * with `err` set. */
struct sqlite3_stmt *columns_query(struct sqlite3 *db, struct ms_arena *a, const char *point,
				   struct ms_err *err);
