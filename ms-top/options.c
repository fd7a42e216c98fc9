/* SPDX-License-Identifier: MIT
 * The command line of ms-top.
 */
#include "options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "trace.h"
#include "libcommon/base/err.h"
#include "libcommon/base/units.h"

const char options_help[] =
	"usage: ms-top [options]              all processes\n"
	"       ms-top [options] -p PID       one process\n"
	"       ms-top [options] TRACE        what ms-record writes, or wrote\n"
	"\n"
	"Shows the memory of processes as it changes: resident, proportional, private, swapped,\n"
	"and how it grows; of a trace, which call stacks hold it. ? shows the keys.\n"
	"\n"
	"  -p, --pid PID         one process: its figures, history and regions\n"
	"  -d, --delay DURATION  time between looks (default 1s, at least 100ms)\n"
	"  -b, --batch           print plain frames; needs no terminal\n"
	"      --json            print an object a frame instead, one a line\n"
	"  -n, --frames N        end after so many frames\n"
	"      --columns LIST    columns by their titles: pid,rss,command\n"
	"      --sort COLUMN     sort by this column (default RSS; of a trace LIVE); -COLUMN\n"
	"                        reverses\n"
	"      --filter TEXT     only processes, or sites, that match: text or regular expression\n"
	"      --kernel          kernel threads too\n"
	"      --proc-root DIR   read this instead of /proc\n"
	"  -h, --help            this text\n"
	"  -V, --version         version\n";

enum { OPT_COLUMNS = 0x100, OPT_SORT, OPT_FILTER, OPT_JSON, OPT_KERNEL, OPT_ROOT };

static const struct option longs[] = {
	{"pid", required_argument, NULL, 'p'},
	{"delay", required_argument, NULL, 'd'},
	{"batch", no_argument, NULL, 'b'},
	{"frames", required_argument, NULL, 'n'},
	{"columns", required_argument, NULL, OPT_COLUMNS},
	{"sort", required_argument, NULL, OPT_SORT},
	{"filter", required_argument, NULL, OPT_FILTER},
	{"json", no_argument, NULL, OPT_JSON},
	{"kernel", no_argument, NULL, OPT_KERNEL},
	{"proc-root", required_argument, NULL, OPT_ROOT},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{NULL, 0, NULL, 0},
};

static int take_delay(struct options *o, const char *arg, struct ms_err *err)
{
	if (ms_parse_duration(arg, &o->delay_ns, err) != 0)
		return -1;
	if (o->delay_ns < 100000000)
		return ms_err_set(err, "bad --delay '%s': at least 100ms", arg);
	return 0;
}

/* Columns of processes, or of the sites of a trace. */
static int take_sort(struct options *o, struct ms_err *err)
{
	o->reverse = o->sort_text[0] == '-';
	const char *name = o->sort_text + o->reverse;
	int id = o->trace ? site_column_find(name, err) : column_find(name, strlen(name), err);
	if (id < 0)
		return -1;
	if (o->trace)
		o->site_sort = id;
	else
		o->sort = (enum column_id)id;
	return 0;
}

/* No option is accepted that would do nothing. */
static int check(struct options *o, struct ms_err *err)
{
	if (o->trace && o->pid)
		return ms_err_set(err, "-p and '%s': one of them", o->trace);
	if (o->trace && strcmp(o->root, "/proc") != 0)
		return ms_err_set(err, "--proc-root and '%s': one of them", o->trace);
	if ((o->trace || o->pid) && o->of_list)
		return ms_err_set(err, "'%s' is for the list of processes", o->of_list);
	if (o->pid && (o->filter[0] || o->sort_text))
		return ms_err_set(err, "'%s' is for lists of processes and traces",
				  o->filter[0] ? "--filter" : "--sort");
	return o->sort_text ? take_sort(o, err) : 0;
}

static int take(void *options, int c, char **argv, struct ms_err *err)
{
	struct options *o = options;
	uint64_t n;
	switch (c) {
	case 'p':
		if (ms_parse_count(optarg, "--pid", 1, 1 << 30, &n, err) != 0)
			return -1;
		o->pid = (pid_t)n;
		return 0;
	case 'd':
		return take_delay(o, optarg, err);
	case 'b':
		o->batch = true;
		return 0;
	case 'n':
		return ms_parse_count(optarg, "--frames", 1, UINT32_MAX, &o->frames, err);
	case OPT_COLUMNS:
		o->of_list = "--columns";
		return columns_parse(optarg, &o->columns, err);
	case OPT_SORT:
		o->sort_text = optarg;
		return 0;
	case OPT_FILTER:
		o->filter = optarg;
		if (strlen(optarg) >= PATTERN_ROOM)
			return ms_err_set(err, "bad --filter '%.20s...': at most %d bytes", optarg,
					  PATTERN_ROOM - 1);
		return 0;
	case OPT_JSON:
		o->batch = o->json = true;
		return 0;
	case OPT_KERNEL:
		o->of_list = "--kernel";
		o->kernel = true;
		return 0;
	case OPT_ROOT:
		o->root = optarg;
		return 0;
	default:
		return ms_cli_bad_option("ms-top", c, argv, longs, err);
	}
}

int options_parse(struct options *o, int argc, char **argv, struct ms_err *err)
{
	*o = (struct options){.cli = MS_CLI_START,
			      .delay_ns = 1000000000,
			      .root = "/proc",
			      .filter = "",
			      .columns = columns_default,
			      .sort = COLUMN_RSS,
			      .site_sort = SITE_LIVE};
	if (ms_cli_read(&o->cli, argc, argv, ":p:d:bn:hV", longs, take, o, err) != 0)
		return -1;
	if (o->cli.help || o->cli.version)
		return 0;
	if (optind < argc)
		o->trace = argv[optind++];
	if (optind < argc)
		return ms_err_set(err, "one argument too many: '%s'", argv[optind]);
	return check(o, err);
}
