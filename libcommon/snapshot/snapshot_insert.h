/* SPDX-License-Identifier: MIT
 * Filling tables: rows of values, each with the name of its column.
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

/* Lists what a column or a table needs (columns.def): without it the column is null, the table
 * empty. */
enum ms_needs {
	MS_NEEDS_BETWEEN = 1 << 0,
	MS_NEEDS_EXACT = 1 << 1,
	MS_NEEDS_HISTORY = 1 << 2,
	MS_NEEDS_END = 1 << 3,
	MS_NEEDS_EVENTS = 1 << 4,
	MS_NEEDS_MMAP = 1 << 5,
	MS_NEEDS_USABLE = 1 << 6
};
/* The needs of a column, or of a table where `column` is NULL; 0 = there are none. */
unsigned ms_needs_of(const char *table, const char *column);

/* Rows on their way into a table; made by ms_insert and ms_update, ended by ms_insert_close. */
struct ms_insert {
	sqlite3 *db;
	const char *table;
	struct ms_err *err;
	const struct ms_row_taker *taker; /* has each row, in place of the database or NULL */
	bool both;                        /* the database has it too */
	unsigned unknown; /* enum ms_needs: columns with one of these are null, whatever is put */
	bool *is_unknown; /* of each column, once there was a row */
	bool none;        /* the table needs what is not known: rows are left out */
	size_t keys;      /* of an update: how many values, the last of a row, say which row */
	size_t columns;   /* of a row; 0 = there was none yet */
	size_t at_once;   /* rows that `many` takes, which costs less than a statement a row */
	sqlite3_stmt *one, *many;         /* `many` is made when there are so many rows */
	bool failed;                      /* all calls do nothing then */
	bool now;                         /* each row is in the table as soon as it is ended */
	MS_ARRAY(struct ms_value) values; /* of rows to come; their texts are in `text` */
	struct ms_arena text;
};

/* New rows of `table`; they are not in it before the insert is closed. `db` is of ms_snapshot_new.
 */
static inline struct ms_insert ms_insert(sqlite3 *db, const char *table, struct ms_err *err)
{
	return (struct ms_insert){.db = db, .table = table, .err = err};
}

/* Changed columns of rows that are there: the last `keys` values of each row say which it is. */
static inline struct ms_insert ms_update(sqlite3 *db, const char *table, size_t keys,
					 struct ms_err *err)
{
	return (struct ms_insert){.db = db, .table = table, .err = err, .keys = keys};
}

/* 0, or -1 when anything failed since the beginning (`err` is set). */
int ms_insert_close(struct ms_insert *in);

/* ---- values ---- */

static inline struct ms_value ms_null(const char *column)
{
	return (struct ms_value){.column = column};
}

/* Returns a value with the 64 bits of `v`, as SQLite's signed integer. */
static inline struct ms_value ms_address(const char *column, uint64_t v)
{
	return (struct ms_value){column, MS_VALUE_NUMBER, {(int64_t)v}};
}

/* Returns a value with `v`, or with INT64_MAX if `v` is larger. */
static inline struct ms_value ms_int(const char *column, uint64_t v)
{
	return ms_address(column, v <= INT64_MAX ? v : INT64_MAX);
}

/* Null when not known. */
static inline struct ms_value ms_int_if(const char *column, bool known, uint64_t v)
{
	return known ? ms_int(column, v) : ms_null(column);
}

/* A field of a struct ms_row or ms_fields, null when it has none. */
#define MS_FIELD(column, f, field) ms_int_if(column, ms_has(f, field), (f)->number[field])

static inline struct ms_value ms_real(const char *column, double v)
{
	return (struct ms_value){column, MS_VALUE_REAL, {.real = v}};
}

/* NULL gives null; bytes that are no UTF-8 become U+FFFD. */
static inline struct ms_value ms_text(const char *column, const char *s)
{
	return (struct ms_value){column, s ? MS_VALUE_TEXT : MS_VALUE_NULL, {.text = s}};
}

/* The text of a JSON array of `n` strings, in the arena. */
const char *ms_json_array(struct ms_arena *a, const char *const *v, size_t n);

/* ---- rows ---- */

/* Appends values to the row; their texts are copied. Every row has the columns of the first one, in
 * its order. */
void ms_put_values(struct ms_insert *in, const struct ms_value *v, size_t n);
#define ms_put(in, ...)                                                                            \
	ms_put_values(in, (struct ms_value[]){__VA_ARGS__},                                        \
		      sizeof((struct ms_value[]){__VA_ARGS__}) / sizeof(struct ms_value))
/* All values are put: the row is whole. */
void ms_end_row(struct ms_insert *in);
/* A row of these values and those that were put before. */
#define ms_put_row(in, ...) (ms_put(in, __VA_ARGS__), ms_end_row(in))
