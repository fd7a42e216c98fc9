/* SPDX-License-Identifier: MIT
 * Room snapshot: the database that the tools pass on.
 *   In:  traces (room trace), databases from a file or a pipe.
 *   Out: an SQLite image, the same bytes for the same content (schema.sql); tables of a
 *        comparison.
 *   Used by: ms-snap makes it, ms-filter and ms-diff change it, ms-report reads it.
 *
 * The snapshot database (schema.sql, ms-snapshot(5)): opened from a file or a pipe, or built
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

/* The PRAGMAs application_id and user_version of the database of a snapshot. */
#define MS_SNAPSHOT_APPLICATION_ID 0x4d53636f /* "MSco" */
#define MS_SNAPSHOT_VERSION 2

/* Lists the ways to read a trace: from a checkpoint if that saves enough time (AUTO), always from
 * the start (ALL), or from a checkpoint whenever possible (PART). */
enum ms_read { MS_READ_AUTO, MS_READ_ALL, MS_READ_PART };

/* Receives the rows of module, frame, stack, site, site_stat, site_verdict and lost_with instead
 * of the database; rows of snapshot go to both. The rows arrive in the order of their keys,
 * before the rows of other tables that they refer to: ids of processes, frames and stacks are 1,
 * 2 and so on. The values live until the call returns; their columns are those of the previous
 * row if that was of the same `table`. Rows of stack, by far the most frequent, arrive as
 * numbers; `parent` may be 0. If site_thread is left empty, `thread` is called after the row of
 * each site that only one thread allocated at. */
struct ms_value;
/* Holds a site that has no live block at any moment of the snapshot, no verdict, no growth, and did
 * not keep its blocks all along: it has no row, and only these figures, if the taker has `gone`. */
struct ms_gone_site {
	uint32_t id, stack, user; /* rows of the site, of its innermost frame, and of the frame that
				     it is named after */
	uint32_t thread;          /* row of the only thread that allocated here; 0 = several */
	uint32_t allocations, bytes, temporary, freed_soon;
};
struct ms_row_taker {
	void (*row)(void *arg, const char *table, const struct ms_value *v, size_t n);
	void (*stack)(void *arg, int64_t parent, int64_t frame);
	void (*thread)(void *arg, int64_t site, int64_t thread);
	void (*gone)(void *arg, const struct ms_gone_site *s); /* in order of id; NULL = rows of
								  all sites */
	void *arg;
};

/* Holds the options for building a snapshot from traces. All zero = the defaults of ms-snap. */
struct ms_build_options {
	const char *const *points; /* --at, `point_count` points; none = peak and end */
	size_t point_count;
	/* number of leading points that are of minor importance: for other points or limits, only
	 * part of a trace may be read, and these points are then left out */
	size_t usual_points;
	const char *from, *to; /* --from, --to: POINT, or NULL */
	uint64_t every_ns;     /* --every; 0 = not given */
	/* number of points to add, or up to three times as many, spread evenly over the run of a
	 * single trace whose length is known in advance */
	unsigned spread;
	enum ms_read read;
	bool no_symbols;
	bool no_cache; /* do not use the symbol cache */
	/* leave the tables with details of one site empty: site_size, site_lifetime, and
	 * site_thread if there is one thread; with a taker also figures that a first screen does
	 * not show (ms_replay_brief) */
	bool no_site_details;
	int64_t site; /* row of a site whose cohorts, and what its unfreed blocks have in common,
			 are found by a second replay; 0 = none */
	const char *sysroot;
	const char *const *debug_dirs; /* NULL-terminated, or NULL */
	uint64_t debuginfod_ns; /* --symbols=debuginfod: total time limit; 0 = do not use it */
	const struct ms_wrappers *wrappers; /* --wrapper; NULL = only built-in and detected
					       wrappers */
	/* receives the large tables, unless their rows must be corrected later; NULL = the database
	 * receives them */
	const struct ms_row_taker *taker;
};

/* Holds the result of a build, for exit statuses and banners: numbers of traces by condition.
 * `incomplete` includes `unreadable`, the number of files in folders that could not be read at
 * all. */
struct ms_build_result {
	unsigned traces, incomplete, growing, unreadable;
	uint64_t events;
	double seconds;
	const char *symbols_trouble; /* reason why not all symbols were looked up, or NULL */
};

/* Returns a writable, private in-memory database that contains only schema.sql. Returns NULL with
 * `err` set on failure. */
sqlite3 *ms_snapshot_new(struct ms_err *err);

/* Replays traces (files, folders of traces, or "-") into a new snapshot. A damaged or truncated
 * trace is read as far as possible and counted in `res`. Returns NULL with `err` set, for
 * example if a named file is no trace, or a folder has none. */
sqlite3 *ms_snapshot_build(const char *const *traces, size_t n, const struct ms_build_options *opt,
			   struct ms_build_result *res, struct ms_err *err);

/* Builds a snapshot of one recording read by ms_recording_step, as if the recording ended at this
 * point, and finishes its replay. The timeline of sums stays empty. For a trace cut out of another
 * one, use ms_snapshot_build. Returns NULL with `err` set on failure. */
sqlite3 *ms_snapshot_of(struct ms_recording *rec, const struct ms_build_options *opt,
			struct ms_err *err);

/* Opens any input of a tool. `path` is a trace, a folder of traces, or a snapshot ("-" = either,
 * from standard input), distinguished by its first bytes. "FILE@POINT" selects a moment: *point
 * is then the part after the last @ (else NULL), unless a file with the whole name exists.
 * Untrusted databases are checked (defensive mode, schema text equal to ours, integrity) and
 * copied, so the result is private and writable. A trace is built as by ms-snap without options,
 * or with `opt` if not NULL; for a snapshot opt->wrappers must be NULL or empty. `max_bytes` 0 =
 * 4 GiB. Returns NULL with `err` set on failure. */
sqlite3 *ms_snapshot_open(const char *path, const struct ms_build_options *opt, uint64_t max_bytes,
			  const char **point, struct ms_build_result *res, struct ms_err *err);

/* Tells whether a process of the snapshot is incomplete (no end block and no writer, or damage),
 * a trace of a folder could not be read, or a compared run is incomplete. The tools then end
 * with status 2 unless --allow=partial is given. */
bool ms_snapshot_incomplete(sqlite3 *db);

/* Returns the database image in reproducible bytes (sqlite3_serialize after VACUUM), to be freed
 * with sqlite3_free. Returns NULL with `err` set on failure. */
unsigned char *ms_snapshot_image(sqlite3 *db, size_t *size, struct ms_err *err);
/* Writes the database image to `path`. NULL = standard output, refused if that is a terminal.
 * Returns 0, or -1 with `err` set. */
int ms_snapshot_write(sqlite3 *db, const char *path, struct ms_err *err);

/* Writes a database image to `path` (NULL = standard output). No file that SQLite would apply to
 * the image, such as a journal, may exist beside it. Returns 0, or -1 with `err` set. In
 * snapshot_beside.c. */
int ms_snapshot_put(const char *path, const void *image, size_t size, struct ms_err *err);

/* Runs statements without results. Returns 0, or -1 with `err` set. */
int ms_sql_exec(sqlite3 *db, const char *sql, struct ms_err *err);
/* Runs statements with values: `format` is that of sqlite3_mprintf. Returns 0, or -1 with `err`
 * set. */
int ms_sql_execf(sqlite3 *db, struct ms_err *err, const char *format, ...);
/* Prepares `sql`. Returns NULL with `err` set on failure. */
sqlite3_stmt *ms_sql_prepare(sqlite3 *db, const char *sql, struct ms_err *err);
/* Moves to the next row. Returns false at the end, or with `err` set on an error. */
bool ms_sql_next(sqlite3 *db, sqlite3_stmt *stmt, struct ms_err *err);
/* Returns the first column of the first row of a query without parameters, or `fallback` if
 * there is no row or the column is null. */
int64_t ms_sql_int(sqlite3 *db, const char *sql, int64_t fallback);
/* Returns the first column of the first row of a query as text in the arena `a`, or NULL if
 * there is no row or the column is null. */
struct ms_arena;
char *ms_sql_text(sqlite3 *db, const char *sql, struct ms_arena *a);

/* Stores the key of a text: 128-bit FNV-1a of the text and its 0 byte, as 32 hex digits. In
 * snapshot_keys.c. */
void ms_text_key(const char *s, char text[33]);

/* Copies `head` and the rest of `fd` to an unlinked temporary file, because a pipe cannot be
 * read twice, nor can bytes read from it be put back. `name` is for the message. Returns the
 * file's descriptor, or -1 with `err` set. */
int ms_spool(int fd, const void *head, size_t head_size, const char *name, struct ms_err *err);

/* ---- snapshot_diff.c: the tables of ms-diff, updated when other tools remove sites ---- */

/* Tells whether the snapshot is output of ms-diff. */
bool ms_snapshot_is_diff(sqlite3 *db);
/* Removes the comparison rows of the sites in table temp.gone(site) and adds their figures to
 * diff_hidden, as stage `stage` of `filter`. Call it before the sites themselves are removed.
 * Does nothing without a comparison. Returns 0, or -1 with `err` set. */
int ms_diff_hide(sqlite3 *db, int64_t stage, const char *filter, struct ms_err *err);

/* ---- snapshot_anonymize.c ---- */

struct ms_anonymizer;

/* Replaces every name in the in-memory database; no page of it keeps an old name. `a` keeps the
 * replacements; NULL = use a new anonymizer. Returns 0, or -1 with `err` set. */
int ms_snapshot_anonymize(sqlite3 *db, struct ms_anonymizer *a, struct ms_err *err);
