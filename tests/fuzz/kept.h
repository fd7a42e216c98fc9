/* SPDX-License-Identifier: MIT
 * One database for all runs of a fuzz target, and its prepared statements: to read the schema and
 * to compile the same statements takes far longer than what a run does with them. A target that
 * includes this is linked with -Wl,--wrap for each of the functions that KEPT_WRAP names below.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/snapshot/snapshot.h"

#define KEPT_MAX 1024

/* A statement by its text; `rest` is what of the text stood behind it. */
struct kept_statement {
	char *sql;
	const char *rest;
	sqlite3_stmt *stmt;
	bool used;
};

static struct {
	sqlite3 *db;
	char *empty; /* statements that delete all rows */
	struct kept_statement v[KEPT_MAX];
	size_t n;
} kept;

#define KEPT_WRAP(type, name, ...)                                                                 \
	type __real_##name(__VA_ARGS__);                                                           \
	type __wrap_##name(__VA_ARGS__)
KEPT_WRAP(sqlite3 *, ms_snapshot_new, struct ms_err *err);
KEPT_WRAP(int, sqlite3_close, sqlite3 *db);
KEPT_WRAP(int, sqlite3_prepare_v2, sqlite3 *db, const char *sql, int bytes, sqlite3_stmt **out,
	  const char **rest);
KEPT_WRAP(int, sqlite3_finalize, sqlite3_stmt *stmt);
KEPT_WRAP(int, sqlite3_exec, sqlite3 *db, const char *sql,
	  int (*row)(void *, int, char **, char **), void *arg, char **message);

int __wrap_sqlite3_prepare_v2(sqlite3 *db, const char *sql, int bytes, sqlite3_stmt **out,
			      const char **rest)
{
	for (size_t i = 0; db == kept.db && i < kept.n; i++) {
		struct kept_statement *k = &kept.v[i];
		/* SQLite's comparison is not instrumented. */
		if (k->used || sqlite3_stricmp(k->sql, sql) != 0 || strcmp(k->sql, sql) != 0)
			continue;
		k->used = true;
		*out = k->stmt;
		if (rest)
			*rest = sql + (k->rest - k->sql);
		return SQLITE_OK;
	}
	const char *end;
	int rc = __real_sqlite3_prepare_v2(db, sql, bytes, out, &end);
	if (rest)
		*rest = end;
	if (rc == SQLITE_OK && *out && db == kept.db && bytes < 0 && kept.n < KEPT_MAX) {
		char *copy = strdup(sql);
		kept.v[kept.n++] = (struct kept_statement){copy, copy + (end - sql), *out, true};
	}
	return rc;
}

int __wrap_sqlite3_finalize(sqlite3_stmt *stmt)
{
	for (size_t i = 0; i < kept.n; i++)
		if (kept.v[i].stmt == stmt) {
			kept.v[i].used = false;
			sqlite3_clear_bindings(stmt);
			return sqlite3_reset(stmt);
		}
	return __real_sqlite3_finalize(stmt);
}

int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **),
			void *arg, char **message)
{
	if (db != kept.db || row)
		return __real_sqlite3_exec(db, sql, row, arg, message);
	int rc = SQLITE_OK;
	while (rc == SQLITE_OK && *sql) {
		sqlite3_stmt *stmt = NULL;
		rc = __wrap_sqlite3_prepare_v2(db, sql, -1, &stmt, &sql);
		while (stmt && sqlite3_step(stmt) == SQLITE_ROW)
			;
		if (stmt)
			rc = __wrap_sqlite3_finalize(stmt);
	}
	return rc;
}

sqlite3 *__wrap_ms_snapshot_new(struct ms_err *err)
{
	if (kept.db)
		return kept.db;
	sqlite3 *db = __real_ms_snapshot_new(err);
	sqlite3_stmt *stmt = ms_sql_prepare(db,
					    "SELECT group_concat(format('DELETE FROM %w;', name), "
					    "'') FROM sqlite_schema WHERE type = 'table'",
					    err);
	if (!stmt || sqlite3_step(stmt) != SQLITE_ROW)
		abort();
	kept.empty = strdup((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return kept.db = db;
}

/* Empties the database; one in which a transaction failed is not used again. */
int __wrap_sqlite3_close(sqlite3 *db)
{
	if (!db || db != kept.db)
		return __real_sqlite3_close(db);
	for (size_t i = 0; i < kept.n; i++)
		if (kept.v[i].used) {
			fprintf(stderr, "never finalized: %s\n", kept.v[i].sql);
			abort();
		}
	if (sqlite3_get_autocommit(db)) {
		if (__wrap_sqlite3_exec(db, "BEGIN", NULL, NULL, NULL) != SQLITE_OK ||
		    __wrap_sqlite3_exec(db, kept.empty, NULL, NULL, NULL) != SQLITE_OK ||
		    __wrap_sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
			abort();
		return SQLITE_OK;
	}
	for (size_t i = 0; i < kept.n; i++) {
		__real_sqlite3_finalize(kept.v[i].stmt);
		free(kept.v[i].sql);
	}
	kept.n = 0;
	free(kept.empty);
	kept.db = NULL;
	return __real_sqlite3_close(db);
}
