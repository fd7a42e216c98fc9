/* SPDX-License-Identifier: MIT
 * Filling tables: rows collected for one INSERT, and text made valid UTF-8 on its way in.
 */
#include "snapshot_insert.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/utf8.h"
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

#define VALUES_AT_ONCE 4096u /* so many, and their rows are inserted */

/* The statement for rows like the first one. */
static void prepare(struct ms_insert *in)
{
	struct ms_arena a = {0};
	const struct ms_value *v = in->rows.values.v;
	size_t n = in->rows.columns = in->rows.values.n, set = n - in->keys;
	const char *left = "", *right = "", *comma = "";
	for (size_t i = 0; i < n; i++, comma = ",") {
		if (!in->keys) {
			left = ms_arena_printf(&a, "%s%s%s", left, comma, v[i].column);
			right = ms_arena_printf(&a, "%s%sc%zu", right, comma, i);
		} else if (i < set) {
			left = ms_arena_printf(&a, "%s%s%s=?%zu", left, comma, v[i].column, i + 1);
		} else {
			right = ms_arena_printf(&a, "%s%s%s=?%zu", right, i > set ? " AND " : "",
						v[i].column, i + 1);
		}
	}
	in->stmt = ms_sql_prepare(in->db,
				  ms_arena_printf(&a,
						  in->keys ? "UPDATE %s SET %s WHERE %s"
							   : "INSERT INTO %s(%s) SELECT %s FROM "
							     "ms_rows(?1)",
						  in->table, left, right),
				  in->err);
	in->failed = !in->stmt;
	ms_arena_free(&a);
}

static int bind(sqlite3_stmt *stmt, int at, const struct ms_value *v)
{
	switch (v->type) {
	case MS_VALUE_NUMBER:
		return sqlite3_bind_int64(stmt, at, v->number);
	case MS_VALUE_REAL:
		return sqlite3_bind_double(stmt, at, v->real);
	case MS_VALUE_TEXT:
		return sqlite3_bind_text(stmt, at, v->text, -1, SQLITE_TRANSIENT);
	case MS_VALUE_NULL:
		break;
	}
	return sqlite3_bind_null(stmt, at);
}

/* Takes the rows that were put into the table. */
static void flush(struct ms_insert *in)
{
	if (in->failed || !in->rows.values.n)
		return;
	int rc = in->keys ? SQLITE_OK : ms_bulk_bind(in->stmt, 1, &in->rows);
	for (size_t i = 0; i < in->rows.columns && in->keys && rc == SQLITE_OK; i++)
		rc = bind(in->stmt, (int)i + 1, &in->rows.values.v[i]);
	if (rc != SQLITE_OK || sqlite3_step(in->stmt) != SQLITE_DONE) {
		ms_err_set(in->err, "snapshot database: %s", sqlite3_errmsg(in->db));
		in->failed = true;
	}
	sqlite3_reset(in->stmt);
	ms_bulk_clear(&in->rows);
}

int ms_insert_close(struct ms_insert *in)
{
	flush(in);
	sqlite3_finalize(in->stmt);
	in->stmt = NULL;
	ms_bulk_free(&in->rows);
	return in->failed ? -1 : 0;
}

/* `s` as UTF-8 in malloc'ed memory, or NULL when it is good as it is. */
static char *repair(const char *s)
{
	size_t left = strlen(s), n;
	uint32_t c;
	const char *p = s;
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
	for (size_t i = 0; i < n; i++) {
		struct ms_value *to = MS_PUSH(&in->rows.values);
		*to = v[i];
		if (v[i].type != MS_VALUE_TEXT)
			continue;
		char *repaired = repair(v[i].text);
		to->text = ms_arena_strdup(&in->rows.text, repaired ? repaired : v[i].text);
		free(repaired);
	}
}

void ms_end_row(struct ms_insert *in)
{
	if (!in->stmt && !in->failed)
		prepare(in);
	if (!in->failed && in->rows.values.n % in->rows.columns != 0) {
		ms_err_set(in->err, "snapshot database: %zu values for '%s'", in->rows.values.n,
			   sqlite3_sql(in->stmt));
		in->failed = true;
	}
	if (in->failed)
		ms_bulk_clear(&in->rows);
	else if (in->keys || in->rows.values.n >= VALUES_AT_ONCE)
		flush(in);
}
