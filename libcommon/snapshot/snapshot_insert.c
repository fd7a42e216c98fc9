/* SPDX-License-Identifier: MIT
 * Fills tables: collects rows for one INSERT, and makes text valid UTF-8.
 */
#include "snapshot_insert.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/utf8.h"
#include "snapshot.h"
#include "snapshot_columns.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VALUES_AT_ONCE 4096u /* number of pending values at which rows are inserted */
#define PARTS 4u             /* number of statements that these values are divided among */

/* Lists the names of columns `from` to `to`, each followed by `value`. */
static const char *names(struct ms_insert *in, struct ms_arena *a, size_t from, size_t to,
			 const char *value, const char *between)
{
	const char *out = "";
	for (size_t i = from; i < to; i++)
		out = ms_arena_printf(a, "%s%s%s%s", out, i > from ? between : "",
				      in->values.v[i].column, value);
	return out;
}

/* Prepares a statement for `rows` rows like the first one. */
static sqlite3_stmt *prepare(struct ms_insert *in, size_t rows)
{
	struct ms_arena a = {0};
	size_t n = in->columns, set = n - in->keys;
	const char *sql;
	if (in->keys) {
		sql = ms_arena_printf(&a, "UPDATE %s SET %s WHERE %s", in->table,
				      names(in, &a, 0, set, "=?", ","),
				      names(in, &a, set, n, "=?", " AND "));
	} else {
		char *row = ms_arena_alloc(&a, n * 2 + 3),
		     *all = ms_arena_alloc(&a, rows * (n * 2 + 3)), *end = all;
		*row = '(';
		for (size_t i = 0; i < n; i++)
			memcpy(row + 1 + 2 * i, i + 1 < n ? "?," : "?)", 2);
		for (size_t i = 0; i < rows; i++)
			end = stpcpy(stpcpy(end, i ? "," : ""), row);
		sql = ms_arena_printf(&a, "INSERT INTO %s(%s) VALUES%s", in->table,
				      names(in, &a, 0, n, "", ","), all);
	}
	sqlite3_stmt *stmt = ms_sql_prepare(in->db, sql, in->err);
	in->failed = !stmt;
	ms_arena_free(&a);
	return stmt;
}

static void bind(sqlite3_stmt *stmt, int at, const struct ms_value *v)
{
	if (v->type == MS_VALUE_NUMBER)
		sqlite3_bind_int64(stmt, at, v->number);
	else if (v->type == MS_VALUE_REAL)
		sqlite3_bind_double(stmt, at, v->real);
	else if (v->type == MS_VALUE_TEXT)
		sqlite3_bind_text(stmt, at, v->text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(stmt, at);
}

/* Inserts `rows` pending rows, from value `first` on, into the table. */
static void take(struct ms_insert *in, sqlite3_stmt **stmt, size_t first, size_t rows)
{
	if (!*stmt && !(*stmt = prepare(in, rows)))
		return;
	for (size_t i = 0; i < rows * in->columns; i++)
		bind(*stmt, (int)i + 1, &in->values.v[first + i]);
	if (sqlite3_step(*stmt) != SQLITE_DONE) {
		ms_err_set(in->err, "snapshot database: %s", sqlite3_errmsg(in->db));
		in->failed = true;
	}
	sqlite3_reset(*stmt);
}

static void flush(struct ms_insert *in)
{
	/* an update without values other than keys has no effect */
	size_t rows = in->columns > in->keys ? in->values.n / in->columns : 0, n;
	for (size_t at = 0; at < rows && !in->failed; at += n) {
		n = rows - at < in->at_once ? 1 : in->at_once;
		take(in, n == 1 ? &in->one : &in->many, at * in->columns, n);
	}
	in->values.n = 0;
	ms_arena_free(&in->text);
}

unsigned ms_needs_of(const char *table, const char *column)
{
	static const struct {
		const char *table, *column;
		unsigned needs;
	} all[] = {
#define X(table, column, needs) {table, column, needs},
		MS_NEEDS(X)
#undef X
	};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		if (strcmp(all[i].table, table) == 0 && !all[i].column == !column &&
		    (!column || strcmp(all[i].column, column) == 0))
			return all[i].needs;
	return 0;
}

/* Sets the values in unknown columns of the last row to null. */
static void forget(struct ms_insert *in)
{
	size_t n = in->columns;
	struct ms_value *v = in->values.v + in->values.n - n;
	if (!in->is_unknown) {
		in->is_unknown = ms_xcalloc(n, sizeof *in->is_unknown);
		for (size_t i = 0; i < n; i++)
			in->is_unknown[i] = ms_needs_of(in->table, v[i].column) & in->unknown;
	}
	for (size_t i = 0; i < n; i++)
		if (in->is_unknown[i])
			v[i] = ms_null(v[i].column);
}

int ms_insert_close(struct ms_insert *in)
{
	flush(in);
	sqlite3_finalize(in->one);
	sqlite3_finalize(in->many);
	in->one = in->many = NULL;
	MS_FREE(in->values.v, in->is_unknown);
	return in->failed ? -1 : 0;
}

/* Returns `s` as valid UTF-8 in malloc'ed memory, or NULL if `s` is valid already. */
static char *repair(const char *s)
{
	const char *p = s;
	while ((signed char)*p > 0) /* most text is ASCII */
		p++;
	size_t left = strlen(p), n;
	uint32_t c;
	while (left && (n = ms_utf8_next(p, left, &c))) {
		p += n;
		left -= n;
	}
	if (!left)
		return NULL;
	left = strlen(s);
	char *out = ms_xrealloc(NULL, left * 3 + 1, 1), *o = out;
	for (p = s; left; left -= n) {
		n = ms_utf8_next(p, left, &c);
		memcpy(o, n ? p : "\xef\xbf\xbd", n ? n : 3);
		o += n ? n : 3;
		n += !n;
		p += n;
	}
	*o = '\0';
	return out;
}

void ms_put_values(struct ms_insert *in, const struct ms_value *v, size_t n)
{
	in->values.v = ms_xgrow(in->values.v, &in->values.cap, in->values.n + n, sizeof *v);
	struct ms_value *to = memcpy(in->values.v + in->values.n, v, n * sizeof *v);
	in->values.n += n;
	for (size_t i = 0; i < n; i++, to++) {
		if (v[i].type != MS_VALUE_TEXT)
			continue;
		char *repaired = repair(v[i].text);
		if (!in->taker || in->both || repaired)
			to->text = ms_arena_strdup(&in->text, repaired ? repaired : v[i].text);
		free(repaired);
	}
}

void ms_end_row(struct ms_insert *in)
{
	if (!in->columns) {
		in->columns = in->values.n;
		in->at_once = (VALUES_AT_ONCE - 1 + in->columns) / in->columns / PARTS;
	}
	if (!in->failed && in->values.n % in->columns != 0) {
		ms_err_set(in->err,
			   "snapshot database: internal error: a row of table '%s' has the wrong "
			   "number of values",
			   in->table);
		in->failed = true;
	}
	if (in->none)
		in->values.n -= in->columns;
	else if (in->unknown && !in->failed)
		forget(in);
	if (in->taker && !in->failed && !in->none) {
		in->taker->row(in->taker->arg, in->table, in->values.v + in->values.n - in->columns,
			       in->columns);
		in->values.n = in->both ? in->values.n : 0;
	}
	if (in->failed || in->keys || in->now || in->values.n >= VALUES_AT_ONCE)
		flush(in);
}

const char *ms_json_array(struct ms_arena *a, const char *const *v, size_t n)
{
	size_t room = 3;
	for (size_t i = 0; i < n; i++)
		room += strlen(v[i]) * 6 + 3;
	char *out = ms_arena_alloc(a, room), *o = out;
	*o++ = '[';
	for (size_t i = 0; i < n; i++) {
		if (i)
			*o++ = ',';
		*o++ = '"';
		for (const unsigned char *c = (const unsigned char *)v[i]; *c; c++) {
			if (*c < 0x20 || *c == 0x7f)
				o += sprintf(o, "\\u%04x", *c);
			else if (*c == '"' || *c == '\\')
				o += sprintf(o, "\\%c", *c);
			else
				*o++ = (char)*c;
		}
		*o++ = '"';
	}
	*o++ = ']';
	*o = '\0';
	return out;
}
