/* SPDX-License-Identifier: MIT
 * ms-snap: replays traces and writes a snapshot.
 *
 * In the order in which data meets them:
 *   options.c   the command line
 *   core.c      --core: a core dump instead of a trace
 *   regions.c   --maps and --smaps: running processes instead of traces
 *   lines.c     running processes as lines of JSON
 * Everything else is shared with the tools that read traces themselves:
 * libcommon/trace/recording.h reads a trace, replay.h models the heap, snapshot_build.c brings
 * processes together, snapshot.h has the database, dataset.h appends it to a dataset.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core.h"
#include "options.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/progress.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/symbols/symbols.h"
#include "libcommon/trace/sums.h"
#include "libcommon/base/units.h"

static void tell_trouble(const struct options *o, const char *why)
{
	if (why)
		ms_cli_remark(&o->cli, "--symbols=debuginfod: %s", why);
}

/* Prints one line for each process whose trace is incomplete. */
static void tell_incomplete(sqlite3 *db, const struct options *o, struct ms_err *err)
{
	sqlite3_stmt *stmt = ms_sql_prepare(
		db,
		"SELECT coalesce(trace, 'standard input'), state, events, core_lacks "
		"FROM process WHERE complete = 0 ORDER BY id",
		err);
	while (stmt && sqlite3_step(stmt) == SQLITE_ROW) {
		char buf[MS_UNIT_BUF];
		const char *lacks = (const char *)sqlite3_column_text(stmt, 3);
		if (lacks) {
			ms_cli_remark(&o->cli, "'%s' is incomplete: %s%s",
				      o->core ?: "the core dump", lacks,
				      o->cli.allow_partial
					      ? ""
					      : " (--allow=partial makes the exit status 0)");
			continue;
		}
		bool damaged = strcmp((const char *)sqlite3_column_text(stmt, 1), "damaged") == 0;
		ms_cli_remark(&o->cli,
			      "'%s' is incomplete (%s): the snapshot holds the %s events that "
			      "could be read%s",
			      sqlite3_column_text(stmt, 0),
			      damaged ? "damaged"
				      : "its end is missing: the recorder was killed, or the file "
					"was cut short",
			      ms_format_count(buf, (uint64_t)sqlite3_column_int64(stmt, 2)),
			      o->cli.allow_partial ? ""
						   : " (--allow=partial makes the exit status 0)");
	}
	sqlite3_finalize(stmt);
}

/* Prints one line about files in the given folders that the snapshot does not include. */
static void tell_unreadable(sqlite3 *db, const struct options *o, unsigned count,
			    struct ms_err *err)
{
	sqlite3_stmt *stmt =
		ms_sql_prepare(db, "SELECT value FROM meta WHERE key = 'unreadable'", err);
	if (stmt && sqlite3_step(stmt) == SQLITE_ROW)
		ms_cli_remark(&o->cli, "%u %s left out: %s%s", count,
			      count == 1 ? "trace is" : "traces are", sqlite3_column_text(stmt, 0),
			      o->cli.allow_partial ? ""
						   : " (--allow=partial makes the exit status 0)");
	sqlite3_finalize(stmt);
}

static int check_size(sqlite3 *db, const struct options *o, struct ms_err *err)
{
	uint64_t size = (uint64_t)ms_sql_int(db, "PRAGMA page_count", 0) *
			(uint64_t)ms_sql_int(db, "PRAGMA page_size", 0);
	char a[MS_UNIT_BUF], b[MS_UNIT_BUF];
	if (size <= o->cli.max_image)
		return 0;
	return ms_err_set(
		err,
		"the snapshot is %s, more than the limit of %s: raise it with --allow=image:SIZE",
		ms_format_size(a, size), ms_format_size(b, o->cli.max_image));
}

/* Finishes and writes a snapshot of either kind. Returns 0, or -1 with `err` set. */
static int finish(sqlite3 *db, const struct options *o, struct ms_err *err)
{
	if (check_size(db, o, err) != 0 ||
	    (o->anonymize && ms_snapshot_anonymize(db, NULL, err) != 0))
		return -1;
	if ((o->output || !o->dataset) && ms_snapshot_write(db, o->output, err) != 0)
		return -1;
	return o->dataset ? ms_dataset_append(o->dataset, &o->keys, db, err) : 0;
}

/* Takes a snapshot of running processes instead of traces. Returns the exit status, or -1 with
 * `err` set. */
static int snap_regions(const struct options *o, struct ms_err *err)
{
	sqlite3 *db = NULL;
	int rc = regions_read(&o->regions, &o->cli, &db, err);
	if (db && finish(db, o, err) != 0)
		rc = -1;
	sqlite3_close(db);
	return rc > 0 && o->cli.allow_partial ? 0 : rc;
}

/* Builds and writes a snapshot. Returns the exit status, or -1 with `err` set. */
static int snap(const struct options *o, struct ms_err *err)
{
	struct ms_build_options bo = {.points = o->points.v,
				      .point_count = o->points.n,
				      .from = o->from,
				      .to = o->to,
				      .every_ns = o->every_ns,
				      .read = o->read,
				      .no_symbols = o->no_symbols,
				      .no_cache = o->no_cache,
				      .sysroot = o->sysroot,
				      .debug_dirs = o->debug_dirs.v,
				      .debuginfod_ns = o->debuginfod_ns,
				      .wrappers = &o->wrappers};
	struct ms_build_result res;
	sqlite3 *db = ms_snapshot_build(o->inputs.v, o->inputs.n, &bo, &res, err);
	if (!db)
		return -1;
	tell_trouble(o, res.symbols_trouble);
	ms_wrappers_tell(&o->wrappers, &o->cli);
	int rc = finish(db, o, err);
	if (rc == 0 && res.incomplete) {
		tell_incomplete(db, o, err);
		if (res.unreadable)
			tell_unreadable(db, o, res.unreadable, err);
		rc = o->cli.allow_partial ? 0 : 2;
	}
	sqlite3_close(db);
	return rc;
}

static void held_free(struct ms_held_files *of, size_t traces)
{
	for (size_t i = 0; i < traces; i++)
		free(of[i].v);
	free(of);
}

static void hold(struct ms_held_files *of, unsigned module, int fd)
{
	if (module >= of->n) {
		of->v = ms_xrealloc(of->v, module + 1, sizeof *of->v);
		memset(of->v + of->n, 0, (module + 1 - of->n) * sizeof *of->v);
		of->n = module + 1;
	}
	of->v[module] = fd;
}

/* Reads the file of --symbols=held, which lists the open descriptors of each trace's modules.
 * Returns NULL with `err` set on failure. */
static struct ms_held_files *read_held(const struct options *o, struct ms_err *err)
{
	enum { MODULES_MOST = 1 << 22 };
	struct ms_held_files *of = ms_xcalloc(o->inputs.n, sizeof *of);
	FILE *f = o->held ? fopen(o->held, "re") : NULL;
	unsigned trace, module;
	int fd, n = EOF;
	if (o->held && !f)
		ms_err_sys(err, "cannot read '%s'", o->held);
	while (f && (n = fscanf(f, "%u %u %d", &trace, &module, &fd)) == 3 && trace &&
	       trace <= o->inputs.n && module < MODULES_MOST && fd)
		hold(&of[trace - 1], module, fd);
	if (f)
		fclose(f);
	if (n != EOF)
		ms_err_set(err, "--symbols=held '%s': a line is not TRACE MODULE DESCRIPTOR",
			   o->held);
	if (n == EOF && (f || !o->held))
		return of;
	held_free(of, o->inputs.n);
	return NULL;
}

/* Status of --symbols=embed. */
static int embedded;

static void leave(int sig)
{
	(void)sig;
	_exit(embedded);
}

/* Appends the sums of long recordings, from which a first screen is shown at once; for ms-record,
 * whose user waits, only where that is short against the recording. A trace lacks nothing without
 * them, so neither a failure counts nor the end of the time that ms-record allows. */
static void add_sums(const struct options *o)
{
	struct ms_err ignored;
	signal(SIGXCPU, leave);
	for (size_t i = 0; i < o->inputs.n; i++)
		ms_sums_append(o->inputs.v[i], MS_SUMS_EVENTS, o->held ? MS_SUMS_TIME : 0,
			       &ignored);
}

/* Embeds symbols into each trace. If one fails, the others are still done. */
static int embed(const struct options *o, struct ms_err *why)
{
	struct ms_symbols_options so = {.sysroot = o->sysroot,
					.debug_dirs = o->debug_dirs.v,
					.no_cache = o->no_cache,
					.debuginfod_ns = o->debuginfod_ns};
	struct ms_held_files *held = read_held(o, why);
	if (!held)
		return -1;
	struct ms_symbols *s = ms_symbols_new(&so);
	for (size_t i = 0; i < o->inputs.n; i++) {
		struct ms_err err = {0};
		if (ms_symbols_embed(o->inputs.v[i], s, &held[i], &err) == 0)
			continue;
		fprintf(stderr, "ms-snap: %s\n", err.text);
		embedded = 2;
	}
	tell_trouble(o, ms_symbols_trouble(s));
	ms_symbols_free(s);
	held_free(held, o->inputs.n);
	add_sums(o);
	return embedded;
}

int main(int argc, char **argv)
{
	struct ms_arena arena = {0};
	struct ms_err err = {0};
	struct options o = {0};
	ms_cli_signals();
	int rc = options_parse(&o, argc, argv, &arena, &err);
	ms_progress_start(!o.cli.quiet);
	if (rc == 0 && o.cli.asked)
		rc = ms_cli_answer(&o.cli, &err);
	else if (rc == 0 && o.embed)
		rc = embed(&o, &err);
	else if (rc == 0 && !o.output && !o.dataset && !o.regions.lines && isatty(STDOUT_FILENO))
		/* refuses a terminal before the slow part */
		rc = ms_snapshot_write(NULL, NULL, &err);
	else if (rc == 0)
		rc = o.regions.maps || o.regions.smaps    ? snap_regions(&o, &err)
		     : o.core && core_read(&o, &err) != 0 ? -1
							  : snap(&o, &err);
	options_free(&o);
	ms_arena_free(&arena);
	return rc < 0 ? ms_cli_failed("ms-snap", &err) : rc;
}
