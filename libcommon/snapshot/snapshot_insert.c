/* SPDX-License-Identifier: MIT
 * Filling tables: rows collected for one INSERT, and text made valid UTF-8 on its way in.
 */
#include "snapshot_insert.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "snapshot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Number of names in a list with commas. */
static size_t count_names(const char *names)
{
	size_t n = 1;
	for (; *names; names++)
		n += *names == ',';
	return n;
}

void ms_insert_open(struct ms_insert *in, sqlite3 *db, const char *table, const char *columns,
		    struct ms_err *err)
{
	*in = (struct ms_insert){.db = db, .err = err, .many = true};
	struct ms_arena a = {0};
	in->rows.columns = count_names(columns);
	char *from = ms_arena_alloc(&a, in->rows.columns * 5 + 1), *end = from;
	for (size_t i = 0; i < in->rows.columns; i++)
		end += sprintf(end, "%sc%zu", i ? "," : "", i);
	in->stmt =
		ms_sql_prepare(db,
			       ms_arena_printf(&a, "INSERT INTO %s(%s) SELECT %s FROM ms_rows(?1)",
					       table, columns, from),
			       err);
	ms_arena_free(&a);
}

static void fail(struct ms_insert *in)
{
	sqlite3_finalize(in->stmt);
	in->stmt = NULL;
}

/* Inserts the rows that were put. */
static void insert_rows(struct ms_insert *in)
{
	if (!in->stmt || !in->rows.values.n)
		return;
	if (ms_bulk_bind(in->stmt, 1, &in->rows) != SQLITE_OK ||
	    sqlite3_step(in->stmt) != SQLITE_DONE) {
		ms_err_set(in->err, "snapshot database: %s", sqlite3_errmsg(in->db));
		fail(in);
		return;
	}
	sqlite3_reset(in->stmt);
	ms_bulk_clear(&in->rows);
}

int ms_insert_close(struct ms_insert *in)
{
	insert_rows(in);
	int rc = in->stmt ? 0 : -1;
	sqlite3_finalize(in->stmt);
	in->stmt = NULL;
	ms_bulk_free(&in->rows);
	return rc;
}

void ms_put_address(struct ms_insert *in, uint64_t v)
{
	in->column++;
	if (in->many)
		ms_bulk_put(&in->rows,
			    (struct ms_bulk_value){.number = (int64_t)v, .type = MS_BULK_NUMBER});
	else if (in->stmt)
		sqlite3_bind_int64(in->stmt, in->column, (int64_t)v);
}

void ms_put(struct ms_insert *in, uint64_t v)
{
	ms_put_address(in, v <= INT64_MAX ? v : INT64_MAX);
}

void ms_put_real(struct ms_insert *in, double v)
{
	in->column++;
	if (in->many)
		ms_bulk_put(&in->rows, (struct ms_bulk_value){.real = v, .type = MS_BULK_REAL});
	else if (in->stmt)
		sqlite3_bind_double(in->stmt, in->column, v);
}

void ms_put_null(struct ms_insert *in)
{
	in->column++;
	if (in->many)
		ms_bulk_put(&in->rows, (struct ms_bulk_value){.type = MS_BULK_NULL});
}

void ms_put_if(struct ms_insert *in, bool known, uint64_t v)
{
	if (known)
		ms_put(in, v);
	else
		ms_put_null(in);
}

/* Length of the UTF-8 sequence at `s`, 0 when it is none. Overlong forms, surrogates and values
 * over U+10FFFF are none. */
static size_t sequence(const unsigned char *s)
{
	if (s[0] < 0x80)
		return 1;
	size_t n = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	if (s[0] < 0xc2 || s[0] > 0xf4)
		return 0;
	for (size_t i = 1; i < n; i++)
		if ((s[i] & 0xc0) != 0x80)
			return 0;
	if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] >= 0xa0) ||
	    (s[0] == 0xf0 && s[1] < 0x90) || (s[0] == 0xf4 && s[1] >= 0x90))
		return 0;
	return n;
}

char *ms_utf8_repair(const char *s)
{
	const unsigned char *p = (const unsigned char *)s;
	size_t n;
	while (*p && (n = sequence(p)))
		p += n;
	if (!*p)
		return NULL;
	char *out = ms_xrealloc(NULL, strlen(s) * 3 + 1, 1), *o = out;
	for (p = (const unsigned char *)s; *p;) {
		n = sequence(p);
		memcpy(o, n ? (const char *)p : "\xef\xbf\xbd", n ? n : 3);
		o += n ? n : 3;
		p += n ? n : 1;
	}
	*o = '\0';
	return out;
}

void ms_put_text(struct ms_insert *in, const char *s)
{
	if (!s) {
		ms_put_null(in);
		return;
	}
	in->column++;
	char *repaired = ms_utf8_repair(s);
	const char *good = repaired ? repaired : s;
	if (in->many)
		ms_bulk_put_text(&in->rows, good, strlen(good));
	else if (in->stmt)
		sqlite3_bind_text(in->stmt, in->column, good, -1, SQLITE_TRANSIENT);
	free(repaired);
}

/* Are there as many values as there should be? */
static bool whole_row(struct ms_insert *in)
{
	int want = in->many ? (int)in->rows.columns : sqlite3_bind_parameter_count(in->stmt);
	if (in->column == want)
		return true;
	ms_err_set(in->err, "snapshot database: %d values for '%s'", in->column,
		   sqlite3_sql(in->stmt));
	fail(in);
	return false;
}

void ms_put_row(struct ms_insert *in)
{
	if (!in->stmt) {
		ms_bulk_clear(&in->rows);
		return;
	}
	if (!whole_row(in))
		return;
	in->column = 0;
	if (in->many) {
		if (ms_bulk_is_full(&in->rows))
			insert_rows(in);
		return;
	}
	if (sqlite3_step(in->stmt) != SQLITE_DONE) {
		ms_err_set(in->err, "snapshot database: %s", sqlite3_errmsg(in->db));
		fail(in);
		return;
	}
	sqlite3_reset(in->stmt);
	sqlite3_clear_bindings(in->stmt);
}
