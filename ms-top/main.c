/* SPDX-License-Identifier: MIT
 * ms-top: the memory of processes as it changes.
 *
 * In the order in which data meets them:
 *
 *   app/    options.c the command line; app.c the loop: read, draw, wait for a key; plain frames;
 *           app_*.c actions of keys; state.c saves settings for the next start
 *   proc/   system.c all processes, from /proc; process.c one process, with its regions; source.c
 *           chooses the file of /proc for the figures; history.c a figure over time, and its trend;
 *           chosen.c figures of the selected process only; limits.c when growth reaches a limit;
 *           maps.c a process's mappings, which tell whether it is being recorded
 *   trace/  trace.c a growing trace: reads and sums it up; past.c its state at an earlier moment;
 *           trace_*.c its sorted rows, its call tree, names of call stacks, one site, what keeps
 *           blocks alive; record.c runs ms-record for a chosen process, or to ask a recorder;
 *           save.c snapshots
 *   rows/   rows.c chooses and orders the visible processes: filter, groups, tree; columns.c their
 *           columns; list.c the selection, which stays with its row
 *   json/   frames as JSON
 *   serve/  a trace over HTTP: profiles, metrics, the report
 *   view/   frames, drawn into a grid of cells (cells/grid.c; figures in few columns: words.c)
 *   term/   term.c the terminal; input.c decodes its bytes to keys; keys.c the table of keys
 */
#include <locale.h>
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
