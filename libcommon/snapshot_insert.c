/* SPDX-License-Identifier: MIT
 * Filling tables: prepared INSERTs, and text made valid UTF-8 on its way in.
 */
#include "snapshot_insert.h"

#include "arena.h"
#include "err.h"
#include "snapshot.h"

#include <stdlib.h>
#include <string.h>

void ms_insert_open(struct ms_insert *in, sqlite3 *db, const char *table, const char *columns,
		    struct ms_err *err)
{
	*in = (struct ms_insert){.db = db, .err = err};
	struct ms_arena a = {0};
	char *marks = ms_arena_strdup(&a, columns), *o = marks;
	*o++ = '?';
	for (const char *c = columns; *c; c++)
		if (*c == ',') {
			*o++ = ',';
			*o++ = '?';
		}
	*o = '\0';
	in->stmt = ms_sql_prepare(
		db, ms_arena_printf(&a, "INSERT INTO %s(%s) VALUES(%s)", table, columns, marks),
		err);
	ms_arena_free(&a);
}

int ms_insert_close(struct ms_insert *in)
{
	int rc = in->stmt ? 0 : -1;
	sqlite3_finalize(in->stmt);
	in->stmt = NULL;
	return rc;
}

void ms_put_address(struct ms_insert *in, uint64_t v)
{
	if (in->stmt)
		sqlite3_bind_int64(in->stmt, ++in->column, (int64_t)v);
}

void ms_put(struct ms_insert *in, uint64_t v)
{
	ms_put_address(in, v <= INT64_MAX ? v : INT64_MAX);
}

void ms_put_real(struct ms_insert *in, double v)
{
	if (in->stmt)
		sqlite3_bind_double(in->stmt, ++in->column, v);
}

void ms_put_null(struct ms_insert *in)
{
	in->column++;
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
	in->column++;
	if (!s || !in->stmt)
		return;
	char *repaired = ms_utf8_repair(s);
	sqlite3_bind_text(in->stmt, in->column, repaired ? repaired : s, -1,
			  repaired ? free : SQLITE_TRANSIENT);
}

void ms_put_row(struct ms_insert *in)
{
	if (!in->stmt)
		return;
	bool whole = in->column == sqlite3_bind_parameter_count(in->stmt);
	if (!whole)
		ms_err_set(in->err, "snapshot database: %d values for '%s'", in->column,
			   sqlite3_sql(in->stmt));
	if (!whole || sqlite3_step(in->stmt) != SQLITE_DONE) {
		ms_err_set(in->err, "snapshot database: %s", sqlite3_errmsg(in->db));
		sqlite3_finalize(in->stmt);
		in->stmt = NULL;
		return;
	}
	sqlite3_reset(in->stmt);
	sqlite3_clear_bindings(in->stmt);
	in->column = 0;
}
