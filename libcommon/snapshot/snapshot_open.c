/* SPDX-License-Identifier: MIT
 * Opens any input of a tool: a trace, a folder of traces, a snapshot file or an image on a pipe.
 *
 * A snapshot is untrusted until it is checked. It is attached as `src` to our own new database
 * with SQLite's defences enabled; then, in this order, the application id, the version, the text
 * of each of our tables and the integrity of these tables are checked; then their rows are
 * copied, and the references that could form a loop are checked. Views, triggers, indices and
 * other tables are not copied.
 */
#include "snapshot.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/base/progress.h"
#include "libcommon/base/point.h"
#include "libcommon/base/units.h"
#include "snapshot_private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libcommon/names/wrappers.h"
#include "format/trace.h"

#define SNIFF 100 /* bytes, the size of SQLite's header */

static const char sqlite_magic[16] = "SQLite format 3";

/* ---- checks and the copy ---- */

static int check_version(sqlite3 *db, const char *name, struct ms_err *err)
{
	int64_t id = ms_sql_int(db, "PRAGMA src.application_id", INT64_MIN);
	if (id == INT64_MIN)
		return ms_err_set(err, "cannot read '%s': %s", name, sqlite3_errmsg(db));
	if (id != MS_SNAPSHOT_APPLICATION_ID)
		return ms_err_set(
			err, "cannot read '%s': an SQLite database, but not a MemScope snapshot",
			name);
	int64_t version = ms_sql_int(db, "PRAGMA src.user_version", 0);
	if (version > MS_SNAPSHOT_VERSION)
		return ms_err_set(err,
				  "cannot read '%s': made by a newer MemScope (snapshot version "
				  "%lld, this one reads %d)",
				  name, (long long)version, MS_SNAPSHOT_VERSION);
	if (version > 0 && version < MS_SNAPSHOT_VERSION)
		return ms_err_set(err,
				  "cannot read '%s': made by an older MemScope (snapshot version "
				  "%lld, this one reads %d); make it again from its trace: ms-snap",
				  name, (long long)version, MS_SNAPSHOT_VERSION);
	if (version != MS_SNAPSHOT_VERSION)
		return ms_err_set(err, "cannot read '%s': bad snapshot version %lld", name,
				  (long long)version);
	return 0;
}

/* Makes the SQL for the text of a table without line breaks, which differ in earlier snapshots of
 * this version. */
#define ONE_LINE(sql)                                                                              \
	"replace(replace(" sql ", '(' || char(10) || '  ', '('), char(10) || '  ', ' ')"
#define SAME_TEXT ONE_LINE("s.sql") " = " ONE_LINE("m.sql")

/* Lists the tables that earlier snapshots of this version do not have. */
#define LATER_TABLES "('retention', 'keeper', 'keeper_set', 'kept', 'kept_diff')"
/* Makes the SQL that tells whether the input has anything of the name of table `m`. */
#define IN_INPUT "EXISTS (SELECT 1 FROM src.sqlite_schema i WHERE i.name = m.name COLLATE NOCASE)"

/* Checks that the definition of each table equals ours, so that no view, virtual table or generated
 * column replaces a table. */
static int check_schema(sqlite3 *db, const char *name, struct ms_err *err)
{
	struct ms_arena a = {0};
	const char *bad =
		ms_sql_text(db,
			    "SELECT m.name FROM main.sqlite_schema m LEFT JOIN src.sqlite_schema s "
			    "ON s.type = 'table' AND s.name = m.name AND " SAME_TEXT
			    " WHERE m.type = 'table' AND s.name IS NULL"
			    " AND NOT (m.name IN " LATER_TABLES " AND NOT " IN_INPUT ")",
			    &a);
	int rc = 0;
	if (bad)
		rc = ms_err_set(
			err,
			"cannot read '%s': its table '%s' is not defined as in a MemScope snapshot",
			name, bad);
	ms_arena_free(&a);
	return rc;
}

/* Checks the integrity of one table and copies its rows. NOT INDEXED prevents the use of indices
 * of the input. */
static int copy_table(sqlite3 *db, const char *name, const char *table, struct ms_err *err)
{
	struct ms_arena a = {0};
	struct ms_err why = {0};
	const char *state =
		ms_sql_text(db, ms_arena_printf(&a, "PRAGMA src.quick_check(\"%s\")", table), &a);
	int rc = 0;
	if (!state || strcmp(state, "ok") != 0)
		rc = ms_err_set(err, "cannot read '%s': damaged: %.200s", name,
				state ? state : sqlite3_errmsg(db));
	else if (ms_sql_execf(db, &why,
			      "INSERT INTO main.\"%w\" SELECT * FROM src.\"%w\" NOT INDEXED", table,
			      table) != 0)
		rc = ms_err_set(err, "cannot read '%s': damaged: table '%s': %s", name, table,
				sqlite3_errmsg(db));
	ms_arena_free(&a);
	return rc;
}

static int copy_tables(sqlite3 *db, const char *name, struct ms_err *err)
{
	sqlite3_stmt *stmt = ms_sql_prepare(
		db,
		"SELECT name FROM main.sqlite_schema m WHERE type = 'table' AND " IN_INPUT
		" ORDER BY rowid",
		err);
	int rc = stmt ? 0 : -1;
	while (rc == 0 && ms_sql_next(db, stmt, err))
		rc = copy_table(db, name, (const char *)sqlite3_column_text(stmt, 0), err);
	sqlite3_finalize(stmt);
	return err->text[0] ? -1 : 0;
}

/* Lists rules for the rows; each query returns a row if its rule is broken. */
static const struct {
	const char *sql, *rule;
} rules[] = {
	{"SELECT 1 FROM stack WHERE parent IS NOT NULL AND (typeof(parent) != 'integer' OR parent "
	 ">= id OR "
	 "NOT EXISTS (SELECT 1 FROM stack p WHERE p.id = stack.parent))",
	 "a row in table 'stack' has no earlier row for its caller"},
	{"SELECT 1 FROM stack WHERE NOT EXISTS (SELECT 1 FROM frame f WHERE f.id = stack.frame)",
	 "a row in table 'stack' refers to a missing frame"},
	{"SELECT 1 FROM site WHERE stack IS NOT NULL AND NOT EXISTS (SELECT 1 FROM stack k WHERE "
	 "k.id = site.stack)",
	 "a row in table 'site' refers to a missing stack"},
	{"SELECT 1 FROM site_stat WHERE NOT EXISTS (SELECT 1 FROM site s WHERE s.id = "
	 "site_stat.site) OR "
	 "NOT EXISTS (SELECT 1 FROM snapshot t WHERE t.id = site_stat.snapshot)",
	 "a row in table 'site_stat' refers to a missing site or snapshot"},
	{"SELECT 1 FROM kept k WHERE parent IS NOT NULL AND (typeof(parent) != 'integer' OR parent "
	 ">= id OR NOT EXISTS (SELECT 1 FROM kept p WHERE p.process = k.process AND p.scan = "
	 "k.scan AND p.id = k.parent))",
	 "a row in table 'kept' has no earlier row as its parent"},
	{"SELECT 1 FROM snapshot WHERE NOT EXISTS (SELECT 1 FROM process p WHERE p.id = "
	 "snapshot.process)",
	 "a row in table 'snapshot' refers to a missing process"},
};

static int check_rows(sqlite3 *db, const char *name, struct ms_err *err)
{
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (ms_sql_int(db, rules[i].sql, 0) != 0)
			return ms_err_set(err, "cannot read '%s': damaged: %s", name,
					  rules[i].rule);
	return 0;
}

/* Copies the database attached as `src`. Returns 0 or -1. */
static int import(sqlite3 *db, const char *name, struct ms_err *err)
{
	int rc = check_version(db, name, err) || check_schema(db, name, err) ||
		 ms_sql_exec(db, "BEGIN", err);
	ms_progress("reading the snapshot", NULL, 0, 0, NULL);
	if (rc == 0) {
		rc = copy_tables(db, name, err);
		if (rc == 0)
			rc = ms_sql_exec(db, "COMMIT", err);
		if (rc == 0)
			rc = check_rows(db, name, err);
	}
	if (!sqlite3_get_autocommit(db))
		sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	sqlite3_exec(db, "DETACH src", NULL, NULL, NULL);
	return rc == 0 ? 0 : -1;
}

/* ---- a snapshot as a file and as bytes ---- */

/* Returns `path` as a URI that opens it read-only, and without other files beside it unless
 * there is a log. Characters with a special meaning in a URI are escaped. */
static char *file_uri(const char *path, bool log)
{
	char *uri = ms_xrealloc(NULL, strlen(path) * 3 + 40, 1), *o = uri;
	o += sprintf(o, "file:");
	while (path[0] == '/' && path[1] == '/')
		path++; /* one slash is enough: "file://x" would name a host */
	for (; *path; path++)
		o += strchr("%?#", *path) ? sprintf(o, "%%%02x", (unsigned char)*path)
					  : sprintf(o, "%c", *path);
	strcpy(o, log ? "?mode=ro" : "?mode=ro&immutable=1");
	return uri;
}

/* Tells whether a database is in WAL mode. `head`: its SQLite header. */
static bool in_wal_mode(const unsigned char *head)
{
	return head[18] == 2 || head[19] == 2;
}

static int attach_file(sqlite3 *db, const char *path, bool log, struct ms_err *err)
{
	struct ms_err why = {0};
	char *uri = file_uri(path, log);
	int rc = ms_sql_execf(db, &why, "ATTACH %Q AS src", uri);
	free(uri);
	int code = sqlite3_errcode(db); /* of a damaged one, ATTACH says only that it is unable */
	bool damaged = code == SQLITE_CORRUPT || code == SQLITE_NOTADB;
	return rc == 0 ? 0
		       : ms_err_set(err, "cannot open '%s': %s", path,
				    damaged ? sqlite3_errstr(code) : sqlite3_errmsg(db));
}

static int attach_image(sqlite3 *db, unsigned char *image, size_t size, const char *name,
			uint64_t max_bytes, struct ms_err *err)
{
	sqlite3_int64 limit = (sqlite3_int64)max_bytes;
	if (size >= 20 && in_wal_mode(image))
		return ms_err_set(
			err,
			"cannot read '%s': a database in WAL mode cannot be piped, as its log is "
			"another file: give the file itself, or first run sqlite3 FILE 'PRAGMA "
			"journal_mode=DELETE'",
			name);
	if (ms_sql_exec(db, "ATTACH ':memory:' AS src", err) != 0)
		return -1;
	if (sqlite3_deserialize(db, "src", image, (sqlite3_int64)size, (sqlite3_int64)size,
				SQLITE_DESERIALIZE_READONLY) != SQLITE_OK)
		return ms_err_set(err, "cannot read '%s': %s", name, sqlite3_errmsg(db));
	sqlite3_file_control(db, "src", SQLITE_FCNTL_SIZE_LIMIT, &limit);
	return 0;
}

/* ---- any input ---- */

/* Describes an input whose first bytes were read to identify it. */
struct input {
	const char *name; /* name of the input, for messages */
	char *path;       /* path without @POINT; malloc'ed */
	int fd;
	bool seekable; /* a regular file with a name, which can be opened again */
	unsigned char head[SNIFF];
	size_t head_size;
};

static int sniff(struct input *in, struct ms_err *err)
{
	while (in->head_size < SNIFF) {
		ssize_t r = read(in->fd, in->head + in->head_size, SNIFF - in->head_size);
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return ms_err_sys(err, "cannot read '%s'", in->name);
		if (r == 0)
			break;
		in->head_size += (size_t)r;
	}
	if (in->head_size == 0)
		return ms_err_set(err, "cannot read '%s': empty file", in->name);
	return 0;
}

static int open_input(struct input *in, struct ms_err *err)
{
	bool standard = strcmp(in->path, "-") == 0;
	in->name = standard ? "standard input" : in->path;
	if (standard && isatty(STDIN_FILENO))
		return ms_err_set(err, "no input: give a trace or a snapshot, or pipe one in");
	in->fd = standard ? dup(STDIN_FILENO) : open(in->path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	if (in->fd < 0 || fstat(in->fd, &st) != 0)
		return ms_err_sys(err, "cannot open '%s'", in->name);
	in->seekable = !standard && S_ISREG(st.st_mode) && st.st_nlink > 0;
	int rc = sniff(in, err);
	if (rc != 0)
		err->empty = in->head_size == 0 && S_ISFIFO(st.st_mode);
	return rc;
}

/* Reads the rest of a pipe after `head` into memory. */
static int slurp(struct input *in, uint64_t max_bytes, unsigned char **image, size_t *size,
		 struct ms_err *err)
{
	void *rest = NULL;
	size_t n = 0;
	char limit[MS_UNIT_BUF];
	struct ms_err why = {0};
	if (ms_read_all(in->fd, in->name, (size_t)max_bytes, &rest, &n, &why) != 0)
		return n <= max_bytes
			       ? ms_err_set(err, "%s", why.text)
			       : ms_err_set(err,
					    "cannot read '%s': it is larger than the limit of %s: "
					    "--allow=image:SIZE raises it",
					    in->name, ms_format_size(limit, max_bytes));
	*size = in->head_size + n;
	*image = realloc(rest, *size);
	if (!*image) {
		free(rest);
		return ms_err_set(err, "cannot read '%s': out of memory", in->name);
	}
	memmove(*image + in->head_size, *image, n);
	memcpy(*image, in->head, in->head_size);
	return 0;
}

int ms_spool(int from, const void *head, size_t head_size, const char *name, struct ms_err *err)
{
	static char buf[1 << 16];
	FILE *f = tmpfile();
	int fd = f ? dup(fileno(f)) : -1;
	if (f)
		fclose(f);
	bool good = fd >= 0 && ms_write_all(fd, head, head_size) == 0;
	while (good) {
		ssize_t r = read(from, buf, sizeof buf);
		if (r == 0)
			return fd;
		if (r > 0)
			good = ms_write_all(fd, buf, (size_t)r) == 0;
		else
			good = errno == EINTR;
	}
	ms_err_sys(err, "cannot copy '%s' to a temporary file in " P_tmpdir, name);
	if (fd >= 0)
		close(fd);
	return -1;
}

static sqlite3 *open_trace(struct input *in, const char *point, const struct ms_build_options *opt,
			   struct ms_build_result *res, struct ms_err *err)
{
	struct ms_build_options o = opt ? *opt : (struct ms_build_options){0};
	static const char *const usual[] = {"peak", "end"};
	const char *points[66] = {0};
	size_t n = 0;
	for (size_t i = 0; i < (o.point_count ? o.point_count : 2) && n < 65; i++)
		points[n++] = o.point_count ? o.points[i] : usual[i];
	bool there = !point;
	for (size_t i = 0; i < n && !there; i++)
		there = strcmp(points[i], point) == 0;
	if (!there)
		points[n++] = point;
	o.points = points;
	o.point_count = n;
	struct ms_stream stream = {in->fd, in->name, in->head, in->head_size};
	bool again = in->seekable || in->fd < 0;
	const char *path = again ? in->path : "-";
	sqlite3 *db = ms_snapshot_build_from(&path, 1, again ? NULL : &stream, &o, res, err);
	if (!again)
		in->fd = stream.fd;
	return db;
}

/* Checks that a snapshot has the requested point. */
static int check_point(sqlite3 *db, const char *point, const char *name, struct ms_err *err)
{
	sqlite3_stmt *stmt = ms_sql_prepare(db, "SELECT 1 FROM snapshot WHERE label = ?", err);
	if (!stmt)
		return -1;
	sqlite3_bind_text(stmt, 1, point, -1, SQLITE_STATIC);
	bool found = sqlite3_step(stmt) == SQLITE_ROW;
	sqlite3_finalize(stmt);
	if (found)
		return 0;
	struct ms_arena a = {0};
	const char *all = ms_sql_text(db,
				      "SELECT group_concat(label, ', ') FROM (SELECT label FROM "
				      "snapshot GROUP BY label ORDER BY min(id))",
				      &a);
	ms_err_set(err, "no point '%s' in '%s': its points are: %s", point, name,
		   all ? all : "none");
	ms_arena_free(&a);
	return -1;
}

/* Copies the database file. Without a log, another process that writes to the file during the copy
 * is an error. */
static int import_file(sqlite3 *db, const struct input *in, struct ms_err *err)
{
	struct stat before, after;
	bool log;
	if (fstat(in->fd, &before) != 0)
		return ms_err_sys(err, "cannot read '%s'", in->name);
	if (ms_snapshot_beside(in->path, &before, in_wal_mode(in->head), &log, err) != 0 ||
	    attach_file(db, in->path, log, err) != 0 || import(db, in->name, err) != 0)
		return -1;
	if (!log &&
	    (fstat(in->fd, &after) != 0 || ms_ns_of(after.st_mtim) != ms_ns_of(before.st_mtim)))
		return ms_err_set(err,
				  "cannot read '%s': it changed while it was being read; try again",
				  in->name);
	return 0;
}

static sqlite3 *open_by_content(struct input *in, const char *point,
				const struct ms_build_options *opt, uint64_t max_bytes,
				struct ms_build_result *res, struct ms_err *err)
{
	if (in->head_size >= MS_TRACE_MAGIC_SIZE &&
	    memcmp(in->head, MS_TRACE_MAGIC, MS_TRACE_MAGIC_SIZE) == 0) {
		return open_trace(in, point, opt, res, err);
	}
	if (in->head_size < sizeof sqlite_magic ||
	    memcmp(in->head, sqlite_magic, sizeof sqlite_magic) != 0) {
		ms_err_set(err, "cannot read '%s': neither a MemScope trace nor a snapshot",
			   in->name);
		return NULL;
	}
	if (opt && opt->wrappers && opt->wrappers->n) {
		ms_err_set(err,
			   "option '--wrapper' is for traces: ms-snap has already named the sites "
			   "of '%s', so give '--wrapper' to ms-snap",
			   in->name);
		return NULL;
	}
	unsigned char *image = NULL;
	size_t size = 0;
	int rc = in->seekable ? 0 : slurp(in, max_bytes, &image, &size, err);
	sqlite3 *db = rc == 0 ? ms_snapshot_new(err) : NULL;
	if (db && in->seekable)
		rc = import_file(db, in, err);
	else if (db)
		rc = attach_image(db, image, size, in->name, max_bytes, err) ||
		     import(db, in->name, err);
	if (db && rc == 0 && point)
		rc = check_point(db, point, in->name, err);
	if (rc != 0) {
		sqlite3_close(db);
		db = NULL;
	}
	free(image);
	return db;
}

sqlite3 *ms_snapshot_open(const char *path, const struct ms_build_options *opt, uint64_t max_bytes,
			  const char **point, struct ms_build_result *res, struct ms_err *err)
{
	struct ms_build_result ignored;
	res = res ? res : &ignored;
	*res = (struct ms_build_result){0};
	const char *at = ms_point_split(path), *label = at ? at + 1 : NULL;
	struct input in = {.fd = -1,
			   .path = at ? ms_xstrndup(path, (size_t)(at - path)) : ms_xstrdup(path)};
	sqlite3 *db = NULL;
	struct ms_point parsed;
	struct stat st;
	if (point)
		*point = label;
	if (label && ms_point_parse(label, &parsed, err) != 0)
		goto out;
	if (strcmp(in.path, "-") != 0 && stat(in.path, &st) == 0 && S_ISDIR(st.st_mode))
		db = open_trace(&in, label, opt, res, err);
	else if (open_input(&in, err) == 0)
		db = open_by_content(&in, label, opt, max_bytes ? max_bytes : UINT64_C(4) << 30,
				     res, err);
out:
	if (in.fd >= 0)
		close(in.fd);
	free(in.path);
	return db;
}
