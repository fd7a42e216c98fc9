/* SPDX-License-Identifier: MIT
 * Decides budgets: computes the figure, finds the site with the largest part, and reports why a
 * budget cannot be decided.
 */
#include "budget.h"

#include "libcommon/model/facts.h"
#include "libcommon/names/labels.h"
#include "ms-report/model/lists.h"
#include "ms-report/words/kept.h"
#include "ms-report/words/table.h"
#include "ms-report/words/words.h"
#include "ms-report/words/names.h"

#include <fnmatch.h>
#include <string.h>

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

const char *budget_untrusted(struct model *m)
{
	const struct quality *q = &m->quality;
	if (!q->complete)
		return "the recording is incomplete";
	if (figure_some(q->events_lost))
		return "events were lost";
	if (figure_some(q->sampled_bytes))
		return "the recording is sampled";
	return diff_untrusted(m);
}

/* ---- site() ---- */

bool budget_matches(const struct budget *b, struct model *m, const struct site *s)
{
	const char *pattern = ms_arena_strndup(&m->arena, b->pattern, b->pattern_length);
	const struct frame *f = site_frame(m, s);
	const char *name = f ? frame_name(&m->arena, m, f) : "";
	return fnmatch(pattern, name, 0) == 0 ||
	       (f && f->function && fnmatch(pattern, ms_name_short(&m->arena, name), 0) == 0);
}

/* Returns the sum over the matching sites; `worst` receives the site with the largest part. */
static uint64_t sum_of_sites(const struct budget *b, struct model *m, const struct site **worst)
{
	uint64_t sum = 0, most = 0;
	*worst = NULL;
	for (size_t i = 0; i < m->sites.n; i++) {
		const struct site *s = &m->sites.v[i];
		uint64_t v = figure_at(s, site_figures[b->figure].offset);
		if ((v == 0 && sum != UNKNOWN) || !budget_matches(b, m, s))
			continue;
		sum = figure_add(sum, v);
		if (figure_or_0(v) > most) {
			most = v;
			*worst = s;
		}
	}
	return m->hidden.sites ? UNKNOWN : sum;
}

/* ---- kept() ---- */

/* Tells whether the pattern matches a name, or that of the variable of which it is a member. */
static bool name_matches(struct model *m, const char *pattern, const char *name)
{
	const char *dot = strrchr(name, '.');
	return fnmatch(pattern, name, 0) == 0 ||
	       fnmatch(pattern, ms_name_short(&m->arena, name), 0) == 0 ||
	       (dot && dot > name &&
		name_matches(m, pattern, ms_arena_strndup(&m->arena, name, (size_t)(dot - name))));
}

/* Tells whether the pattern matches a keeper, or all keepers of a set. */
static bool keeps(const struct budget *b, struct model *m, const struct kept_row *row)
{
	const char *pattern = ms_arena_strndup(&m->arena, b->pattern, b->pattern_length);
	size_t n = row->set ? row->set->n : row->keeper != NULL;
	bool all = n && !(row->set && row->set->others && strcmp(pattern, "*") != 0);
	for (size_t i = 0; i < n && all; i++) {
		const struct keeper *k = row->set ? row->set->v[i] : row->keeper;
		all = name_matches(m, pattern, k->name ?: k->kind);
	}
	return all;
}

/* Returns the sum over the matching keepers; `worst` receives the largest site below the largest of
 * them, `n` their number. */
static uint64_t sum_of_kept(const struct budget *b, struct model *m, const struct site **worst,
			    size_t *n)
{
	const struct kept *k = kept_read(m, 0);
	uint64_t sum = 0, most = 0;
	const struct kept_row *largest = NULL, *below = NULL;
	*worst = NULL;
	*n = 0;
	if (!kept_done(k))
		return UNKNOWN;
	for (uint32_t i = k->first; i != NONE; i = k->rows[i].next) {
		const struct kept_row *x = &k->rows[i];
		if (!keeps(b, m, x))
			continue;
		uint64_t v = figure_at(&x->retained, budget_figure(b)->offset);
		sum = figure_add(sum, v);
		largest = v > most || !largest ? x : largest;
		most = v > most ? v : most;
		++*n;
	}
	for (size_t i = 0; i < k->n && largest; i++)
		if (&k->rows[k->rows[i].top] == largest && k->rows[i].site &&
		    (!below || k->rows[i].bytes > below->bytes))
			below = &k->rows[i];
	*worst = below ? model_site(m, below->site) : NULL;
	return sum;
}

/* ---- thread() and label() ---- */

enum { ROW_SITE, ROW_THREAD, ROW_FIGURE };
static const struct column thread_columns[] = {
	{NULL, "site", CELL_ID, .sum = false},
	{NULL, "thread", CELL_ID, .sum = false},
	{NULL, "allocations", CELL_COUNT, .sum = false},
	{NULL, "allocated_bytes", CELL_SIZE, .sum = false},
	{NULL, "live_bytes", CELL_SIZE, .sum = false},
	{NULL, "live_blocks", CELL_COUNT, .sum = false},
};

/* Tells whether the pattern matches a row of the table thread. */
static bool is_thread(const struct budget *b, const char *pattern, const struct thread *t)
{
	return b->part == BUDGET_LABEL ? ms_labels_match(pattern, t->label)
				       : t->name && fnmatch(pattern, t->name, 0) == 0;
}

/* Tells whether a budget on threads has no answer because of threads whose names are not known: they
 * could match, and the others do not break it already. */
static bool is_nameless(const struct budget *b, const struct model *m, uint64_t sum)
{
	bool nameless = false;
	for (size_t i = 0; i < m->threads.n && b->part == BUDGET_THREAD; i++)
		nameless |= !m->threads.v[i].name && m->threads.v[i].allocations;
	return nameless && sum != UNKNOWN &&
	       !((b->op == MS_OP_GT || b->op == MS_OP_GE) && ms_op_holds(b->op, sum, b->value));
}

/* Returns the sum over the matching threads or labels; `worst` receives the site with the largest
 * part, `n` the number of threads or labels that match. */
static uint64_t sum_of_threads(const struct budget *b, struct model *m, const struct site **worst,
			       size_t *n)
{
	struct table t = TABLE_OF(thread_columns, .title = NULL);
	uint64_t sum = 0, most = 0, part = 0, site = UNKNOWN;
	bool *of = ms_arena_alloc(&m->arena, m->threads.n + 1);
	const char *pattern = ms_arena_strndup(&m->arena, b->pattern, b->pattern_length);
	*worst = NULL;
	*n = 0;
	for (size_t i = 0; i < m->threads.n; i++)
		*n += of[i] = is_thread(b, pattern, &m->threads.v[i]);
	table_query(m, &t, "FROM site_thread ORDER BY site, thread");
	for (size_t i = 0; i < t.n; i++) {
		const struct cell *c = t.rows[i].cells;
		const struct thread *by = model_thread(m, (int64_t)c[ROW_THREAD].n);
		uint64_t v = c[ROW_FIGURE + b->figure].n;
		if (!by || !of[by - m->threads.v] || v == 0)
			continue;
		part = c[ROW_SITE].n == site ? figure_add(part, v) : v;
		site = c[ROW_SITE].n;
		sum = figure_add(sum, v);
		if (figure_or_0(part) > most) {
			most = part;
			*worst = model_site(m, (int64_t)site);
		}
	}
	bool unknown = m->hidden.sites || m->threads.n == 0 || is_nameless(b, m, sum);
	return unknown ? UNKNOWN : sum;
}

bool budget_matches_none(const struct budget *b, struct model *m)
{
	const struct site *worst;
	size_t n;
	if (b->part == BUDGET_KEPT_BY)
		return sum_of_kept(b, m, &worst, &n) != UNKNOWN && n == 0;
	if (b->part > BUDGET_KEPT_BY)
		return sum_of_threads(b, m, &worst, &n) != UNKNOWN && n == 0;
	bool none = b->part && !m->hidden.sites;
	for (size_t i = 0; i < m->sites.n && none; i++)
		none = !budget_matches(b, m, &m->sites.v[i]);
	return none;
}

/* ---- figures of the whole run ---- */

static bool is_of_growth(size_t figure)
{
	return figure >= figure_count + FIGURES_BESIDE - FIGURES_OF_GROWTH;
}

static const struct site *worst_of_all(struct model *m, size_t figure)
{
	static const struct {
		const char *prefix;
		enum metric metric;
	} of[] = {{"peak_b", METRIC_PEAK},
		  {"unfreed_b", METRIC_LIVE},
		  {"unreachable_", METRIC_UNREACHABLE},
		  {"shown_unreachable_", METRIC_UNREACHABLE},
		  {"allocations", METRIC_ALLOCATIONS},
		  {"allocated_", METRIC_ALLOCATED},
		  {"temporary_", METRIC_TEMPORARY},
		  {"failed_", METRIC_FAILED},
		  {"mapped_end", METRIC_MAPPED}};
	const char *name = figures[figure].name;
	if (is_of_growth(figure))
		return growth_worst(m);
	for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
		if (strncmp(name, of[i].prefix, strlen(of[i].prefix)) != 0)
			continue;
		struct list l = list_sites(m, of[i].metric, 1);
		if (l.n)
			return l.rows[0];
	}
	return NULL;
}

/* ---- all budgets ---- */

static uint64_t value_of(const struct budget *b, struct model *m)
{
	const struct site *worst;
	size_t n;
	switch (b->part) {
	case BUDGET_SITE:
		return sum_of_sites(b, m, &worst);
	case BUDGET_KEPT_BY:
		return sum_of_kept(b, m, &worst, &n);
	case BUDGET_THREAD:
	case BUDGET_LABEL:
		return sum_of_threads(b, m, &worst, &n);
	default:
		return figure_at(&m->totals, figures[b->figure].offset);
	}
}

const struct site *budget_worst(const struct budget *b, struct model *m)
{
	const struct site *worst;
	size_t n;
	if (b->change)
		return diff_budget_worst(b, m);
	switch (b->part) {
	case BUDGET_SITE:
		sum_of_sites(b, m, &worst);
		return worst;
	case BUDGET_KEPT_BY:
		sum_of_kept(b, m, &worst, &n);
		return worst;
	case BUDGET_THREAD:
	case BUDGET_LABEL:
		sum_of_threads(b, m, &worst, &n);
		return worst;
	default:
		return worst_of_all(m, b->figure);
	}
}

const char *budget_said(const struct budget *b, struct model *m, uint64_t v)
{
	enum figure_unit unit = budget_unit(b);
	return unit == FIGURE_BYTES  ? say_size(m, v)
	       : unit == FIGURE_TIME ? say_time(m, v)
				     : say_count(m, v);
}

const char *budget_amount(const struct budget *b, struct model *m)
{
	if (b->change)
		return diff_budget_amount(b, m);
	uint64_t v = value_of(b, m);
	bool bytes = budget_unit(b) == FIGURE_BYTES, time = budget_unit(b) == FIGURE_TIME;
	if (bytes && v < 1024)
		return say_size(m, v);
	return bytes || time ? ms_arena_printf(&m->arena, "%llu (%s)", (unsigned long long)v,
					       budget_said(b, m, v))
			     : ms_arena_printf(&m->arena, "%llu", (unsigned long long)v);
}

enum budget_result budget_holds(enum ms_op op, long double v, long double limit)
{
	return ms_op_holds(op, v, limit) ? BUDGET_BROKEN : BUDGET_HELD;
}

enum budget_result budget_check(const struct budget *b, struct model *m)
{
	if (b->change)
		return diff_budget_check(b, m);
	uint64_t v = value_of(b, m);
	if (v == UNKNOWN)
		return budget_too_short(b, m) ? BUDGET_HELD : BUDGET_UNDECIDED;
	return budget_holds(b->op, (long double)v, (long double)b->value);
}

bool budget_too_short(const struct budget *b, const struct model *m)
{
	return !b->change && !b->part && is_of_growth(b->figure) && growth_too_short(m);
}

const char *budget_apart(const struct budget *b, struct model *m)
{
	bool of_sites = b->change && b->kind != BUDGET_KEPT &&
			(b->part || (!b->delta && b->kind != DIFF_UNMATCHED));
	return of_sites ? diff_unmatched(m) : NULL;
}

const char *budget_unknown(const struct budget *b, struct model *m)
{
	const char *none = "the program was not scanned for leaks", *why = words_unscanned(m);
	if (b->change && !m->diff)
		return "nothing was compared (use ms-diff)";
	if (b->change && b->kind == BUDGET_KEPT)
		return "one or both of the runs have no retention scan (ms-record --retention)";
	if (b->part == BUDGET_KEPT_BY)
		return kept_read(m, 0) ? SAY("the retention scan has no result: %s",
					     kept_unknown(kept_read(m, 0)))
				       : "there was no retention scan (ms-record --retention)";
	bool of_sites = b->part || (b->change && !b->delta);
	bool hidden = of_sites && (b->change ? m->diff->hidden_sites : m->hidden.sites);
	if (hidden)
		return "filters hid sites that the budget may apply to";
	if (b->part == BUDGET_THREAD && is_nameless(b, m, 0))
		return "threads whose names are not known allocated, too (they ended too soon)";
	if (!b->change && strstr(b->text, "unreachable_") && !verdicts_known(m))
		return why ? ms_arena_printf(&m->arena, "%s: %s", none, why) : none;
	return !b->change ? "the figure is not available in this recording"
	       : strstr(b->text, "unreachable_")
		       ? "one or both of the runs were not scanned for leaks (ms-record "
			 "--leak-check)"
		       : "one or both of the runs were recorded without this figure";
}
