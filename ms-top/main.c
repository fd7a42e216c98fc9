/* SPDX-License-Identifier: MIT
 * ms-top: the memory of processes as it changes.
 *
 * In the order in which data meets them:
 *
 *   options.c      the command line
 *   app.c          the loop: look, draw, wait for a key; plain frames
 *   system.c       all processes, from /proc; process.c one of them, with its regions
 *   source.c       from which file of /proc the figures are
 *   history.c      a figure over time, and whether it grows
 *   rows.c         which processes are shown, in what order: filter, groups, tree
 *   columns.c      what is shown of each
 *   chosen.c       what is read of the selected one alone; limits.c when its growth meets a limit;
 *                  maps.c its mappings, and by them whether it is being recorded
 *   trace.c        a trace as it grows: read on, summed up; past.c at an earlier moment
 *   trace_*.c      its rows in order and as a tree, names of call stacks, one site, limits, JSON
 *   record.c       ms-record of a process that was chosen; save.c snapshots
 *   list.c         the selection, which stays with its row
 *   json.c         frames as JSON
 *   draw*.c        frames, into a grid of cells (grid.c; figures in few columns: words.c)
 *   term.c         the terminal
 *   keys.c         the table of keys; app_*.c what they do
 */
#include <locale.h>
#include <stdio.h>

#include "app.h"
#include "options.h"
#include "libcommon/base/err.h"

static int run(const struct options *o, struct ms_err *err)
{
	if (!o->batch)
		return app_run(o, err);
	ms_cli_signals();
	return app_print(o, err);
}

int main(int argc, char **argv)
{
	struct options o;
	struct ms_err err = {0};
	int rc;
	setlocale(LC_CTYPE, "");
	if (options_parse(&o, argc, argv, &err) != 0) {
		fprintf(stderr, "ms-top: %s\n", err.text);
		return 2;
	}
	if (o.cli.help || o.cli.version)
		rc = ms_cli_print(o.cli.help ? options_help : "ms-top " MS_VERSION "\n", &err);
	else
		rc = run(&o, &err);
	if (rc < 0)
		fprintf(stderr, "ms-top: %s\n", err.text);
	return rc < 0 ? 2 : rc;
}
