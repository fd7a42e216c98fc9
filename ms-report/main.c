/* SPDX-License-Identifier: MIT
 * ms-report: what a recording says, for people and for machines.
 *
 *   cli/      options.h: the command line; render.h: which view goes into which format
 *   model/    lists.h: the largest sites; tree.h, curve.h; diff.h: what ms-diff found; run.h: the
 *             processes of a run. A snapshot as arrays is libcommon/model/model.h
 *   words/    words.h: sentences; say.h: figures; names.h; table.h: views as typed cells;
 *             annotate.h: a source file by line; page.h: what every writer is given
 *   output/   out.h: bytes, to a file or a terminal; what the formats are called; number_table.h:
 *             texts that are numbered, gzip
 *   text/     text.h
 *   html/     html.h, html_data.h; the page's own style and script
 *   export/   formats.h: JSON, CSV; export_table.h: the formats of other programs, a row each;
 *             export.h: what these have in common; events.h: event by event
 *   ci/       budget.h: --fail-on; ci.h: findings, and formats of them
 *   diff/     diff_report.h: what ms-diff found, for people
 *
 * CONTRIBUTING.md, Rooms, says which of them may include which.
 */
#include "ms-report/ci/budget.h"
#include "ms-report/cli/options.h"
#include "ms-report/cli/render.h"
#include "ms-report/export/events.h"
#include "ms-report/export/export.h"
#include "libcommon/model/model.h"
#include "ms-report/model/diff.h"
#include "ms-report/model/run.h"
#include "ms-report/output/out.h"
#include "ms-report/text/explain.h"
#include "ms-report/words/names.h"
#include "ms-report/words/words.h"

#include "libcommon/snapshot/anonymize.h"
#include "libcommon/base/err.h"
#include "libcommon/base/io.h"
#include "libcommon/base/progress.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/stats/trend.h"

#include <langinfo.h>
#include <locale.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#define TROUBLE 2
#define LARGE (128 << 10)
#define SLOW_SECONDS 5
#define PAGE_MOMENTS 12 /* minimum number of moments, so that a page can select ranges of time */

/* ---- input ----------------------------------------------------------------------------------- */

static int two_moments(const char *a, const char *b, struct ms_err *err)
{
	return ms_err_set(err, "conflicting --at: '%s' and '%s'; one moment applies to all", a, b);
}

/* Returns the operands without @POINT, and the point, which must be the same for all operands. */
static const char **split_points(const struct options *opt, const char **at, struct ms_arena *arena,
				 struct ms_err *err)
{
	const char **paths = ms_arena_alloc(arena, opt->input_count * sizeof *paths);
	for (size_t i = 0; i < opt->input_count; i++) {
		const char *point;
		paths[i] = ms_cli_operand(arena, opt->inputs[i], &point);
		if (point && *at && strcmp(point, *at) != 0) {
			two_moments(point, *at, err);
			return NULL;
		}
		*at = point ? point : *at;
	}
	return paths;
}

/* Tells whether all views and outputs show a single moment, and of most sites only totals. If so,
 * reading the peak and the end of a large trace and writing details of sites can be skipped. */
static bool overview_only(const struct options *opt)
{
	bool one = opt->budgets.n == 0;
	for (size_t i = 0; i < opt->view_count; i++)
		one &= opt->views[i] == VIEW_FIRST || opt->views[i] == VIEW_LEAKS;
	for (size_t i = 0; i < opt->output_count; i++)
		one &= opt->outputs[i].format == FORMAT_TEXT || opt->outputs[i].format == FORMAT_MD;
	return one;
}

/* Tells whether an output is an HTML page and the others, if any, are text or Markdown, which do
 * not show the moments added for the page. */
static bool page_only(const struct options *opt)
{
	bool page = false;
	for (size_t i = 0; i < opt->output_count; i++) {
		enum format f = opt->outputs[i].format;
		page |= f == FORMAT_HTML;
		if (f != FORMAT_HTML && f != FORMAT_TEXT && f != FORMAT_MD)
			return false;
	}
	return page;
}

static int load(struct model *m, sqlite3 *db, const char *at, struct ms_err *err)
{
	return model_load(m, db, at, err) != 0 ? -1 : diff_read(m, err);
}

static void unload(struct model *m)
{
	diff_free(m);
	model_free(m);
}

static sqlite3 *open_input(const struct options *opt, const char **at,
			   const struct ms_row_taker *taker, struct ms_build_result *res,
			   struct ms_err *err)
{
	struct ms_arena arena = {0};
	bool several = opt->input_count > 1;
	const char *path = opt->input_count ? opt->inputs[0] : "-", *point = NULL, **paths = NULL;
	*at = opt->at;
	if (several && !(paths = split_points(opt, at, &arena, err))) {
		ms_arena_free(&arena);
		return NULL;
	}
	if (!several && strcmp(path, "-") == 0 && isatty(STDIN_FILENO)) {
		ms_err_set(err, "nothing to report on: name a trace or a snapshot, or pipe one in "
				"(ms-report --help)");
		return NULL;
	}
	const char *points[] = {"peak", "end", *at};
	bool overview = overview_only(opt),
	     usual = !*at || strcmp(*at, "peak") == 0 || strcmp(*at, "end") == 0;
	struct ms_build_options build = {.points = points,
					 .point_count = usual ? 2 : 3,
					 .usual_points = overview ? 2 : 0,
					 .no_site_details = overview,
					 .site = opt->site,
					 .spread = page_only(opt) ? PAGE_MOMENTS : 0,
					 .taker = overview && !opt->anonymize ? taker : NULL,
					 .wrappers = &opt->wrappers};
	sqlite3 *db =
		several ? ms_snapshot_build(paths, opt->input_count, &build, res, err)
			: ms_snapshot_open(path, &build, opt->cli.max_image, &point, res, err);
	ms_arena_free(&arena);
	if (db && point && opt->at && strcmp(point, opt->at) != 0) {
		two_moments(point, opt->at, err);
		sqlite3_close(db);
		return NULL;
	}
	*at = point ? point : *at;
	return db;
}

static bool prints(const struct options *opt, enum format f)
{
	for (size_t i = 0; i < opt->output_count; i++)
		if (opt->outputs[i].format == f)
			return true;
	return false;
}

/* Chooses the process with the highest peak if FILE is the first trace of a run of several
 * processes and no other process was requested: a wrapper script is rarely of interest. Budgets and
 * events apply to FILE itself unless a process is requested. */
static int choose_process(struct options *opt, struct run *run, struct ms_err *err)
{
	const char *point, *file;
	if (opt->input_count != 1 || opt->only_first || strcmp(opt->inputs[0], "-") == 0 ||
	    (opt->views[0] == VIEW_EVENTS && !opt->process))
		return 0;
	file = ms_cli_operand(&opt->arena, opt->inputs[0], &point);
	run_find(run, file);
	if (opt->process && !run->processes.n)
		return ms_err_set(err,
				  "--process %s: '%s' has no folder '%s.d' with traces of the same "
				  "run",
				  opt->process, file, file);
	if (run->processes.n < 2)
		return 0;
	if (opt->budgets.n && !opt->process) {
		ms_cli_remark(&opt->cli,
			      "budgets apply only to the process of '%s', one of %zu: --process "
			      "chooses another",
			      file, run->processes.n);
		run->processes.n = 0;
		return 0;
	}
	if (run_choose(run, opt->process, err) != 0)
		return -1;
	const char **chosen = ms_arena_alloc(&opt->arena, sizeof *chosen);
	*chosen = run->processes.v[run->shown].path;
	if (point)
		*chosen = ms_arena_printf(&opt->arena, "%s@%s", *chosen, point);
	opt->inputs = chosen;
	return 0;
}

/* Prints which process was chosen, if no output format shows it. */
static void say_process(struct model *m, const struct options *opt, const struct run *run)
{
	static const struct style plain = {.ascii = true};
	if (!prints(opt, FORMAT_TEXT) && !prints(opt, FORMAT_MD) && !prints(opt, FORMAT_HTML) &&
	    !prints(opt, FORMAT_JSON))
		ms_cli_remark(&opt->cli, "%s", run_words(m, run, &plain));
}

/* ---- output ---------------------------------------------------------------------------------- */

static size_t terminal_width(void)
{
	struct winsize w;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col >= 20)
		return w.ws_col;
	return 100;
}

static struct style style_for(const struct options *opt, const struct output *output)
{
	bool terminal = !output->path && isatty(STDOUT_FILENO);
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	bool utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	return (struct style){
		.ascii = opt->ascii || (output->format == FORMAT_TEXT && !utf8),
		.full_names = opt->full_names,
		.color = opt->color == COLOR_ALWAYS ||
			 (opt->color == COLOR_AUTO && terminal && !(no && *no) && term &&
			  strcmp(term, "dumb") != 0),
		.width = opt->width ? opt->width
			 : terminal ? terminal_width()
				    : 100,
	};
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), k = strlen(end);
	return n >= k && strcmp(s + n - k, end) == 0;
}

/* Gives the finished file its name; prints the name if we chose it. */
static int end_file(struct ms_file *file, const struct output *output, int rc,
		    const struct options *opt, struct ms_err *err)
{
	const char *kept = NULL;
	if (rc == 0 && output->own_name)
		rc = own_name_room(output, &kept, true, err);
	rc = ms_file_end(file, rc, err);
	if (rc == 0 && output->own_name)
		ms_cli_remark(&opt->cli, "wrote '%s'%s%s%s", output->path,
			      kept ? "; the previous file is now '" : "", kept ? kept : "",
			      kept ? "'" : "");
	return rc;
}

static int write_output(struct page *p, const struct options *opt, const struct output *output,
			struct ms_err *err)
{
	p->style = style_for(opt, output);
	p->style.source_root = p->links.source_root;
	p->four_types = opt->layout == LAYOUT_GO;
	p->gzip = output->path && ends_with(output->path, ".gz");
	bool page = output->format == FORMAT_TEXT || output->format == FORMAT_MD;
	struct ms_file file = {.fd = STDOUT_FILENO};
	if (output->path && ms_file_begin(&file, output->path, err) != 0)
		return -1;
	const char *large = render_large(p, opt, output->format);
	if (large)
		ms_cli_remark(&opt->cli, "%s", large);
	struct out o = {.fd = page ? 0 : file.fd};
	int rc = 0;
	ms_progress("writing the report", NULL, 0, 0, NULL);
	render(p, opt, output, &o);
	ms_progress_hide();
	bool paged = !output->path && output->format == FORMAT_TEXT && !opt->no_pager &&
		     isatty(STDOUT_FILENO);
	if (!paged || !pager_show(o.v, o.n)) {
		o.fd = file.fd;
		rc = out_flush(&o, output->path ? output->path : "standard output", err);
	}
	out_free(&o);
	if (output->path)
		rc = end_file(&file, output, rc, opt, err);
	const char *lacks = rc == 0 ? render_lacks(p, opt, output) : NULL;
	if (lacks)
		ms_cli_remark(&opt->cli, "--%s: %s (ms-snap without --at keeps peak and end)",
			      output->name, lacks);
	return rc;
}

/* ---- what the status says -------------------------------------------------------------------- */

/* Maximum number of frames in the message on a broken budget. */
#define WORST_FRAMES 8
static void say_broken(struct model *m, const struct options *opt, const struct budget *b)
{
	const struct site *s = budget_worst(b, m);
	fprintf(stderr, "ms-report: budget '%s' is broken: the figure is %s", b->text,
		budget_amount(b, m));
	static const struct style plain = {.ascii = true};
	uint32_t node = !s || opt->cli.quiet ? NONE : s->user != NONE ? s->user : s->stack;
	if (node != NONE)
		fprintf(stderr, ", most of it at site %lld", (long long)s->id);
	for (unsigned i = 0; node != NONE && i < WORST_FRAMES; i++) {
		const struct frame *f = &m->frames.v[m->nodes.v[node].frame];
		fprintf(stderr, "%s%s %s", i ? " < " : ": ", frame_label(&m->arena, m, f, &plain),
			frame_place(&m->arena, m, f, &plain));
		node = m->nodes.v[node].parent;
	}
	fputs(node != NONE ? " < ...\n" : "\n", stderr);
}

/* Reports a budget whose pattern matches no site: the function may have been renamed. Returns true
 * if that is an error. */
static bool fits_nothing(struct model *m, const struct options *opt, const struct budget *b)
{
	const char *what = budget_parts[b->part].what;
	if (!budget_matches_none(b, m))
		return false;
	if (opt->strict)
		fprintf(stderr,
			"ms-report: budget '%s': its pattern matches no %s (--fail-on=strict)\n",
			b->text, what);
	else
		ms_cli_remark(&opt->cli,
			      "budget '%s': its pattern matches no %s, so its figure is 0 "
			      "(--fail-on=strict makes the status 2)",
			      b->text, what);
	return opt->strict;
}

/* Reports broken budgets, and those that cannot be checked. Returns the exit status: 0, 1 or 2. */
static int check_budgets(struct model *m, const struct options *opt)
{
	const char *why = opt->cli.allow_partial ? NULL : budget_untrusted(m);
	int status = 0;
	if (opt->budgets.n && why) {
		fprintf(stderr,
			"ms-report: budgets cannot be checked: %s (--allow=partial checks them "
			"anyway)\n",
			why);
		return TROUBLE;
	}
	for (size_t i = 0; i < opt->budgets.n; i++) {
		const struct budget *b = &opt->budgets.v[i];
		const char *apart = opt->cli.allow_partial ? NULL : budget_apart(b, m);
		if (fits_nothing(m, opt, b))
			status = TROUBLE;
		switch (apart ? BUDGET_UNDECIDED : budget_check(b, m)) {
		case BUDGET_UNDECIDED:
			fprintf(stderr, "ms-report: budget '%s' cannot be checked: %s%s\n", b->text,
				apart ? apart : budget_unknown(b, m),
				apart ? " (--allow=partial checks them anyway)" : "");
			status = TROUBLE;
			break;
		case BUDGET_BROKEN:
			say_broken(m, opt, b);
			status = status ? status : 1;
			break;
		default:
			if (diff_budget_waived(b, m))
				ms_cli_remark(&opt->cli, "budget '%s' passes: there was no old run",
					      b->text);
			else if (budget_too_short(b, m))
				ms_cli_remark(
					&opt->cli,
					"budget '%s' passes: the run was too short to judge "
					"growth, which needs at least %.0f s after the warm-up "
					"(the first tenth of the run)",
					b->text, MS_TREND_SECONDS);
			break;
		}
	}
	return status;
}

static int final_status(struct model *m, const struct options *opt)
{
	int status = check_budgets(m, opt);
	if (m->quality.complete || opt->cli.allow_partial)
		return status;
	ms_cli_remark(&opt->cli, "incomplete: %s (--allow=partial makes the exit status 0)",
		      words_incomplete(m));
	return TROUBLE;
}

/* Anonymizes the snapshot, and the names on the command line that occur in it. */
static int anonymize(sqlite3 *db, struct ms_anonymizer *names, struct page *p, const char **at,
		     struct ms_err *err)
{
	const char *root = p->links.source_root;
	if (ms_snapshot_anonymize(db, names, err) != 0)
		return -1;
	p->input = NULL;
	if (*at)
		*at = ms_anonymous(names, MS_NAME_POINT, *at, strlen(*at));
	if (root)
		p->links.source_root = ms_anonymous(names, MS_NAME_PATH, root, strlen(root));
	return 0;
}

/* Tells whether all outputs are the first screen in a format for people (text, Markdown or HTML)
 * and there are no budgets. Only then may the tool itself choose the point in time that is
 * shown. */
static bool for_people(const struct options *opt)
{
	for (size_t i = 0; i < opt->output_count; i++)
		if (opt->outputs[i].format != FORMAT_TEXT && opt->outputs[i].format != FORMAT_MD &&
		    opt->outputs[i].format != FORMAT_HTML)
			return false;
	return opt->view_count == 1 && opt->views[0] == VIEW_FIRST && !opt->budgets.n;
}

/* Shows mapped memory at its peak on the first screen, if mappings were recorded and most memory is
 * not heap. Reads the trace a second time for that moment. Returns 0, or -1. */
static int turn_to_mapped(struct model *m, sqlite3 **db, const char **at, const struct options *opt,
			  struct ms_build_result *res, struct ms_err *err)
{
	static char when[40]; /* static, as the model keeps it as a label */
	uint64_t ns = m->totals.mapped_peak_time_ns, tenths = ns / 100000 + 1; /* tenths of a ms */
	bool mapped = for_people(opt) && ns != UNKNOWN &&
		      figure_some(m->totals.mapped_peak_bytes) && words_elsewhere(m);
	m->mapped_first = mapped;
	if (!mapped || *at || !res->traces ||
	    m->totals.mapped_end_bytes == m->totals.mapped_peak_bytes)
		return 0;
	/* the state just before the next tenth of a millisecond */
	snprintf(when, sizeof when, "%.4fs", (double)tenths / 1e4);
	struct options then = *opt;
	struct model none = {0};
	then.at = when;
	unload(m);
	sqlite3_close(*db);
	*m = none;
	*db = open_input(&then, at, NULL, res, err);
	int rc = *db ? load(m, *db, *at, err) : -1;
	m->mapped_first = rc == 0;
	return rc;
}

static int report(const struct options *opt, const struct run *run)
{
	struct ms_err err = {0};
	struct ms_build_result res = {0};
	struct model m = {0};
	const char *at;
	struct ms_row_taker taker = model_taker(&m);
	sqlite3 *db = open_input(opt, &at, &taker, &res, &err);
	struct page p = {.m = &m,
			 .links = opt->links,
			 .budgets = &opt->budgets,
			 .run = run->processes.n > 1 && !opt->anonymize ? run : NULL,
			 .no_source = opt->no_source || opt->anonymize,
			 .partial = opt->cli.allow_partial};
	if (opt->input_count == 1 && strcmp(opt->inputs[0], "-") != 0)
		p.input = opt->inputs[0];
	struct ms_anonymizer *names = opt->anonymize ? ms_anonymizer_new() : NULL;
	int rc = db && names ? anonymize(db, names, &p, &at, &err) : 0;
	ms_progress("reading tables", NULL, 0, 0, NULL);
	if (rc == 0)
		rc = db ? load(&m, db, at, &err) : -1;
	if (rc == 0 && !names)
		rc = turn_to_mapped(&m, &db, &at, opt, &res, &err);
	if (rc == 0)
		rc = render_prepare(&p, opt, &err);
	if (rc == 0 && p.run)
		say_process(&m, opt, p.run);
	/* if the reader of one output stops early, the other outputs and the status are still
	 * produced */
	struct ms_err unread = {0};
	for (size_t i = 0; rc == 0 && i < opt->output_count; i++) {
		struct ms_err why = {0};
		rc = write_output(&p, opt, &opt->outputs[i], &why);
		*(why.pipe ? &unread : &err) = why;
		rc = why.pipe ? 0 : rc;
	}
	if (rc == 0)
		ms_wrappers_tell(&opt->wrappers, &opt->cli);
	int status = rc == 0 ? final_status(&m, opt) : ms_cli_failed("ms-report", &err);
	if (rc == 0 && res.seconds > SLOW_SECONDS)
		ms_cli_remark(
			&opt->cli,
			"reading the trace took %.0f s: make a snapshot once (ms-snap -o run.db) "
			"and report on that instead",
			res.seconds);
	unload(&m);
	sqlite3_close(db);
	ms_anonymizer_free(names);
	return unread.pipe && !status ? ms_cli_failed("ms-report", &unread) : status;
}

/* Returns a file name under which standard input can be read twice; NULL with `err` set. */
static const char *name_input(char *name, size_t room, struct ms_err *err)
{
	struct stat st;
	int fd = STDIN_FILENO;
	if (isatty(fd)) {
		ms_err_set(err, "nothing to report on: name a trace, or pipe one in");
		return NULL;
	}
	if (fstat(fd, &st) == 0 && !S_ISREG(st.st_mode))
		fd = ms_spool(fd, "", 0, "standard input", err);
	snprintf(name, room, "/proc/self/fd/%d", fd);
	return fd < 0 ? NULL : name;
}

static int events(const struct options *opt)
{
	struct ms_err err = {0};
	const struct output *to = &opt->outputs[0];
	struct style style = style_for(opt, to);
	struct events_options how = {.json = to->format == FORMAT_JSON,
				     .whole_stacks = opt->layout == LAYOUT_FULL,
				     .full_names = opt->full_names,
				     .ascii = style.ascii,
				     .limit = opt->limit == LIMIT_DEFAULT ? SIZE_MAX : opt->limit};
	struct ms_file file = {.fd = STDOUT_FILENO};
	const char *path = opt->input_count ? opt->inputs[0] : "-", *incomplete;
	char name[64];
	if (strcmp(path, "-") == 0 && !(path = name_input(name, sizeof name, &err)))
		return ms_cli_failed("ms-report", &err);
	if (to->path && ms_file_begin(&file, to->path, &err) != 0)
		return ms_cli_failed("ms-report", &err);
	struct out o = {.fd = file.fd};
	int rc = events_write(path, &how, &o, &incomplete, &err);
	if (rc == 0)
		rc = out_flush(&o, to->path ? to->path : "standard output", &err);
	out_free(&o);
	if (to->path)
		rc = end_file(&file, to, rc, opt, &err);
	if (rc != 0)
		return ms_cli_failed("ms-report", &err);
	if (!incomplete || opt->cli.allow_partial)
		return 0;
	ms_cli_remark(&opt->cli,
		      "incomplete: the trace %s (--allow=partial makes the exit status 0)",
		      strcmp(incomplete, "damaged") == 0 ? "is damaged" : "has no end");
	return TROUBLE;
}

static int explain_word(const char *word)
{
	struct ms_err err = {0};
	struct out o = {0};
	int rc = explain(word, &o, &err);
	o.fd = STDOUT_FILENO;
	if (rc == 0)
		rc = out_flush(&o, "standard output", &err);
	out_free(&o);
	return rc == 0 ? 0 : ms_cli_failed("ms-report", &err);
}

int main(int argc, char **argv)
{
	struct options opt;
	struct ms_err err = {0};
	/* Large arrays of sites grow by mremap and leave no holes in the heap. */
	mallopt(M_MMAP_THRESHOLD, LARGE);
	setlocale(LC_CTYPE, "");
	if (options_parse(argc, argv, &opt, &err) != 0) {
		options_free(&opt);
		return ms_cli_failed("ms-report", &err);
	}
	if (opt.cli.asked || opt.list_exports) {
		int rc = opt.cli.asked ? ms_cli_answer(&opt.cli, &err)
				       : ms_cli_print(export_list(&opt.arena), &err);
		options_free(&opt);
		return rc == 0 ? 0 : ms_cli_failed("ms-report", &err);
	}
	ms_cli_signals();
	ms_progress_start(!opt.cli.quiet);
	struct run run = {0};
	int status = opt.explain                             ? explain_word(opt.explain)
		     : choose_process(&opt, &run, &err) != 0 ? ms_cli_failed("ms-report", &err)
		     : opt.views[0] == VIEW_EVENTS           ? events(&opt)
							     : report(&opt, &run);
	run_free(&run);
	options_free(&opt);
	return status;
}
