/* SPDX-License-Identifier: MIT
 * ms-top: the memory of processes as it changes.
 *
 * In the order in which data meets them:
 *
 *   app/    options.c the command line; app.c the loop: look, draw, wait for a key; plain frames;
 *           app_*.c what keys do; state.c what was chosen, kept for the next time
 *   proc/   system.c all processes, from /proc; process.c one of them, with its regions; source.c
 *           from which file of /proc the figures are; history.c a figure over time, and whether it
 *           grows; chosen.c what is read of the selected one alone; limits.c when its growth meets a
 *           limit; maps.c its mappings, and by them whether it is being recorded
 *   trace/  trace.c a trace as it grows: read on, summed up; past.c at an earlier moment; trace_*.c
 *           its rows in order and as a tree, names of call stacks, one site; record.c
 *           ms-record of a process that was chosen; save.c snapshots
 *   rows/   rows.c which processes are shown, in what order: filter, groups, tree; columns.c what is
 *           shown of each; list.c the selection, which stays with its row
 *   json/   frames as JSON
 *   serve/  a trace over HTTP: profiles, metrics, the report
 *   view/   frames, drawn into a grid of cells (cells/grid.c; figures in few columns: words.c)
 *   term/   term.c the terminal; input.c its bytes as keys; keys.c the table of keys
 */
#include <locale.h>
#include <stdio.h>
#include <unistd.h>

#include "ms-top/app/app.h"
#include "ms-top/app/options.h"
#include "libcommon/base/err.h"
#include "libcommon/base/mapped_file.h"

static int run(const struct options *o, struct ms_err *err)
{
	ms_mapped_files_survive();
	if (o->serve.listen && !(isatty(STDIN_FILENO) && isatty(STDOUT_FILENO)))
		return app_serve(o, err);
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
		rc = -1;
	} else if (o.cli.asked) {
		rc = ms_cli_answer(&o.cli, &err);
	} else {
		rc = run(&o, &err);
	}
	options_free(&o);
	return rc < 0 ? ms_cli_failed("ms-top", &err) : rc;
}
