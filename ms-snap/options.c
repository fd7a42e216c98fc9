/* SPDX-License-Identifier: MIT
 * Parses the command line of ms-snap, with one table of options.
 */
#include "options.h"

#include <string.h>
#include <unistd.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/point.h"

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

static int take_at(const struct ms_cli_arg *arg, struct ms_err *err)
{
	return add_point(arg->to, arg->text, err);
}

static const struct ms_cli_option rows[] = {
	{.help = "What is written"},
	{"output", 'o', "FILE", ms_cli_output, MS_AT(output), 1,
	 "write to FILE instead of standard output"},
	{"at", 0, "POINT", take_at, MS_WHOLE(0), 2,
	 "keep the live blocks of this moment; may be repeated: peak, end, start, 1.5s, "
	 "-10m, 14:30:05 (UTC), mark:NAME, mark:NAME#3, mark:NAME#last, scan:2 (default: peak and "
	 "end)"},
	{"every", 0, "DURATION", ms_cli_duration, MS_RANGE(every_ns, "", NULL), 3,
	 "also keep a moment every DURATION; 10s, 5m (at most 10,000); with --maps and --smaps: "
	 "sample "
	 "repeatedly, one line of JSON each time unless -o is given"},
	{"every=count", 0, "N", ms_cli_count, MS_RANGE(regions.count, "1", "1000000"), 0,
	 "with --maps or --smaps: stop after N samples (default: on SIGINT); without a DURATION, "
	 "one sample a second"},
	{"from", 0, "POINT", ms_cli_point, MS_AT(from), 4,
	 "count only what happened from there on; blocks from before still count as live"},
	{"to", 0, "POINT", ms_cli_point, MS_AT(to), 5,
	 "count only up to there; start and end are then those of the span"},
	{"read", 0, "auto|all|part", ms_cli_choice, MS_AT(read), 0,
	 "part: begin at a checkpoint of the trace, not at its start; figures that need the whole "
	 "history are then n/a"},
	{"anonymize", 0, NULL, ms_cli_flag, MS_AT(anonymize), 8,
	 "replace names and paths with numbered ones; for sharing"},
	{.help = "Collecting figures of many runs"},
	{"dataset", 0, "FOLDER", ms_cli_name, MS_AT(dataset), 0,
	 "append the figures of this run to FOLDER; a snapshot is then only written with -o FILE"},
	{"key", 0, "NAME=VALUE", ms_dataset_key_take, MS_AT(keys), 0,
	 "what distinguishes this run there, such as commit=1a2b3c4 and test=parser; may be "
	 "repeated; time=SECONDS since 1970 sets its date"},
	{.help = "Symbols"},
	{"symbols", 0, "WHAT", NULL, MS_WHOLE(0), 0,
	 "where to look for symbols, and where to store them"},
	{"symbols=debug-dir", 0, "FOLDER", ms_cli_add, MS_AT(debug_dirs), 7,
	 "also look for debug information under FOLDER"},
	{"symbols=sysroot", 0, "FOLDER", ms_cli_text, MS_AT(sysroot), 0,
	 "look for programs and libraries under FOLDER"},
	{"symbols=debuginfod", 0, "[DURATION]60s", ms_cli_duration,
	 MS_RANGE(debuginfod_ns, "", NULL), 0,
	 "also ask the servers in DEBUGINFOD_URLS, for at most this long (default 60s)"},
	{"symbols=embed", 0, NULL, ms_cli_flag, MS_AT(embed), 6,
	 "append the symbols to the trace itself; writes no snapshot"},
	{"symbols=held", 0, "FILE", ms_cli_name, MS_AT(held), 0,
	 "with embed; by FILE ms-record passes open files of modules: lines of three numbers, "
	 "'TRACE MODULE DESCRIPTOR'; see ms-snap(1)"},
	{"without", 0, "WHAT", NULL, MS_WHOLE(0), 0, "leave out"},
	{"without=symbols", 0, NULL, ms_cli_flag, MS_AT(no_symbols), 0,
	 "the search for symbols that the trace does not hold"},
	{"without=cache", 0, NULL, ms_cli_flag, MS_AT(no_cache), 0,
	 "the symbol cache: neither read nor write ~/.cache/memscope"},
	{"without=kernel", 0, NULL, ms_cli_flag, MS_AT(regions.skip_kernel), 0,
	 "kernel threads, with -p all"},
	{"wrapper", 0, "REGEX", ms_wrapper_take, MS_AT(wrappers), 0,
	 "functions that match are wrappers of malloc: sites are named after their callers; may be "
	 "repeated"},
	{.help = "A core dump instead of a trace"},
	{"core", 0, "CORE", ms_cli_name, MS_AT(core), 0,
	 "what was live in a core dump, what leaked, what keeps the rest; EXE behind it: where the "
	 "program's file is now"},
	{"trace", 0, "FILE", ms_cli_name, MS_AT(core_trace), 0,
	 "trace of the same run, recorded with --with=addresses: it has the call stacks"},
	{.help = "Running processes instead of a trace"},
	{"maps", 0, NULL, ms_cli_flag, MS_AT(regions.maps), 9,
	 "memory regions of processes instead of a trace"},
	{"smaps", 0, NULL, ms_cli_flag, MS_AT(regions.smaps), 10,
	 "the same with what is resident; shared, private and swapped"},
	{"pid", 'p', "PID[,PID...]", ms_cli_add, MS_AT(regions.pid_texts), 11,
	 "these processes; same as PID without -p"},
	{"pid=all", 0, NULL, ms_cli_flag, MS_AT(regions.all), 12,
	 "all processes; those that cannot be read are counted"},
	{"proc-root", 0, "FOLDER", ms_cli_name, MS_AT(regions.proc_root), 0,
	 "read FOLDER instead of /proc"},
	{.help = "General"},
	{0},
};

static const struct ms_cli_old olds[] = {
	{"no-symbols", "without=symbols", NULL},  {"no-cache", "without=cache", NULL},
	{"skip-kernel", "without=kernel", NULL},  {"sysroot", "symbols=sysroot", NULL},
	{"debug-dir", "symbols=debug-dir", NULL}, {"debuginfod", "symbols=debuginfod", NULL},
	{"held", "symbols=held", NULL},           {"all", "pid=all", NULL},
	{"count", "every=count", NULL},           {0},
};

static const struct ms_cli_tool tool = {
	"ms-snap",
	"ms-snap [-o FILE] [--at POINT]... [options] TRACE|FOLDER|-...\n"
	"       ms-snap --core CORE [--trace FILE] [EXE] | --symbols=embed TRACE...\n"
	"       ms-snap --maps|--smaps [options] PID...|-p all\n",
	"Replays traces and writes a snapshot, an SQLite database of sites and stacks.",
	"  ms-snap -o run.db run.trace\n"
	"  ms-snap --every 1s run.trace | ms-report --timeline\n"
	"  ms-snap --smaps -p $(pgrep -nx app) | ms-report --regions\n",
	rows,
	olds,
	.reads = true};

/* Adds an input. FILE@POINT means FILE with --at POINT. */
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
	if (o->embed &&
	    (o->wrappers.n || o->output || o->points.n || o->no_symbols || o->every_ns || o->from ||
	     o->to || o->read != MS_READ_AUTO || o->anonymize || o->dataset))
		return ms_err_set(
			err, "--symbols=embed writes no snapshot: "
			     "-o, --at, --without=symbols, --wrapper, --anonymize and --dataset "
			     "do not go with it");
	if (o->held && !o->embed)
		return ms_err_set(err, "--symbols=held needs --symbols=embed");
	if (o->no_symbols && (o->sysroot || o->debug_dirs.n || o->debuginfod_ns))
		return ms_err_set(err,
				  "--without=symbols cannot be combined with sysroot, debug-dir "
				  "or debuginfod of --symbols: it looks for no symbols");
	for (size_t i = 0; i < o->inputs.n; i++)
		if (strcmp(o->inputs.v[i], "-") == 0 && isatty(STDIN_FILENO))
			return ms_err_set(err, "standard input is a terminal: name a trace");
	return 0;
}

/* Checks the options of --dataset. Every run of a dataset has the same moments, for comparison. */
static int check_dataset(struct options *o, struct ms_err *err)
{
	if (!o->dataset)
		return o->keys.n ? ms_err_set(err,
					      "--key needs --dataset FOLDER: it names a run there")
				 : 0;
	if (o->anonymize)
		return ms_err_set(err, "--anonymize cannot be combined with --dataset: it removes "
				       "the keys of call stacks, which a dataset needs");
	return add_point(o, "peak", err) || add_point(o, "end", err) ||
			       ms_dataset_check(o->dataset, &o->keys, err)
		       ? -1
		       : 0;
}

/* Checks the options of --core. The program is the only operand. */
static int check_core(struct options *o, struct ms_err *err)
{
	const char *other = ms_cli_other(&o->cli, "core trace output without=symbols without=cache "
						  "symbols=sysroot symbols=debug-dir "
						  "symbols=debuginfod wrapper anonymize dataset "
						  "key allow=image allow=partial quiet");
	if (other)
		return ms_err_set(err,
				  "--%s cannot be combined with --core: a core dump is one moment",
				  other);
	if (o->inputs.n > 1)
		return ms_err_set(err, "--core takes one program, not also '%s'", o->inputs.v[1]);
	o->core_exe = o->inputs.n ? o->inputs.v[0] : NULL;
	o->inputs.n = 0;
	return check(o, err) || check_dataset(o, err) ? -1 : 0;
}

/* Checks that options about traces are not given with --maps and --smaps. */
static int check_regions(const struct options *o, struct ms_err *err)
{
	if (o->points.n || o->from || o->to || o->embed || o->no_symbols || o->wrappers.n ||
	    o->debuginfod_ns || o->no_cache || o->sysroot || o->debug_dirs.n ||
	    o->read != MS_READ_AUTO || o->dataset)
		return ms_err_set(err, "--maps and --smaps read running processes: they take no "
				       "trace and no options for traces");
	if (o->regions.lines && (o->anonymize || ms_cli_given(&o->cli, "allow=image")))
		return ms_err_set(err,
				  "--%s needs -o FILE: it is for snapshots, and without -o "
				  "lines are written",
				  o->anonymize ? "anonymize" : "allow=image");
	return 0;
}

/* Takes the operands: processes with --maps and --smaps, else traces. */
static int take_operands(struct options *o, char **v, struct ms_arena *a, struct ms_err *err)
{
	for (; *v; v++) {
		if (!o->regions.maps && !o->regions.smaps) {
			if (add_input(o, *v, a, err) != 0)
				return -1;
			continue;
		}
		if ((*v)[strspn(*v, "0123456789,")])
			return ms_err_set(
				err, "--maps and --smaps read running processes: '%s' is no PID",
				*v);
		*MS_PUSH(&o->regions.pid_texts) = *v;
	}
	return 0;
}

int options_parse(struct options *o, int argc, char **argv, struct ms_arena *a, struct ms_err *err)
{
	if (ms_cli_read(&tool, o, &o->cli, argc, argv, err) != 0)
		return -1;
	if (o->cli.asked)
		return 0;
	if (take_operands(o, argv + optind, a, err) != 0 ||
	    regions_check(&o->regions, o->every_ns, ms_cli_given(&o->cli, "output"), err) != 0)
		return -1;
	if (o->regions.maps || o->regions.smaps)
		return check_regions(o, err);
	if (o->debug_dirs.n)
		*MS_PUSH(&o->debug_dirs) = NULL;
	if (o->core)
		return check_core(o, err);
	if (o->core_trace)
		return ms_err_set(err, "--trace needs --core");
	if (o->inputs.n == 0 && !isatty(STDIN_FILENO))
		*MS_PUSH(&o->inputs) = "-";
	if (o->inputs.n == 0)
		return ms_err_set(err, "no trace given (ms-snap -h shows the usage)");
	return check(o, err) || check_dataset(o, err) ? -1 : 0;
}

void options_free(struct options *o)
{
	MS_FREE(o->inputs.v, o->points.v, o->debug_dirs.v, o->regions.pid_texts.v,
		o->regions.pids.v, o->keys.v);
	ms_wrappers_free(&o->wrappers);
}
