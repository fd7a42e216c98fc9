/* SPDX-License-Identifier: MIT
 * ms-diff: compares the allocations of two builds, or two moments, of a program.
 *
 * Files in the order in which data meets them:
 *   options.c     the command line
 *   open.c        opens the runs of both sides and chooses the one of each side that is shown
 *   run.c         reads a run's tables into arrays, most of which are in libcommon/model/model.h
 *   spots.c       converts stacks to chains of names equal in every build (names.c, intern.c)
 *   match.c       pairs spots with equal chains; nameless.c, those with symbols on one side only;
 *                 match_left.c, the remaining ones
 *   changes.c     computes changes of figures; noise.c decides which changes exceed noise
 *   phases.c      computes the bytes of both runs in the phases of both peaks, if these differ
 *   write.c       adds the tables of the comparison to the new run's snapshot, with the stacks of
 *                 the sites that are gone
 *   kept.c        compares what keeps blocks alive
 *   regions.c     compares snapshots of memory regions
 * All inputs are read, and the result is written, by libcommon/snapshot/snapshot.h.
 */
#include <stdio.h>
#include <unistd.h>

#include "changes.h"
#include "kept.h"
#include "match.h"
#include "open.h"
#include "options.h"
#include "regions.h"
#include "write.h"

#include "libcommon/base/err.h"
#include "libcommon/base/progress.h"

#define SLOW_SECONDS 5.0

static size_t count_weak(const struct matching *m)
{
	size_t n = 0;
	for (size_t i = 0; i < m->rows.n; i++)
		n += m->rows.v[i].weak && m->rows.v[i].matched != MATCHED_NONE &&
		     m->rows.v[i].matched != MATCHED_FIGURES;
	return n;
}

/* Prints facts about the inputs that matter to readers of the comparison. */
static void say_inputs(const struct options *o, const struct opened *runs, struct matching *m,
		       const struct changes *c)
{
	if (runs->missing && o->history)
		ms_cli_remark(
			&o->cli,
			"no run in '%s' has the keys that --key names: everything counts as new",
			o->history);
	else if (runs->missing)
		ms_cli_remark(&o->cli, "'%s' does not exist: everything counts as new",
			      runs->shown[OLD]->name);
	else if (runs->left_out)
		ms_cli_remark(&o->cli, "'%s' does not exist: compared with the remaining old runs",
			      runs->left_out);
	ms_wrappers_tell(&o->wrappers, &o->cli);
	if (!runs->same_program)
		ms_cli_remark(&o->cli,
			      "warning: '%s' and '%s' are from different programs: '%s' and '%s'",
			      runs->shown[OLD]->name, runs->shown[NEW]->name,
			      runs->shown[OLD]->m.processes.v[0].exe,
			      runs->shown[NEW]->m.processes.v[0].exe);
	size_t unmatched = changes_unmatched(c);
	for (int side = OLD; side <= NEW; side++) {
		const char *modules = nameless_modules(m, (enum side)side);
		if (modules && unmatched)
			ms_cli_remark(&o->cli,
				      "warning: '%s' has no symbols for %s, but '%s' has: cannot "
				      "tell whether %zu %s changed",
				      runs->shown[side]->name, modules, runs->shown[!side]->name,
				      unmatched, unmatched == 1 ? "site" : "sites");
		else if (modules)
			ms_cli_remark(&o->cli,
				      "'%s' has no symbols for %s, but '%s' has; all sites could "
				      "be matched nevertheless",
				      runs->shown[side]->name, modules, runs->shown[!side]->name);
	}
	size_t weak = count_weak(m);
	if (weak)
		ms_cli_remark(&o->cli,
			      "warning: %zu %s frames without names, which are matched only by "
			      "their position in the stack",
			      weak, weak == 1 ? "site has" : "sites have");
	if (runs->seconds > SLOW_SECONDS)
		ms_cli_remark(&o->cli,
			      "reading a trace took %.0f s; a snapshot of it is read faster: "
			      "ms-snap -o FILE.db TRACE",
			      runs->seconds);
}

/* Reports incomplete inputs. Returns 2 if there is one and that is not allowed, else 0. */
static int say_incomplete(const struct options *o, const struct spots *s)
{
	int status = 0;
	for (size_t i = 0; i < s->every.n && !o->cli.allow_partial; i++) {
		const struct run *r = s->every.v[i];
		if (r->complete || r->borrowed)
			continue;
		ms_cli_remark(&o->cli,
			      "'%s' is incomplete: the result holds what could be read "
			      "(--allow=partial makes the exit status 0)",
			      r->name);
		status = 2;
	}
	return status;
}

/* Returns 1 if a site grew, 2 if that is not known for some site and this is not allowed, else 0.
 */
static int judge(const struct options *o, const struct changes *c)
{
	size_t unmatched = changes_unmatched(c);
	if (changes_grew(c))
		return 1;
	if (!unmatched || o->cli.allow_partial)
		return 0;
	fprintf(stderr,
		"ms-diff: cannot tell whether a site grew: %zu sites could not be compared, for "
		"lack of symbols (--allow=partial makes the exit status 0)\n",
		unmatched);
	return 2;
}

/* Compares the runs and writes the result. Returns the exit status, or -1 with `err` set. */
static int compare(const struct options *o, struct spots *s, struct ms_err *err)
{
	struct opened runs = {0};
	struct matching m = {.s = s};
	struct changes c = {0};
	if (open_runs(o, s, &runs, err) != 0)
		return -1;
	ms_progress("comparing", NULL, 0, 0, NULL);
	spots_make(s);
	match(&m);
	changes_make(&c, &m, &runs, o->min_change);
	int rc = write_changes(&c, &m, &runs, o, err);
	if (rc == 0)
		rc = kept_compare(&m, &runs, err);
	if (rc == 0)
		rc = regions_compare(runs.shown[OLD], runs.shown[NEW], err);
	if (rc == 0)
		rc = ms_snapshot_write(runs.shown[NEW]->db, o->output, err);
	if (rc == 0) {
		say_inputs(o, &runs, &m, &c);
		rc = say_incomplete(o, s);
		if (rc == 0 && o->exit_code)
			rc = regions_grew(runs.shown[NEW]->db, o->min_change) ? 1 : judge(o, &c);
	}
	ms_arena_free(&c.arena);
	match_free(&m);
	return rc;
}

int main(int argc, char **argv)
{
	struct ms_err err = {0};
	struct options o = {0};
	struct spots s = {0};
	ms_cli_signals();
	int rc = options_parse(&o, argc, argv, &err);
	ms_progress_start(!o.cli.quiet);
	if (rc == 0 && o.cli.asked)
		rc = ms_cli_answer(&o.cli, &err);
	else if (rc == 0 && !o.output && isatty(STDOUT_FILENO))
		/* fails early if standard output is a terminal */
		rc = ms_snapshot_write(NULL, NULL, &err);
	else if (rc == 0)
		rc = compare(&o, &s, &err);
	spots_free(&s);
	options_free(&o);
	return rc < 0 ? ms_cli_failed("ms-diff", &err) : rc;
}
