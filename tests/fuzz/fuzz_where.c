/* SPDX-License-Identifier: MIT
 * Fuzzes expressions of ms-filter --where: parsed, then asked about sites of which all, some and
 * nothing is known. "not (x)" must be the opposite of x.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"

/* part of a tool, not of a library */
#include "ms-filter/arguments.c"
#include "ms-filter/columns.c"
#include "ms-filter/where.c"

#define SITES 3

static const char rows[] =
	"INSERT INTO process(id, pid, exe) VALUES(1, 7, 'load');"
	"INSERT INTO snapshot(id, process, label) VALUES(1, 1, 'end'), (2, 1, 'peak');"
	"INSERT INTO frame(id, process, function, file, line) VALUES(1, 1, 'load', 'a.c', 9), (2, "
	"1,"
	" NULL, NULL, NULL);"
	"INSERT INTO stack(id, process, frame, depth) VALUES(1, 1, 1, 0), (2, 1, 2, 0);"
	"INSERT INTO site(id, process, stack, user_frame, allocations, allocated_bytes, frees,"
	" lifetime_ns, verdict, one_time) VALUES(1, 1, 1, 1, 5, 5000, 3, 300, 'unknown', 'locale'),"
	" (2, 1, 2, 2, 5, NULL, 0, NULL, NULL, NULL), (3, 9, NULL, NULL, NULL, NULL, NULL, NULL, "
	"NULL,"
	" NULL);"
	"INSERT INTO site_stat(snapshot, site, live_bytes, live_blocks) VALUES(1, 1, 400, 4), (2, "
	"1,"
	" 500, 5)";

/* Stands for the tool's function: a stack is known, unknown, or none. */
static void on_stack(sqlite3_context *c, int n, sqlite3_value **v)
{
	(void)n;
	if (sqlite3_value_int(v[1]) == 1)
		sqlite3_result_int(c, sqlite3_value_int(v[0]) % 2);
}

static sqlite3 *sites_of_all_kinds(void)
{
	struct ms_err err = {0};
	sqlite3 *db = ms_snapshot_new(&err);
	if (!db || ms_sql_exec(db, rows, &err) != 0)
		abort();
	where_functions(db);
	sqlite3_create_function(db, "on_stack", 2, SQLITE_UTF8, NULL, on_stack, NULL, NULL);
	return db;
}

static void ask(sqlite3 *db, const struct where *w, enum truth truth[SITES])
{
	struct ms_err err = {0};
	for (size_t i = 0; i < w->tests.n; i++)
		if (ms_sql_execf(db, &err, "SELECT %s FROM frame f", w->tests.v[i]) != 0)
			abort();
	sqlite3_stmt *q = ms_sql_prepare(db, w->sql.v, &err);
	while (q && ms_sql_next(db, q, &err))
		truth[sqlite3_column_int(q, 0) - 1] = sqlite3_column_type(q, 1) == SQLITE_NULL
							      ? UNSURE
						      : sqlite3_column_int(q, 1) ? TRUE
										 : UNTRUE;
	sqlite3_finalize(q);
	if (err.text[0])
		abort();
}

static void judge(const struct where *w, const struct where *opposite)
{
	static sqlite3 *db;
	enum truth a[SITES] = {0}, b[SITES] = {0};
	if (!db)
		db = sites_of_all_kinds();
	ask(db, w, a);
	if (opposite)
		ask(db, opposite, b);
	for (unsigned i = 0; opposite && i < SITES; i++)
		if (a[i] + b[i] != TRUE)
			abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct ms_arena a = {0};
	struct ms_err err = {0}, other = {0};
	if (n > 2048)
		return 0;
	char *text = ms_arena_strndup(&a, (const char *)data, n);
	/* glibc's regular expressions are not on trial, and take for ever on some. */
	for (char *c = text; *c; c++)
		if (strchr("{}*+|\\", *c))
			*c = '.';
	struct where *w = where_parse(&a, text, &err);
	if (!w != (err.text[0] != '\0'))
		abort();
	if (w) {
		struct where *opposite =
			where_parse(&a, ms_arena_printf(&a, "not (%s)", text), &other);
		judge(w, opposite);
		where_free(opposite);
		where_free(w);
	}
	ms_arena_free(&a);
	return 0;
}
