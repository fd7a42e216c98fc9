/* SPDX-License-Identifier: MIT
 * The command line of ms-record.
 */
#include "ms-record/session/options.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "format/trace.h"
#include "libcommon/base/cli.h"
#include "libcommon/base/err.h"
#include "libcommon/base/units.h"
#include "ms-record/control/multi_attach.h"
#include "options_values.h"
#include "ms-record/control/standby.h"
#include "ms-record/control/tell.h"

const char options_help[] =
	"usage: ms-record [-o FILE] [options] [--] COMMAND [ARG...]\n"
	"       ms-record [-o FILE] [options] -p PID[,PID...]\n"
	"Record every allocation of COMMAND, or of a process that runs already, with its call "
	"stack,\n"
	"into a trace.\n"
	"\n"
	"  -o, --output FILE      trace to write (default EXE.PID.trace; %p pid, %e executable,\n"
	"                         %t start time; fd:N an open descriptor)\n"
	"  -p, --pid PID[,PID...]  attach to these processes until they end, a signal comes or -d "
	"is over\n"
	"  -d, --duration DUR     stop recording after DUR; COMMAND goes on\n"
	"      --max-size SIZE    stop recording when the traces together reach SIZE\n"
	"      --keep=live        go on then without the blocks that were freed already\n"
	"      --keep=last:DUR    keep the events of the last DUR, and what was live before\n"
	"      --start-after WHEN do not record before: DUR after the start, or mark:NAME\n"
	"  -i, --interval DUR     time between samples of /proc (default 100ms)\n"
	"  -s, --sample BYTES     record one allocation in BYTES on average (0 = every one, "
	"default)\n"
	"  -z, --level N          compression level of zstd, 1 to 19 (default 3)\n"
	"      --depth N          longest stack kept whole (default 512); the middle of deeper "
	"ones is cut\n"
	"      --follow=WHAT      further processes: all (trivial ones too), fork (children that "
	"run no\n"
	"                         other program), exec (programs that are run), none, or names: "
	"'cc1*,ld'\n"
	"      --env NAME=VALUE   set a variable for COMMAND; may be repeated\n"
	"      --overflow=WHAT    a thread whose buffer is full: wait[:DUR] (default wait:2s), "
	"drop\n"
	"      --buffer SIZE      most shared memory for buffers (default 64M)\n"
	"      --seed N           where samples fall (default 0 = differently each time)\n"
	"      --mmap             record mmap, munmap, mremap, brk and sbrk too, apart from the "
	"heap\n"
	"      --usable-size      record how many bytes each block really has\n"
	"      --free-stacks      record the call stacks of frees too\n"
	"      --leak-check=WHAT  look for pointers to the live blocks when COMMAND ends: "
	"auto[:DUR] "
	"if that\n"
	"                         takes under DUR (default auto:2s), yes[:DUR], no\n"
	"      --leak-check-at WHEN  look when the mark comes, too: mark:NAME\n"
	"      --no-symbols       do not append symbols at the end\n"
	"      --no-args          leave command line and environment out of the trace\n"
	"      --addresses, --no-addresses  keep the addresses of blocks in the trace, or not "
	"(default)\n"
	"      --standby          run COMMAND so that ms-record -p can record it later, without "
	"tracing\n"
	"      --doctor           say what would work here, for -p PID or COMMAND, and what not "
	"and "
	"why\n"
	"      --hook SPEC        record a custom allocator's function too: 'f(_, size) -> ptr', "
	"'g(ptr)'\n"
	"      --tell FILE VERB   speak to the ms-record that writes FILE: mark:NAME, flush, "
	"leak-check,\n"
	"                         pause, resume, stop, status\n"
	"      --verify           compare every call stack with an independent walk\n"
	"  -q, --quiet            say nothing\n"
	"  -v, --verbose          say more at the end\n"
	"  -h, --help             show this\n"
	"  -V, --version          show the version\n"
	"\n"
	"Sizes take k, M, G; durations ms, s, m, h. Manual: ms-record(1)\n";

enum {
	OPT_DEPTH = 256,
	OPT_FOLLOW,
	OPT_ENV,
	OPT_OVERFLOW,
	OPT_BUFFER,
	OPT_NO_SYMBOLS,
	OPT_NO_ARGS,
	OPT_ADDRESSES,
	OPT_NO_ADDRESSES, /* of releases in which they were there unless it was given */
	OPT_VERIFY,
	OPT_SEED,
	OPT_MMAP,
	OPT_USABLE_SIZE,
	OPT_FREE_STACKS,
	OPT_START_AFTER,
	OPT_MAX_SIZE,
	OPT_KEEP,
	OPT_LEAK_CHECK,
	OPT_LEAK_CHECK_AT,
	OPT_TELL,
	OPT_STANDBY,
	OPT_DOCTOR,
	OPT_HOOK
};

static const struct option longs[] = {
	{"output", required_argument, NULL, 'o'},
	{"duration", required_argument, NULL, 'd'},
	{"interval", required_argument, NULL, 'i'},
	{"sample", required_argument, NULL, 's'},
	{"seed", required_argument, NULL, OPT_SEED},
	{"level", required_argument, NULL, 'z'},
	{"quiet", no_argument, NULL, 'q'},
	{"verbose", no_argument, NULL, 'v'},
	{"help", no_argument, NULL, 'h'},
	{"version", no_argument, NULL, 'V'},
	{"depth", required_argument, NULL, OPT_DEPTH},
	{"follow", required_argument, NULL, OPT_FOLLOW},
	{"env", required_argument, NULL, OPT_ENV},
	{"overflow", required_argument, NULL, OPT_OVERFLOW},
	{"buffer", required_argument, NULL, OPT_BUFFER},
	{"no-symbols", no_argument, NULL, OPT_NO_SYMBOLS},
	{"no-args", no_argument, NULL, OPT_NO_ARGS},
	{"addresses", no_argument, NULL, OPT_ADDRESSES},
	{"no-addresses", no_argument, NULL, OPT_NO_ADDRESSES},
	{"verify", no_argument, NULL, OPT_VERIFY},
	{"mmap", no_argument, NULL, OPT_MMAP},
	{"usable-size", no_argument, NULL, OPT_USABLE_SIZE},
	{"free-stacks", no_argument, NULL, OPT_FREE_STACKS},
	{"start-after", required_argument, NULL, OPT_START_AFTER},
	{"max-size", required_argument, NULL, OPT_MAX_SIZE},
	{"keep", required_argument, NULL, OPT_KEEP},
	{"leak-check", required_argument, NULL, OPT_LEAK_CHECK},
	{"leak-check-at", required_argument, NULL, OPT_LEAK_CHECK_AT},
	{"tell", required_argument, NULL, OPT_TELL},
	{"standby", no_argument, NULL, OPT_STANDBY},
	{"doctor", no_argument, NULL, OPT_DOCTOR},
	{"hook", required_argument, NULL, OPT_HOOK},
	{"pid", required_argument, NULL, 'p'},
	POLL_LONGS,
	{0},
};

/* Takes an option without a value. False: it is another one. */
static bool set_flag(struct options *o, int c)
{
	switch (c) {
	case 'q':
		o->quiet = true;
		return true;
	case 'v':
		o->verbose = true;
		return true;
	case OPT_NO_SYMBOLS:
		o->no_symbols = true;
		return true;
	case OPT_NO_ARGS:
		o->no_args = true;
		return true;
	case OPT_ADDRESSES:
		o->addresses = true;
		return true;
	case OPT_NO_ADDRESSES:
		return true;
	case OPT_MMAP:
		o->mapped = true;
		return true;
	case OPT_USABLE_SIZE:
		o->usable_size = true;
		return true;
	case OPT_FREE_STACKS:
		o->free_stacks = true;
		return true;
	case OPT_DOCTOR:
		o->doctor = true;
		return true;
	case OPT_STANDBY:
		o->standby = true;
		return true;
	case OPT_VERIFY:
		o->verify = true;
		return true;
	default:
		return false;
	}
}

static int read_long(struct options *o, int c, const char *arg, struct ms_err *err)
{
	uint64_t n;
	switch (c) {
	case OPT_DEPTH:
		if (ms_parse_count(arg, "--depth", 2, 1000000, &n, err))
			return -1;
		o->depth = (uint32_t)n;
		return 0;
	case OPT_FOLLOW:
		return options_follow(o, arg, err);
	case OPT_ENV:
		return options_env(o, arg, err);
	case OPT_OVERFLOW:
		return options_overflow(o, arg, err);
	case OPT_BUFFER:
		return options_buffer(o, arg, err);
	case OPT_SEED:
		return ms_parse_count(arg, "--seed", 0, UINT64_MAX, &o->sample_seed, err);
	case OPT_MAX_SIZE:
		return options_max_size(o, arg, err);
	case OPT_KEEP:
		return options_keep(o, arg, err);
	case OPT_LEAK_CHECK:
		return options_leak_check(o, arg, err);
	case OPT_LEAK_CHECK_AT:
		return options_leak_mark(o, arg, err);
	case OPT_START_AFTER:
		return options_start(o, arg, err);
	case OPT_HOOK:
		return hooks_add(&o->hooks, arg, err);
	default: /* OPT_TELL */
		o->tell = arg;
		return *arg ? 0 : ms_err_set(err, "bad --tell '': a file is needed");
	}
}

static int read_one(struct options *o, int c, const char *arg, char **argv, struct ms_err *err)
{
	uint64_t n;
	if (set_flag(o, c))
		return 0;
	if (c >= OPT_POLL && c < OPT_POLL_END)
		return poll_option(&o->poll, c, arg, err);
	switch (c) {
	case 'p':
		return multi_attach_parse(o, arg, err);
	case 'o':
		o->output = arg;
		return *arg ? 0 : ms_err_set(err, "bad --output '': a name is needed");
	case 'd':
		if (ms_parse_duration(arg, &o->duration_ns, err))
			return -1;
		return o->duration_ns ? 0 : ms_err_set(err, "bad --duration '%s': too short", arg);
	case 'i':
		return options_interval(o, arg, err);
	case 's':
		return options_sample(o, arg, err);
	case 'z':
		if (ms_parse_count(arg, "--level", 1, 19, &n, err))
			return -1;
		o->level = (int)n;
		return 0;
	case ':':
	case '?':
		return ms_cli_bad_option("ms-record", c, argv, longs, err);
	default:
		return read_long(o, c, arg, err);
	}
}

uint64_t options_recorded(const struct options *o)
{
	return (o->mapped ? MS_OPTION_MMAP : 0) | (o->usable_size ? MS_OPTION_USABLE : 0) |
	       (o->free_stacks ? MS_OPTION_FREE_STACKS : 0) |
	       (o->keep_last_ns ? MS_OPTION_KEEP_LAST
		: o->keep_live  ? MS_OPTION_KEEP_LIVE
				: 0) |
	       (o->poll.on ? MS_OPTION_POLL : 0);
}

static int read_verb(struct options *o, int n, char **v, struct ms_err *err)
{
	enum tell_verb verb;
	const char *name;
	if (n < 1)
		return ms_err_set(err, "--tell %s: a verb is needed: " TELL_VERBS, o->tell);
	if (n > 1)
		return ms_err_set(err, "--tell takes one verb, not also '%s'", v[1]);
	o->tell_verb = v[0];
	return tell_parse(v[0], &verb, &name, err);
}

static int check_leak_mark(const struct options *o, struct ms_err *err)
{
	if (!o->leak_mark)
		return 0;
	if (o->leak_check != SCAN_AUTO)
		return ms_err_set(err, "--leak-check-at needs --leak-check=auto: with %s",
				  o->leak_check == SCAN_NO ? "no, nothing is scanned"
							   : "yes, the command is traced");
	if (o->sample_bytes)
		return ms_err_set(err, "--leak-check-at does not go together with --sample");
	return 0;
}

/* No seed given: one that nobody can foresee, which the trace names. */
static void choose_seed(struct options *o)
{
	while (o->sample_bytes && !o->sample_seed)
		if (getrandom(&o->sample_seed, sizeof o->sample_seed, 0) < 0)
			o->sample_seed = (uint64_t)getpid();
}

/* A process that runs already: what would do nothing for it is refused. */
static int read_attached(struct options *o, const bool *given, const char *command,
			 struct ms_err *err)
{
	static const struct {
		int c;
		const char *why;
	} refused[] = {
		{OPT_ENV, "--env is for commands"},
		{OPT_OVERFLOW, "--overflow is for commands: an attached process never waits"},
		{OPT_MMAP, "--mmap is for commands"},
		{OPT_USABLE_SIZE, "--usable-size is for commands"},
		{OPT_LEAK_CHECK, "--leak-check is for commands"},
		{OPT_TELL, "--tell sends a request to a recorder, and records nothing"}};
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (given[refused[i].c])
			return ms_err_set(err, "-p: %s", refused[i].why);
	if (o->follow == FOLLOW_EXEC)
		return ms_err_set(err, "-p: --follow=exec: the programs that an attached process "
				       "runs are not recorded");
	if (o->start_mark)
		return ms_err_set(err, "-p: --start-after mark:NAME is for commands");
	if (command)
		return ms_err_set(err, "-p records a process that runs already; '%s' is not run",
				  command);
	if (options_check_keep(o, err))
		return -1;
	if (o->output && !strcmp(o->output, "-"))
		o->output = "fd:1";
	if (check_leak_mark(o, err))
		return -1;
	choose_seed(o);
	return 0;
}

/* The name of an option that was given and is none of `allowed`, which ends with 0; NULL = none. */
static const char *not_allowed(const bool *given, const int *allowed)
{
	for (const struct option *l = longs; l->name; l++) {
		const int *a = allowed;
		while (*a && *a != l->val)
			a++;
		if (!*a && l->val < OPT_POLL && given[l->val])
			return l->name;
	}
	return NULL;
}

static int read_doctor(struct options *o, const bool *given, struct ms_err *err)
{
	static const int allowed[] = {OPT_DOCTOR, 'p', 'o', OPT_BUFFER, 0};
	const char *name = not_allowed(given, allowed);
	if (name)
		return ms_err_set(err, "--doctor does not take --%s", name);
	return o->pids.n && o->command[0]
		       ? ms_err_set(err, "--doctor takes -p PID or COMMAND, not both")
		       : 0;
}

/* Nothing is recorded yet: what says how it is to be done would do nothing. */
static int read_standby(const struct options *o, const bool *given, int n, struct ms_err *err)
{
	static const int allowed[] = {OPT_STANDBY, OPT_ENV, OPT_HOOK, 'q', 0};
	const char *name = not_allowed(given, allowed);
	if (name)
		return ms_err_set(err,
				  "--standby: --%s is for the ms-record -p that wakes the command",
				  name);
	if (o->poll.proc_root)
		return ms_err_set(err, "--standby: --proc-root is for -p");
	size_t bytes = 1;
	for (size_t i = 0; i < o->hooks.n; i++)
		bytes += strlen(o->hooks.v[i].text) + 1;
	if (bytes > STANDBY_HOOKS_BYTES)
		return ms_err_set(err, "--standby: all --hook together are longer than %u bytes",
				  STANDBY_HOOKS_BYTES);
	return n ? 0 : ms_err_set(err, "no command to run; try 'ms-record -h'");
}

int options_read(struct options *o, int argc, char **argv, struct ms_err *err)
{
	*o = (struct options){.interval_ns = 100000000,
			      .level = 3,
			      .depth = 512,
			      .wait_ns = UINT64_C(2000000000),
			      .leak_ns = SCAN_AUTO_NS,
			      .buffer_bytes = 64u << 20};
	bool given[OPT_POLL] = {false}, polled = false;
	opterr = 0;
	for (int c; (c = getopt_long(argc, argv, "+:o:d:i:p:s:z:qvhV", longs, NULL)) != -1;) {
		if (c < OPT_POLL)
			given[c] = true;
		else
			polled |= c != OPT_POLL_PROC_ROOT;
		if (c == 'h' || c == 'V') {
			*(c == 'h' ? &o->help : &o->version) = true;
			return 0;
		}
		if (read_one(o, c, optarg, argv, err))
			return -1;
	}
	o->command = argv + optind;
	if (o->poll.on)
		return poll_options_check(o, longs, given, err);
	if (polled)
		return ms_err_set(err, "--csv, --max-heap and --warn-rate need --poll");
	if (o->doctor)
		return read_doctor(o, given, err);
	if (o->hooks.n && o->tell)
		return ms_err_set(err, "--tell sends a request to a recorder, and hooks nothing");
	if (o->standby)
		return read_standby(o, given, argc - optind, err);
	if (o->poll.proc_root && !o->pids.n)
		return ms_err_set(err, "--proc-root needs -p");
	if (o->pids.n)
		return read_attached(o, given, argc > optind ? argv[optind] : NULL, err);
	if (o->tell)
		return read_verb(o, argc - optind, argv + optind, err);
	if (optind >= argc)
		return ms_err_set(err, "no command to run; try 'ms-record -h'");
	if (options_check_keep(o, err))
		return -1;
	if (check_leak_mark(o, err))
		return -1;
	choose_seed(o);
	if (o->output && !strcmp(o->output, "-"))
		return ms_err_set(err, "cannot write to '-': standard output is the command's; use "
				       "'fd:N' or a named pipe");
	return 0;
}

void options_free(struct options *o)
{
	free(o->env.v);
	free(o->pids.v);
	hooks_free(&o->hooks);
}
