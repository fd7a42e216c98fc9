/* SPDX-License-Identifier: MIT
 * Parses the command line of ms-filter by a table of options.
 */
#include "options.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/shell.h"

const char *option_words(struct ms_arena *a, const char *before, const char *name, const char *arg)
{
	return ms_arena_printf(a, "%s%s--%s%s%s", before, before[0] ? " " : "", name,
			       !arg                ? ""
			       : strchr(name, '=') ? ":"
						   : " ",
			       arg ? ms_shell_word(a, arg) : "");
}

/* Flag in the value of a condition option: the condition is negated. The other bits are an enum
 * subject. */
enum { OPPOSITE = 0x100 };

static int add_condition(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct options *o = arg->to;
	struct condition c = {.subject = (enum subject)(arg->row->value & ~OPPOSITE),
			      .name = arg->row->name,
			      .drop = arg->row->value & OPPOSITE,
			      .text = arg->text};
	if (c.subject == WHERE && strcmp(c.text, "help") == 0) {
		o->where_help = true;
		return 0;
	}
	if (argument_set(&c, c.name, c.text, o->arena, err) != 0)
		return -1;
	*MS_PUSH(&o->conditions) = c;
	o->keep |= c.drop ? 0 : KEEP(c.subject);
	o->drop |= c.drop ? DROP(c.subject) : 0;
	o->filter = option_words(o->arena, o->filter, c.name, c.text);
	return 0;
}

#define CONDITION(name, argument, subject, rank, help)                                             \
	{                                                                                          \
		name, 0, argument, add_condition, MS_WHOLE(subject), rank, help                    \
	}
/* Describes the condition --not=NAME, which takes the same argument as option --NAME. */
#define NOT(name, argument, subject) CONDITION("not=" name, argument, OPPOSITE + (subject), 0, NULL)

#define VERDICTS "unreachable|indirect|growing|unknown|reachable|none"

static const struct ms_cli_option rows[] = {
	{.help = "How much memory the site holds"},
	CONDITION("min", "SIZE", MIN, 1, "at least SIZE live at any of the points; 4k, 1.5M"),
	CONDITION("min=live", "SIZE", MIN_LIVE, 2, "at least SIZE live at the end"),
	CONDITION("min=peak", "SIZE", MIN_PEAK, 3, "at least SIZE live at the peak"),
	CONDITION("min=allocated", "SIZE", MIN_ALLOCATED, 0,
		  "at least SIZE allocated in the whole run"),
	CONDITION("min=delta", "SIZE", MIN_DELTA, 4,
		  "live or peak bytes changed by at least SIZE; for output of ms-diff"),
	CONDITION("min=blocks", "N", MIN_BLOCKS, 0, "at least N blocks live at any of the points"),
	CONDITION("min=allocations", "N", MIN_ALLOCATIONS, 0,
		  "at least N allocations in the whole run"),
	CONDITION("min=lifetime", "DURATION", MIN_LIFETIME, 0,
		  "freed blocks lived at least DURATION on average"),
	CONDITION("min=age", "DURATION", MIN_AGE, 0,
		  "oldest live block at least DURATION old at any of the points"),
	{"max", 0, "WHAT", NULL, MS_WHOLE(0), 0, "upper limits"},
	CONDITION("max=lifetime", "DURATION", MAX_LIFETIME, 0,
		  "freed blocks lived at most DURATION on average"),
	CONDITION("max=age", "DURATION", MAX_AGE, 0,
		  "oldest live block at most DURATION old at any of the points"),
	{.help = "Properties of the site"},
	CONDITION("size", "LOW..HIGH", SIZE, 0,
		  "at least one of its blocks has a size in this range"),
	{"when", 0, "WHAT", NULL, MS_WHOLE(0), 0, "when its blocks were allocated or live"},
	CONDITION("when=first", "FROM..TO", FIRST, 0, "its first allocation is in this span"),
	CONDITION("when=last", "FROM..TO", LAST, 0, "its last allocation is in this span"),
	CONDITION("when=born", "FROM..TO", BORN, 0,
		  "traces only: count only blocks allocated in this span"),
	CONDITION("when=alive-at", "POINT", ALIVE_AT, 0,
		  "traces only: count only blocks live at POINT"),
	CONDITION("function", "REGEX", FUNCTION, 5, "the function name of a frame matches"),
	CONDITION("file", "REGEX", FILE_NAME, 6, "the source file of a frame matches"),
	CONDITION("module", "REGEX", MODULE, 7, "the program or library of a frame matches"),
	CONDITION("thread", "NAME|TID", THREAD, 8,
		  "that thread made at least one of its allocations"),
	CONDITION("label", "LABEL", LABEL, 0,
		  "at least one of its allocations had a matching label (ms_label_push); * and ? "
		  "are wildcards"),
	CONDITION("process", "NAME|PID", PROCESS, 0, "the site belongs to that process"),
	CONDITION("verdict", VERDICTS, VERDICT, 0,
		  "the worst verdict of its live blocks is this; none: they have no verdict"),
	{"only", 0, "WHAT", NULL, MS_WHOLE(0), 0, "only sites of this kind"},
	CONDITION("only=temporary", NULL, TEMPORARY, 0, "all its blocks were temporary"),
	CONDITION("only=runtime", NULL, RUNTIME, 0,
		  "no frame is in your code, or it is a one-time allocation"),
	CONDITION("only=one-time", NULL, ONE_TIME, 0,
		  "it is a known one-time allocation of the runtime"),
	CONDITION("where", "EXPR", WHERE, 9,
		  "condition: 'live_bytes > 1M and not age < 10s'; --where help lists the columns"),
	{"not", 0, "WHAT", NULL, MS_WHOLE(0), 0,
	 "drop what the condition of that name would keep; size, first, last, function, file, "
	 "module, thread, process, verdict, temporary, runtime, one-time or where, each with its "
	 "argument: --not module:REGEX"},
	NOT("size", "LOW..HIGH", SIZE),
	NOT("first", "FROM..TO", FIRST),
	NOT("last", "FROM..TO", LAST),
	NOT("function", "REGEX", FUNCTION),
	NOT("file", "REGEX", FILE_NAME),
	NOT("module", "REGEX", MODULE),
	NOT("thread", "NAME|TID", THREAD),
	NOT("label", "LABEL", LABEL),
	NOT("process", "NAME|PID", PROCESS),
	NOT("verdict", VERDICTS, VERDICT),
	NOT("temporary", NULL, TEMPORARY),
	NOT("runtime", NULL, RUNTIME),
	NOT("one-time", NULL, ONE_TIME),
	NOT("where", "EXPR", WHERE),
	{.help = "Combining conditions (one given twice: either may match; different ones: all)"},
	CONDITION("suppress", "FILE", OPPOSITE + SUPPRESSED, 10,
		  "hide what its suppressions match; in LeakSanitizer's or Valgrind's format"),
	{"invert", 0, NULL, ms_cli_flag, MS_AT(invert), 0,
	 "keep what the conditions would hide, hide the rest"},
	{.help = "What is written"},
	{"output", 'o', "FILE", ms_cli_output, MS_AT(output), 11,
	 "write to FILE instead of standard output"},
	{"trace-out", 0, "FILE", ms_cli_name, MS_AT(trace_out), 0,
	 "write a trace: the events from --from to --to, preceded by the blocks live at --from"},
	{"from", 0, "POINT", ms_cli_point, MS_AT(from), 0,
	 "with --trace-out: begin here (start, 1.5s, -10m, mark:NAME, peak, end)"},
	{"to", 0, "POINT", ms_cli_point, MS_AT(to), 0,
	 "with --trace-out: end here (same values as --from)"},
	{"anonymize", 0, NULL, ms_cli_flag, MS_AT(anonymize), 0,
	 "replace names and paths with numbered ones, for sharing"},
	{.help = "General"},
	{0},
};

#define OLD(name, key)                                                                             \
	{                                                                                          \
		name, key "=" name, NULL                                                           \
	}
#define OLD_NOT(name)                                                                              \
	{                                                                                          \
		"not-" name, "not=" name, NULL                                                     \
	}

static const struct ms_cli_old olds[] = {
	{"min-live", "min=live", NULL},
	{"min-peak", "min=peak", NULL},
	{"min-allocated", "min=allocated", NULL},
	{"min-delta", "min=delta", NULL},
	{"min-blocks", "min=blocks", NULL},
	{"min-allocations", "min=allocations", NULL},
	{"min-lifetime", "min=lifetime", NULL},
	{"max-lifetime", "max=lifetime", NULL},
	{"min-age", "min=age", NULL},
	{"max-age", "max=age", NULL},
	OLD("first", "when"),
	OLD("last", "when"),
	OLD("born", "when"),
	OLD("alive-at", "when"),
	OLD("temporary", "only"),
	OLD("runtime", "only"),
	OLD("one-time", "only"),
	OLD_NOT("size"),
	OLD_NOT("first"),
	OLD_NOT("last"),
	OLD_NOT("function"),
	OLD_NOT("file"),
	OLD_NOT("module"),
	OLD_NOT("thread"),
	OLD_NOT("process"),
	OLD_NOT("verdict"),
	OLD_NOT("temporary"),
	OLD_NOT("runtime"),
	OLD_NOT("one-time"),
	OLD_NOT("where"),
	{0},
};

static const struct ms_cli_tool tool = {
	"ms-filter",
	"ms-filter [-o FILE] [conditions] [TRACE|SNAPSHOT|-]\n"
	"       ms-filter --trace-out FILE [--from POINT] [--to POINT] [conditions] TRACE\n",
	"Writes a snapshot with only the sites that meet the conditions. The others stay in the "
	"totals as \"hidden by filters\". With --trace-out, writes a part of a trace instead.",
	"  ms-filter --min 4k --not module:libfontconfig run.trace | ms-report\n"
	"  ms-filter --where 'live_bytes > 1M and stack ~ parse_' -o part.db run.trace\n"
	"  ms-filter --trace-out first.trace --from start --to peak run.trace\n",
	rows,
	olds,
	.reads = true};

/* Refuses options that need another option or exclude each other. */
static int check(struct options *o, struct ms_err *err)
{
	if (o->invert && !o->conditions.n)
		return ms_err_set(err, "option '--invert' needs a condition to invert");
	if ((o->from || o->to) && !o->trace_out)
		return ms_err_set(err,
				  "option '--%s' needs '--trace-out': for a snapshot of a span "
				  "use ms-snap --from and --to",
				  o->from ? "from" : "to");
	if (o->invert && !o->trace_out && (o->keep & (KEEP(BORN) | KEEP(ALIVE_AT))))
		return ms_err_set(err, "option '--invert' needs '--trace-out' if '--when=born' or "
				       "'--when=alive-at' is given");
	if (o->trace_out && o->output)
		return ms_err_set(err, "options '-o' and '--trace-out' cannot be combined: '-o' "
				       "writes a snapshot, '--trace-out' a trace");
	if (o->invert)
		o->filter = option_words(o->arena, o->filter, "invert", NULL);
	return arguments_check(o, err);
}

int options_parse(struct options *o, int argc, char **argv, struct ms_arena *a, struct ms_err *err)
{
	o->filter = "";
	o->input = "-";
	o->arena = a;
	if (ms_cli_read(&tool, o, &o->cli, argc, argv, err) != 0)
		return -1;
	if (o->cli.asked || o->where_help)
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
