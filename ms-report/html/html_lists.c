/* SPDX-License-Identifier: MIT
 * Writes the first lists of a page: those of the text report's first screen, with all that is
 * needed to find each site; for a comparison, the changes.
 */
#include "html_data.h"

#include "ms-report/model/first_screen.h"
#include "ms-report/text/text.h"

#include "libcommon/base/json_writer.h"

#define ROWS 5
#define SOME_PART 5 /* temporary blocks get a list if they are over 1/SOME_PART of all calls */
#define SAY(...) ms_arena_printf(&p->m->arena, __VA_ARGS__)

static void put_text(struct page *p, struct ms_json *j, const char *key, const char *s)
{
	if (s && *s)
		ms_json_string(j, key, html_text(p, s));
}

/* Returns a caller or callee as text: "< main src/main.c:7". */
static const char *apart_words(struct page *p, const struct apart_line *l)
{
	const char *sign = l->sign == ' ' ? "" : l->sign == '<' ? "< " : "> ";
	return SAY("%s%s%s%s", sign, l->name, *l->name && *l->place ? " " : "", l->place);
}

static void open_list(struct page *p, struct ms_json *j, const char *id, const char *title,
		      bool wrong, const char *const *heads, size_t n)
{
	ms_json_format(j, "{id:%s", id);
	put_text(p, j, "title", title);
	ms_json_format(j, "wrong:%d heads:[", wrong);
	for (size_t i = 0; i < n; i++)
		ms_json_string(j, NULL, heads[i]);
	ms_json_format(j, "] rows:[");
}

static void put_cells(struct page *p, struct ms_json *j, const char *const *cells, size_t n)
{
	ms_json_open(j, "cells", '[');
	for (size_t i = 0; i < n; i++)
		ms_json_string(j, NULL, html_text(p, cells[i]));
	ms_json_close(j, ']');
}

/* Writes a row: its figures, the site as in a list of text, and remarks. */
static void put_row(struct page *p, struct ms_json *j, const struct list *l, const struct site *s,
		    const struct apart *apart, const char *const *cells, size_t n,
		    const struct words *more)
{
	struct list_line x = list_line(p, l, s, true);
	ms_json_format(j, "{site:%lu", (uint64_t)s->id);
	put_cells(p, j, cells, n);
	put_text(p, j, "name", x.name);
	put_text(p, j, "place", x.place);
	put_text(p, j, site_called(p->m, s) && !s->one_time ? "called" : "note", x.called);
	put_text(p, j, "caller", x.caller);
	put_text(p, j, "caller_place", x.caller_place);
	ms_json_open(j, "apart", '[');
	for (size_t i = 0; i < apart->n; i++)
		put_text(p, j, NULL, apart_words(p, &apart->v[i]));
	ms_json_format(j, "] more:[");
	for (size_t i = 0; i < more->n; i++)
		put_text(p, j, NULL, more->v[i]);
	ms_json_format(j, "]}");
}

/* Writes the sums of sites outside the rows. */
static void put_rest(struct page *p, struct ms_json *j, const char *words, const char *const *cells,
		     size_t n)
{
	ms_json_open(j, NULL, '{');
	put_cells(p, j, cells, n);
	put_text(p, j, "words", words);
	ms_json_close(j, '}');
}

static void put_list(struct page *p, struct ms_json *j, const char *id, const char *title,
		     bool wrong, const struct list *l, const struct words *share)
{
	struct apart *apart =
		l->by ? ms_arena_alloc(&p->m->arena, l->n * sizeof *apart)
		      : apart_make(p->m, l->rows, l->n,
				   (struct apart_shown){
					   .called = true, .caller = true, .caller_place = true},
				   &p->style);
	const char *heads[] = {list_head(l->metric, 0), list_head(l->metric, 1)};
	size_t figures = heads[1] ? 2 : 1;
	open_list(p, j, id, title, wrong, heads, figures);
	for (size_t i = 0; i < l->n; i++) {
		struct pair v = site_pair(l->rows[i], l->metric);
		const char *cells[] = {list_a(p, l->metric, v), list_b(p, l->metric, v)};
		struct words more = share && !i ? *share : list_remarks(p, l, l->rows[i]);
		const char *still = list_still(p, l, i);
		if (still && more.n)
			more.v[more.n - 1] = SAY("%s;", more.v[more.n - 1]);
		if (still)
			words_add(&more, still);
		put_row(p, j, l, l->rows[i], &apart[i], cells, figures, &more);
	}
	struct list_rest rest[LIST_RESTS];
	size_t n = list_rests(p, l, rest);
	ms_json_format(j, "] rest:[");
	for (size_t i = 0; i < n; i++)
		put_rest(p, j, rest[i].words,
			 (const char *[]){list_a(p, l->metric, rest[i].v),
					  list_b(p, l->metric, rest[i].v)},
			 figures);
	ms_json_format(j, "]}");
}

/* Writes the list of the sites with the most churn, or of the busiest, or of those that allocated
 * most. The text report shows only the first row of such a list. */
static void put_most(struct page *p, struct ms_json *j, const struct first_screen *f,
		     const struct list *first)
{
	bool churn = first->metric == METRIC_CHURN, busiest = first->metric == METRIC_ALLOCATIONS;
	struct list l = churn ? *first : list_folded(p->m, first->metric, ROWS);
	const char *part = words_share(p->m, &l, f->both && (churn || busiest));
	struct words share = {.v = {part}, .n = 1},
		     more = words_besides(p->m, l.rows[0], &p->style),
		     remarks = list_remarks(p, &l, l.rows[0]);
	for (size_t i = 0; i < remarks.n; i++)
		share.v[0] = SAY("%s, %s", share.v[0], remarks.v[i]);
	for (size_t i = 0; i < more.n; i++)
		share.v[0] = SAY("%s, %s", share.v[0], more.v[i]);
	put_list(p, j, churn ? "churn" : metric_names[l.metric],
		 churn ? SAY("CHURN: %s", part)
		       : SAY("%s %s", busiest ? "BUSIEST by" : "MOST", list_title(p, &l)),
		 f->churning, &l, &share);
}

/* Writes the groups of the text report's first screen, then a list of temporary blocks if there
 * were many. */
static void put_run(struct page *p, struct ms_json *j)
{
	static const char *const ids[METRIC_LISTS] = {
		[METRIC_LIVE] = "live",       [METRIC_PEAK] = "peak",
		[METRIC_MAPPED] = "mapped",   [METRIC_UNREACHABLE] = "unreachable",
		[METRIC_LATE] = "late",       [METRIC_HELD] = "live",
		[METRIC_GROWING] = "growing", [METRIC_GROWING_NOW] = "growing",
		[METRIC_GROWN] = "growing",   [METRIC_RISEN] = "growing"};
	struct model *m = p->m;
	struct first_screen f = first_screen_groups(m, ROWS, true);
	for (size_t i = 0; i < f.n; i++) {
		const struct list *l = &f.lists[i];
		bool wrong = l->metric == METRIC_UNREACHABLE || first_screen_is_growing(l);
		if (first_screen_is_most(l))
			put_most(p, j, &f, l);
		else
			put_list(p, j, ids[l->metric], list_title(p, l), wrong, l, NULL);
		if (first_screen_is_most(l) && f.both)
			put_most(p, j, &f, &(struct list){.metric = METRIC_ALLOCATED});
	}
	struct list temporary = list_folded(m, METRIC_TEMPORARY, ROWS);
	if (figure_or_0(temporary.total.a) > figure_or_0(m->totals.allocations) / SOME_PART)
		put_list(p, j, "temporary", list_title(p, &temporary), false, &temporary, NULL);
}

/* ---- a comparison ---- */

static void put_changes(struct page *p, struct ms_json *j)
{
	static const enum diff_figure of[] = {DIFF_LIVE, DIFF_PEAK, DIFF_ALLOCATIONS,
					      DIFF_ALLOCATED};
	static const char *const words[] = {"live", "peak", "calls", "allocated"};
	const struct diff *d = p->m->diff;
	struct diff_rows rows = diff_shown(p->m, true);
	struct list l = {.metric = METRIC_LIVE, .n = diff_rows_shown(&rows, 2 * ROWS)};
	const char *heads[4];
	int shown[4];
	size_t columns = 0;
	l.rows = ms_arena_alloc(&p->m->arena, (l.n + 1) * sizeof *l.rows);
	for (size_t k = 0; k < 4; k++) {
		bool changed = false;
		for (size_t i = 0; i < l.n; i++)
			changed |= rows.v[i].delta[of[k]] != 0 &&
				   rows.v[i].delta[of[k]] != DELTA_UNKNOWN;
		heads[columns] = words[k];
		shown[columns] = (int)k;
		columns += changed;
	}
	for (size_t i = 0; i < l.n; i++)
		l.rows[i] = rows.v[i].site;
	struct apart *apart = apart_make(
		p->m, l.rows, l.n,
		(struct apart_shown){.called = true, .caller = true, .caller_place = true},
		&p->style);
	open_list(p, j, "changed", diff_title(p->m, &rows), diff_changed(d), heads, columns);
	for (size_t i = 0; i < l.n; i++) {
		const struct diff_row *x = &rows.v[i];
		const char *cells[4];
		for (size_t k = 0; k < columns; k++)
			cells[k] = diff_say(p->m, of[shown[k]] != DIFF_ALLOCATIONS,
					    diff_blame(x, of[shown[k]]));
		struct words what = {.v = {diff_what(p->m, x)}, .n = 1};
		put_row(p, j, &l, l.rows[i], &apart[i], cells, columns, &what);
	}
	ms_json_format(j, "] rest:[");
	if (rows.significant > l.n)
		put_rest(p, j,
			 SAY("%s changed by more than noise",
			     say_things(p->m, rows.significant - l.n, "more site")),
			 NULL, 0);
	ms_json_format(j, "]}");
}

void html_lists_write(struct page *p, struct ms_json *j)
{
	ms_json_open(j, "lists", '[');
	if (p->m->diff && !p->m->proc_only)
		put_changes(p, j);
	else if (!p->m->proc_only)
		put_run(p, j);
	ms_json_close(j, ']');
}
