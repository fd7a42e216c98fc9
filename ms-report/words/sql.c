/* SPDX-License-Identifier: MIT
 * --sql: a query by the user on the snapshot, answered as a table.
 *
 * The database is a private copy in memory, so that a query could damage only this report. Still,
 * only reading is allowed: SQLite's authorizer refuses other statements by what they do, not by
 * their text. Limits on time and memory protect the machine from endless queries.
 */
#include "table.h"

#include "names.h"

#include "libcommon/base/err.h"

#include <string.h>
#include <time.h>

#define SECONDS_MAX 60
#define ROWS_MAX 1000000
#define MEMORY_MAX ((sqlite3_int64)1 << 30) /* bytes that SQLite may allocate */
#define TEXT_MAX (16 << 20)                 /* bytes: longest value */
#define ALL_TEXT_MAX ((size_t)512 << 20)
#define STEPS 10000 /* steps of SQLite's virtual machine between two checks of the time limit */

static int authorize(void *arg, int action, const char *a, const char *b, const char *c,
		     const char *d)
{
	(void)arg, (void)a, (void)b, (void)c, (void)d;
	return action == SQLITE_SELECT || action == SQLITE_READ || action == SQLITE_FUNCTION ||
			       action == SQLITE_RECURSIVE
		       ? SQLITE_OK
		       : SQLITE_DENY;
}

static int out_of_time(void *arg)
{
	const struct timespec *end = arg;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec > end->tv_sec;
}

/* Sets `err` to SQLite's error about the query, on one line; returns -1. */
static int refuse(struct model *m, struct ms_err *err)
{
	int code = sqlite3_errcode(m->db) & 0xff;
	if (code == SQLITE_AUTH)
		return ms_err_set(err, "bad query: only SELECT is allowed (ms-snapshot(5) has the "
				       "tables)");
	if (code == SQLITE_INTERRUPT)
		return ms_err_set(err, "the query was stopped: it took more than %d s",
				  SECONDS_MAX);
	if (code == SQLITE_NOMEM)
		return ms_err_set(err, "the query needs more than 1 GiB of memory");
	return ms_err_set(err, "bad query: %s",
			  name_clean(&m->arena, sqlite3_errmsg(m->db), false));
}

/* Compiles a query, which must be exactly one statement. */
static sqlite3_stmt *prepare(struct model *m, const char *query, struct ms_err *err)
{
	sqlite3_stmt *st = NULL;
	const char *rest = NULL;
	if (sqlite3_prepare_v2(m->db, query, -1, &st, &rest) != SQLITE_OK)
		refuse(m, err);
	else if (!st)
		ms_err_set(err, "bad query: it is empty");
	else if (rest[strspn(rest, "; \t\r\n")])
		ms_err_set(err, "bad query: one SELECT only, and there is more after it: %s",
			   name_clean(&m->arena, rest, false));
	else if (!sqlite3_stmt_readonly(st))
		ms_err_set(err, "bad query: only SELECT is allowed");
	else
		return st;
	sqlite3_finalize(st);
	return NULL;
}

/* Names the columns: as in the query for people, unique for machines ("count", "count_2"). */
static struct column *name_columns(struct model *m, sqlite3_stmt *st, size_t n)
{
	struct column *v = ms_arena_alloc(&m->arena, n * sizeof *v);
	for (size_t c = 0; c < n; c++) {
		const char *name = sqlite3_column_name(st, (int)c);
		name = ms_arena_strdup(&m->arena, name ? name : "");
		size_t same = 1;
		for (size_t k = 0; k < c; k++)
			same += strcmp(v[k].title, name) == 0;
		v[c] = (struct column){
			.title = name,
			.name = same == 1 ? name : ms_arena_printf(&m->arena, "%s_%zu", name, same),
			.kind = CELL_VALUE,
		};
	}
	return v;
}

static const char *hex(struct model *m, const unsigned char *blob, size_t n)
{
	char *s = ms_arena_alloc(&m->arena, 2 * n + 4), *o = s;
	*o++ = 'x';
	*o++ = '\'';
	for (size_t i = 0; i < n; i++) {
		*o++ = "0123456789abcdef"[blob[i] >> 4];
		*o++ = "0123456789abcdef"[blob[i] & 15];
	}
	*o++ = '\'';
	return s;
}

/* Returns a value as text; makes the column one of text unless the value is a number. */
static const char *value(struct model *m, sqlite3_stmt *st, int c, struct column *column,
			 size_t *bytes)
{
	int type = sqlite3_column_type(st, c);
	if (type == SQLITE_NULL)
		return NULL;
	if (type != SQLITE_INTEGER && type != SQLITE_FLOAT)
		column->kind = CELL_TEXT;
	size_t n = (size_t)sqlite3_column_bytes(st, c);
	*bytes += n;
	if (type == SQLITE_BLOB)
		return hex(m, sqlite3_column_blob(st, c), n);
	const char *s = (const char *)sqlite3_column_text(st, c);
	return s ? ms_arena_strdup(&m->arena, s) : NULL;
}

static int read_rows(struct model *m, sqlite3_stmt *st, struct table *t, struct ms_err *err)
{
	size_t n = (size_t)sqlite3_column_count(st), bytes = 0;
	struct column *columns = name_columns(m, st, n);
	*t = (struct table){.columns = columns, .column_count = n, .empty = "no rows"};
	int rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && t->n < ROWS_MAX && bytes < ALL_TEXT_MAX) {
		struct cell *cells = table_row(m, t)->cells;
		for (size_t c = 0; c < n; c++) {
			cells[c].n = UNKNOWN;
			cells[c].s = value(m, st, (int)c, &columns[c], &bytes);
		}
	}
	if (rc == SQLITE_ROW)
		return ms_err_set(err, "the query returns more than %s: add a LIMIT",
				  bytes < ALL_TEXT_MAX ? "1,000,000 rows" : "512 MiB");
	return rc == SQLITE_DONE ? 0 : refuse(m, err);
}

int sql_ask(struct model *m, const char *query, struct table *t, struct ms_err *err)
{
	struct timespec end;
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += SECONDS_MAX;
	sqlite3_hard_heap_limit64(sqlite3_memory_used() + MEMORY_MAX);
	sqlite3_limit(m->db, SQLITE_LIMIT_LENGTH, TEXT_MAX);
	sqlite3_progress_handler(m->db, STEPS, out_of_time, &end);
	sqlite3_set_authorizer(m->db, authorize, NULL);
	sqlite3_stmt *st = prepare(m, query, err);
	int rc = st ? read_rows(m, st, t, err) : -1;
	sqlite3_finalize(st);
	sqlite3_set_authorizer(m->db, NULL, NULL);
	sqlite3_progress_handler(m->db, 0, NULL, NULL);
	sqlite3_hard_heap_limit64(0);
	return rc;
}

struct table sql_table(struct model *m, const struct table *answer, size_t limit)
{
	struct table t = *answer;
	t.rows = ms_arena_alloc(&m->arena, (t.n + 1) * sizeof *t.rows);
	if (t.n)
		memcpy(t.rows, answer->rows, t.n * sizeof *t.rows);
	table_finish(m, &t, -1, limit, "row", TOTAL_NONE);
	return t;
}
