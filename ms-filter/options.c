/* SPDX-License-Identifier: MIT
 * The command line of ms-filter, by one table of options.
 */
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/arena.h"
#include "libcommon/err.h"
#include "libcommon/units.h"

const char options_help[] =
	"usage: ms-filter [-o FILE] [conditions] [TRACE|SNAPSHOT|-]\n"
	"\n"
	"Keeps the sites of a snapshot that meet the conditions and writes a snapshot. What is\n"
	"hidden stays in the totals as \"hidden by filters\".\n"
	"\n"
	"      --min SIZE            live bytes at any of the points reach SIZE (4k, 1.5M)\n"
	"      --min-live SIZE       live bytes at the end reach SIZE\n"
	"      --min-peak SIZE       live bytes at the peak reach SIZE\n"
	"      --min-allocated SIZE  bytes allocated in the whole run reach SIZE\n"
	"      --min-blocks N        live blocks at any of the points reach N\n"
	"      --function REGEX      some frame's function matches\n"
	"      --file REGEX          some frame's source file matches\n"
	"      --module REGEX        some frame's program or library matches\n"
	"      --thread NAME|TID     the thread allocated there\n"
	"      --process NAME|PID    the site is of that process\n"
	"      --not-function, --not-file, --not-module, --not-thread, --not-process\n"
	"                            drop what the option without \"not\" would keep\n"
	"      --not-temporary       drop sites all of whose blocks were temporary\n"
	"      --not-runtime         drop sites without a frame of your own code\n"
	"  -o, --output FILE         write to FILE instead of standard output\n"
	"      --allow-partial       status 0 although a trace is incomplete\n"
	"      --max-image SIZE      largest snapshot read from a pipe (default 4G)\n"
	"  -q, --quiet               no remarks on standard error\n"
	"  -h, --help                this text\n"
	"  -V, --version             version\n"
	"\n"
	"One option several times: any of them is enough. Different options: all must hold.\n";

/* Values above any character, so that they do not meet short options. */
enum { OPT_CONDITION = 0x100, OPT_NOT = 0x200 };

static const struct option longs[] = {
	{"min", required_argument, NULL, OPT_CONDITION + MIN},
	{"min-live", required_argument, NULL, OPT_CONDITION + MIN_LIVE},
	{"min-peak", required_argument, NULL, OPT_CONDITION + MIN_PEAK},
	{"min-allocated", required_argument, NULL, OPT_CONDITION + MIN_ALLOCATED},
	{"min-blocks", required_argument, NULL, OPT_CONDITION + MIN_BLOCKS},
	{"function", required_argument, NULL, OPT_CONDITION + FUNCTION},
	{"file", required_argument, NULL, OPT_CONDITION + FILE_NAME},
	{"module", required_argument, NULL, OPT_CONDITION + MODULE},
	{"thread", required_argument, NULL, OPT_CONDITION + THREAD},
	{"process", required_argument, NULL, OPT_CONDITION + PROCESS},
	{"not-function", required_argument, NULL, OPT_NOT + FUNCTION},
	{"not-file", required_argument, NULL, OPT_NOT + FILE_NAME},
	{"not-module", required_argument, NULL, OPT_NOT + MODULE},
	{"not-thread", required_argument, NULL, OPT_NOT + THREAD},
	{"not-process", required_argument, NULL, OPT_NOT + PROCESS},
	{"not-temporary", no_argument, NULL, OPT_NOT + TEMPORARY},
	{"not-runtime", no_argument, NULL, OPT_NOT + RUNTIME},
	{"output", required_argument, NULL, 'o'},
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

/* Takes over the argument of a condition. */
static int set_argument(struct condition *c, const char *name, const char *arg, struct ms_err *err)
{
	if (c->subject >= TEMPORARY)
		return 0;
	if (c->subject == MIN_BLOCKS)
		return ms_parse_count(arg, "number of blocks", 0, INT64_MAX, &c->value, err);
	if (c->subject < MIN_BLOCKS)
		return ms_parse_size(arg, &c->value, err);
	if (!arg[0])
		return ms_err_set(err, "option '--%s': empty argument", name);
	if (c->subject == THREAD || c->subject == PROCESS)
		return 0;
	int bad = regcomp(&c->regex, arg, REG_EXTENDED | REG_NOSUB);
	if (bad == 0)
		return 0;
	char why[128];
	regerror(bad, &c->regex, why, sizeof why);
	return ms_err_set(err, "option '--%s': bad regular expression '%s': %s", name, arg, why);
}

static int add_condition(struct options *o, int value, const char *arg, struct ms_err *err)
{
	struct ms_arena *a = o->arena;
	bool drop = value >= OPT_NOT;
	struct condition c = {.subject = (enum subject)(value - (drop ? OPT_NOT : OPT_CONDITION)),
			      .drop = drop,
			      .text = arg};
	const char *name = ms_cli_name(longs, value);
	if (set_argument(&c, name, arg, err) != 0)
		return -1;
	*MS_PUSH(&o->conditions) = c;
	o->keep |= drop ? 0 : KEEP(c.subject);
	o->drop |= drop ? DROP(c.subject) : 0;
	o->filter = ms_arena_printf(a, "%s%s--%s%s%s", o->filter, o->filter[0] ? " " : "", name,
				    arg ? " " : "", arg ? quoted(a, arg) : "");
	return 0;
}

static int take(void *options, int c, char **argv, struct ms_err *err)
{
	struct options *o = options;
	switch (c) {
	case 'o':
		o->output = strcmp(optarg, "-") == 0 ? NULL : optarg;
		return optarg[0] ? 0 : ms_err_set(err, "option '-o': empty file name");
	case '?':
	case ':':
		return ms_cli_bad_option("ms-filter", c, argv, longs, err);
	default:
		return add_condition(o, c, optarg, err);
	}
}

int options_parse(struct options *o, int argc, char **argv, struct ms_arena *a, struct ms_err *err)
{
	o->filter = "";
	o->input = "-";
	o->arena = a;
	o->cli = (struct ms_cli)MS_CLI_START;
	if (ms_cli_read(&o->cli, argc, argv, ":o:" MS_CLI_SHORTS, longs, take, o, err) != 0)
		return -1;
	if (o->cli.help || o->cli.version)
		return 0;
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
		if (o->conditions.v[i].subject >= FUNCTION && o->conditions.v[i].subject <= MODULE)
			regfree(&o->conditions.v[i].regex);
	free(o->conditions.v);
}
