/* SPDX-License-Identifier: MIT
 * The command line of ms-report.
 */
#include "options.h"

#include "libcommon/base/err.h"
#include "libcommon/base/units.h"

#include <stdlib.h>
#include <string.h>

const char options_help[] =
	"usage: ms-report [options] [TRACE|SNAPSHOT|FOLDER[@POINT]]   (default: a snapshot on "
	"standard "
	"input)\n"
	"\n"
	"formats (several may be given with =FILE):\n"
	"  --text[=FILE]  --md[=FILE]  --json[=FILE]  --csv[=FILE]  --folded[=FILE]\n"
	"  --html[=FILE]         one page with charts and tables, for a browser\n"
	"  --sarif[=FILE] --junit[=FILE] --github[=FILE]   findings, for continuous integration\n"
	"  --pprof[=FILE] --speedscope[=FILE] --gprof2dot[=FILE] --massif[=FILE] --dhat[=FILE]\n"
	"  --heaptrack[=FILE] --callgrind[=FILE] --chrome-trace[=FILE]   for other programs\n"
	"views (default: the first screen):\n"
	"  --summary             figures of the whole run\n"
	"  --leaks               sites by what is live at the end (or --at)\n"
	"  --peak                sites by what was live at the peak\n"
	"  --allocated           sites by all bytes allocated\n"
	"  --temporary           sites by blocks freed before the next allocation\n"
	"  --failed              sites by calls that returned null\n"
	"  --mapped              sites by address space mapped at the end (or --at)\n"
	"  --threads --timeline --sizes --modules\n"
	"  --heaps               heaps of the program's own, and what is behind them\n"
	"  --regions             address space, of a snapshot that ms-snap --maps or --smaps made\n"
	"  --growth              sites whose live bytes grow with time, and how fast\n"
	"  --tree[=down|up]      calls from the program's entry down, or from the allocation up\n"
	"  --site N              one site: its whole stack, sizes, ages, threads\n"
	"  --by KEY              function, file, module, stack, thread, process, program or size\n"
	"  --sql QUERY           a SELECT of the tables and views of ms-snapshot(5)\n"
	"choices:\n"
	"  --at POINT            a moment: peak, end, 1.5s, mark:NAME (a snapshot must hold it)\n"
	"  --metric M            live, peak, allocated, allocations, temporary, failed or\n"
	"                        mapped, for --folded, --gprof2dot, --tree and --by;\n"
	"                        what --html, --pprof and --speedscope show first\n"
	"  --limit N             rows of a list, 0 = all\n"
	"  --reach SIZE          with --growth: when SIZE will be reached\n"
	"  --full-names          nothing shortened        --width N   columns of text\n"
	"  --ascii               no other characters      --color=auto|always|never\n"
	"  --layout=memc         with --json: regions as memc writes them, a line for each time\n"
	"  --pretty              with --json: over many lines\n"
	"  --anonymize           names and paths replaced by numbered ones, for sharing\n"
	"  --no-pager            long text goes to the terminal as it is\n"
	"  --fail-on 'FIGURE OP NUMBER'   status 1 when true, such as 'unfreed_bytes > 64k'\n"
	"  --budgets FILE        the same, one in a line of FILE\n"
	"  --code-url URL        where Markdown links to: https://x/blob/main/{file}#L{line}\n"
	"  --source-root FOLDER  the repository where it was built (default: where it ran)\n"
	"  --allow-partial       incomplete input is status 0 too\n"
	"  --max-image SIZE      largest snapshot read from a pipe (default 4G)\n"
	"  -q, --quiet  -h, --help  -V, --version\n";

enum {
	OPT_FORMAT = 256,
	OPT_VIEW = OPT_FORMAT + FORMAT_COUNT,
	OPT_AT = OPT_VIEW + VIEW_COUNT,
	OPT_METRIC,
	OPT_LIMIT,
	OPT_FULL_NAMES,
	OPT_WIDTH,
	OPT_ASCII,
	OPT_COLOR,
	OPT_FAIL_ON,
	OPT_NO_PAGER,
	OPT_REACH,
	OPT_BUDGETS,
	OPT_CODE_URL,
	OPT_SOURCE_ROOT,
	OPT_LAYOUT,
	OPT_PRETTY,
	OPT_ANONYMIZE,
};

static const struct option longs[] = {
	{"text", optional_argument, 0, OPT_FORMAT + FORMAT_TEXT},
	{"md", optional_argument, 0, OPT_FORMAT + FORMAT_MD},
	{"json", optional_argument, 0, OPT_FORMAT + FORMAT_JSON},
	{"csv", optional_argument, 0, OPT_FORMAT + FORMAT_CSV},
	{"folded", optional_argument, 0, OPT_FORMAT + FORMAT_FOLDED},
	{"html", optional_argument, 0, OPT_FORMAT + FORMAT_HTML},
	{"sarif", optional_argument, 0, OPT_FORMAT + FORMAT_SARIF},
	{"junit", optional_argument, 0, OPT_FORMAT + FORMAT_JUNIT},
	{"github", optional_argument, 0, OPT_FORMAT + FORMAT_GITHUB},
	{"pprof", optional_argument, 0, OPT_FORMAT + FORMAT_PPROF},
	{"speedscope", optional_argument, 0, OPT_FORMAT + FORMAT_SPEEDSCOPE},
	{"gprof2dot", optional_argument, 0, OPT_FORMAT + FORMAT_GPROF2DOT},
	{"massif", optional_argument, 0, OPT_FORMAT + FORMAT_MASSIF},
	{"dhat", optional_argument, 0, OPT_FORMAT + FORMAT_DHAT},
	{"heaptrack", optional_argument, 0, OPT_FORMAT + FORMAT_HEAPTRACK},
	{"callgrind", optional_argument, 0, OPT_FORMAT + FORMAT_CALLGRIND},
	{"chrome-trace", optional_argument, 0, OPT_FORMAT + FORMAT_CHROME_TRACE},
	{"summary", no_argument, 0, OPT_VIEW + VIEW_SUMMARY},
	{"leaks", no_argument, 0, OPT_VIEW + VIEW_LEAKS},
	{"peak", no_argument, 0, OPT_VIEW + VIEW_PEAK},
	{"allocated", no_argument, 0, OPT_VIEW + VIEW_ALLOCATED},
	{"temporary", no_argument, 0, OPT_VIEW + VIEW_TEMPORARY},
	{"failed", no_argument, 0, OPT_VIEW + VIEW_FAILED},
	{"mapped", no_argument, 0, OPT_VIEW + VIEW_MAPPED},
	{"threads", no_argument, 0, OPT_VIEW + VIEW_THREADS},
	{"timeline", no_argument, 0, OPT_VIEW + VIEW_TIMELINE},
	{"sizes", no_argument, 0, OPT_VIEW + VIEW_SIZES},
	{"modules", no_argument, 0, OPT_VIEW + VIEW_MODULES},
	{"heaps", no_argument, 0, OPT_VIEW + VIEW_HEAPS},
	{"regions", no_argument, 0, OPT_VIEW + VIEW_REGIONS},
	{"growth", no_argument, 0, OPT_VIEW + VIEW_GROWTH},
	{"tree", optional_argument, 0, OPT_VIEW + VIEW_TREE},
	{"site", required_argument, 0, OPT_VIEW + VIEW_SITE},
	{"by", required_argument, 0, OPT_VIEW + VIEW_BY},
	{"sql", required_argument, 0, OPT_VIEW + VIEW_SQL},
	{"layout", required_argument, 0, OPT_LAYOUT},
	{"pretty", no_argument, 0, OPT_PRETTY},
	{"anonymize", no_argument, 0, OPT_ANONYMIZE},
	{"at", required_argument, 0, OPT_AT},
	{"metric", required_argument, 0, OPT_METRIC},
	{"limit", required_argument, 0, OPT_LIMIT},
	{"full-names", no_argument, 0, OPT_FULL_NAMES},
	{"width", required_argument, 0, OPT_WIDTH},
	{"ascii", no_argument, 0, OPT_ASCII},
	{"color", optional_argument, 0, OPT_COLOR},
	{"fail-on", required_argument, 0, OPT_FAIL_ON},
	{"no-pager", no_argument, 0, OPT_NO_PAGER},
	{"budgets", required_argument, 0, OPT_BUDGETS},
	{"reach", required_argument, 0, OPT_REACH},
	{"code-url", required_argument, 0, OPT_CODE_URL},
	{"source-root", required_argument, 0, OPT_SOURCE_ROOT},
	MS_CLI_LONGS,
	{0, 0, 0, 0},
};

const char *view_name(enum view v)
{
	for (const struct option *l = longs; l->name; l++)
		if (l->val == OPT_VIEW + (int)v)
			return l->name;
	return "view";
}

/* Position of `s` among `n` names, or -1 with the names in the message. */
static int choice(const char *option, const char *s, const char *const *names, int n,
		  struct ms_err *err)
{
	char all[200] = "";
	for (int i = 0; i < n; i++) {
		if (strcmp(s, names[i]) == 0)
			return i;
		strcat(strcat(all, i == 0 ? "" : i == n - 1 ? " or " : ", "), names[i]);
	}
	return ms_err_set(err, "bad %s '%s': expected %s", option, s, all);
}

static int add_output(struct options *opt, enum format f, const char *path, struct ms_err *err)
{
	if (path && !*path)
		return ms_err_set(err, "an output file needs a name");
	if (path && strcmp(path, "-") == 0)
		path = NULL;
	for (size_t i = 0; path && i < opt->output_count; i++)
		if (opt->outputs[i].path && strcmp(opt->outputs[i].path, path) == 0)
			return ms_err_set(err, "two outputs cannot go to one file: '%s'", path);
	for (size_t i = 0; i < opt->output_count; i++)
		if (!path && !opt->outputs[i].path)
			return ms_err_set(err,
					  "only one format can go to standard output: name a file "
					  "for the other, such as --json=FILE");
	if (opt->output_count == OUTPUTS_MAX)
		return ms_err_set(err, "more than %d outputs", OUTPUTS_MAX);
	opt->outputs[opt->output_count++] = (struct output){f, path};
	return 0;
}

static int add_view(struct options *opt, enum view v, const char *arg, struct ms_err *err)
{
	static const char *const ways[] = {"down", "up"};
	uint64_t n;
	int k = 0;
	if (v == VIEW_TREE && arg) {
		if ((k = choice("--tree", arg, ways, 2, err)) < 0)
			return -1;
		opt->tree_up = k == 1;
	}
	if (v == VIEW_BY) {
		if ((k = choice("--by", arg, group_names, BY_COUNT, err)) < 0)
			return -1;
		opt->by = (enum group_key)k;
	}
	if (v == VIEW_SITE) {
		if (ms_parse_count(arg, "site", 0, INT64_MAX, &n, err) != 0)
			return -1;
		opt->site = (int64_t)n;
	}
	if (v == VIEW_SQL)
		opt->sql = arg;
	for (size_t i = 0; i < opt->view_count; i++)
		if (opt->views[i] == v)
			return v >= VIEW_TREE
				       ? ms_err_set(err, "--%s was given twice", view_name(v))
				       : 0;
	opt->views[opt->view_count++] = v;
	return 0;
}

static int add_budget(struct options *opt, const char *arg, struct ms_err *err)
{
	struct budget b;
	if (budget_parse(arg, &b, err) != 0)
		return -1;
	*MS_PUSH(&opt->budgets) = b;
	return 0;
}

/* Takes an option without a value. False: it is another one. */
static bool set_flag(struct options *opt, int c)
{
	switch (c) {
	case OPT_FULL_NAMES:
		opt->full_names = true;
		return true;
	case OPT_ASCII:
		opt->ascii = true;
		return true;
	case OPT_PRETTY:
		opt->pretty = true;
		return true;
	case OPT_ANONYMIZE:
		opt->anonymize = true;
		return true;
	case OPT_NO_PAGER:
		opt->no_pager = true;
		return true;
	default:
		return false;
	}
}

static int set_source_root(struct options *opt, const char *arg, struct ms_err *err)
{
	opt->links.source_root = arg;
	return *arg == '/' ? 0
			   : ms_err_set(err, "bad --source-root '%s': expected a whole path", arg);
}

static int set_layout(struct options *opt, const char *arg, struct ms_err *err)
{
	opt->memc = strcmp(arg, "memc") == 0;
	return opt->memc ? 0 : ms_err_set(err, "bad --layout '%s': expected memc", arg);
}

/* Of the options with a value that are neither format nor view. */
static int set(struct options *opt, int c, const char *arg, struct ms_err *err)
{
	static const char *const colors[] = {"auto", "always", "never"};
	uint64_t n;
	int k;
	switch (c) {
	case OPT_AT:
		opt->at = arg;
		return *arg ? 0 : ms_err_set(err, "--at needs a moment");
	case OPT_METRIC:
		k = choice("--metric", arg, metric_names, METRIC_COUNT, err);
		opt->metric = (enum metric)k;
		return k < 0 ? -1 : 0;
	case OPT_LIMIT:
		if (ms_parse_count(arg, "limit", 0, 1000000000, &n, err) != 0)
			return -1;
		opt->limit = n ? (size_t)n : SIZE_MAX;
		return 0;
	case OPT_WIDTH:
		if (ms_parse_count(arg, "width", 20, 10000, &n, err) != 0)
			return -1;
		opt->width = (size_t)n;
		return 0;
	case OPT_COLOR:
		k = choice("--color", arg ? arg : "always", colors, 3, err);
		opt->color = (enum color)k;
		return k < 0 ? -1 : 0;
	case OPT_FAIL_ON:
		return add_budget(opt, arg, err);
	case OPT_REACH:
		if (ms_parse_size(arg, &opt->reach, err) != 0)
			return -1;
		return opt->reach ? 0
				  : ms_err_set(err, "bad size '%s': --reach must be above 0", arg);
	case OPT_CODE_URL:
		opt->links.code_url = arg;
		return links_check(arg, err);
	case OPT_SOURCE_ROOT:
		return set_source_root(opt, arg, err);
	case OPT_BUDGETS:
		return budget_read(arg, &opt->budgets, &opt->arena, err);
	default: /* OPT_LAYOUT */
		return set_layout(opt, arg, err);
	}
}

static int take(void *options, int c, char **argv, struct ms_err *err)
{
	struct options *opt = options;
	if (set_flag(opt, c))
		return 0;
	if (c == ':' || c == '?')
		return ms_cli_bad_option("ms-report", c, argv, longs, err);
	if (c < OPT_VIEW)
		return add_output(opt, (enum format)(c - OPT_FORMAT), optarg, err);
	if (c < OPT_AT)
		return add_view(opt, (enum view)(c - OPT_VIEW), optarg, err);
	return set(opt, c, optarg, err);
}

/* Which formats can show a view; the others show their own whole. */
static bool shows(enum format f, enum view v)
{
	bool list = v >= VIEW_LEAKS && v <= VIEW_MAPPED;
	switch (f) {
	case FORMAT_JSON:
		return v != VIEW_TREE;
	case FORMAT_FOLDED:
		return list;
	case FORMAT_GPROF2DOT:
		return list && v != VIEW_FAILED && v != VIEW_MAPPED;
	case FORMAT_PPROF:
	case FORMAT_SPEEDSCOPE:
	case FORMAT_MASSIF:
	case FORMAT_DHAT:
	case FORMAT_HEAPTRACK:
	case FORMAT_CALLGRIND:
	case FORMAT_CHROME_TRACE:
	case FORMAT_HTML: /* has them all */
	case FORMAT_SARIF:
	case FORMAT_JUNIT:
	case FORMAT_GITHUB:
		return false;
	case FORMAT_CSV:
		return v != VIEW_TREE;
	default:
		return true;
	}
}

static bool has_output(const struct options *opt, enum format f)
{
	for (size_t i = 0; i < opt->output_count; i++)
		if (opt->outputs[i].format == f)
			return true;
	return false;
}

static bool has_view(const struct options *opt, enum view v)
{
	for (size_t i = 0; i < opt->view_count; i++)
		if (opt->views[i] == v)
			return true;
	return false;
}

/* Threads, sizes and processes cannot be ordered by figures that only sites have. */
static int check_by(const struct options *opt, struct ms_err *err)
{
	enum metric last = opt->by == BY_PROCESS                        ? METRIC_FAILED
			   : opt->by == BY_THREAD || opt->by == BY_SIZE ? METRIC_TEMPORARY
									: METRIC_COUNT;
	if (opt->metric == METRIC_COUNT || !has_view(opt, VIEW_BY) ||
	    (opt->by != BY_PROGRAM && opt->metric <= last))
		return 0;
	return ms_err_set(err, "--by %s has no order by --metric %s", group_names[opt->by],
			  metric_names[opt->metric]);
}

/* Formats for other programs know some figures only. */
static int check_metric(const struct options *opt, struct ms_err *err)
{
	static const enum format choose[] = {FORMAT_PPROF, FORMAT_SPEEDSCOPE, FORMAT_GPROF2DOT};
	bool chosen = false, unknown = opt->metric == METRIC_FAILED || opt->metric == METRIC_MAPPED;
	if (opt->metric == METRIC_COUNT)
		return 0;
	for (size_t i = 0; i < sizeof choose / sizeof *choose; i++)
		chosen |= has_output(opt, choose[i]);
	if (chosen && unknown)
		return ms_err_set(err, "--metric %s cannot be had in that format",
				  metric_names[opt->metric]);
	if (!chosen && !has_output(opt, FORMAT_FOLDED) && !has_output(opt, FORMAT_HTML) &&
	    !has_view(opt, VIEW_TREE) && !has_view(opt, VIEW_BY))
		return ms_err_set(err, "--metric is for --folded, --html, --gprof2dot, --pprof, "
				       "--speedscope, --tree and --by");
	return 0;
}

/* Refuses what would be ignored. */
static int check(const struct options *opt, struct ms_err *err)
{
	for (size_t i = 0; i < opt->view_count; i++) {
		bool shown = false;
		for (size_t k = 0; k < opt->output_count; k++)
			shown |= shows(opt->outputs[k].format, opt->views[i]);
		if (!shown)
			return ms_err_set(err, "--%s cannot be had in that format: use --text%s",
					  view_name(opt->views[i]),
					  opt->views[i] == VIEW_TREE ? " or --md"
								     : ", --md or --csv");
	}
	if (has_output(opt, FORMAT_CSV) && opt->view_count > 1)
		return ms_err_set(err, "--csv is one table: choose one view");
	if (check_metric(opt, err) != 0)
		return -1;
	if ((opt->memc || opt->pretty) && !has_output(opt, FORMAT_JSON))
		return ms_err_set(err, "--layout and --pretty are for --json");
	if (opt->memc &&
	    (opt->view_count > 1 || (opt->view_count == 1 && opt->views[0] != VIEW_REGIONS)))
		return ms_err_set(err, "--layout=memc is for --regions only");
	if (opt->reach && !has_view(opt, VIEW_GROWTH))
		return ms_err_set(err, "--reach is for --growth");
	return check_by(opt, err);
}

int options_parse(int argc, char **argv, struct options *opt, struct ms_err *err)
{
	*opt = (struct options){
		.cli = MS_CLI_START, .limit = LIMIT_DEFAULT, .metric = METRIC_COUNT};
	if (ms_cli_read(&opt->cli, argc, argv, ":" MS_CLI_SHORTS, longs, take, opt, err) != 0)
		return -1;
	if (opt->cli.help || opt->cli.version)
		return 0;
	opt->inputs = (const char *const *)(argv + optind);
	opt->input_count = (size_t)(argc - optind);
	if (!opt->output_count)
		opt->outputs[opt->output_count++] = (struct output){FORMAT_TEXT, NULL};
	if (check(opt, err) != 0)
		return -1;
	if (!opt->view_count)
		opt->views[opt->view_count++] = VIEW_FIRST;
	return 0;
}

void options_free(struct options *opt)
{
	free(opt->budgets.v);
	ms_arena_free(&opt->arena);
}
