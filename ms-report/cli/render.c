/* SPDX-License-Identifier: MIT
 * Writes one output: the requested views in one format.
 */
#include "render.h"

#include "ms-report/ci/ci.h"
#include "ms-report/diff/diff_report.h"
#include "ms-report/export/export.h"
#include "ms-report/export/formats.h"
#include "ms-report/html/html.h"
#include "libcommon/model/facts.h"
#include "ms-report/model/tree.h"
#include "ms-report/text/text.h"
#include "ms-report/words/annotate.h"
#include "ms-report/words/cohorts.h"

#include "libcommon/base/json_writer.h"
#include "libcommon/base/err.h"

#include <stdlib.h>
#include <string.h>

/* Maximum bytes of Markdown for a pull request: hosts refuse comments of 64 KB. */
#define MARKDOWN_MAX 60000

static size_t limit_of(const struct options *opt, enum format f, enum view v)
{
	static const size_t text[VIEW_COUNT] = {
		[VIEW_FIRST] = 5,     [VIEW_TIMELINE] = 24, [VIEW_TREE] = 50,
		[VIEW_MODULES] = 50,  [VIEW_SQL] = 1000,    [VIEW_ANNOTATE] = 1000,
		[VIEW_RETAINED] = 50,
	};
	if (opt->limit != LIMIT_DEFAULT)
		return opt->limit;
	if (f == FORMAT_CSV || f == FORMAT_JSON)
		return SIZE_MAX;
	if (f == FORMAT_MD && v == VIEW_FIRST)
		return 10;
	return text[v] ? text[v] : 20;
}

/* Returns the metric of --tree, --by and --folded if --metric is not given. */
static enum metric metric_of(const struct page *p, const struct options *opt)
{
	if (opt->metric != METRIC_COUNT)
		return opt->metric;
	return p->m->peak.bytes != UNKNOWN ? METRIC_PEAK : METRIC_LIVE;
}

/* Makes the table of --annotate: for the live memory at the moment of --at, or else for the metric
 * that the other views use. */
static struct table annotate(const struct page *p, const struct options *opt, size_t limit,
			     bool context)
{
	bool moment = opt->metric == METRIC_COUNT && strcmp(p->m->at_label, "end") != 0;
	struct annotate a = {p->source,
			     opt->annotate,
			     p->links.source_root,
			     &p->style,
			     moment ? METRIC_LIVE : metric_of(p, opt),
			     context};
	return table_annotate(p->m, &a, limit);
}

static bool is_list(enum view v)
{
	return v >= VIEW_LEAKS && v <= VIEW_MAPPED;
}

static enum metric list_metric(enum view v)
{
	static const enum metric metrics[] = {METRIC_LIVE,      METRIC_PEAK,   METRIC_ALLOCATED,
					      METRIC_TEMPORARY, METRIC_FAILED, METRIC_MAPPED};
	return metrics[v - VIEW_LEAKS];
}

/* Replaces --by thread and --by size by the view of --threads and --sizes. */
static enum view table_view(const struct options *opt, enum view v)
{
	if (v != VIEW_BY)
		return v;
	return opt->by == BY_THREAD || opt->by == BY_LABEL ? VIEW_THREADS
	       : opt->by == BY_SIZE                        ? VIEW_SIZES
							   : VIEW_BY;
}

static struct table make_table(struct page *p, const struct options *opt, enum view v, size_t limit)
{
	struct model *m = p->m;
	struct table resident[RESIDENT_TABLES];
	switch (table_view(opt, v)) {
	case VIEW_SUMMARY:
		return table_summary(m);
	case VIEW_THREADS:
		return table_threads(m, v == VIEW_BY && opt->by == BY_LABEL, opt->metric, limit);
	case VIEW_TIMELINE:
		limit = limit < 10000 ? limit : 1000;
		return m->proc_only ? proc_timeline(m, limit) : table_timeline(m, limit);
	case VIEW_REGIONS:
		return proc_regions(m, limit);
	case VIEW_RESIDENT:
		resident_tables(m, limit, resident);
		return resident[0];
	case VIEW_GROWTH:
		return table_growth(m, opt->reach, limit);
	case VIEW_SIZES:
		return table_sizes(m, opt->metric, limit);
	case VIEW_MODULES:
		return table_modules(m, limit);
	case VIEW_HEAPS:
		return table_heaps(m, limit);
	case VIEW_SUPPRESSIONS:
		return table_suppressions(m, limit);
	case VIEW_SQL:
		return sql_table(m, p->answer, limit);
	case VIEW_ANNOTATE:
		return annotate(p, opt, limit, false);
	case VIEW_RETAINED:
		return kept_rows(m, limit);
	case VIEW_COHORTS:
		return cohorts_rows(m, opt->cohorts, p->site, limit);
	case VIEW_WHY:
		return kept_why_table(m, opt->why, limit);
	default:
		return opt->by == BY_PROCESS   ? table_processes(m, opt->metric, limit)
		       : opt->by == BY_PROGRAM ? table_programs(m, limit)
					       : table_groups(m, opt->by, metric_of(p, opt), limit);
	}
}

/* Makes the list of a list view. False: the view is no list. */
static bool make_list(struct page *p, enum view v, size_t limit, struct list *l)
{
	if (!is_list(v))
		return false;
	*l = (p->style.full_names ? list_sites : list_folded)(p->m, list_metric(v), limit);
	return true;
}

/* ---- text and Markdown ---- */

static void put_table(struct page *p, struct out *o, const struct table *t)
{
	(p->markdown ? markdown_table : text_table)(p, o, t);
}

static void put_paragraph(struct page *p, struct out *o, const char *s, size_t indent)
{
	if (!p->markdown) {
		text_fold(p, o, s, indent);
		return;
	}
	markdown_plain(p, o, s);
	out_str(o, "\n\n");
}

/* Writes tables, in text with an empty line before each but the first of a view. */
static void put_tables(struct page *p, struct out *o, const struct table *t, size_t n, bool first)
{
	for (size_t i = 0; i < n; i++) {
		if (!p->markdown && (i || !first))
			out_char(o, '\n');
		put_table(p, o, &t[i]);
	}
}

/* Writes the first screen for processes that were only observed through /proc. */
static void put_proc(struct page *p, struct out *o, size_t limit)
{
	struct table t[PROC_TABLES];
	size_t n = proc_first(p->m, limit, t);
	(p->markdown ? markdown_verdict : text_verdict)(p, o);
	if (!p->markdown)
		text_who(p, o);
	put_tables(p, o, t, n, true);
}

static void put_resident(struct page *p, struct out *o, size_t limit)
{
	struct table t[RESIDENT_TABLES];
	size_t n = resident_tables(p->m, limit, t);
	put_paragraph(p, o, resident_answer(p->m), 2);
	put_tables(p, o, t, n > 1 ? n : 0, false);
}

/* Begins the report of one process of a run. */
static void put_run(struct page *p, bool all, struct out *o)
{
	if (!p->run)
		return;
	if (all) {
		struct table t = run_table(p->m, p->run, &p->style);
		put_table(p, o, &t);
	} else {
		put_paragraph(p, o, run_words(p->m, p->run, &p->style), 0);
	}
	if (!p->markdown)
		out_char(o, '\n');
}

static struct tree tree_of(const struct page *p, const struct options *opt)
{
	return tree_make(p->m, metric_of(p, opt), opt->tree_up,
			 opt->full_names ? TREE_ROUNDS : TREE_OWN, opt->entry);
}

static void put_view(struct page *p, const struct options *opt, enum view v, size_t limit,
		     struct out *o);

/* Writes a view of which Markdown has no form of its own as preformatted text. */
static void put_preformatted(struct page *p, const struct options *opt, enum view v, size_t limit,
			     struct out *o)
{
	struct out text = {0};
	struct page plain = *p;
	plain.markdown = plain.style.color = false;
	plain.style.width = opt->width ? opt->width : 100;
	put_view(&plain, opt, v, limit, &text);
	markdown_text(o, &text);
	out_free(&text);
}

static void put_view(struct page *p, const struct options *opt, enum view v, size_t limit,
		     struct out *o)
{
	bool md = p->markdown, preformatted = v == VIEW_SITE || v == VIEW_TREE ||
					      v == VIEW_ANNOTATE || v == VIEW_RETAINED;
	struct list l;
	if (md && preformatted) {
		put_preformatted(p, opt, v, limit, o);
	} else if (v == VIEW_FIRST && p->m->proc_only) {
		put_proc(p, o, limit);
	} else if (v == VIEW_FIRST) {
		(p->m->diff ? (md ? diff_markdown : diff_text)
			    : (md ? markdown_first : text_first))(p, o, limit);
	} else if (v == VIEW_SITE) {
		text_site(p, o, p->site);
	} else if (v == VIEW_RESIDENT) {
		put_resident(p, o, limit);
	} else if (v == VIEW_TREE) {
		struct tree t = tree_of(p, opt);
		text_tree(p, o, &t, limit);
	} else if (v == VIEW_WHY) {
		(md ? markdown_why : text_why)(p, o, opt->why, limit);
	} else if (make_list(p, v, limit, &l)) {
		(md ? markdown_list : text_list_view)(p, o, &l);
	} else {
		struct table t = v == VIEW_RETAINED   ? kept_tree(p->m, limit, &p->style)
				 : v == VIEW_ANNOTATE ? annotate(p, opt, limit, true)
				 : v == VIEW_COHORTS
					 ? cohorts_table(p->m, opt->cohorts, p->site, limit)
					 : make_table(p, opt, v, limit);
		if (v == VIEW_SUMMARY && !md)
			text_who(p, o);
		put_table(p, o, &t);
	}
}

/* Returns the limit of a view as text: of a first screen, by what was recorded. */
static size_t text_limit(const struct page *p, const struct options *opt, enum view v)
{
	bool chosen = opt->limit != LIMIT_DEFAULT || v != VIEW_FIRST;
	return !chosen && p->m->proc_only ? 20
	       : !chosen && p->m->diff    ? 10
					  : limit_of(opt, FORMAT_TEXT, v);
}

static void text_report(struct page *p, const struct options *opt, struct out *o)
{
	text_banner(p, o);
	put_run(p, opt->views[0] == VIEW_FIRST, o);
	for (size_t i = 0; i < opt->view_count; i++) {
		if (i)
			out_char(o, '\n');
		put_view(p, opt, opt->views[i], text_limit(p, opt, opt->views[i]), o);
	}
}

static void markdown_report(const struct page *page, const struct options *opt, struct out *o)
{
	struct page md = *page, *p = &md;
	size_t most = SIZE_MAX;
	md.markdown = true;
	do {
		o->n = 0;
		if (p->m->diff && opt->views[0] == VIEW_FIRST)
			diff_markdown_key(p, o);
		markdown_banner(p, o);
		put_run(p, opt->views[0] == VIEW_FIRST, o);
		size_t used = 1;
		for (size_t i = 0; i < opt->view_count; i++) {
			size_t limit = limit_of(opt, FORMAT_MD, opt->views[i]);
			limit = limit < most ? limit : most;
			used = limit > used ? limit : used;
			put_view(p, opt, opt->views[i], limit, o);
		}
		/* halve the rows until the text fits; the omitted rows are summed up */
		most = (used == SIZE_MAX ? model_site_count(p->m) + p->m->threads.n + 2 : used) / 2;
	} while (o->n > MARKDOWN_MAX && most > 0);
}

static void csv_report(struct page *p, const struct options *opt, struct out *o)
{
	enum view v = opt->views[0];
	size_t limit = limit_of(opt, FORMAT_CSV, v);
	if (v == VIEW_FIRST && p->m->diff && !p->m->proc_only) {
		csv_diff(p->m, o, limit);
	} else if (v == VIEW_FIRST && p->m->proc_only) {
		struct table t = make_table(
			p, opt, p->m->proc_only == PROC_ONLY_POLL ? VIEW_TIMELINE : VIEW_REGIONS,
			limit);
		csv_table(p->m, o, &t);
	} else if (v == VIEW_FIRST || v == VIEW_SITE || is_list(v)) {
		csv_sites(p->m, o, is_list(v) ? list_metric(v) : METRIC_LIVE, limit,
			  v == VIEW_SITE ? p->site : NULL);
	} else if (v == VIEW_BY && opt->by == BY_STACK) {
		csv_sites(p->m, o, metric_of(p, opt), limit, NULL);
	} else {
		struct table t = make_table(p, opt, v, limit);
		csv_table(p->m, o, &t);
	}
}

/* Maximum bytes without a warning: browsers and programs that read a whole file hardly handle more.
 */
#define LONG_FORM_MAX 1000000000
/* Maximum bytes of the long form if not requested: nobody reads more, and programs read the tables
 * of the compact form faster. */
#define LONG_FORM_AUTO 16000000

/* Returns the number of bytes that call stacks take in the long form of JSON; 0 if the options rule
 * out the long form, or choose a single site. */
static uint64_t long_form_bytes(const struct page *p, const struct options *opt)
{
	bool asked = opt->layout == LAYOUT_AUTO || opt->layout == LAYOUT_FULL, json = false;
	for (size_t i = 0; i < opt->output_count; i++)
		json |= opt->outputs[i].format == FORMAT_JSON;
	return p->site || !json || !asked
		       ? 0
		       : json_stacks_bytes(p->m, limit_of(opt, FORMAT_JSON, VIEW_FIRST));
}

static bool is_compact(const struct page *p, const struct options *opt)
{
	return opt->layout == LAYOUT_AUTO ? p->long_form_bytes > LONG_FORM_AUTO
					  : opt->layout != LAYOUT_FULL;
}

const char *render_large(const struct page *p, const struct options *opt, enum format f)
{
	bool full = opt->layout == LAYOUT_FULL;
	if (f != FORMAT_JSON || (!full && opt->layout != LAYOUT_AUTO))
		return NULL;
	uint64_t bytes = p->long_form_bytes;
	if (bytes <= (full ? LONG_FORM_MAX : LONG_FORM_AUTO))
		return NULL;
	if (full)
		return ms_arena_printf(&p->m->arena,
				       "--layout=full writes %.1f GB of call stacks; with "
				       "--layout=compact each frame is written once",
				       (double)bytes / 1e9);
	return ms_arena_printf(
		&p->m->arena,
		"written in the compact layout (\"version\": 2), because a whole call stack for "
		"each site would take %.0f MB in all (--layout=full writes that)",
		(double)bytes / 1e6);
}

/* Writes JSON. Views that are tables become elements of "views"; a list view sets the order of the
 * sites. */
static void json(struct page *p, const struct options *opt, struct out *o)
{
	enum metric metric = METRIC_LIVE;
	struct json_view views[VIEW_COUNT + RESIDENT_TABLES];
	struct table resident[RESIDENT_TABLES];
	size_t n = 0, limit = limit_of(opt, FORMAT_JSON, VIEW_FIRST);
	for (size_t i = 0; i < opt->view_count; i++) {
		enum view v = opt->views[i];
		if (is_list(v))
			metric = list_metric(v);
		else if (v == VIEW_RESIDENT)
			for (size_t k = resident_tables(p->m, limit, resident), at = 0; at < k;
			     at++)
				views[n++] =
					(struct json_view){resident_names[at], NULL, resident[at]};
		else if (v != VIEW_FIRST && v != VIEW_SITE && v != VIEW_TREE)
			views[n++] =
				(struct json_view){view_name(v),
						   v == VIEW_BY        ? group_names[opt->by]
						   : v == VIEW_COHORTS ? cohort_kinds[opt->cohorts]
								       : NULL,
						   make_table(p, opt, v, limit)};
	}
	if (opt->layout == LAYOUT_MEMC)
		json_memc(p->m, o, opt->at != NULL);
	else
		json_report(p->m, p->run, o, metric, limit, p->site, views, n, is_compact(p, opt));
}

static void json_or_pretty(struct page *p, const struct options *opt, struct out *o)
{
	struct ms_json_pretty pretty = {0};
	o->pretty = opt->pretty ? &pretty : NULL;
	json(p, opt, o);
	o->pretty = NULL;
}

/* Returns the metric of --metric or of a list view; METRIC_COUNT = neither is given. */
static enum metric asked_metric(const struct options *opt)
{
	enum metric metric = opt->metric;
	for (size_t i = 0; i < opt->view_count && opt->metric == METRIC_COUNT; i++)
		if (is_list(opt->views[i]))
			metric = list_metric(opt->views[i]);
	return metric;
}

/* Returns the metric for a format with one figure. */
static enum metric chosen_metric(const struct page *p, const struct options *opt)
{
	enum metric metric = asked_metric(opt);
	return metric == METRIC_COUNT ? metric_of(p, opt) : metric;
}

const char *render_lacks(const struct page *p, const struct options *opt,
			 const struct output *output)
{
	return output->export ? export_lacks(p->m, output->export, asked_metric(opt)) : NULL;
}

static void for_ci(struct page *p, const struct options *opt, enum format format, struct out *o)
{
	struct findings f = findings_make(p->m, p->budgets, p->partial);
	if (format == FORMAT_SARIF)
		sarif_report(p, o, &f);
	else if (format == FORMAT_JUNIT)
		junit_report(p, o, &f);
	else
		github_report(p, o, &f, opt->limit == LIMIT_DEFAULT ? 10 : opt->limit);
	free(f.v);
}

static void html(struct page *p, const struct options *opt, struct out *o)
{
	struct page plain = *p;
	const struct options first = {
		.views = {VIEW_FIRST}, .view_count = 1, .limit = 20, .metric = METRIC_COUNT};
	struct out text = {0};
	plain.style = (struct style){.width = 100, .ascii = p->style.ascii};
	text_report(&plain, &first, &text);
	out_char(&text, 0);
	bool choose = p->m->diff && opt->metric == METRIC_COUNT;
	enum metric metric = metric_of(p, opt);
	html_report(p, o, text.v, choose ? diff_metric(p->m->diff, metric) : metric, opt->limit);
	out_free(&text);
}

int render_prepare(struct page *p, const struct options *opt, struct ms_err *err)
{
	if (opt->layout == LAYOUT_MEMC && p->m->proc_only != PROC_ONLY_REGIONS)
		return ms_err_set(err,
				  "--layout=memc needs a snapshot of regions: ms-snap --smaps");
	for (size_t i = 0; i < opt->output_count; i++) {
		const char *why = export_refuses(p, &opt->outputs[i]);
		if (why)
			return ms_err_set(err, "%s", why);
	}
	if (opt->scan && !kept_read(p->m, opt->scan))
		return ms_err_set(err, "--retained: no retention scan %lld in this recording",
				  (long long)opt->scan);
	for (size_t i = 0; i < opt->view_count; i++) {
		if (opt->views[i] == VIEW_WHY && kept_why_check(p->m, opt->why, err) != 0)
			return -1;
		if (opt->views[i] == VIEW_SITE && !(p->site = model_site(p->m, opt->site)))
			return ms_err_set(err, "no site %lld in this snapshot: it has %s",
					  (long long)opt->site,
					  say_things(p->m, p->m->sites.n, "site"));
		if (opt->views[i] == VIEW_ANNOTATE &&
		    !(p->source = annotate_find(p->m, opt->annotate, err)))
			return -1;
		if (opt->views[i] != VIEW_SQL)
			continue;
		struct table *a = ms_arena_alloc(&p->m->arena, sizeof *a);
		p->answer = a;
		if (sql_ask(p->m, opt->sql, a, err) != 0)
			return -1;
	}
	p->long_form_bytes = long_form_bytes(p, opt);
	return 0;
}

void render(struct page *p, const struct options *opt, const struct output *output, struct out *o)
{
	enum format f = output->format;
	switch (f) {
	case FORMAT_MD:
		markdown_report(p, opt, o);
		break;
	case FORMAT_JSON:
		json_or_pretty(p, opt, o);
		break;
	case FORMAT_CSV:
		csv_report(p, opt, o);
		break;
	case FORMAT_HTML:
		html(p, opt, o);
		break;
	case FORMAT_SARIF:
	case FORMAT_JUNIT:
	case FORMAT_GITHUB:
		for_ci(p, opt, f, o);
		break;
	case FORMAT_EXPORT:
		export_write(p, output->export, opt->metric, chosen_metric(p, opt), o);
		break;
	case FORMAT_TEXT:
		text_report(p, opt, o);
	}
}
