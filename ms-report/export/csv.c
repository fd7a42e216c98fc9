/* SPDX-License-Identifier: MIT
 * Writes CSV by RFC 4180: CR LF after each row, quotes if needed, a header row.
 */
#include "formats.h"

#include "ms-report/model/figures.h"
#include "ms-report/output/out.h"
#include "ms-report/words/names.h"

#include <string.h>

void csv_text(struct model *m, struct out *o, const char *s)
{
	if (!s)
		return;
	s = name_clean(&m->arena, s, false);
	const char *guard = *s && strchr("=+-@", *s) ? "'" : "";
	if (!s[strcspn(s, ",\"\r\n")]) {
		out_str(o, guard);
		out_str(o, s);
		return;
	}
	out_char(o, '"');
	out_str(o, guard);
	for (; *s; s++) {
		if (*s == '"')
			out_char(o, '"');
		out_char(o, *s);
	}
	out_char(o, '"');
}

static void put_number(struct out *o, uint64_t v)
{
	if (v != UNKNOWN)
		out_number(o, v);
}

static void put_next(struct out *o, uint64_t v)
{
	out_char(o, ',');
	put_number(o, v);
}

#define FIGURES 11
static const enum told columns[FIGURES] = {TOLD_LIVE,        TOLD_LIVE_BLOCKS, TOLD_PEAK,
					   TOLD_PEAK_BLOCKS, TOLD_ALLOCATED,   TOLD_ALLOCATIONS,
					   TOLD_FREES,       TOLD_TEMPORARY,   TOLD_FAILED,
					   TOLD_USABLE,      TOLD_MAPPED};

/* ---- sites ----------------------------------------------------------------------------------- */

void csv_frame(struct model *m, struct out *o, const struct frame *f)
{
	csv_text(m, o, f ? frame_name(&m->arena, m, f) : NULL);
	out_char(o, ',');
	csv_text(m, o, f ? f->file : NULL);
	out_char(o, ',');
	if (f && f->line)
		out_number(o, f->line);
	out_char(o, ',');
	csv_text(m, o, f && f->module != NONE ? m->modules.v[f->module].path : NULL);
}

static void end_row(struct model *m, struct out *o, const uint64_t *v, const struct estimates *e)
{
	for (size_t i = 0; m->est && i < TOLD_ESTIMATES; i++) {
		uint64_t low = UNKNOWN, high = UNKNOWN;
		if (e && v[i] != UNKNOWN)
			ms_interval_whole(v[i], &e->of[told[i].est], &low, &high);
		put_next(o, low);
		put_next(o, high);
	}
	out_str(o, "\r\n");
}

/* Tells whether the table has a column of verdicts. An empty column would look like a result if
 * nothing was judged. */
static bool tells_verdicts(const struct model *m)
{
	for (size_t i = 0; i < m->processes.n; i++)
		if (m->processes.v[i].end_scan.id >= 0)
			return true;
	for (size_t i = 0; i < m->sites.n; i++)
		if (m->sites.v[i].verdict)
			return true;
	return false;
}

static void put_leak(const struct model *m, struct out *o, struct live leak)
{
	bool known = m->totals.unreachable_bytes != UNKNOWN;
	put_next(o, known ? leak.bytes : UNKNOWN);
	put_next(o, known ? leak.blocks : UNKNOWN);
}

static void put_row(struct model *m, struct out *o, const struct site *s, const uint64_t *v,
		    const char *what, const struct estimates *e, struct live leak)
{
	if (s)
		out_printf(o, "%lld", (long long)s->id);
	for (size_t i = 0; i < FIGURES; i++)
		put_next(o, v[i]);
	out_char(o, ',');
	if (!s) {
		csv_text(m, o, what);
		out_str(o, tells_verdicts(m) ? ",,,,,,," : ",,,,,,");
		put_leak(m, o, leak);
		end_row(m, o, v, e);
		return;
	}
	const struct frame *f = site_frame(m, s), *called = site_called(m, s),
			   *caller = site_caller(m, s);
	csv_frame(m, o, f);
	out_char(o, ',');
	csv_text(m, o, called ? frame_name(&m->arena, m, called) : NULL);
	out_char(o, ',');
	csv_text(m, o, caller ? frame_name(&m->arena, m, caller) : NULL);
	put_next(o, (uint64_t)m->processes.v[s->process].id);
	if (tells_verdicts(m)) {
		out_char(o, ',');
		csv_text(m, o, s->verdict);
	}
	put_leak(m, o, leak);
	end_row(m, o, v, e);
}

static void take(uint64_t *v, enum told_of of, const void *what)
{
	for (int f = 0; f < FIGURES; f++)
		v[f] = told_value(columns[f], of, what);
}

static void put_titles(struct model *m, struct out *o)
{
	out_str(o, "site");
	for (int f = 0; f < FIGURES; f++)
		out_printf(o, ",%s", told[columns[f]].name);
	out_str(o, ",function,file,line,module,called,caller,process");
	out_str(o, tells_verdicts(m) ? ",verdict" : "");
	out_str(o, ",retained_bytes,retained_blocks");
	for (int f = 0; m->est && f < TOLD_ESTIMATES; f++)
		out_printf(o, ",%s_low,%s_high", told[f].name, told[f].name);
	out_str(o, "\r\n");
}

/* Writes a row for what belongs to no site: the totals minus the hidden figures and the sums over
 * sites, `sum` and `leak`. */
static void put_other(struct model *m, struct out *o, const uint64_t *sum, struct live leak)
{
	uint64_t v[FIGURES], hidden[FIGURES], some = 0;
	take(v, TOLD_OF_ALL, m);
	take(hidden, TOLD_OF_HIDDEN, &m->hidden);
	live_add(&leak, m->hidden.lost);
	leak.bytes = figure_sub(m->totals.unreachable_bytes, leak.bytes);
	leak.blocks = figure_sub(m->totals.unreachable_blocks, leak.blocks);
	for (size_t k = 0; k < FIGURES; k++) {
		v[k] = figure_sub(figure_sub(v[k], sum[k]), figure_or_0(hidden[k]));
		some |= figure_or_0(v[k]);
	}
	if (some || figure_some(leak.blocks))
		put_row(m, o, NULL, v, "(of no site)", NULL, leak);
}

void csv_sites(struct model *m, struct out *o, enum metric metric, size_t limit,
	       const struct site *only)
{
	uint64_t v[FIGURES];
	put_titles(m, o);
	if (only) {
		take(v, TOLD_OF_SITE, only);
		put_row(m, o, only, v, NULL, only->est, only->leak);
		return;
	}
	/* a site whose figure is 0 gets a row too: the table lists everything that was recorded */
	struct list l = list_all(m, metric);
	uint64_t more[FIGURES] = {0}, sum[FIGURES] = {0};
	struct estimates rest = {0};
	struct live leak = {0}, all_leak = {0};
	for (size_t i = 0; i < l.n; i++) {
		take(v, TOLD_OF_SITE, l.rows[i]);
		for (size_t k = 0; k < FIGURES; k++)
			sum[k] = figure_add(sum[k], figure_or_0(v[k]));
		live_add(&all_leak, l.rows[i]->leak);
		if (i < limit) {
			put_row(m, o, l.rows[i], v, NULL, l.rows[i]->est, l.rows[i]->leak);
			continue;
		}
		for (size_t k = 0; l.rows[i]->est && k < EST_COUNT; k++)
			ms_spread_add(&rest.of[k], &l.rows[i]->est->of[k]);
		for (size_t k = 0; k < FIGURES; k++)
			more[k] = figure_add(more[k], v[k]);
		live_add(&leak, l.rows[i]->leak);
	}
	if (l.n > limit)
		put_row(m, o, NULL, more,
			ms_arena_printf(&m->arena, "(%zu more sites)", l.n - limit), &rest, leak);
	take(v, TOLD_OF_HIDDEN, &m->hidden);
	if (m->hidden.sites)
		put_row(m, o, NULL, v, "(hidden by filters)", m->hidden.est, m->hidden.lost);
	put_other(m, o, sum, all_leak);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static const char *row_text(struct model *m, const struct row *r, const struct cell *x)
{
	return r->kind == ROW_ITEM || !x->s ? x->s : ms_arena_printf(&m->arena, "(%s)", x->s);
}

static void put_limits(struct out *o, const struct table *t, const struct row *r)
{
	for (size_t c = 0; c < t->column_count; c++) {
		uint64_t low = UNKNOWN, high = UNKNOWN;
		if (!t->columns[c].name || !est_column(t, c))
			continue;
		est_cell_limits(&r->cells[c], &low, &high);
		put_next(o, low);
		put_next(o, high);
	}
}

void csv_table(struct model *m, struct out *o, const struct table *t)
{
	const char *gap = "";
	for (size_t c = 0; c < t->column_count; c++) {
		if (!t->columns[c].name)
			continue;
		out_str(o, gap);
		csv_text(m, o, t->columns[c].name);
		gap = ",";
	}
	for (size_t c = 0; c < t->column_count; c++)
		if (t->columns[c].name && est_column(t, c))
			out_printf(o, ",%s_low,%s_high", t->columns[c].name, t->columns[c].name);
	out_str(o, "\r\n");
	for (size_t i = 0; i < t->n; i++) {
		if (t->rows[i].kind == ROW_TOTAL) /* a row of totals would be counted twice in a
						     sum */
			continue;
		gap = "";
		for (size_t c = 0; c < t->column_count; c++) {
			const struct column *k = &t->columns[c];
			if (!k->name)
				continue;
			out_str(o, gap);
			gap = ",";
			if (k->kind == CELL_VALUE)
				out_str(o, t->rows[i].cells[c].s ? t->rows[i].cells[c].s : "");
			else if (!column_is_number(k))
				csv_text(m, o, row_text(m, &t->rows[i], &t->rows[i].cells[c]));
			else
				put_number(o, t->rows[i].cells[c].n);
		}
		put_limits(o, t, &t->rows[i]);
		out_str(o, "\r\n");
	}
}
