/* SPDX-License-Identifier: MIT
 * The command line of ms-diff.
 */
#include "options.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/point.h"
#include "libcommon/base/units.h"

#include <stdlib.h>
#include <string.h>

const char options_help[] =
	"usage: ms-diff [options] OLD NEW          two runs, or two points FILE@POINT\n"
	"       ms-diff [options] FILE             its first point against its last\n"
	"       ms-diff [options] --old FILE... --new FILE...\n"
	"\n"
	"Compares what two builds or two moments of a program allocate, call stack by call stack,\n"
	"and writes a snapshot of NEW with the differences in it. Inputs are traces, folders of\n"
	"traces or snapshots; '-' is standard input.\n"
	"\n"
	"      --old FILE            one of several runs of the old build; may be repeated\n"
	"      --new FILE            one of several runs of the new build; may be repeated\n"
	"      --allow-missing-old   no file OLD: everything is new, and status 0\n"
	"      --per allocations     compare what happened per allocation, or\n"
	"      --per mark:NAME       per mark of that name, where runs did not do the same work\n"
	"      --min-change SIZE     less than this is never significant (default 4k)\n"
	"      --exit-code           status 1 when live or peak bytes grew by more than noise\n"
	"  -o, --output FILE         write to FILE instead of standard output\n"
	"      --allow-partial       status 0 although an input is incomplete\n"
	"      --max-image SIZE      largest snapshot read from a pipe (default 4G)\n"
	"  -q, --quiet               no remarks on standard error\n"
	"  -h, --help                this text\n"
	"  -V, --version             version\n";

enum { OPT_OLD = 0x100, OPT_NEW, OPT_MISSING, OPT_PER, OPT_MIN_CHANGE, OPT_EXIT_CODE };

static const struct option longs[] = {
	{"old", required_argument, NULL, OPT_OLD},
	{"new", required_argument, NULL, OPT_NEW},
	{"allow-missing-old", no_argument, NULL, OPT_MISSING},
	{"per", required_argument, NULL, OPT_PER},
	{"min-change", required_argument, NULL, OPT_MIN_CHANGE},
	{"exit-code", no_argument, NULL, OPT_EXIT_CODE},
	{"output", required_argument, NULL, 'o'},
	MS_CLI_LONGS,
	{NULL, 0, NULL, 0},
};

static int take_per(struct options *o, const char *arg, struct ms_err *err)
{
	if (strcmp(arg, "allocations") != 0 && (strncmp(arg, "mark:", 5) != 0 || !arg[5]))
		return ms_err_set(err, "bad --per '%s': expected allocations or mark:NAME", arg);
	o->per = arg;
	return 0;
}

static int take(void *options, int c, char **argv, struct ms_err *err)
{
	struct options *o = options;
	uint64_t size;
	switch (c) {
	case OPT_OLD:
	case OPT_NEW:
		*MS_PUSH(&o->inputs[c == OPT_NEW]) = optarg;
		return optarg[0] ? 0
				 : ms_err_set(err, "option '--%s': empty file name",
					      ms_cli_name(longs, c));
	case OPT_MISSING:
		o->allow_missing_old = true;
		return 0;
	case OPT_PER:
		return take_per(o, optarg, err);
	case OPT_MIN_CHANGE:
		if (ms_parse_size(optarg, &size, err) != 0)
			return -1;
		o->min_change = size > INT64_MAX ? INT64_MAX : (int64_t)size;
		return 0;
	case OPT_EXIT_CODE:
		o->exit_code = true;
		return 0;
	case 'o':
		o->output = strcmp(optarg, "-") == 0 ? NULL : optarg;
		return optarg[0] ? 0 : ms_err_set(err, "option '-o': empty file name");
	default:
		return ms_cli_bad_option("ms-diff", c, argv, longs, err);
	}
}

/* Operands are the old and the new run, or what of these the options do not name. */
static int take_operands(struct options *o, char **v, int n, struct ms_err *err)
{
	bool has[2] = {o->inputs[OLD].n > 0, o->inputs[NEW].n > 0};
	int most = 2 - has[OLD] - has[NEW];
	if (n > most)
		return ms_err_set(err, "one input too many: '%s'%s", v[most],
				  most == 2 ? " (--old and --new take several)" : "");
	o->points = n == 1 && most == 2;
	for (int side = OLD, i = 0; side <= NEW; side++)
		if (!has[side] && n > 0)
			*MS_PUSH(&o->inputs[side]) = v[o->points ? 0 : i++];
	if (!o->inputs[OLD].n && !o->inputs[NEW].n)
		return ms_err_set(err, "nothing to compare: name the old and the new run "
				       "(ms-diff -h)");
	if (!o->inputs[OLD].n || !o->inputs[NEW].n)
		return ms_err_set(err, "no %s run is named", side_names[!!o->inputs[OLD].n]);
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
		return ms_err_set(err, "one input with a point is nothing to compare: name two, "
				       "such as FILE@peak FILE@end");
	if (o->points && (o->per || o->allow_missing_old))
		return ms_err_set(err, "option '--%s' needs two inputs",
				  o->per ? "per" : "allow-missing-old");
	return 0;
}

int options_parse(struct options *o, int argc, char **argv, struct ms_err *err)
{
	o->cli = (struct ms_cli)MS_CLI_START;
	o->min_change = 4096;
	if (ms_cli_read(&o->cli, argc, argv, ":o:" MS_CLI_SHORTS, longs, take, o, err) != 0)
		return -1;
	if (o->cli.help || o->cli.version)
		return 0;
	if (take_operands(o, argv + optind, argc - optind, err) != 0)
		return -1;
	return check(o, err);
}

void options_free(struct options *o)
{
	free(o->inputs[OLD].v);
	free(o->inputs[NEW].v);
}
