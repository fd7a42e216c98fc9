/* SPDX-License-Identifier: MIT
 * The command line of ms-diff.
 */
#include "options.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/point.h"

#include <stdlib.h>
#include <string.h>

static int take_per(const struct ms_cli_arg *arg, struct ms_err *err)
{
	const char *s = arg->text;
	if (strcmp(s, "allocations") != 0 && (strncmp(s, "mark:", 5) != 0 || !s[5]))
		return ms_err_set(err, "bad --per '%s': expected allocations or mark:NAME", s);
	return ms_cli_text(arg, err);
}

static const struct ms_cli_option rows[] = {
	{.help = "What is compared"},
	{"old", 0, "FILE", ms_cli_add, MS_AT(inputs[OLD]), 1,
	 "one of several runs of the old build; may be repeated"},
	{"new", 0, "FILE", ms_cli_add, MS_AT(inputs[NEW]), 2,
	 "one of several runs of the new build; may be repeated"},
	{"history", 0, "FOLDER", ms_cli_name, MS_AT(history), 0,
	 "compare with the latest runs of a dataset; see ms-snap --dataset"},
	{"history=last", 0, "N", ms_cli_count, MS_RANGE(last, "1", "1000"), 0,
	 "number of runs to compare with (default 10)"},
	{"key", 0, "NAME=VALUE", ms_dataset_key_take, MS_AT(keys), 0,
	 "with --history: only runs with that key; may be repeated"},
	{"allow=missing-old", 0, NULL, ms_cli_flag, MS_AT(allow_missing_old), 7,
	 "a missing OLD is no error; nor is a history without a run of these keys: everything "
	 "counts "
	 "as new, status 0"},
	{"per", 0, "allocations|mark:NAME", take_per, MS_AT(per), 3,
	 "compare figures per unit of work; for runs that did different amounts of it: per "
	 "allocation, or per mark of that name"},
	{"min-change", 0, "SIZE", ms_cli_size, MS_AT(min_change), 4,
	 "smaller changes are never significant (default 4k)"},
	{"wrapper", 0, "REGEX", ms_wrapper_take, MS_AT(wrappers), 0,
	 "functions that match are wrappers of malloc: sites are named after their callers; may be "
	 "repeated"},
	{.help = "What is written"},
	{"output", 'o', "FILE", ms_cli_output, MS_AT(output), 6,
	 "write to FILE instead of standard output"},
	{"exit-code", 0, NULL, ms_cli_flag, MS_AT(exit_code), 5,
	 "exit with status 1 if bytes grew beyond noise; checks live, peak and allocated bytes"},
	{.help = "General"},
	{0},
};

static const struct ms_cli_old olds[] = {
	{"last", "history=last", NULL},
	{"allow-missing-old", "allow=missing-old", NULL},
	{0},
};

static const struct ms_cli_tool tool = {
	"ms-diff",
	"ms-diff [options] OLD NEW          two runs, or two points FILE@POINT\n"
	"       ms-diff [options] FILE             its first point against its last\n"
	"       ms-diff [options] --old FILE... --new FILE...\n"
	"       ms-diff [options] --history FOLDER [--key NAME=VALUE]... NEW\n",
	"Compares what two builds or two moments of a program allocate, call stack by call stack, "
	"and writes a snapshot of NEW with the differences in it. Inputs are traces, folders of "
	"traces or snapshots; '-' is standard input.",
	"  ms-diff old.trace new.trace | ms-report\n"
	"  ms-diff --exit-code -o changes.db old.trace new.trace\n"
	"  ms-diff run.trace@peak run.trace@end | ms-report\n",
	rows,
	olds,
	.reads = true};

/* Assigns the operands to the old and the new run, except a side given by options. */
static int take_operands(struct options *o, char **v, int n, struct ms_err *err)
{
	bool has[2] = {o->inputs[OLD].n > 0 || o->history, o->inputs[NEW].n > 0};
	int most = 2 - has[OLD] - has[NEW];
	if (n > most)
		return ms_err_set(err, "one input too many: '%s'%s", v[most],
				  most == 2 ? " (--old and --new take several)" : "");
	o->points = n == 1 && most == 2;
	for (int side = OLD, i = 0; side <= NEW; side++)
		if (!has[side] && n > 0)
			*MS_PUSH(&o->inputs[side]) = v[o->points ? 0 : i++];
	if (!o->inputs[OLD].n && !o->inputs[NEW].n && !o->history)
		return ms_err_set(err, "nothing to compare: name the old and the new run "
				       "(ms-diff -h)");
	if ((!o->inputs[OLD].n && !o->history) || !o->inputs[NEW].n)
		return ms_err_set(err, "no %s run is given",
				  side_names[o->inputs[OLD].n || o->history]);
	return 0;
}

static int check_history(const struct options *o, struct ms_err *err)
{
	if (!o->history)
		return o->keys.n || ms_cli_given(&o->cli, "history=last")
			       ? ms_err_set(err,
					    "--key and --history=last choose runs of a dataset: "
					    "they need --history FOLDER")
			       : 0;
	if (o->inputs[OLD].n)
		return ms_err_set(err,
				  "--old and --history: choose one, as both name the old runs");
	if (ms_dataset_key(&o->keys, "time"))
		return ms_err_set(err, "--key time cannot select runs: --history=FOLDER,last:N "
				       "takes the latest");
	for (size_t i = 0; i < o->inputs[NEW].n; i++)
		if (ms_point_split(o->inputs[NEW].v[i]))
			return ms_err_set(err, "--history compares whole runs: '%s' names a point",
					  o->inputs[NEW].v[i]);
	return 0;
}

static bool is_standard_input(const char *input)
{
	const char *at = ms_point_split(input);
	return input[0] == '-' && (input[1] == 0 || at == input + 1);
}

static int check(const struct options *o, struct ms_err *err)
{
	int standard = 0;
	for (int side = OLD; side <= NEW; side++)
		for (size_t i = 0; i < o->inputs[side].n; i++)
			standard += is_standard_input(o->inputs[side].v[i]);
	if (standard > 1 && !o->points)
		return ms_err_set(err, "standard input can be read only once");
	if (o->points && ms_point_split(o->inputs[OLD].v[0]))
		return ms_err_set(err,
				  "'%s' is a single point: name two to compare, such as "
				  "FILE@peak FILE@end",
				  o->inputs[OLD].v[0]);
	if (o->points && (o->per || o->allow_missing_old))
		return ms_err_set(err, "option '--%s' needs two inputs",
				  o->per ? "per" : "allow=missing-old");
	return 0;
}

int options_parse(struct options *o, int argc, char **argv, struct ms_err *err)
{
	o->min_change = 4096;
	o->last = 10;
	if (ms_cli_read(&tool, o, &o->cli, argc, argv, err) != 0)
		return -1;
	if (o->min_change < 0) /* a number above INT64_MAX was given */
		o->min_change = INT64_MAX;
	if (o->cli.asked)
		return 0;
	if (take_operands(o, argv + optind, argc - optind, err) != 0)
		return -1;
	return check(o, err) || check_history(o, err) ? -1 : 0;
}

void options_free(struct options *o)
{
	ms_wrappers_free(&o->wrappers);
	MS_FREE(o->inputs[OLD].v, o->inputs[NEW].v, o->keys.v);
}
