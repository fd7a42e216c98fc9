/* SPDX-License-Identifier: MIT
 * The command line of ms-report.
 */
#include "options.h"

#include "ms-report/export/export.h"

#include "libcommon/base/err.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Adds an output. Its file is in the format of `o.export`, or if that is NULL, in `o.format`. */
static int put_output(struct options *opt, struct output o, struct ms_err *err)
{
	if (o.path && !*o.path)
		return ms_err_set(err, "no file name after '--%s%c'", o.name, o.joint);
	o.file = o.export ? o.export->file : file_kind_of(o.format);
	o.standard = o.path && strcmp(o.path, "-") == 0;
	o.path = o.standard ? NULL : o.path;
	for (size_t i = 0; o.path && i < opt->output_count; i++)
		if (opt->outputs[i].path && strcmp(opt->outputs[i].path, o.path) == 0)
			return ms_err_set(err, "two outputs cannot go to one file: '%s'", o.path);
	for (size_t i = 0; i < opt->output_count; i++)
		if (!o.path && !opt->outputs[i].path)
			return ms_err_set(err,
					  "only one format can go to standard output: name a file "
					  "for the other, such as --json=FILE");
	if (opt->output_count == OUTPUTS_MAX)
		return ms_err_set(err, "too many outputs: at most %d are allowed", OUTPUTS_MAX);
	opt->outputs[opt->output_count++] = o;
	return 0;
}

static int add_output(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct options *opt = arg->to;
	enum format format = (enum format)arg->row->value;
	bool json = arg->text && format == FORMAT_JSON,
	     full = json && strcmp(arg->text, "full") == 0,
	     layout = full || (json && strcmp(arg->text, "compact") == 0);
	if (layout)
		opt->layout = full ? LAYOUT_FULL : LAYOUT_COMPACT;
	struct output o = {.format = format, .name = arg->row->name, .joint = '='};
	o.path = layout ? NULL : arg->text;
	return put_output(opt, o, err);
}

/* Parses FORMAT, FORMAT:FILE or list. */
static int add_export(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct options *opt = arg->to;
	size_t n = strcspn(arg->text, ":");
	const struct export_kind *kind = export_find(arg->text, n);
	opt->list_exports |= strcmp(arg->text, "list") == 0;
	if (opt->list_exports)
		return 0;
	if (!kind)
		return ms_err_set(err, "bad --export '%.*s': expected %s or list", (int)n,
				  arg->text, export_names(&opt->arena, 0, ", "));
	struct output o = {.format = FORMAT_EXPORT, .export = kind, .joint = ':'};
	o.path = arg->text[n] ? arg->text + n + 1 : NULL;
	o.name = ms_arena_printf(&opt->arena, "export=%s", kind->name);
	return put_output(opt, o, err);
}

static bool has_view(const struct options *opt, enum view v)
{
	for (size_t i = 0; i < opt->view_count; i++)
		if (opt->views[i] == v)
			return true;
	return false;
}

/* Adds a view. A view with an argument can be requested only once. */
static int add_view(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct options *opt = (void *)((char *)arg->to - arg->row->offset);
	enum view v = (enum view)arg->row->value;
	ms_cli_take *take = v == VIEW_SITE                        ? ms_cli_count
			    : v == VIEW_SQL                       ? ms_cli_text
			    : v == VIEW_RETAINED                  ? ms_cli_count
			    : v == VIEW_ANNOTATE || v == VIEW_WHY ? ms_cli_name
								  : ms_cli_choice;
	if (arg->text && take(arg, err) != 0)
		return -1;
	if (has_view(opt, v))
		return arg->row->size ? ms_err_set(err, "--%s was given twice", arg->row->name) : 0;
	opt->views[opt->view_count++] = v;
	return 0;
}

static int take_budget(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct options *opt = arg->to;
	struct budget b;
	if (budget_parse(arg->text, &b, err) != 0)
		return -1;
	*MS_PUSH(&opt->budgets) = b;
	return 0;
}

/* Adds the budget that --no-alloc stands for. */
static int take_no_alloc(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct options *opt = arg->to;
	bool quoted = arg->text && strchr(arg->text, '"');
	if (quoted || (arg->text && !*arg->text))
		return ms_err_set(err, "bad --no-alloc '%s': expected the name of a thread",
				  arg->text);
	struct ms_cli_arg budget = *arg;
	budget.text =
		ms_arena_printf(&opt->arena, "%s(\"%s\").allocations > 0",
				arg->text ? "thread" : "label", arg->text ? arg->text : "no-alloc");
	return take_budget(&budget, err);
}

static int take_budgets(const struct ms_cli_arg *arg, struct ms_err *err)
{
	struct options *opt = arg->to;
	return budget_read(arg->text, &opt->budgets, &opt->arena, err);
}

static int take_source_root(const struct ms_cli_arg *arg, struct ms_err *err)
{
	return *arg->text == '/'
		       ? ms_cli_text(arg, err)
		       : ms_err_set(err, "bad --source 'root:%s': expected an absolute path",
				    arg->text);
}

static int take_code_url(const struct ms_cli_arg *arg, struct ms_err *err)
{
	ms_cli_text(arg, err);
	return links_check(arg->text, err);
}

#define FORMAT(name, format, rank, help)                                                           \
	{                                                                                          \
		name, 0, "[FILE]", add_output, MS_WHOLE(format), rank, help                        \
	}
#define NAME_IN_LIST(name, ...) name ", "
#define VIEW(name, view, rank, help)                                                               \
	{                                                                                          \
		name, 0, NULL, add_view, MS_WHOLE(view), rank, help                                \
	}
/* An option for a view, with optional values. */
#define VIEW_WITH(name, view, rank, help)                                                          \
	{                                                                                          \
		name, 0, "[WHAT]", add_view, MS_WHOLE(view), rank, help                            \
	}
/* An option for a view, whose argument is stored in a member. */
#define VIEW_OF(name, argument, member, view, rank, help)                                          \
	{                                                                                          \
		name, 0, argument, add_view, offsetof(struct options, member),                     \
			sizeof(((struct options *)0)->member), view, NULL, "9223372036854775807",  \
			rank, help                                                                 \
	}

static const struct ms_cli_option rows[] = {
	{.help = "Formats; several may be given with =FILE"},
	FORMAT("text", FORMAT_TEXT, 0, "for people (default)"),
	FORMAT("md", FORMAT_MD, 9, "Markdown, as a comment for a pull request"),
	FORMAT("html", FORMAT_HTML, 8, "one page with charts and tables, for a browser"),
	FORMAT("json", FORMAT_JSON, 10,
	       "everything, with exact figures; --json=full: each site with its whole call stack"),
	FORMAT("csv", FORMAT_CSV, 0, "the table of the view; of all sites by default"),
	FORMAT("sarif", FORMAT_SARIF, 0, "findings, for code scanning"),
	FORMAT("junit", FORMAT_JUNIT, 0, "budgets as test cases, for continuous integration"),
	FORMAT("github", FORMAT_GITHUB, 0, "findings as annotations of a GitHub workflow"),
	{"export", 0, "FORMAT[:FILE]", add_export, MS_WHOLE(0), 0,
	 "a file for another program; FORMAT is " EXPORT_FORMATS(
		 NAME_IN_LIST) "or list, which says what each is for"},
	{.help = "Views; default: the first screen"},
	VIEW("summary", VIEW_SUMMARY, 0, "figures of the whole run"),
	VIEW("leaks", VIEW_LEAKS, 1, "sites by live bytes at the end (or at --at POINT)"),
	VIEW("peak", VIEW_PEAK, 2, "sites by live bytes at the peak"),
	VIEW_WITH("allocated", VIEW_ALLOCATED, 3, "sites by bytes allocated over the whole run"),
	VIEW("temporary", VIEW_TEMPORARY, 0, "sites by blocks freed before the next allocation"),
	VIEW("allocated=failed", VIEW_FAILED, 0, "sites by calls that returned null"),
	VIEW("mapped", VIEW_MAPPED, 0,
	     "sites by address space mapped at the end (or at --at POINT)"),
	VIEW("threads", VIEW_THREADS, 0, "threads, and what they allocated"),
	VIEW("timeline", VIEW_TIMELINE, 0, "live bytes and resident memory over time"),
	VIEW("sizes", VIEW_SIZES, 0, "blocks by their size"),
	VIEW("modules", VIEW_MODULES, 0, "programs and libraries, and whether they have symbols"),
	VIEW("heaps", VIEW_HEAPS, 0, "the program's own heaps, and the memory behind them"),
	VIEW("suppressions", VIEW_SUPPRESSIONS, 0,
	     "what each suppression of ms-filter --suppress hides, and which hide nothing"),
	VIEW("regions", VIEW_REGIONS, 0,
	     "address space, from a snapshot made by ms-snap --maps or --smaps"),
	VIEW("resident", VIEW_RESIDENT, 0,
	     "what uses resident memory, what pins it, how to give it back to the system "
	     "(needs ms-record --resident)"),
	{"retained", 0, "[SCAN]", add_view, offsetof(struct options, scan), sizeof(int64_t),
	 VIEW_RETAINED, "1", "9223372036854775807", 0,
	 "what keeps blocks alive, and what would be free without each keeper; SCAN: number of "
	 "the retention scan (default: the last; needs ms-record --retention)"},
	VIEW_OF("why", "SITE", why, VIEW_WHY, 0,
		"what keeps the blocks of a site alive; SITE is its number, a function or "
		"FILE:LINE"),
	VIEW_WITH("growth", VIEW_GROWTH, 4, "sites whose live bytes grow with time, and how fast"),
	{"growth=reach", 0, "SIZE", ms_cli_size, MS_RANGE(reach, "", NULL), 0,
	 "also when each will reach SIZE"},
	VIEW_OF("cohorts", "[time|mark|label]", cohorts, VIEW_COHORTS, 0,
		"what was allocated in each part of the run, and what of it is still live later"),
	VIEW_OF("tree", "[down|up]", tree_up, VIEW_TREE, 5,
		"calls from the program's entry down; up: from the allocation up"),
	{"tree=entry", 0, NULL, ms_cli_flag, MS_AT(entry), 0,
	 "also show the function that allocated (malloc, operator new ...), as the innermost "
	 "level"},
	VIEW_OF("site", "N", site, VIEW_SITE, 6, "one site: its whole stack, sizes, ages, threads"),
	VIEW_OF("annotate", "FILE", annotate, VIEW_ANNOTATE, 0,
		"a source file, with the bytes that each line holds itself and through the "
		"functions it calls"),
	VIEW_OF("by", "function|file|module|language|stack|thread|label|process|program|size", by,
		VIEW_BY, 0, "totals for each of these"),
	VIEW_OF("sql", "QUERY", sql, VIEW_SQL, 0,
		"a SELECT on the tables and views of ms-snapshot(5)"),
	VIEW("events", VIEW_EVENTS, 0, "every event of a trace in order, as text or --json"),
	{.help = "What is shown"},
	{"at", 0, "POINT", ms_cli_name, MS_AT(at), 7,
	 "a moment: peak, end, 1.5s, mark:NAME; a snapshot must hold it"},
	{"process", 0, "PID|NAME", ms_cli_name, MS_AT(process), 0,
	 "of a run of several processes (FILE.d), show this one; default: the one with the highest "
	 "peak"},
	{"process=only-first", 0, NULL, ms_cli_flag, MS_AT(only_first), 0,
	 "the process of FILE itself, even if others have a higher peak"},
	{"metric", 0, "live|peak|allocated|allocations|temporary|failed|mapped", ms_cli_choice,
	 MS_AT(metric), 0,
	 "the figure of --tree, --annotate, --by and --export; what --html shows first"},
	{"limit", 0, "N", ms_cli_count, MS_RANGE(limit, NULL, "1000000000"), 11,
	 "maximum rows of a list; 0: all"},
	{"wrapper", 0, "REGEX", ms_wrapper_take, MS_AT(wrappers), 0,
	 "functions that match are wrappers of malloc: sites are named after their callers; may be "
	 "repeated"},
	{"anonymize", 0, NULL, ms_cli_flag, MS_AT(anonymize), 0,
	 "names and paths replaced with numbered ones, for sharing"},
	{.help = "Output style"},
	{"full-names", 0, NULL, ms_cli_flag, MS_AT(full_names), 0, "nothing shortened"},
	{"style", 0, "WHAT", NULL, MS_WHOLE(0), 0, "how output is written"},
	{"style=width", 0, "N", ms_cli_count, MS_RANGE(width, "20", "10000"), 0, "columns of text"},
	{"style=ascii", 0, NULL, ms_cli_flag, MS_AT(ascii), 0, "ASCII characters only"},
	{"style=no-pager", 0, NULL, ms_cli_flag, MS_AT(no_pager), 0, "do not page long output"},
	{"style=pretty", 0, NULL, ms_cli_flag, MS_AT(pretty), 0,
	 "with --json: indented, over many lines"},
	{"color", 0, "[auto|always|never]always", ms_cli_choice, MS_AT(color), 0,
	 "colours (default auto: on a terminal)"},
	{"layout", 0, "auto|compact|full|memc|go", ms_cli_choice, MS_AT(layout), 0,
	 "with --json: compact has frames and stacks once, in tables; full: with each site; auto "
	 "(default): full up to 16 MB of stacks; memc: regions as memc writes them, a line for "
	 "each time; with --export=pprof: go has the four types of Go's profiles only"},
	{"source", 0, "WHAT", NULL, MS_WHOLE(0), 0,
	 "how source files are named, linked or left out"},
	{"source=root", 0, "FOLDER", take_source_root, MS_AT(links.source_root), 0,
	 "show files by their path from FOLDER, the root of the repository that was built "
	 "(default: the folder the program ran in)"},
	{"source=url", 0, "URL", take_code_url, MS_AT(links.code_url), 0,
	 "where Markdown links to: https://x/blob/main/{file}#L{line}"},
	{"source=none", 0, NULL, ms_cli_flag, MS_AT(no_source), 0,
	 "with --html: no lines of source files beside sites"},
	{.help = "Budgets"},
	{"fail-on", 0, "'FIGURE OP NUMBER'", take_budget, MS_WHOLE(0), 12,
	 "exit with status 1 if true; such as 'unfreed_bytes > 64k'"},
	{"fail-on=file", 0, "FILE", take_budgets, MS_WHOLE(0), 0,
	 "budgets from FILE, one per line"},
	{"fail-on=strict", 0, NULL, ms_cli_flag, MS_AT(strict), 0,
	 "exit with status 2 if the pattern of a budget's site(), kept(), thread() or label() "
	 "matches "
	 "nothing"},
	{"no-alloc", 0, "[THREAD]", take_no_alloc, MS_WHOLE(0), 0,
	 "exit with status 1 if threads of that name allocated, or without a name, sections of "
	 "ms_no_alloc_begin"},
	{.help = "General"},
	{"explain", 0, "WORD", ms_cli_name, MS_AT(explain), 0,
	 "explain a term of a report; all: every term"},
	{0},
};

#define OLD_EXPORT(name)                                                                           \
	{                                                                                          \
		name, "export", "[" name ":"                                                       \
	}
static const struct ms_cli_old olds[] = {
	OLD_EXPORT("folded"),
	{"svg", "export", "svg-"},
	OLD_EXPORT("pprof"),
	OLD_EXPORT("speedscope"),
	OLD_EXPORT("gprof2dot"),
	OLD_EXPORT("massif"),
	OLD_EXPORT("dhat"),
	OLD_EXPORT("heaptrack"),
	OLD_EXPORT("callgrind"),
	OLD_EXPORT("chrome-trace"),
	{"failed", "allocated=failed", NULL},
	{"reach", "growth=reach", NULL},
	{"entry", "tree=entry", NULL},
	{"only-first", "process=only-first", NULL},
	{"width", "style=width", NULL},
	{"ascii", "style=ascii", NULL},
	{"no-pager", "style=no-pager", NULL},
	{"pretty", "style=pretty", NULL},
	{"source-root", "source=root", NULL},
	{"code-url", "source=url", NULL},
	{"no-source", "source=none", NULL},
	{"budgets", "fail-on=file", NULL},
	{"strict", "fail-on=strict", NULL},
	{0},
};

static const struct ms_cli_tool tool = {
	"ms-report",
	"ms-report [options] [INPUT[@POINT]]...\n",
	"Reports on INPUT: a trace, a folder of traces, a snapshot, or a comparison by ms-diff; "
	"without INPUT, on what is piped in.",
	"  ms-report run.trace\n"
	"  ms-report --html=run.html run.trace\n"
	"  ms-report --tree=up --limit 20 run.trace@peak\n",
	rows,
	olds,
	.reads = true};

/* Returns the name of the option that requests a view. */
static const char *view_row(enum view v)
{
	const struct ms_cli_option *r = rows;
	while ((r->name || r->help) && (r->take != add_view || r->value != (int)v))
		r++;
	return r->name ? r->name : "view";
}

const char *view_name(enum view v)
{
	const char *name = view_row(v), *value = strchr(name, '=');
	return value ? value + 1 : name;
}

/* Tells whether the format can show a view. A format that cannot is written as if the view had not
 * been requested. */
static bool shows(const struct output *o, enum view v)
{
	bool list = v >= VIEW_LEAKS && v <= VIEW_MAPPED;
	enum format f = o->format;
	if (f == FORMAT_EXPORT)
		return (o->export->traits & EXPORT_ONE) && list &&
		       !((o->export->traits & EXPORT_SITES) &&
			 (v == VIEW_FAILED || v == VIEW_MAPPED));
	if (v == VIEW_EVENTS)
		return f == FORMAT_JSON || f == FORMAT_TEXT;
	if (f == FORMAT_JSON || f == FORMAT_CSV)
		return v != VIEW_TREE;
	return f == FORMAT_TEXT || f == FORMAT_MD;
}

static bool has_output(const struct options *opt, enum format f)
{
	for (size_t i = 0; i < opt->output_count; i++)
		if (opt->outputs[i].format == f)
			return true;
	return false;
}

/* Tells whether an output in an --export format has all given traits. */
static bool has_export(const struct options *opt, unsigned traits)
{
	for (size_t i = 0; i < opt->output_count; i++) {
		const struct export_kind *kind = opt->outputs[i].export;
		if (kind && (kind->traits & traits) == traits)
			return true;
	}
	return false;
}

/* Refuses to sort threads, sizes and processes by a figure that only sites have. */
static int check_by(const struct options *opt, struct ms_err *err)
{
	enum metric last = opt->by == BY_PROCESS ? METRIC_FAILED
			   : opt->by == BY_THREAD || opt->by == BY_LABEL || opt->by == BY_SIZE
				   ? METRIC_TEMPORARY
				   : METRIC_COUNT;
	if (opt->metric == METRIC_COUNT || !has_view(opt, VIEW_BY) ||
	    (opt->by != BY_PROGRAM && opt->metric <= last))
		return 0;
	return ms_err_set(err, "--by %s cannot be sorted by --metric %s", group_names[opt->by],
			  metric_names[opt->metric]);
}

/* Refuses a metric that the chosen formats and views cannot use. */
static int check_metric(struct options *opt, struct ms_err *err)
{
	bool unknown = opt->metric == METRIC_FAILED || opt->metric == METRIC_MAPPED;
	if (opt->metric == METRIC_COUNT)
		return 0;
	if (unknown && has_export(opt, EXPORT_SITES | EXPORT_METRIC))
		return ms_err_set(err, "--metric %s is not available in that format",
				  metric_names[opt->metric]);
	if (!has_export(opt, EXPORT_METRIC) && !has_output(opt, FORMAT_HTML) &&
	    !has_view(opt, VIEW_TREE) && !has_view(opt, VIEW_BY) && !has_view(opt, VIEW_ANNOTATE))
		return ms_err_set(err,
				  "--metric is for --html, --tree, --annotate, --by and these of "
				  "--export: %s",
				  export_names(&opt->arena, EXPORT_METRIC, ", "));
	return 0;
}

/* Lists the options allowed with --events. Events are written while the trace is read, so options
 * for sums or for a point in time are not possible. */
#define EVENTS_TAKES                                                                               \
	"events process text json layout limit full-names style=ascii style=width style=no-pager " \
	"quiet allow=partial color"

/* Refuses options that would have no effect. */
static int check(struct options *opt, struct ms_err *err)
{
	for (size_t i = 0; i < opt->view_count; i++) {
		bool shown = false;
		for (size_t k = 0; k < opt->output_count; k++)
			shown |= shows(&opt->outputs[k], opt->views[i]);
		if (!shown)
			return ms_err_set(err, "--%s is not available in that format: use --text%s",
					  view_row(opt->views[i]),
					  opt->views[i] == VIEW_TREE     ? " or --md"
					  : opt->views[i] == VIEW_EVENTS ? " or --json"
									 : ", --md or --csv");
	}
	if (has_output(opt, FORMAT_CSV) && opt->view_count > 1)
		return ms_err_set(err, "--csv is one table: choose one view");
	if (check_metric(opt, err) != 0)
		return -1;
	bool go = opt->layout == LAYOUT_GO;
	if (((ms_cli_given(&opt->cli, "layout") && !go) || opt->pretty) &&
	    !has_output(opt, FORMAT_JSON))
		return ms_err_set(err, "--layout and --style=pretty are for --json");
	if (go && !has_export(opt, EXPORT_TYPES))
		return ms_err_set(err, "--layout=go is for --export=%s",
				  export_names(&opt->arena, EXPORT_TYPES, " and "));
	if (opt->layout == LAYOUT_MEMC &&
	    (opt->view_count > 1 || (opt->view_count == 1 && opt->views[0] != VIEW_REGIONS)))
		return ms_err_set(err, "--layout=memc is for --regions only");
	if (opt->anonymize && has_view(opt, VIEW_ANNOTATE))
		return ms_err_set(err, "--annotate shows sources, which --anonymize does not hide");
	if (opt->process && opt->only_first)
		return ms_err_set(err,
				  "--process takes either only-first or a PID or NAME, not both");
	if (opt->process && (opt->input_count != 1 || strcmp(opt->inputs[0], "-") == 0))
		return ms_err_set(err, "--process needs exactly one trace, FILE, with its FILE.d");
	if (opt->strict && !opt->budgets.n)
		return ms_err_set(err,
				  "--fail-on=strict needs a budget: --fail-on 'FIGURE OP NUMBER'");
	if (opt->links.code_url && !has_output(opt, FORMAT_MD) && !has_output(opt, FORMAT_HTML))
		return ms_err_set(err, "--source=url is for --md and --html");
	if (opt->no_source && !has_output(opt, FORMAT_HTML))
		return ms_err_set(err, "--source=none is for --html");
	const char *other =
		has_view(opt, VIEW_EVENTS) ? ms_cli_other(&opt->cli, EVENTS_TAKES) : NULL;
	if (other)
		return ms_err_set(err, "--events does not take --%s", other);
	if (has_view(opt, VIEW_EVENTS) && (opt->input_count > 1 || opt->output_count > 1))
		return ms_err_set(err, "--events needs exactly one trace, and at most one format");
	return check_by(opt, err);
}

/* Names a file for each output that would write a non-text format to a terminal. */
static int name_output(struct options *opt, struct ms_err *err)
{
	const char *point, *kept,
		*input =
			opt->input_count ? ms_cli_operand(&opt->arena, opt->inputs[0], &point) : "";
	for (size_t i = 0; i < opt->output_count && isatty(STDOUT_FILENO); i++) {
		struct output *o = &opt->outputs[i];
		if (o->path || o->standard ||
		    !(o->path = own_name(&opt->arena, input, o->file.ending)))
			continue;
		if (strcmp(o->path, input) == 0)
			o->path = ms_arena_printf(&opt->arena, "report-%s", o->path);
		o->own_name = true;
		for (size_t k = 0; k < opt->output_count; k++)
			if (k != i && opt->outputs[k].path &&
			    strcmp(opt->outputs[k].path, o->path) == 0)
				return ms_err_set(err, "two outputs cannot go to one file: '%s'",
						  o->path);
		return own_name_room(o, &kept, false, err);
	}
	return 0;
}

int options_parse(int argc, char **argv, struct options *opt, struct ms_err *err)
{
	*opt = (struct options){.limit = LIMIT_DEFAULT, .metric = METRIC_COUNT};
	if (ms_cli_read(&tool, opt, &opt->cli, argc, argv, err) != 0)
		return -1;
	if (opt->cli.asked || opt->list_exports)
		return 0;
	if (!opt->limit)
		opt->limit = SIZE_MAX;
	opt->inputs = (const char *const *)(argv + optind);
	opt->input_count = (size_t)(argc - optind);
	if (opt->entry && !has_view(opt, VIEW_TREE))
		opt->views[opt->view_count++] = VIEW_TREE;
	if (opt->reach && !has_view(opt, VIEW_GROWTH))
		opt->views[opt->view_count++] = VIEW_GROWTH;
	if (!opt->output_count)
		opt->outputs[opt->output_count++] = (struct output){.format = FORMAT_TEXT};
	if (check(opt, err) != 0 || (!opt->explain && name_output(opt, err) != 0))
		return -1;
	if (!opt->view_count)
		opt->views[opt->view_count++] = VIEW_FIRST;
	return 0;
}

void options_free(struct options *opt)
{
	free(opt->budgets.v);
	ms_wrappers_free(&opt->wrappers);
	ms_arena_free(&opt->arena);
}
