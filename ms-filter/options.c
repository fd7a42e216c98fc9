/* SPDX-License-Identifier: MIT
 * The command line of ms-filter, by one table of options.
 */
#include "options.h"

#include "arguments.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"

const char options_help[] =
	"usage: ms-filter [-o FILE] [conditions] [TRACE|SNAPSHOT|-]\n"
	"       ms-filter --trace-out FILE [--from POINT] [--to POINT] [conditions] TRACE\n"
	"\n"
	"Keeps the sites of a snapshot that meet the conditions and writes a snapshot. What is\n"
	"hidden stays in the totals as \"hidden by filters\". Or cuts a part out of a trace.\n"
	"\n"
	"      --min SIZE            live bytes at any of the points reach SIZE (4k, 1.5M)\n"
	"      --min-live SIZE       live bytes at the end reach SIZE\n"
	"      --min-peak SIZE       live bytes at the peak reach SIZE\n"
	"      --min-allocated SIZE  bytes allocated in the whole run reach SIZE\n"
	"      --min-delta SIZE      of ms-diff: live bytes, or those at the peak, changed by "
	"SIZE\n"
	"      --min-blocks N        live blocks at any of the points reach N\n"
	"      --min-allocations N   allocations in the whole run reach N\n"
	"      --min-lifetime, --max-lifetime DURATION\n"
	"                            how long its freed blocks lived, on average\n"
	"      --min-age, --max-age DURATION\n"
	"                            how old its oldest live block is, at any of the points\n"
	"      --size LOW..HIGH      it allocated a block of such a size\n"
	"      --first, --last FROM..TO\n"
	"                            when it allocated first, or last\n"
	"      --function REGEX      some frame's function matches\n"
	"      --file REGEX          some frame's source file matches\n"
	"      --module REGEX        some frame's program or library matches\n"
	"      --thread NAME|TID     the thread allocated there\n"
	"      --process NAME|PID    the site is of that process\n"
	"      --verdict VERDICT     unreachable, indirect, growing, unknown, reachable, none\n"
	"      --temporary           all its blocks were temporary\n"
	"      --runtime             no frame is of your own code, or --one-time\n"
	"      --one-time            known allocation of the runtime, made once\n"
	"      --where EXPR          over columns: 'live_bytes > 1M and not age < 10s'\n"
	"                            (--where help lists them)\n"
	"      --not-...             drop what the option without \"not\" would keep: all from\n"
	"                            --size on\n"
	"      --suppress FILE       drop what its suppressions meet (LeakSanitizer, Valgrind)\n"
	"      --invert              keep what the conditions would hide, and hide the rest\n"
	"  -o, --output FILE         write to FILE instead of standard output\n"
	"      --trace-out FILE      write a trace: the events from --from to --to, after the\n"
	"                            blocks that were live before\n"
	"      --from, --to POINT    of --trace-out: start, 1.5s, -10m, mark:NAME, peak, end\n"
	"      --anonymize           replace names and paths by numbered ones, for sharing\n"
	"      --allow-partial       status 0 although a trace is incomplete\n"
	"      --max-image SIZE      largest snapshot read from a pipe (default 4G)\n"
	"  -q, --quiet               no remarks on standard error\n"
	"  -h, --help                this text\n"
	"  -V, --version             version\n"
	"\n"
	"One option several times: any of them is enough. Different options: all must hold.\n";

/* Values above any character, so that they do not meet short options. */
enum {
	OPT_CONDITION = 0x100,
	OPT_NOT = 0x200,
	OPT_INVERT = 0x300,
	OPT_TRACE_OUT,
	OPT_FROM,
	OPT_TO,
	OPT_ANONYMIZE,
};

#define BOTH(name, argument, subject)                                                              \
	{name, argument, NULL, OPT_CONDITION + (subject)},                                         \
	{                                                                                          \
		"not-" name, argument, NULL, OPT_NOT + (subject)                                   \
	}

static const struct option longs[] = {
	{"min", required_argument, NULL, OPT_CONDITION + MIN},
	{"min-live", required_argument, NULL, OPT_CONDITION + MIN_LIVE},
	{"min-peak", required_argument, NULL, OPT_CONDITION + MIN_PEAK},
	{"min-allocated", required_argument, NULL, OPT_CONDITION + MIN_ALLOCATED},
	{"min-delta", required_argument, NULL, OPT_CONDITION + MIN_DELTA},
	{"min-blocks", required_argument, NULL, OPT_CONDITION + MIN_BLOCKS},
	{"min-allocations", required_argument, NULL, OPT_CONDITION + MIN_ALLOCATIONS},
	{"min-lifetime", required_argument, NULL, OPT_CONDITION + MIN_LIFETIME},
	{"max-lifetime", required_argument, NULL, OPT_CONDITION + MAX_LIFETIME},
	{"min-age", required_argument, NULL, OPT_CONDITION + MIN_AGE},
	{"max-age", required_argument, NULL, OPT_CONDITION + MAX_AGE},
	BOTH("size", required_argument, SIZE),
	BOTH("first", required_argument, FIRST),
	BOTH("last", required_argument, LAST),
	BOTH("function", required_argument, FUNCTION),
	BOTH("file", required_argument, FILE_NAME),
	BOTH("module", required_argument, MODULE),
	BOTH("thread", required_argument, THREAD),
	BOTH("process", required_argument, PROCESS),
	BOTH("verdict", required_argument, VERDICT),
	BOTH("temporary", no_argument, TEMPORARY),
	BOTH("runtime", no_argument, RUNTIME),
	BOTH("one-time", no_argument, ONE_TIME),
	BOTH("where", required_argument, WHERE),
	{"suppress", required_argument, NULL, OPT_NOT + SUPPRESSED},
	{"invert", no_argument, NULL, OPT_INVERT},
	{"output", required_argument, NULL, 'o'},
	{"trace-out", required_argument, NULL, OPT_TRACE_OUT},
	{"from", required_argument, NULL, OPT_FROM},
	{"to", required_argument, NULL, OPT_TO},
	{"anonymize", no_argument, NULL, OPT_ANONYMIZE},
	MS_CLI_LONGS,
	{NULL, 0, NULL, 0},
};

/* `s` as a shell would have to read it. */
static const char *quoted(struct ms_arena *a, const char *s)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				    "_./:+-,%@=^";
	if (s[0] && s[strspn(s, plain)] == '\0')
		return s;
	char *out = ms_arena_alloc(a, strlen(s) * 4 + 3), *o = out;
	*o++ = '\'';
	for (; *s; s++) {
		if (*s == '\'')
			o = stpcpy(o, "'\\'");
		*o++ = *s;
	}
	*o = '\'';
	return out;
}

const char *options_name(const struct condition *c)
{
	return ms_cli_name(longs, (int)c->subject + (c->drop ? OPT_NOT : OPT_CONDITION));
}

/* Adds words to what is said of the conditions. */
static void note(struct options *o, const char *name, const char *arg)
{
	struct ms_arena *a = o->arena;
	o->filter = ms_arena_printf(a, "%s%s--%s%s%s", o->filter, o->filter[0] ? " " : "", name,
				    arg ? " " : "", arg ? quoted(a, arg) : "");
}

static int add_condition(struct options *o, int value, const char *arg, struct ms_err *err)
{
	bool drop = value >= OPT_NOT;
	struct condition c = {.subject = (enum subject)(value - (drop ? OPT_NOT : OPT_CONDITION)),
			      .drop = drop,
			      .text = arg};
	const char *name = ms_cli_name(longs, value);
	if (c.subject == WHERE && strcmp(arg, "help") == 0) {
		o->where_help = true;
		return 0;
	}
	if (argument_set(&c, name, arg, o->arena, err) != 0)
		return -1;
	*MS_PUSH(&o->conditions) = c;
	o->keep |= drop ? 0 : KEEP(c.subject);
	o->drop |= drop ? DROP(c.subject) : 0;
	note(o, name, arg);
	return 0;
}

static int take_file(const char **file, const char *name, struct ms_err *err)
{
	*file = optarg;
	return optarg[0] ? 0 : ms_err_set(err, "option '%s': empty file name", name);
}

static int take_point(const char **point, struct ms_err *err)
{
	struct ms_point p;
	*point = optarg;
	return ms_point_parse(optarg, &p, err);
}

static int take(void *options, int c, char **argv, struct ms_err *err)
{
	struct options *o = options;
	switch (c) {
	case 'o':
		if (take_file(&o->output, "-o", err) != 0)
			return -1;
		o->output = strcmp(optarg, "-") == 0 ? NULL : optarg;
		return 0;
	case OPT_INVERT:
		o->invert = true;
		return 0;
	case OPT_TRACE_OUT:
		return take_file(&o->trace_out, "--trace-out", err);
	case OPT_FROM:
		return take_point(&o->from, err);
	case OPT_TO:
		return take_point(&o->to, err);
	case OPT_ANONYMIZE:
		o->anonymize = true;
		return 0;
	case '?':
	case ':':
		return ms_cli_bad_option("ms-filter", c, argv, longs, err);
	default:
		return add_condition(o, c, optarg, err);
	}
}

/* What one option means only with another. */
static int check(struct options *o, struct ms_err *err)
{
	if (o->invert && !o->conditions.n)
		return ms_err_set(err, "option '--invert' needs a condition: it keeps what that "
				       "would hide");
	if ((o->from || o->to) && !o->trace_out)
		return ms_err_set(err,
				  "option '--%s' needs '--trace-out': for a snapshot of a span "
				  "use ms-snap --from and --to",
				  o->from ? "from" : "to");
	if (o->trace_out && o->output)
		return ms_err_set(err, "options '-o' and '--trace-out': one writes a snapshot, the "
				       "other a trace: give one of them");
	if (o->invert)
		note(o, "invert", NULL);
	return arguments_check(o, err);
}

int options_parse(struct options *o, int argc, char **argv, struct ms_arena *a, struct ms_err *err)
{
	o->filter = "";
	o->input = "-";
	o->arena = a;
	o->cli = (struct ms_cli)MS_CLI_START;
	if (ms_cli_read(&o->cli, argc, argv, ":o:" MS_CLI_SHORTS, longs, take, o, err) != 0)
		return -1;
	if (o->cli.help || o->cli.version || o->where_help)
		return 0;
	if (check(o, err) != 0)
		return -1;
	if (argc - optind > 1)
		return ms_err_set(err,
				  "one input only: '%s' is one too many (ms-snap takes several)",
				  argv[optind + 1]);
	if (optind < argc)
		o->input = argv[optind];
	return 0;
}

void options_free(struct options *o)
{
	for (size_t i = 0; i < o->conditions.n; i++)
		argument_free(&o->conditions.v[i]);
	free(o->conditions.v);
}
