/* SPDX-License-Identifier: MIT
 * The command line of ms-snap, by one table of options.
 */
#include "options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/point.h"
#include "libcommon/base/units.h"

const char options_help[] =
	"usage: ms-snap [-o FILE] [--at POINT]... [options] TRACE|FOLDER|-...\n"
	"       ms-snap --symbols=embed TRACE...\n"
	"       ms-snap --maps|--smaps -p PID|--all [options]\n"
	"\n"
	"Replays traces and writes a snapshot: an SQLite database of sites, stacks and figures.\n"
	"\n"
	"  -o, --output FILE    write to FILE instead of standard output\n"
	"      --at POINT       keep the live blocks of this moment; may be given several times.\n"
	"                       peak, end, start, 1.5s, -10m, 14:30:05 (UTC), mark:NAME,\n"
	"                       mark:NAME#3, mark:NAME#last (default: peak and end)\n"
	"      --every DURATION a moment at each multiple: 10s, 5m (at most 10,000)\n"
	"      --from POINT     count only what happened from there on; live blocks stay true\n"
	"      --to POINT       and up to there; start and end are then those of the span\n"
	"      --read=auto|all|part\n"
	"                       part: begin at a checkpoint of the trace, not at its start; what\n"
	"                       only the whole history tells is then not known\n"
	"      --no-symbols     look up no symbols but those that the trace holds\n"
	"      --sysroot DIR    find programs and libraries under DIR\n"
	"      --debug-dir DIR  find debug information under DIR too\n"
	"      --debuginfod[=DURATION]\n"
	"                       ask the servers of DEBUGINFOD_URLS too, for so long (60s)\n"
	"      --anonymize      replace names and paths by numbered ones, for sharing\n"
	"      --symbols=embed  append the symbols to the trace itself; writes no snapshot\n"
	"      --maps           regions of running processes instead of a trace\n"
	"      --smaps          the same with what is resident, shared, private and swapped\n"
	"  -p, --pid PID        of this process\n"
	"      --all            of all processes; those that cannot be read are counted\n"
	"      --skip-kernel    leave out threads of the kernel\n"
	"      --every DURATION again and again\n"
	"      --count N        so many times (default: until SIGINT)\n"
	"      --proc-root DIR  read DIR instead of /proc\n"
	"      --max-image SIZE refuse to write more than SIZE (default 4G)\n"
	"      --allow-partial  status 0 although a trace is incomplete\n"
	"  -q, --quiet          no remarks on standard error\n"
	"  -h, --help           this text\n"
	"  -V, --version        version\n";

enum {
	OPT_AT = 0x100,
	OPT_NO_SYMBOLS,
	OPT_SYSROOT,
	OPT_DEBUG_DIR,
	OPT_SYMBOLS,
	OPT_EVERY,
	OPT_FROM,
	OPT_TO,
	OPT_READ,
	OPT_MAPS,
	OPT_SMAPS,
	OPT_ALL,
	OPT_SKIP_KERNEL,
	OPT_COUNT,
	OPT_PROC_ROOT,
	OPT_ANONYMIZE,
	OPT_DEBUGINFOD
};

static const struct option longs[] = {
	{"output", required_argument, NULL, 'o'},
	{"at", required_argument, NULL, OPT_AT},
	{"every", required_argument, NULL, OPT_EVERY},
	{"from", required_argument, NULL, OPT_FROM},
	{"to", required_argument, NULL, OPT_TO},
	{"read", required_argument, NULL, OPT_READ},
	{"no-symbols", no_argument, NULL, OPT_NO_SYMBOLS},
	{"sysroot", required_argument, NULL, OPT_SYSROOT},
	{"debug-dir", required_argument, NULL, OPT_DEBUG_DIR},
	{"symbols", required_argument, NULL, OPT_SYMBOLS},
	{"anonymize", no_argument, NULL, OPT_ANONYMIZE},
	{"debuginfod", optional_argument, NULL, OPT_DEBUGINFOD},
	{"maps", no_argument, NULL, OPT_MAPS},
	{"smaps", no_argument, NULL, OPT_SMAPS},
	{"pid", required_argument, NULL, 'p'},
	{"all", no_argument, NULL, OPT_ALL},
	{"skip-kernel", no_argument, NULL, OPT_SKIP_KERNEL},
	{"count", required_argument, NULL, OPT_COUNT},
	{"proc-root", required_argument, NULL, OPT_PROC_ROOT},
	MS_CLI_LONGS,
	{0},
};

static int add_point(struct options *o, const char *s, struct ms_err *err)
{
	struct ms_point p;
	if (ms_point_parse(s, &p, err) != 0)
		return -1;
	for (size_t i = 0; i < o->points.n; i++)
		if (strcmp(o->points.v[i], s) == 0)
			return 0;
	*MS_PUSH(&o->points) = s;
	return 0;
}

static int set_every(struct options *o, const char *s, struct ms_err *err)
{
	struct ms_err why = {0};
	if (ms_parse_duration(s, &o->every_ns, &why) != 0 || o->every_ns == 0)
		return ms_err_set(
			err, "option '--every': bad duration '%s': use 100ms, 10s, 5m or 2h", s);
	return 0;
}

static int set_debuginfod(struct options *o, const char *s, struct ms_err *err)
{
	struct ms_err why = {0};
	if (ms_parse_duration(s ? s : "60s", &o->debuginfod_ns, &why) != 0 || !o->debuginfod_ns)
		return ms_err_set(err, "option '--debuginfod': bad duration '%s': use 10s or 2m",
				  s);
	return 0;
}

static int set_limit(const char **limit, const char *s, struct ms_err *err)
{
	struct ms_point p;
	*limit = s;
	return ms_point_parse(s, &p, err);
}

static int set_read(struct options *o, const char *s, struct ms_err *err)
{
	static const char *const words[] = {"auto", "all", "part"};
	for (int i = 0; i < 3; i++)
		if (strcmp(s, words[i]) == 0) {
			o->read = (enum ms_read)i;
			return 0;
		}
	return ms_err_set(err, "option '--read': '%s' is not auto, all or part", s);
}

static int take_regions(struct regions_options *r, int c, char **argv, struct ms_err *err)
{
	switch (c) {
	case 'p':
		r->pid_text = optarg;
		return 0;
	case OPT_MAPS:
		r->maps = true;
		return 0;
	case OPT_SMAPS:
		r->smaps = true;
		return 0;
	case OPT_ALL:
		r->all = true;
		return 0;
	case OPT_SKIP_KERNEL:
		r->skip_kernel = true;
		return 0;
	case OPT_COUNT:
		return ms_parse_count(optarg, "--count", 1, 1000000, &r->count, err);
	case OPT_PROC_ROOT:
		r->proc_root = optarg;
		return *optarg ? 0 : ms_err_set(err, "option '--proc-root': empty folder name");
	default:
		return ms_cli_bad_option("ms-snap", c, argv, longs, err);
	}
}

static int take(void *options, int c, char **argv, struct ms_err *err)
{
	struct options *o = options;
	switch (c) {
	case 'o':
		o->output = strcmp(optarg, "-") == 0 ? NULL : optarg;
		return optarg[0] ? 0 : ms_err_set(err, "option '-o': empty file name");
	case OPT_AT:
		return add_point(o, optarg, err);
	case OPT_EVERY:
		return set_every(o, optarg, err);
	case OPT_FROM:
		return set_limit(&o->from, optarg, err);
	case OPT_TO:
		return set_limit(&o->to, optarg, err);
	case OPT_READ:
		return set_read(o, optarg, err);
	case OPT_NO_SYMBOLS:
		o->no_symbols = true;
		return 0;
	case OPT_DEBUGINFOD:
		return set_debuginfod(o, optarg, err);
	case OPT_ANONYMIZE:
		o->anonymize = true;
		return 0;
	case OPT_SYSROOT:
		o->sysroot = optarg;
		return 0;
	case OPT_DEBUG_DIR:
		*MS_PUSH(&o->debug_dirs) = optarg;
		return 0;
	case OPT_SYMBOLS:
		o->embed = strcmp(optarg, "embed") == 0;
		return o->embed
			       ? 0
			       : ms_err_set(err, "option '--symbols': '%s' is not 'embed'", optarg);
	default:
		return take_regions(&o->regions, c, argv, err);
	}
}

/* FILE@POINT is FILE with --at POINT. */
static int add_input(struct options *o, char *path, struct ms_arena *a, struct ms_err *err)
{
	const char *point;
	*MS_PUSH(&o->inputs) = ms_cli_operand(a, path, &point);
	return point ? add_point(o, point, err) : 0;
}

static int check(const struct options *o, struct ms_err *err)
{
	for (size_t i = 0; i < o->inputs.n && o->embed; i++)
		if (strcmp(o->inputs.v[i], "-") == 0)
			return ms_err_set(err, "--symbols=embed needs files: they are appended to");
	if (o->embed && (o->output || o->points.n || o->no_symbols || o->every_ns || o->from ||
			 o->to || o->read != MS_READ_AUTO || o->anonymize))
		return ms_err_set(err, "--symbols=embed writes no snapshot: "
				       "-o, --at, --no-symbols and --anonymize do not go with it");
	for (size_t i = 0; i < o->inputs.n; i++)
		if (strcmp(o->inputs.v[i], "-") == 0 && isatty(STDIN_FILENO))
			return ms_err_set(err, "standard input is a terminal: name a trace");
	return 0;
}

/* Regions are not of a trace. */
static int check_regions(const struct options *o, int operands, struct ms_err *err)
{
	if (operands || o->points.n || o->from || o->to || o->embed || o->no_symbols ||
	    o->debuginfod_ns || o->sysroot || o->debug_dirs.n || o->read != MS_READ_AUTO)
		return ms_err_set(err, "--maps and --smaps read running processes: a trace, and "
				       "options about one, do not go with them");
	return 0;
}

int options_parse(struct options *o, int argc, char **argv, struct ms_arena *a, struct ms_err *err)
{
	o->cli = (struct ms_cli)MS_CLI_START;
	if (ms_cli_read(&o->cli, argc, argv, ":o:p:" MS_CLI_SHORTS, longs, take, o, err) != 0)
		return -1;
	if (o->cli.help || o->cli.version)
		return 0;
	if (regions_check(&o->regions, o->every_ns, err) != 0)
		return -1;
	if (o->regions.maps || o->regions.smaps)
		return check_regions(o, argc - optind, err);
	for (int i = optind; i < argc; i++)
		if (add_input(o, argv[i], a, err) != 0)
			return -1;
	if (o->inputs.n == 0 && !isatty(STDIN_FILENO))
		*MS_PUSH(&o->inputs) = "-";
	if (o->inputs.n == 0)
		return ms_err_set(err, "no trace given (ms-snap -h shows the usage)");
	if (o->debug_dirs.n)
		*MS_PUSH(&o->debug_dirs) = NULL;
	return check(o, err);
}

void options_free(struct options *o)
{
	free(o->inputs.v);
	free(o->points.v);
	free(o->debug_dirs.v);
}
