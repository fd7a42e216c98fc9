/* SPDX-License-Identifier: MIT
 * ms-filter: keeps the sites of a snapshot that meet conditions.
 *
 * Files in the order in which data meets them:
 *   options.c       the command line; arguments.c, the arguments of conditions
 *   where.c         compiles --where to SQL, over the columns of columns.c
 *   match.c         reads stacks and sites, and decides which sites are kept
 *   conditions.c    asks the database which sites meet each condition
 *   suppressions.c  finds the sites that match the lines of --suppress
 *   hide.c          removes the other sites, and stores their sums
 * and for --trace-out, which cuts a trace:
 *   cut.c           reads the trace once, block by block, and decides on each event
 *   cut_keep.c      decides which blocks meet the conditions; born.c, by their times; cut_live.c
 *                   stores the live blocks
 *   cut_verdicts.c  writes the results of memory scans for the kept blocks
 *   cut_write.c     writes the checkpoint and the events
 * All inputs are read, and the result is written, by libcommon/snapshot/snapshot.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "born.h"
#include "cut.h"
#include "hide.h"
#include "match.h"
#include "options.h"
#include "where.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/progress.h"
#include "libcommon/snapshot/snapshot.h"

#define SLOW_SECONDS 5.0

/* Reports the number of sites for which a condition's figure was not recorded. Such sites are
 * hidden. */
static void say_unknown(const struct options *o, const struct matches *m)
{
	for (size_t i = 0; i < o->conditions.n; i++) {
		const struct condition *c = &o->conditions.v[i];
		size_t n = m->unknown[c->subject];
		if (!c->drop && n > 0)
			ms_cli_remark(
				&o->cli,
				"for %zu site%s it is unknown whether '%s' holds; they count as "
				"not matching",
				n, n == 1 ? "" : "s", option_words(o->arena, "", c->name, c->text));
	}
}

/* Refuses a snapshot of figures from /proc, which has no sites. */
static int check_recorded(sqlite3 *db, const struct options *o, struct ms_err *err)
{
	static const char sql[] =
		"SELECT count(*) > 0 AND min(coalesce(options, '') IN ('maps', 'smaps', 'poll'))"
		" FROM process";
	if (!ms_sql_int(db, sql, 0))
		return 0;
	return ms_err_set(
		err,
		"'%s' has only figures from /proc and no sites to filter; ms-report --sql "
		"can query it",
		strcmp(o->input, "-") == 0 ? "standard input" : o->input);
}

static int filter(sqlite3 *db, const struct options *o, const char *point, struct ms_err *err)
{
	struct matches m = {0};
	int rc = 0;
	if (o->conditions.n > 0) {
		rc = check_recorded(db, o, err);
		if (rc == 0)
			rc = matches_find(&m, db, o, point, err);
		if (rc == 0)
			rc = hide(db, &m, o->filter, err);
		if (rc == 0 && m.sites.n > 0 && m.hidden == m.sites.n)
			ms_cli_remark(&o->cli, "warning: all %zu sites are hidden by '%s'",
				      m.hidden, o->filter);
		if (rc == 0)
			say_unknown(o, &m);
		if (rc == 0 && m.rules.n > 0)
			suppressions_say(db, &o->cli);
	}
	matches_free(&m);
	return rc;
}

/* Opens a snapshot of only those blocks that meet the conditions on blocks (when allocated, when
 * live): cuts them out of the trace into a temporary file of the same name, and makes the snapshot
 * from this file. Returns NULL with `err` set on failure. */
static sqlite3 *open_blocks(const struct options *blocks, const char **point,
			    struct ms_build_result *res, struct ms_err *err)
{
	const char *base = getenv("TMPDIR");
	char *folder =
		ms_arena_strdup(blocks->arena, ms_arena_printf(blocks->arena, "%s/ms-filter.XXXXXX",
							       base && *base ? base : "/tmp"));
	sqlite3 *db = NULL;
	bool incomplete;
	struct options cut = *blocks;
	if (!mkdtemp(folder)) {
		ms_err_set(err, "cannot make the temporary folder '%s': %s", folder,
			   strerror(errno));
		return NULL;
	}
	const char *name = basename(cut.input);
	/* names that cannot be files are refused below */
	bool file = *name && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
	const char *path = ms_arena_printf(cut.arena, "%s/%s", folder, file ? name : "-");
	cut.cut_fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (cut.cut_fd < 0)
		ms_err_set(err, "cannot write '%s': %s", path, strerror(errno));
	else if (cut_trace(&cut, &incomplete, err) == 0)
		db = ms_snapshot_open(path, NULL, cut.cli.max_image, point, res, err);
	if (cut.cut_fd >= 0)
		close(cut.cut_fd);
	unlink(path);
	rmdir(folder);
	return db;
}

/* Reads, filters and writes a snapshot. Returns the exit status, or -1 with `err` set. */
static int work(const struct options *all, struct ms_err *err)
{
	/* fail early if standard output is a terminal */
	if (!all->output && isatty(STDOUT_FILENO))
		return ms_snapshot_write(NULL, NULL, err);
	const char *point = NULL;
	struct ms_build_result res;
	struct options blocks, sites;
	const struct options *o = all;
	sqlite3 *db = NULL;
	if (born_asked(all)) {
		born_divide(all, &blocks, &sites);
		o = &sites;
		db = open_blocks(&blocks, &point, &res, err);
	} else {
		db = ms_snapshot_open(o->input, NULL, o->cli.max_image, &point, &res, err);
	}
	if (!db)
		return -1;
	ms_progress("filtering", NULL, 0, 0, NULL);
	int rc = filter(db, o, point, err);
	bool incomplete = ms_snapshot_incomplete(db);
	if (rc == 0 && o->anonymize)
		rc = ms_snapshot_anonymize(db, NULL, err);
	if (rc == 0)
		rc = ms_snapshot_write(db, o->output, err);
	if (rc == 0 && res.traces > 0 && res.seconds > SLOW_SECONDS)
		ms_cli_remark(&o->cli,
			      "reading the trace took %.0f s; a snapshot of it is read faster: "
			      "ms-snap -o FILE.db TRACE",
			      res.seconds);
	if (rc == 0 && incomplete && !o->cli.allow_partial) {
		ms_cli_remark(&o->cli,
			      "'%s' is incomplete: the result holds what could be read "
			      "(--allow=partial makes the exit status 0)",
			      strcmp(o->input, "-") == 0 ? "standard input" : o->input);
		rc = 2;
	}
	sqlite3_close(db);
	return rc;
}

/* Cuts a trace. Returns the exit status, or -1 with `err` set. */
static int cut(const struct options *o, struct ms_err *err)
{
	bool incomplete = false;
	if (cut_trace(o, &incomplete, err) != 0)
		return -1;
	if (!incomplete || o->cli.allow_partial)
		return 0;
	ms_cli_remark(
		&o->cli,
		"'%s' is incomplete, and so is '%s' (--allow=partial makes the exit status 0)",
		o->input, o->trace_out);
	return 2;
}

int main(int argc, char **argv)
{
	struct ms_arena arena = {0};
	struct ms_err err = {0};
	struct options o = {0};
	ms_cli_signals();
	int rc = options_parse(&o, argc, argv, &arena, &err);
	ms_progress_start(!o.cli.quiet);
	if (rc == 0 && o.where_help)
		rc = ms_cli_print(columns_help(&arena), &err);
	else if (rc == 0 && o.cli.asked)
		rc = ms_cli_answer(&o.cli, &err);
	else if (rc == 0)
		rc = o.trace_out ? cut(&o, &err) : work(&o, &err);
	options_free(&o);
	ms_arena_free(&arena);
	return rc < 0 ? ms_cli_failed("ms-filter", &err) : rc;
}
