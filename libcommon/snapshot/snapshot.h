/* SPDX-License-Identifier: MIT
 * Room snapshot: the database that the tools pass on.
 *   In:  traces (room trace), databases from a file or a pipe.
 *   Out: an SQLite image of the same bytes for the same content (schema.sql), tables of a
 *        comparison.
 *   Used by: ms-snap makes it, ms-filter and ms-diff change it, ms-report reads it.
 *
 * The snapshot database (schema.sql, ms-snapshot(5)): opened from a file, a pipe or built
 * from traces.
 */
#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_err;
struct ms_recording;
struct ms_wrappers;

/* PRAGMA application_id and user_version of an image. */
#define MS_SNAPSHOT_APPLICATION_ID 0x4d53636f /* "MSco" */
#define MS_SNAPSHOT_VERSION 2

/* How a trace is read: from a checkpoint on where that is worth it, always from its start, from a
 * checkpoint on wherever it can be. */
enum ms_read { MS_READ_AUTO, MS_READ_ALL, MS_READ_PART };

/* Takes rows of module, frame, stack, site, site_stat, site_verdict and lost_with in place of the
 * database, in the order of their keys and before what they refer to in other tables: processes
 * have the ids 1, 2 and so on, and so have frames and stacks. Rows of snapshot are for both. The
 * values live until the call returns, and have the columns of the row before if that was of the same
 * `table`. Rows of stack, which are by far the most, come as numbers; `parent` may be 0. */
struct ms_value;
struct ms_row_taker {
	void (*row)(void *arg, const char *table, const struct ms_value *v, size_t n);
	void (*stack)(void *arg, int64_t id, int64_t parent, int64_t frame);
	void *arg;
};

/* Holds the options of building a snapshot from traces. Zero = the defaults of ms-snap without
 * options. */
struct ms_build_options {
	const char *const *points; /* --at, `point_count` of them; none = peak and end */
	size_t point_count;
	/* so many of them, the first, are not worth reading all for when others are asked too */
	size_t usual_points;
	const char *from, *to; /* --from, --to: POINT, or NULL */
	uint64_t every_ns;     /* --every; 0 = no */
	/* so many points more, or up to three times as many, evenly over the run of a single trace
	 * whose length is known beforehand */
	unsigned spread;
	enum ms_read read;
	bool no_symbols;
	bool no_cache; /* of symbols */
	/* the tables that tell about one site (site_size, site_lifetime, and site_thread where there
	 * is one thread) are not asked for, and stay empty */
	bool no_site_details;
	const char *sysroot;
	const char *const *debug_dirs;      /* NULL-terminated, or NULL */
	uint64_t debuginfod_ns;             /* --symbols=debuginfod: how long in all; 0 = never */
	const struct ms_wrappers *wrappers; /* --wrapper; NULL = the known ones and those found */
	/* or NULL; gets nothing where what is put must be corrected afterwards */
	const struct ms_row_taker *taker;
};

/* Holds the outcome of a build, for exit statuses and banners: counts of traces in each condition.
 * `incomplete` includes `unreadable`, the files of folders that could not be read at all. */
struct ms_build_result {
	unsigned traces, incomplete, growing, unreadable;
	uint64_t events;
	double seconds;
	const char *symbols_trouble; /* why not all symbols were asked for, or NULL */
};

/* An in-memory database, writable and ours alone, with schema.sql in it and nothing else. */
sqlite3 *ms_snapshot_new(struct ms_err *err);

/* Replays traces (files, folders of traces, or "-") into a new snapshot. NULL with `err` set when a
 * file that is named is no trace at all, or none of a folder is; a damaged or cut one is read as
 * far as it goes and counted in `res`. */
sqlite3 *ms_snapshot_build(const char *const *traces, size_t n, const struct ms_build_options *opt,
			   struct ms_build_result *res, struct ms_err *err);

/* Builds a snapshot of one recording that was read by ms_recording_step, as if it ended there, and
 * finishes its model. The timeline of sums stays empty. A trace that was cut out of another needs
 * ms_snapshot_build instead. NULL with `err` set. */
sqlite3 *ms_snapshot_of(struct ms_recording *rec, const struct ms_build_options *opt,
			struct ms_err *err);

/* Opens any input of a tool: `path` is a trace, a folder of traces, or a snapshot ("-" = standard
 * input, either), told apart by first bytes; "FILE@POINT" selects a moment: *point is then the part
 * after the last @ (else NULL), unless a file of the whole name exists. Hostile databases are
 * checked (defensive mode, schema text equal to ours, integrity) and copied, so that the result is
 * private and writable. A trace is built as ms-snap without options would, with `opt` if not NULL;
 * of a snapshot opt->wrappers must be NULL or none.
 * NULL with `err` set. `max_bytes` 0 = 4 GiB. */
sqlite3 *ms_snapshot_open(const char *path, const struct ms_build_options *opt, uint64_t max_bytes,
			  const char **point, struct ms_build_result *res, struct ms_err *err);

/* True when any process of the snapshot is incomplete (no end block and no writer, or damage), a
 * trace of a folder could not be read, or a run that it was compared with is incomplete: status 2
 * without --allow=partial. */
bool ms_snapshot_incomplete(sqlite3 *db);

/* The database image: reproducible bytes (sqlite3_serialize after VACUUM). Free with sqlite3_free.
 * NULL with `err` set. */
unsigned char *ms_snapshot_image(sqlite3 *db, size_t *size, struct ms_err *err);
/* Writes the image to `path` (NULL = standard output, refused when that is a terminal: `tool` names
 * the caller). 0 or -1 with `err` set. */
int ms_snapshot_write(sqlite3 *db, const char *path, struct ms_err *err);

/* snapshot_beside.c: writes an image as ms_snapshot_write does; nothing is beside it then by which
 * SQLite would change it. 0 or -1 with `err` set. */
int ms_snapshot_put(const char *path, const void *image, size_t size, struct ms_err *err);

/* Runs statements without results. 0, or -1 with `err` set. */
int ms_sql_exec(sqlite3 *db, const char *sql, struct ms_err *err);
/* Runs statements with values in them: `format` as for sqlite3_mprintf. 0, or -1 with `err` set. */
int ms_sql_execf(sqlite3 *db, struct ms_err *err, const char *format, ...);
/* Prepares `sql`; on failure sets `err` and returns NULL. */
sqlite3_stmt *ms_sql_prepare(sqlite3 *db, const char *sql, struct ms_err *err);
/* Takes one more row. False at the end, or with `err` set when something is wrong. */
bool ms_sql_next(sqlite3 *db, sqlite3_stmt *stmt, struct ms_err *err);
/* First column of the first row of a query with no parameters, or `fallback` when there is none or
 * it is null. */
int64_t ms_sql_int(sqlite3 *db, const char *sql, int64_t fallback);
/* Returns the first column of the first row of a query as text, in `a`; NULL when there is no row
 * or it is null. */
struct ms_arena;
char *ms_sql_text(sqlite3 *db, const char *sql, struct ms_arena *a);

/* snapshot_keys.c: FNV-1a of 128 bits of a text and the 0 byte behind it, as 32 hex digits. */
void ms_text_key(const char *s, char text[33]);

/* Copies `head` and the rest of `fd` to an unlinked temporary file: a pipe cannot be read twice, nor
 * can the bytes that told what it is be put back. Returns its descriptor, or -1 with `err` set; `name`
 * is for the message. */
int ms_spool(int fd, const void *head, size_t head_size, const char *name, struct ms_err *err);

/* ---- snapshot_diff.c: the tables of ms-diff, kept right when other tools take sites away ---- */

/* Is the snapshot the output of ms-diff? */
bool ms_snapshot_is_diff(sqlite3 *db);
/* Before the sites in table temp.gone(site) go: takes their rows of the comparison away and adds
 * their figures to diff_hidden, as stage `stage` of `filter`. A row goes with its site. Nothing
 * where there is no comparison. 0, or -1 with `err` set. */
int ms_diff_hide(sqlite3 *db, int64_t stage, const char *filter, struct ms_err *err);

/* ---- snapshot_anonymize.c ---- */

struct ms_anonymizer;

/* Replaces every name in the database, which is in memory; nothing of the old ones stays in its
 * pages. `a` keeps what stands for what; NULL: one of its own. 0, or -1 with `err` set. */
int ms_snapshot_anonymize(sqlite3 *db, struct ms_anonymizer *a, struct ms_err *err);
