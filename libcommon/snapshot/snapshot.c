/* SPDX-License-Identifier: MIT
 * Makes an in-memory snapshot database and its image, and has small helpers for SQL.
 */
#include "snapshot.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/base/progress.h"
#include "libcommon/base/units.h"
#include "schema_sql.h"

#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#define STRINGIFY(x) #x
#define STRING(x) STRINGIFY(x)

/* Protects against untrusted content: the database's schema is not trusted, cannot be edited,
 * and cannot call functions of ours. */
static void harden(sqlite3 *db)
{
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
	sqlite3_db_config(db, SQLITE_DBCONFIG_DQS_DDL, 0, NULL);
}

int ms_sql_exec(sqlite3 *db, const char *sql, struct ms_err *err)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		return ms_err_set(err, "snapshot database: %s", sqlite3_errmsg(db));
	return 0;
}

int ms_sql_execf(sqlite3 *db, struct ms_err *err, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	char *sql = sqlite3_vmprintf(format, ap);
	va_end(ap);
	int rc = sql ? ms_sql_exec(db, sql, err) : ms_err_set(err, "out of memory");
	sqlite3_free(sql);
	return rc;
}

/* These pragmas set everything that could make the bytes of a database differ between machines or
 * runs: page size, vacuum mode, and overwriting of deleted content by zeroes. */
static const char settings[] =
	"PRAGMA page_size=4096; PRAGMA auto_vacuum=NONE; PRAGMA encoding='UTF-8'; PRAGMA "
	"secure_delete=ON;"
	"PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cell_size_check=ON; PRAGMA "
	"mmap_size=0;"
	"PRAGMA temp_store=MEMORY;"
	"PRAGMA application_id=" STRING(
		MS_SNAPSHOT_APPLICATION_ID) ";"
					    "PRAGMA user_version=" STRING(MS_SNAPSHOT_VERSION) ";";

/* Ends the program if SQLite runs out of memory, since a query that cannot be prepared, or ends
 * early, would seem to have no rows. A query that exceeds its own memory limit has the same code,
 * but another text. */
static void on_trouble(void *arg, int code, const char *text)
{
	(void)arg;
	if (code == SQLITE_NOMEM && strncmp(text, "failed ", 7) == 0)
		ms_out_of_memory();
}

sqlite3 *ms_snapshot_new(struct ms_err *err)
{
	sqlite3 *db = NULL;
	sqlite3_config(SQLITE_CONFIG_LOG, on_trouble,
		       NULL); /* fails once SQLite is in use, and the earlier setting remains */
	int flags =
		SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
	if (sqlite3_open_v2(":memory:", &db, flags, NULL) != SQLITE_OK) {
		ms_err_set(err, "cannot create a database in memory: %s",
			   db ? sqlite3_errmsg(db) : "out of memory");
		sqlite3_close(db);
		return NULL;
	}
	harden(db);
	if (ms_sql_exec(db, settings, err) != 0 || ms_sql_exec(db, schema_sql, err) != 0) {
		sqlite3_close(db);
		return NULL;
	}
	return db;
}

bool ms_snapshot_incomplete(sqlite3 *db)
{
	return ms_sql_int(db, "SELECT count(*) FROM process WHERE complete IS NOT 1", 1) != 0 ||
	       ms_sql_int(db, "SELECT value FROM meta WHERE key = 'traces_unreadable'", 0) != 0 ||
	       ms_sql_int(db, "SELECT count(*) FROM diff_run WHERE complete IS NOT 1", 0) != 0;
}

unsigned char *ms_snapshot_image(sqlite3 *db, size_t *size, struct ms_err *err)
{
	/* Rows are inserted in the order of their keys, so VACUUM gains little until some rows are
	 * deleted. Deleted content is overwritten with zeroes at once. */
	if (ms_sql_int(db, "PRAGMA freelist_count", 1) != 0 && ms_sql_exec(db, "VACUUM", err) != 0)
		return NULL;
	sqlite3_int64 n = 0;
	char size_text[MS_UNIT_BUF];
	unsigned char *image = sqlite3_serialize(db, "main", &n, 0);
	if (!image)
		ms_err_set(err, "cannot keep a snapshot of %s in memory: out of memory",
			   ms_format_size(size_text, (uint64_t)n));
	*size = (size_t)n;
	return image;
}

int ms_snapshot_write(sqlite3 *db, const char *path, struct ms_err *err)
{
	if (!path && isatty(STDOUT_FILENO))
		return ms_err_set(err,
				  "standard output is a terminal, and the output is a database: "
				  "name a file with -o FILE, or pipe it into ms-report");
	size_t size;
	unsigned char *image = ms_snapshot_image(db, &size, err);
	if (!image)
		return -1;
	ms_progress_hide(); /* the program that reads our output may show progress itself */
	int rc = ms_snapshot_put(path, image, size, err);
	sqlite3_free(image);
	return rc;
}

sqlite3_stmt *ms_sql_prepare(sqlite3 *db, const char *sql, struct ms_err *err)
{
	sqlite3_stmt *stmt = NULL;
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK)
		ms_err_set(err, "snapshot database: %s", sqlite3_errmsg(db));
	return stmt;
}

bool ms_sql_next(sqlite3 *db, sqlite3_stmt *stmt, struct ms_err *err)
{
	int rc = sqlite3_step(stmt);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		ms_err_set(err, "snapshot database: %s", sqlite3_errmsg(db));
	return rc == SQLITE_ROW;
}

int64_t ms_sql_int(sqlite3 *db, const char *sql, int64_t fallback)
{
	sqlite3_stmt *stmt = ms_sql_prepare(db, sql, NULL);
	int64_t value = fallback;
	if (stmt && sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

char *ms_sql_text(sqlite3 *db, const char *sql, struct ms_arena *a)
{
	sqlite3_stmt *stmt = ms_sql_prepare(db, sql, NULL);
	char *text = NULL;
	if (stmt && sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
		text = ms_arena_strdup(a, (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return text;
}
