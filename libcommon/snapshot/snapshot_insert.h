/* SPDX-License-Identifier: MIT
 * Fills tables with rows of values, each with the name of its column.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "libcommon/base/arena.h"

struct ms_err;

/* Holds the value of one column of a row. */
struct ms_value {
	const char *column;
	enum { MS_VALUE_NULL, MS_VALUE_NUMBER, MS_VALUE_REAL, MS_VALUE_TEXT } type;
	union {
		int64_t number;
		double real;
		const char *text;
	};
};

/* Lists the kinds of recorded data that a column or a table may need (columns.def): without the
 * data the column is null or the table empty. */
enum ms_needs {
	MS_NEEDS_BETWEEN = 1 << 0,
	MS_NEEDS_EXACT = 1 << 1,
	MS_NEEDS_HISTORY = 1 << 2,
	MS_NEEDS_END = 1 << 3,
	MS_NEEDS_EVENTS = 1 << 4,
	MS_NEEDS_MMAP = 1 << 5,
	MS_NEEDS_USABLE = 1 << 6
};
/* Returns the kinds of recorded data that a column needs, or the table if `column` is NULL; 0 =
 * none. */
unsigned ms_needs_of(const char *table, const char *column);

/* Collects rows for a table. Made by ms_insert and ms_update, ended by ms_insert_close. */
struct ms_insert {
	sqlite3 *db;
	const char *table;
	struct ms_err *err;
	const struct ms_row_taker *taker; /* receives each row instead of the database; or NULL */
	bool both;                        /* the database receives each row as well */
	unsigned unknown;         /* bits of enum ms_needs: columns that need such data become
				     null */
	bool *is_unknown;         /* for each column: whether it becomes null; allocated at the
				     first row */
	bool none;                /* the table lacks required data (enum ms_needs): its rows are
				     dropped */
	size_t keys;              /* for an update: number of key values at the end of a row */
	size_t columns;           /* values in a row; 0 = no row yet */
	size_t at_once;           /* rows inserted by `many`, which is cheaper than single rows */
	sqlite3_stmt *one, *many; /* `many` is made once there are enough rows */
	bool failed;              /* all later calls do nothing */
	bool now;                 /* each row is inserted when it ends */
	MS_ARRAY(struct ms_value) values; /* values of pending rows; their texts are in `text` */
	struct ms_arena text;
};

/* Returns an inserter of new rows; they are in `table` only after ms_insert_close. `db` is a
 * database of ms_snapshot_new. */
static inline struct ms_insert ms_insert(sqlite3 *db, const char *table, struct ms_err *err)
{
	return (struct ms_insert){.db = db, .table = table, .err = err};
}

/* Returns an update of existing rows: the last `keys` values of each row select the row. */
static inline struct ms_insert ms_update(sqlite3 *db, const char *table, size_t keys,
					 struct ms_err *err)
{
	return (struct ms_insert){.db = db, .table = table, .err = err, .keys = keys};
}

/* Ends an insert. Returns 0, or -1 with `err` set if anything failed since its beginning. */
int ms_insert_close(struct ms_insert *in);

/* ---- values ---- */

static inline struct ms_value ms_null(const char *column)
{
	return (struct ms_value){.column = column};
}

/* Returns an integer value with the same 64 bits as `v`, since SQLite's integers are signed. */
static inline struct ms_value ms_address(const char *column, uint64_t v)
{
	return (struct ms_value){column, MS_VALUE_NUMBER, {(int64_t)v}};
}

/* Returns a value with `v`, or with INT64_MAX if `v` is larger. */
static inline struct ms_value ms_int(const char *column, uint64_t v)
{
	return ms_address(column, v <= INT64_MAX ? v : INT64_MAX);
}

/* Returns a value with `v`, or null if it is not known. */
static inline struct ms_value ms_int_if(const char *column, bool known, uint64_t v)
{
	return known ? ms_int(column, v) : ms_null(column);
}

/* Makes a value of a field of a struct ms_row or ms_fields; null if the field is missing. */
#define MS_FIELD(column, f, field) ms_int_if(column, ms_has(f, field), (f)->number[field])

static inline struct ms_value ms_real(const char *column, double v)
{
	return (struct ms_value){column, MS_VALUE_REAL, {.real = v}};
}

/* Returns a text value; null for NULL. Bytes that are not UTF-8 become U+FFFD. */
static inline struct ms_value ms_text(const char *column, const char *s)
{
	return (struct ms_value){column, s ? MS_VALUE_TEXT : MS_VALUE_NULL, {.text = s}};
}

/* Returns a JSON array of `n` strings as text in the arena. */
const char *ms_json_array(struct ms_arena *a, const char *const *v, size_t n);

/* ---- rows ---- */

/* Appends values to the current row and copies their texts. Every row must have the columns of
 * the first one, in the same order. */
void ms_put_values(struct ms_insert *in, const struct ms_value *v, size_t n);
#define ms_put(in, ...)                                                                            \
	ms_put_values(in, (struct ms_value[]){__VA_ARGS__},                                        \
		      sizeof((struct ms_value[]){__VA_ARGS__}) / sizeof(struct ms_value))
/* Ends the current row. */
void ms_end_row(struct ms_insert *in);
/* Appends these values to the current row, and ends the row. */
#define ms_put_row(in, ...) (ms_put(in, __VA_ARGS__), ms_end_row(in))
