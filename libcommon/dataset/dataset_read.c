/* SPDX-License-Identifier: MIT
 * Reads runs of a dataset: finds them by their keys, and opens them as snapshots.
 */
#include "dataset_private.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/base/order.h"

/* Limit of an uncompressed file in bytes; this program writes no larger ones. */
#define FILE_MAX ((size_t)256 << 20)

/* Holds one file of a partition; `at` is the next row to read. */
struct rows {
	const struct dataset_file *file;
	const char *path;
	char *bytes, *at, *end;
	struct dataset_field fields[DATASET_COLUMNS_MAX];
};

static int damaged(const struct rows *r, struct ms_err *err)
{
	return ms_err_set(
		err, "cannot read '%s': it is damaged; remove its folder to continue without it",
		r->path);
}

static int unpack(struct rows *r, const void *packed, size_t n, struct ms_err *err)
{
	unsigned long long size = ZSTD_getFrameContentSize(packed, n);
	if (size > FILE_MAX) /* error codes of zstd are above this, too */
		return damaged(r, err);
	r->bytes = ms_xrealloc(NULL, (size_t)size + 1, 1);
	r->at = r->bytes;
	r->end = r->bytes + size;
	*r->end = '\0';
	return ZSTD_decompress(r->bytes, (size_t)size, packed, n) == size ? 0 : damaged(r, err);
}

static int open_rows(struct rows *r, const char *dir, const char *id, int file, struct ms_arena *a,
		     struct ms_err *err)
{
	*r = (struct rows){.file = &dataset_files[file]};
	r->path = ms_arena_printf(a, "%s/" DATASET_PREFIX "%s/%s.csv.zst", dir, id, r->file->name);
	void *packed;
	size_t n;
	int fd = open(r->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return ms_err_sys(err, "cannot open '%s'", r->path);
	int rc = ms_read_all(fd, r->path, FILE_MAX, &packed, &n, err);
	close(fd);
	if (rc != 0)
		return -1;
	rc = unpack(r, packed, n, err);
	free(packed);
	return rc;
}

static int next_row(struct rows *r, struct ms_err *err)
{
	int rc = dataset_row(&r->at, r->end, r->fields, r->file->n);
	return rc < 0 ? damaged(r, err) : rc;
}

/* ---- which runs ---- */

struct search {
	const char *dir;
	struct ms_arena *a;
	const char **wanted; /* "NAME":"VALUE" for each key */
	size_t wanted_count;
	MS_ARRAY(struct ms_dataset_run) found;
};

static const char *field(const struct rows *r, const char *name)
{
	return r->fields[dataset_column(r->file, name)].text;
}

/* Tells whether a JSON object has the member `wanted`, a "NAME":"VALUE". Quotes inside a text are
 * escaped, so a quote after a brace or a comma always begins a name. */
static bool has_key(const char *json, const char *wanted)
{
	size_t n = strlen(wanted);
	for (const char *at = json; (at = strstr(at, wanted)); at++)
		if (at > json && strchr("{,", at[-1]) && strchr(",}", at[n]) && at[n])
			return true;
	return false;
}

static bool is_wanted(const struct search *s, const struct rows *r)
{
	const char *keys = field(r, "keys"), *complete = field(r, "complete");
	bool all = keys && complete && strcmp(complete, "1") == 0;
	for (size_t i = 0; i < s->wanted_count; i++)
		all = all && has_key(keys, s->wanted[i]);
	return all;
}

static int look_at(struct search *s, const char *id, struct ms_err *err)
{
	struct rows r;
	struct ms_arena_mark mark = ms_arena_mark(s->a);
	int rc = open_rows(&r, s->dir, id, DATASET_RUN, s->a, err);
	if (rc == 0 && next_row(&r, err) != 1)
		rc = damaged(&r, err);
	bool wanted = rc == 0 && is_wanted(s, &r);
	ms_arena_release(s->a, mark);
	if (wanted) {
		const char *time = field(&r, "time_s"), *commit = field(&r, "commit_id");
		*MS_PUSH(&s->found) = (struct ms_dataset_run){
			ms_arena_strdup(s->a, id), commit ? ms_arena_strdup(s->a, commit) : NULL,
			time ? strtoll(time, NULL, 10) : 0};
	}
	free(r.bytes);
	return rc;
}

static bool is_partition(const char *name)
{
	size_t n = strlen(DATASET_PREFIX);
	return strncmp(name, DATASET_PREFIX, n) == 0 &&
	       strspn(name + n, "0123456789abcdef") == DATASET_ID && !name[n + DATASET_ID];
}

static int by_time(const void *x, const void *y)
{
	const struct ms_dataset_run *a = x, *b = y;
	int order = MS_ORDER(a->time_s, b->time_s);
	return order ? order : strcmp(a->id, b->id);
}

static void want(struct search *s, const struct ms_cli_list *keys)
{
	s->wanted = ms_arena_alloc(s->a, (keys->n + 1) * sizeof *s->wanted);
	for (size_t i = 0; i < keys->n; i++) {
		struct ms_cli_list one = {.v = &keys->v[i], .n = 1};
		char *json = dataset_keys_json(&one, s->a); /* one key, in braces, which are not
							       copied */
		json[strlen(json) - 1] = '\0';
		s->wanted[s->wanted_count++] = json + 1;
	}
}

int ms_dataset_last(const char *dir, const struct ms_cli_list *keys, size_t most,
		    struct ms_arena *a, struct ms_dataset_run **runs, size_t *n, struct ms_err *err)
{
	struct search s = {.dir = dir, .a = a};
	int rc = 0;
	DIR *d = opendir(dir);
	if (!d)
		return ms_err_sys(err, "cannot open '%s'", dir);
	want(&s, keys);
	for (struct dirent *e; rc == 0 && (e = readdir(d));)
		if (is_partition(e->d_name))
			rc = look_at(&s, e->d_name + strlen(DATASET_PREFIX), err);
	closedir(d);
	MS_SORT(s.found.v, s.found.n, by_time);
	*n = s.found.n < most ? s.found.n : most;
	*runs = ms_arena_alloc(a, (*n + 1) * sizeof **runs);
	if (*n)
		memcpy(*runs, s.found.v + s.found.n - *n, *n * sizeof **runs);
	free(s.found.v);
	return rc;
}

/* ---- a run as a snapshot ---- */

#define SAME                                                                                       \
	"exe, recorder, started_ns, duration_ns, complete, exit_status, sampled_bytes, "           \
	"events_lost, allocations, frees, reallocations, failed_allocations, allocated_bytes, "    \
	"temporary_allocations, peak_bytes, peak_blocks, unfreed_bytes, unfreed_blocks, "          \
	"unreachable_bytes, unreachable_blocks, mapped_peak_bytes, peak_rss_bytes"
static const char to_snapshot[] =
	"INSERT INTO process(id, state, " SAME ") SELECT 1, 'complete', " SAME
	" FROM partition_run;"
	"INSERT INTO sample(process, time_ns, rss_bytes)"
	" SELECT 1, 0, peak_rss_bytes FROM partition_run UNION ALL"
	" SELECT 1, 1, end_rss_bytes FROM partition_run;"
	"INSERT INTO snapshot(process, label, live_bytes, live_blocks)"
	" SELECT 1, m.moment, coalesce(sum(live_bytes), 0), coalesce(sum(live_blocks), 0)"
	" FROM (SELECT 'peak' AS moment UNION SELECT 'end' UNION SELECT moment FROM"
	" partition_site_stat) m LEFT JOIN partition_site_stat USING (moment) GROUP BY m.moment;"
	"INSERT INTO module(process, path, kind)"
	" SELECT DISTINCT 1, module, 'file' FROM partition_site WHERE module IS NOT NULL;"
	"INSERT INTO frame(id, process, module, function, file, line, inlined, runtime)"
	" SELECT p.rowid, 1, m.id, p.function, p.file, p.line, 0, 0"
	" FROM partition_site p LEFT JOIN module m ON m.path = p.module;"
	"INSERT INTO stack(id, process, frame, depth) SELECT rowid, 1, rowid, 0 FROM "
	"partition_site;"
	"INSERT INTO site(id, process, stack, user_frame, key, entry, one_time, verdict,"
	" allocations, frees, reallocations, allocated_bytes, temporary)"
	" SELECT rowid, 1, rowid, rowid, site, entry, one_time, verdict,"
	" allocations, frees, reallocations, allocated_bytes, temporary FROM partition_site;"
	"INSERT INTO site_stat(snapshot, site, live_bytes, live_blocks)"
	" SELECT t.id, s.id, p.live_bytes, p.live_blocks FROM partition_site_stat p"
	" JOIN snapshot t ON t.label = p.moment JOIN site s ON s.key = p.site;"
	"INSERT INTO meta VALUES ('complete', 1), ('processes', 1);";

static void bind(sqlite3_stmt *st, int at, const struct dataset_field *f)
{
	if (!f->text)
		sqlite3_bind_null(st, at);
	else if (f->quoted)
		sqlite3_bind_text(st, at, f->text, -1, SQLITE_STATIC);
	else if (strpbrk(f->text, ".e"))
		sqlite3_bind_double(st, at, strtod(f->text, NULL));
	else
		sqlite3_bind_int64(st, at, strtoll(f->text, NULL, 10));
}

static int load_rows(sqlite3 *db, struct rows *r, struct ms_arena *a, struct ms_err *err)
{
	const char *columns = dataset_column_list(r->file, false, a), *name = r->file->name;
	char *places = ms_arena_strdup(a, "?");
	for (size_t i = 1; i < r->file->n; i++)
		places = ms_arena_printf(a, "%s, ?", places);
	if (ms_sql_execf(db, err, "CREATE TEMP TABLE partition_%s(%s)", name, columns) != 0)
		return -1;
	sqlite3_stmt *st = ms_sql_prepare(
		db, ms_arena_printf(a, "INSERT INTO partition_%s VALUES (%s)", name, places), err);
	int rc = st ? 1 : -1;
	while (rc > 0 && (rc = next_row(r, err)) > 0) {
		for (size_t i = 0; i < r->file->n; i++)
			bind(st, (int)i + 1, &r->fields[i]);
		if (sqlite3_step(st) != SQLITE_DONE || sqlite3_reset(st) != SQLITE_OK)
			rc = damaged(r, err);
	}
	sqlite3_finalize(st);
	return rc;
}

sqlite3 *ms_dataset_open(const char *dir, const char *id, struct ms_err *err)
{
	struct ms_arena a = {0};
	sqlite3 *db = ms_snapshot_new(err);
	int rc = db ? ms_sql_exec(db, "BEGIN", err) : -1;
	for (int i = 0; i < DATASET_FILES && rc == 0; i++) {
		struct rows r;
		rc = open_rows(&r, dir, id, i, &a, err);
		if (rc == 0)
			rc = load_rows(db, &r, &a, err);
		free(r.bytes);
	}
	if (rc == 0)
		rc = ms_sql_exec(db, "CREATE INDEX key ON site(key)", err) ||
				     ms_sql_exec(db, to_snapshot, err) ||
				     ms_sql_exec(db, "DROP INDEX key; COMMIT", err)
			     ? -1
			     : 0;
	ms_arena_free(&a);
	if (rc == 0)
		return db;
	sqlite3_close(db);
	return NULL;
}
