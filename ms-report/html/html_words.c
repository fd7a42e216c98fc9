/* SPDX-License-Identifier: MIT
 * Writes the JSON of a page: texts, figures of the whole run, small tables, details of the largest
 * sites.
 */
#include "html_data.h"

#include "ms-report/model/figures.h"
#include "libcommon/model/facts.h"
#include "ms-report/words/kept.h"
#include "ms-report/words/next.h"
#include "ms-report/words/words.h"
#include "ms-report/words/page.h"

#include "libcommon/base/json_writer.h"

#include <math.h>
#include <string.h>

/* Maximum number of rows of a table, and of sites with details. */
#define ROWS 1000
#define DETAILS 1000
#define KEPT_LINES 2000 /* maximum number of lines of what keeps blocks alive */

static void put_text(struct page *p, struct ms_json *j, const char *key, const char *s)
{
	ms_json_string(j, key, html_text(p, s));
}

static void put_words(struct page *p, struct ms_json *j, const char *key, const struct words *w)
{
	ms_json_open(j, key, '[');
	for (size_t i = 0; i < w->n; i++)
		put_text(p, j, NULL, w->v[i]);
	ms_json_close(j, ']');
}

/* ---- the run ---- */

static void put_quality(struct page *p, struct ms_json *j)
{
	struct model *m = p->m;
	const struct quality *q = &m->quality;
	struct words who = words_who(m, &p->style), quality = words_quality(m);
	put_words(p, j, "who", &who);
	put_words(p, j, "quality", &quality);
	struct words verdict = m->proc_only || figure_some(m->quality.attached)
				       ? growth_verdict(m, &p->style)
				       : (struct words){0};
	put_words(p, j, "growth_verdict", &verdict);
	put_text(p, j, "incomplete", words_incomplete(m));
	put_text(p, j, "nothing", words_nothing(m, &p->style));
	put_text(p, j, "hidden", words_hidden(m, &p->style));
	put_text(p, j, "one_time", words_one_time(m));
	put_text(p, j, "verdicts", verdicts_known(m) ? words_verdict(m) : NULL);
	put_text(p, j, "unscanned", words_unscanned(m));
	struct words terms = words_scan_terms(m);
	put_words(p, j, "scan_terms", &terms);
	put_text(p, j, "unknown", say_unknown(m));
	put_text(p, j, "beside_peak", m->processes.n == 1 ? words_rss(m, "peak") : NULL);
	put_text(p, j, "beside_end", words_rss(m, "end"));
	put_text(p, j, "peak_of", words_image(m, m->peak_image));
	put_text(p, j, "end_of", words_image(m, m->end_image));
	put_text(p, j, "gone", words_exec(m));
	put_text(p, j, "chosen", words_born(m));
	put_text(p, j, "beside_heap", m->diff ? NULL : words_beside_heap(m));
	struct next next[2];
	struct words commands = {0};
	for (size_t i = 0, n = m->diff ? 0 : next_beside_heap(p, SIZE_MAX, next); i < n; i++)
		words_add(&commands, ms_arena_printf(&m->arena, "%s (%s)", next_line(p, &next[i]),
						     next[i].why));
	put_words(p, j, "next", &commands);
	ms_json_bool(j, "complete", q->complete);
	ms_json_bool(j, "still_growing", q->growing);
	ms_json_bool(j, "watched", m->proc_only != PROC_ONLY_NOT);
	ms_json_bool(j, "estimated", m->est != NULL);
	MS_JSON_NUMBERS(j, {"events_lost", q->events_lost}, {"duration_ns", m->duration_ns},
			{"all_sites", figure_add(m->sites.n, m->hidden.sites)},
			{"hidden_sites", m->hidden.sites});
	put_text(p, j, "at", m->at_label);
	put_text(p, j, "at_said", say_moment(m, &p->style));
	ms_json_number(j, "at_ns", m->at_time_ns);
	put_text(p, j, "cwd", m->cwd);
	put_text(p, j, "code_url", p->links.code_url);
	put_text(p, j, "source_root", p->links.source_root);
}

/* Writes the figures of "totals" as in the JSON report, and estimates also as text. */
static void put_totals(struct page *p, struct ms_json *j)
{
	struct model *m = p->m;
	const struct totals *t = &m->totals;
	ms_json_open(j, "totals", '{');
	for (size_t i = 0; i < figure_count; i++)
		ms_json_number(j, figures[i].name, figure_at(t, figures[i].offset));
	ms_json_number(j, "peak_process", images_row(m, m->peak_image, m->totals.peak_bytes));
	ms_json_number(j, "unfreed_process", images_row(m, m->end_image, m->totals.unfreed_bytes));
	ms_json_close(j, '}');
	if (!m->est)
		return;
	ms_json_open(j, "said", '{');
	put_text(p, j, "peak_bytes", est_size(m, t->peak_bytes, est_of(m->est, EST_PEAK)));
	put_text(p, j, "unfreed_bytes", est_size(m, t->unfreed_bytes, est_of(m->est, EST_END)));
	put_text(p, j, "allocated_bytes",
		 est_size(m, t->allocated_bytes, est_of(m->est, EST_ALLOCATED)));
	put_text(p, j, "allocations",
		 est_count(m, t->allocations, est_of(m->est, EST_ALLOCATIONS)));
	ms_json_close(j, '}');
}

static void put_array(struct ms_json *j, const char *key, const uint64_t *v, size_t n)
{
	ms_json_open(j, key, '[');
	for (size_t i = 0; i < n; i++)
		ms_json_number(j, NULL, v[i]);
	ms_json_close(j, ']');
}

static void put_pair(struct ms_json *j, const char *key, struct pair v)
{
	put_array(j, key, (uint64_t[]){v.a, v.b}, 2);
}

/* Writes the spread of a sum of estimates with the same four values as the columns spread_* of a
 * site; null if the sum is exact. */
static void put_spread(struct ms_json *j, const char *key, const struct pair *v)
{
	const struct ms_spread *e = pair_ea(v);
	if (!e) {
		ms_json_string(j, key, NULL);
		return;
	}
	const double values[] = {e->seen, sqrt(e->variance), e->step, sqrt(e->step_variance)};
	ms_json_open(j, key, '[');
	for (size_t i = 0; i < sizeof values / sizeof *values; i++)
		ms_json_number(j, NULL, (uint64_t)llround(values[i] * 1000));
	ms_json_close(j, ']');
}

/* Writes the parts of each metric's total. The total is the sum of the sites listed individually,
 * "omitted", "hidden" and "other". */
static void put_metrics(struct page *p, struct ms_json *j, const struct html_sites *s)
{
	struct model *m = p->m;
	ms_json_open(j, "metrics", '{');
	for (int k = 0; k < METRIC_COUNT; k++) {
		struct pair omitted = {0}, sum = {0}, total = total_pair(m, (enum metric)k);
		for (size_t i = 0; i < m->sites.n; i++) {
			struct pair v = site_pair(&m->sites.v[i], (enum metric)k);
			sum = pair_add(sum, v);
			if (s->row[i] == NONE)
				omitted = pair_add(omitted, v);
		}
		sum = pair_add(sum, hidden_pair(m, (enum metric)k));
		ms_json_open(j, metric_names[k], '{');
		put_pair(j, "total", total);
		put_pair(j, "omitted", omitted);
		put_pair(j, "hidden", hidden_pair(m, (enum metric)k));
		put_pair(j, "other",
			 (struct pair){.a = figure_sub(total.a, sum.a),
				       .b = figure_sub(total.b, sum.b)});
		struct pair hidden = hidden_pair(m, (enum metric)k);
		ms_json_open(j, "spread", '{');
		put_spread(j, "total", &total);
		put_spread(j, "omitted", &omitted);
		put_spread(j, "hidden", &hidden);
		ms_json_format(j, "}}");
	}
	ms_json_close(j, '}');
	ms_json_number(j, "omitted_sites", m->sites.n - s->n);
}

static void put_processes(struct page *p, struct ms_json *j)
{
	struct model *m = p->m;
	ms_json_open(j, "processes", '[');
	for (size_t i = 0; i < m->processes.n; i++) {
		const struct process *x = &m->processes.v[i];
		ms_json_format(j, "{id:%lu pid:%lu name:%s}", (uint64_t)x->id, x->pid,
			       html_text(p, x->exe ? base_name(x->exe) : "unknown program"));
	}
	ms_json_close(j, ']');
}

/* Writes the source folder of each module, relative to which source paths are shown, as in the text
 * report. */
static void put_sources(struct page *p, struct ms_json *j)
{
	struct model *m = p->m;
	struct table_of_bytes seen = {0};
	ms_json_open(j, "sources", '{');
	for (size_t i = 0; i < m->modules.n; i++) {
		const struct module *x = &m->modules.v[i];
		size_t n = seen.n;
		if (!x->path || !x->sources || p->style.source_root)
			continue;
		html_string(&seen, x->path);
		if (seen.n > n)
			put_text(p, j, html_text(p, x->path),
				 ms_arena_strndup(&m->arena, x->sources, x->sources_length));
	}
	ms_json_close(j, '}');
	bytes_free(&seen);
}

static void put_moments(struct page *p, struct ms_json *j)
{
	struct model *m = p->m;
	ms_json_open(j, "moments", '[');
	for (size_t i = 0; i < m->snapshots.n; i++) {
		const struct snapshot *s = &m->snapshots.v[i];
		ms_json_format(j,
			       "{process:%lu label:%s time_ns:%lu live_bytes:%lu live_blocks:%lu "
			       "rss_bytes:%lu mapped_bytes:%lu}",
			       (uint64_t)s->process, html_text(p, s->label),
			       figure_add(s->time_ns, m->processes.v[s->process].offset_ns),
			       s->live.bytes, s->live.blocks, s->rss_bytes, s->mmap.mapped);
	}
	ms_json_format(j, "] marks:[");
	for (size_t i = 0; i < m->marks.n && i < ROWS; i++)
		ms_json_format(j, "{name:%s time_ns:%lu}", html_text(p, m->marks.v[i].name),
			       m->marks.v[i].time_ns);
	ms_json_format(j, "] more_marks:%lu", m->marks.n > ROWS ? m->marks.n - ROWS : 0);
}

/* ---- tables ---- */

static void put_cell(struct page *p, struct ms_json *j, const struct column *c,
		     const struct cell *x)
{
	if (!column_is_number(c) || c->kind == CELL_VALUE) {
		put_text(p, j, NULL, x->s);
		return;
	}
	uint64_t low, high;
	if (!est_cell_limits(x, &low, &high)) {
		ms_json_number(j, NULL, x->n);
		return;
	}
	put_array(j, NULL, (uint64_t[]){x->n, low, high}, 3);
}

static const char *const kinds[] = {
	[CELL_TEXT] = "text", [CELL_FUNCTION] = "function", [CELL_PATH] = "path",
	[CELL_SIZE] = "size", [CELL_COUNT] = "count",       [CELL_ID] = "id",
	[CELL_TIME] = "time", [CELL_VALUE] = "value",       [CELL_BAR] = "bar",
};
static const char *const row_kinds[] = {[ROW_ITEM] = "",
					[ROW_MORE] = "more",
					[ROW_HIDDEN] = "hidden",
					[ROW_OTHER] = "other",
					[ROW_TOTAL] = "total"};

/* Writes a table: {"id":"threads","title":..,"columns":[[title, name, kind, sum]],"rows":[[kind,
 * cell...]]} */
static void put_table(struct page *p, struct ms_json *j, const char *id, struct table t)
{
	ms_json_format(j, "{id:%s title:%s empty:%s columns:[", id, html_text(p, t.title),
		       html_text(p, t.empty));
	for (size_t c = 0; c < t.column_count; c++)
		ms_json_format(j, "[%s %s %s %lu]", t.columns[c].title, t.columns[c].name,
			       kinds[t.columns[c].kind], (uint64_t)t.columns[c].sum);
	ms_json_format(j, "] rows:[");
	for (size_t i = 0; i < t.n; i++) {
		ms_json_open(j, NULL, '[');
		ms_json_string(j, NULL, row_kinds[t.rows[i].kind]);
		for (size_t c = 0; c < t.column_count; c++)
			put_cell(p, j, &t.columns[c], &t.rows[i].cells[c]);
		ms_json_close(j, ']');
	}
	ms_json_format(j, "]}");
}

/* Writes the result of --resident, if the recording has it: {"answer":.., "tables":[..]}. */
static void put_resident(struct page *p, struct ms_json *j)
{
	struct table t[RESIDENT_TABLES];
	if (p->m->diff || !resident_known(p->m))
		return;
	size_t n = resident_tables(p->m, ROWS, t);
	ms_json_format(j, "resident:{answer:%s tables:[", html_text(p, resident_answer(p->m)));
	for (size_t i = 0; i < n && n > 1; i++)
		put_table(p, j, resident_names[i], t[i]);
	ms_json_format(j, "]}");
}

/* Writes what keeps blocks alive, if there is a retention scan: {"tables":[..], "lines":[[parent, text,
 * bytes, blocks, own bytes, own blocks]..]}; of a comparison, what keeps more. */
static void put_kept(struct page *p, struct ms_json *j)
{
	struct model *m = p->m;
	struct table t = m->diff ? kept_more(m, ROWS, &p->style) : kept_table(m, 20, &p->style);
	struct kept_line *v = NULL;
	size_t n = m->diff ? 0 : kept_lines(m, KEPT_LINES, &p->style, &v);
	if (!t.title)
		return;
	ms_json_format(j, "kept:{tables:[");
	put_table(p, j, "kept", t);
	ms_json_format(j, "] lines:[");
	for (size_t i = 0; i < n; i++)
		ms_json_format(j, "[%lu %s %lu %lu %lu %lu]",
			       v[i].parent == NONE ? UNKNOWN : v[i].parent, html_text(p, v[i].text),
			       v[i].retained.bytes, v[i].retained.blocks, v[i].own.bytes,
			       v[i].own.blocks);
	ms_json_format(j, "]}");
}

static void put_tables(struct page *p, struct ms_json *j)
{
	struct model *m = p->m;
	ms_json_open(j, "tables", '[');
	if (m->proc_only) {
		put_table(p, j, "timeline", proc_timeline(m, ROWS));
		put_table(p, j, "kinds", proc_kinds(m));
		put_table(p, j, "regions", proc_regions(m, ROWS));
		put_table(p, j, "skipped", proc_skipped(m, ROWS));
		put_table(p, j, "processes", proc_processes(m, ROWS));
	} else {
		put_table(p, j, "sizes", table_sizes(m, METRIC_COUNT, SIZE_MAX));
		put_table(p, j, "threads", table_threads(m, false, METRIC_COUNT, ROWS));
		put_table(p, j, "processes", table_processes(m, METRIC_COUNT, ROWS));
		put_table(p, j, "modules", table_modules(m, ROWS));
		if (heaps_line(m))
			put_table(p, j, "heaps", table_heaps(m, ROWS));
	}
	put_table(p, j, "growth", table_growth(m, 0, ROWS));
	put_table(p, j, "summary", table_summary(m));
	ms_json_close(j, ']');
	put_resident(p, j);
	if (!m->proc_only)
		put_kept(p, j);
}

/* ---- details ---- */

/* Writes the rows of a query's result as an array of [a, b, ...]. */
static void put_query(struct page *p, struct ms_json *j, const char *key, const char *sql)
{
	sqlite3_stmt *st = model_ask(p->m, "%s", sql);
	ms_json_open(j, key, '[');
	while (model_next(&st)) {
		ms_json_open(j, NULL, '[');
		for (int i = 0; i < sqlite3_column_count(st); i++) {
			bool text = sqlite3_column_type(st, i) == SQLITE_TEXT;
			const char *s = (const char *)sqlite3_column_text(st, i);
			if (text || !s || strpbrk(s, "IN"))
				put_text(p, j, NULL, text ? s : NULL);
			else
				ms_json_raw(j, NULL, s);
		}
		ms_json_close(j, ']');
	}
	ms_json_close(j, ']');
}

/* Writes some columns of the first `most` rows of a table. */
static void put_columns(struct page *p, struct ms_json *j, const char *key, struct table t,
			size_t most, const int *columns, size_t n)
{
	ms_json_open(j, key, '[');
	for (size_t i = 0; i < t.n && i < most; i++) {
		ms_json_open(j, NULL, '[');
		for (size_t c = 0; c < n; c++)
			put_cell(p, j, &t.columns[columns[c]], &t.rows[i].cells[columns[c]]);
		ms_json_close(j, ']');
	}
	ms_json_close(j, ']');
}

static void put_site_tables(struct page *p, struct ms_json *j, const struct site *s)
{
	static const int sizes[] = {SITE_SIZE_LOW,   SITE_SIZE_HIGH,        SITE_SIZE_CALLS,
				    SITE_SIZE_BYTES, SITE_SIZE_PEAK_BLOCKS, SITE_SIZE_BLOCKS},
			 lifetimes[] = {SITE_LIFETIME_LOW, SITE_LIFETIME_HIGH, SITE_LIFETIME_FREES},
			 threads[] = {SITE_THREAD_TID, SITE_THREAD_NAME, SITE_THREAD_CALLS,
				      SITE_THREAD_BYTES, SITE_THREAD_LIVE};
	put_columns(p, j, "sizes", site_sizes(p->m, s), SIZE_MAX, sizes, 6);
	put_columns(p, j, "lifetimes", site_lifetimes(p->m, s, false), SIZE_MAX, lifetimes, 3);
	put_columns(p, j, "threads", site_threads(p->m, s, false), 20, threads, 5);
}

static void put_site_frees(struct page *p, struct ms_json *j, const struct site *s)
{
	struct model *m = p->m;
	struct table t = site_frees(m, s);
	ms_json_open(j, "freed_by", '[');
	for (size_t i = 0; i < t.n && i < 20; i++) {
		const struct cell *c = t.rows[i].cells;
		const struct frame *f = model_frame(m, (uint32_t)c[SITE_FREE_NODE].n);
		ms_json_format(j, "[%s %s %lu %lu]",
			       html_text(p, f ? frame_label(&m->arena, m, f, &p->style) : NULL),
			       html_text(p, f ? frame_place(&m->arena, m, f, &p->style) : NULL),
			       c[SITE_FREE_FREES].n, c[SITE_FREE_BYTES].n);
	}
	ms_json_close(j, ']');
}

static void put_details(struct page *p, struct ms_json *j, const struct html_sites *s)
{
	ms_json_open(j, "details", '[');
	for (size_t i = 0; i < s->n && i < DETAILS; i++) {
		const struct site *x = s->largest[i];
		ms_json_open(j, NULL, '{');
		MS_JSON_NUMBERS(j, {"id", (uint64_t)x->id}, {"min_size", x->min_size},
				{"max_size", x->max_size}, {"max_live_bytes", x->max_live_bytes},
				{"first_ns", x->first_ns}, {"last_ns", x->last_ns},
				{"lifetime_ns", x->lifetime_ns}, {"retained_bytes", x->with.bytes});
		put_site_tables(p, j, x);
		put_site_frees(p, j, x);
		ms_json_close(j, '}');
	}
	ms_json_close(j, ']');
}

/* ---- comparison ---- */

/* Writes the old and new sums of the sites that are not in the page, in the order of the figures.
 */
static void put_left_out(const struct diff *d, const struct html_sites *s, struct model *m,
			 struct ms_json *j)
{
	uint64_t places = 0, sums[2][DIFF_FIGURES] = {0};
	for (size_t i = 0; i < d->rows.n; i++) {
		const struct diff_row *x = &d->rows.v[i];
		if (s->row[x->site - m->sites.v] != NONE)
			continue;
		places++;
		for (int f = 0; f < DIFF_FIGURES; f++) {
			sums[0][f] += x->old[f] > 0 ? (uint64_t)x->old[f] : 0;
			sums[1][f] += x->new[f] > 0 ? (uint64_t)x->new[f] : 0;
		}
	}
	ms_json_format(j, "left_out:{places:%lu", places);
	for (int side = 0; side < 2; side++) {
		ms_json_open(j, side ? "new" : "old", '{');
		for (int f = 0; f < DIFF_FIGURES; f++)
			ms_json_number(j, diff_figure_names[f], sums[side][f]);
		ms_json_close(j, '}');
	}
	ms_json_close(j, '}');
}

static void put_diff(struct page *p, struct ms_json *j, const struct html_sites *s)
{
	struct model *m = p->m;
	const struct diff *d = m->diff;
	struct diff_line lines[12];
	size_t n = diff_lines(m, lines);
	ms_json_open(j, "diff", '{');
	put_text(p, j, "old", d->old);
	put_text(p, j, "new", d->new);
	put_text(p, j, "old_point", d->old_point);
	put_text(p, j, "new_point", d->new_point);
	put_text(p, j, "worth", diff_worth(m));
	struct diff_rows rows = diff_shown(m, true);
	put_text(p, j, "rest", diff_rest(m, &rows));
	put_text(p, j, "unmatched", diff_unmatched(m));
	ms_json_bool(j, "old_missing", d->old_missing);
	ms_json_number(j, "places", d->rows.n);
	put_left_out(d, s, m, j);
	ms_json_number(j, "hidden_sites", d->hidden_sites);
	ms_json_open(j, "lines", '[');
	for (size_t i = 0; i < n; i++) {
		const struct diff_total *t = lines[i].total;
		bool peak = strcmp(t->figure, "peak_bytes") == 0 && diff_moments(m);
		uint64_t sign = t->delta == DELTA_UNKNOWN ? UNKNOWN
				: t->delta > 0            ? 2
							  : t->delta == 0;
		ms_json_format(j,
			       "{title:%s figure:%s old:%s new:%s delta:%s percent:%s sign:%lu "
			       "significant:%d noise:%d}",
			       html_text(p, peak ? ms_arena_printf(&m->arena, "%s, %s",
								   lines[i].title, diff_moments(m))
						 : lines[i].title),
			       html_text(p, t->figure), html_text(p, lines[i].old),
			       html_text(p, lines[i].new), html_text(p, lines[i].change),
			       html_text(p, lines[i].percent), sign, t->significant,
			       lines[i].noise);
	}
	ms_json_format(j, "] kinds:[");
	for (int k = 0; k < DIFF_KINDS; k++)
		ms_json_string(j, NULL, diff_kind_names[k]);
	ms_json_format(j, "] evidence:[");
	for (size_t i = 0; i < d->rows.n && i < DETAILS; i++)
		if (d->rows.v[i].evidence)
			ms_json_format(j, "[%lu %s]", (uint64_t)d->rows.v[i].site->id,
				       html_text(p, d->rows.v[i].evidence));
	ms_json_format(j, "]}");
}

void html_words_write(struct page *p, struct ms_json *j, const struct html_sites *s,
		      enum metric metric)
{
	ms_json_format(j, "format:%s version:%lu tool:%s metric:%s", "memscope-page", UINT64_C(1),
		       "ms-report " MS_VERSION, metric_names[metric]);
	put_quality(p, j);
	put_totals(p, j);
	html_lists_write(p, j);
	put_metrics(p, j, s);
	put_processes(p, j);
	put_sources(p, j);
	put_moments(p, j);
	put_tables(p, j);
	put_query(p, j, "growth",
		  "SELECT site, trend, rise_bytes, bytes_per_minute, confidence FROM growth"
		  " WHERE site > 0 AND rise_bytes > 0 ORDER BY rise_bytes DESC, site LIMIT 5000");
	put_query(p, j, "lifetimes",
		  "SELECT unit, low, high, sum(frees) FROM site_lifetime"
		  " GROUP BY unit, low, high ORDER BY unit, low, high LIMIT 500");
	html_cohorts_write(p, j);
	put_details(p, j, s);
	html_source_write(p, j, s);
	if (p->m->diff)
		put_diff(p, j, s);
}
