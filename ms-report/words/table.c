/* SPDX-License-Identifier: MIT
 * Tables of views: rows, rows for the rest, and the total.
 */
#include "table.h"

#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

/* ---- estimates ---- */

void est_cell_add(struct model *m, struct cell *to, const struct ms_spread *e)
{
	if (!e)
		return;
	struct ms_spread *sum = ms_arena_alloc(&m->arena, sizeof *sum);
	*sum = *e;
	if (to->e)
		ms_spread_add(sum, to->e);
	to->e = sum;
}

void est_cells(struct model *m, const struct table *t, struct cell *cells,
	       const struct estimates *e)
{
	for (size_t c = 0; e && c < t->column_count; c++) {
		const char *name = t->columns[c].name;
		enum est_figure f =
			name && column_is_number(&t->columns[c]) ? est_figure_of(name) : EST_COUNT;
		if (f == EST_COUNT || cells[c].n == UNKNOWN)
			continue;
		if (t->at && strncmp(name, "live_", 5) == 0)
			f += EST_AT - EST_END;
		est_cell_add(m, &cells[c], &e->of[f]);
	}
}

bool est_cell_limits(const struct cell *x, uint64_t *low, uint64_t *high)
{
	if (x->n == UNKNOWN || (!x->e && !x->limits))
		return false;
	if (x->e) {
		ms_interval_whole(x->n, x->e, low, high);
	} else {
		*low = x->limits[0];
		*high = x->limits[1];
	}
	return true;
}

const char *cell_number(struct model *m, const struct column *c, const struct cell *x,
			enum row_kind kind)
{
	uint64_t low, high;
	if (c->kind == CELL_VALUE)
		return x->s ? x->s : "";
	if (x->n == UNKNOWN)
		return c->sum ? say_unknown(m) : kind == ROW_ITEM ? "n/a" : "";
	if (c->kind == CELL_SIZE)
		return est_cell_limits(x, &low, &high) ? say_size_limits(m, x->n, low, high)
						       : say_size(m, x->n);
	return c->kind == CELL_COUNT ? est_count(m, x->n, x->e)
	       : c->kind == CELL_TIME
		       ? say_time(m, x->n)
		       : ms_arena_printf(&m->arena, "%llu", (unsigned long long)x->n);
}

bool est_column(const struct table *t, size_t column)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].cells[column].e || t->rows[i].cells[column].limits)
			return true;
	return false;
}

/* ---- building ---- */

struct row *table_row(struct model *m, struct table *t)
{
	if (t->n == t->cap) {
		t->cap = t->cap * 2 + 16;
		struct row *rows = ms_arena_alloc(&m->arena, t->cap * sizeof *rows);
		if (t->n)
			memcpy(rows, t->rows, t->n * sizeof *rows);
		t->rows = rows;
	}
	struct row *r = &t->rows[t->n++];
	r->order = t->n;
	r->cells = ms_arena_alloc(&m->arena, t->column_count * sizeof *r->cells);
	return r;
}

void table_take(const struct table *t, struct cell *cells, const void *what)
{
	for (size_t c = 0; c < t->column_count; c++) {
		const struct column *k = &t->columns[c];
		if (!k->of)
			continue;
		uint64_t v = figure_at(what, k->of - 1);
		cells[c].n = k->sum ? figure_add(cells[c].n, v) : v;
	}
}

void table_query(struct model *m, struct table *t, const char *from, ...)
{
	sqlite3_str *text = sqlite3_str_new(m->db);
	for (size_t i = 0; i < t->column_count; i++) {
		const struct column *k = &t->columns[i];
		sqlite3_str_appendall(text, i ? ", " : "SELECT ");
		sqlite3_str_appendall(text, k->sql ? k->sql : k->name ? k->name : "NULL");
	}
	va_list ap;
	va_start(ap, from);
	sqlite3_str_appendchar(text, 1, ' ');
	sqlite3_str_vappendf(text, from, ap);
	va_end(ap);
	char *sql = sqlite3_str_finish(text);
	sqlite3_stmt *st = sql ? ms_sql_prepare(m->db, sql, NULL) : NULL;
	sqlite3_free(sql);
	while (model_next(&st)) {
		struct cell *c = table_row(m, t)->cells;
		for (size_t i = 0; i < t->column_count; i++) {
			const struct column *k = &t->columns[i];
			const char *s = NULL;
			c[i].n = UNKNOWN;
			if (!column_is_number(k) || k->kind == CELL_VALUE)
				s = (const char *)sqlite3_column_text(st, (int)i);
			else
				c[i].n = figure_in(st, (int)i);
			c[i].s = s ? ms_arena_strdup(&m->arena, s) : NULL;
		}
	}
}

void table_retitle(struct model *m, struct table *t, size_t column, const char *title)
{
	size_t size = t->column_count * sizeof *t->columns;
	struct column *own = ms_arena_alloc(&m->arena, size);
	memcpy(own, t->columns, size);
	own[column].title = title;
	t->columns = own;
}

const char *table_unfiltered(struct model *m, const char *title)
{
	return m->hidden.sites ? ms_arena_printf(&m->arena,
						 "%s (all sites: filters are not applied)", title)
			       : title;
}

static int by_column(const void *x, const void *y, void *column)
{
	const struct row *p = x, *q = y;
	int64_t c = *(int64_t *)column;
	return MS_ORDER(figure_or_0(q->cells[c].n), figure_or_0(p->cells[c].n))
		       ?: MS_ORDER(p->order, q->order);
}

/* Sums up rows from..to (exclusive) in each column that can be summed. */
static void sum_rows(struct model *m, const struct table *t, size_t from, size_t to,
		     struct cell *sum)
{
	for (size_t c = 0; c < t->column_count; c++) {
		sum[c].n = t->columns[c].sum ? 0 : UNKNOWN;
		for (size_t i = from; i < to && t->columns[c].sum; i++)
			sum[c].n = figure_add(sum[c].n, t->rows[i].cells[c].n);
		for (size_t i = from; i < to && t->columns[c].sum; i++)
			est_cell_add(m, &sum[c], t->rows[i].cells[c].e);
	}
}

/* Adds a row for the part of the total that is in no row (hidden by filters or not), if there is
 * any, and then the total. */
static void add_total(struct model *m, struct table *t, enum table_total which)
{
	struct cell *sum = ms_arena_alloc(&m->arena, t->column_count * sizeof *sum);
	uint64_t *total = ms_arena_alloc(&m->arena, t->column_count * sizeof *total);
	sum_rows(m, t, 0, t->n, sum);
	bool missing = false;
	for (size_t c = 0; c < t->column_count; c++) {
		size_t all = t->columns[c].all;
		total[c] = which == TOTAL_OF_ROWS ? sum[c].n
			   : all                  ? figure_at(m, all - 1)
						  : UNKNOWN;
		sum[c].n = t->columns[c].sum ? figure_sub(total[c], sum[c].n) : UNKNOWN;
		missing |= figure_some(sum[c].n);
		sum[c].e = NULL;
	}
	if (missing) {
		struct row *r = table_row(m, t);
		r->kind = m->hidden.sites ? ROW_HIDDEN : ROW_OTHER;
		memcpy(r->cells, sum, t->column_count * sizeof *sum);
		r->cells[0].s = m->hidden.sites ? "hidden by filters" : "not in any row";
		est_cells(m, t, r->cells, m->hidden.est);
	}
	struct row *r = table_row(m, t);
	r->kind = ROW_TOTAL;
	for (size_t c = 0; c < t->column_count; c++)
		r->cells[c].n = total[c];
	r->cells[0].s = "total";
	est_cells(m, t, r->cells, m->est);
}

void table_finish(struct model *m, struct table *t, int64_t column, size_t limit, const char *what,
		  enum table_total total)
{
	if (t->n && column >= 0)
		qsort_r(t->rows, t->n, sizeof *t->rows, by_column, &column);
	if (t->n > limit) {
		struct cell *sum = ms_arena_alloc(&m->arena, t->column_count * sizeof *sum);
		sum_rows(m, t, limit, t->n, sum);
		sum[0].s = say_things(m, t->n - limit, ms_arena_printf(&m->arena, "more %s", what));
		t->rows[limit] = (struct row){.kind = ROW_MORE, .cells = sum};
		t->more = t->n - limit;
		t->n = limit + 1;
	}
	if (total && t->n)
		add_total(m, t, total);
}

const char *table_size_range(struct model *m, uint64_t low, uint64_t high)
{
	if (low == high)
		return say_size(m, low);
	return ms_arena_printf(&m->arena, "%s to %s", say_size(m, low), say_size(m, high));
}

void table_bars(struct table *t, size_t value, size_t bar)
{
	uint64_t most = 1;
	for (size_t i = 0; i < t->n; i++)
		if (figure_or_0(t->rows[i].cells[value].n) > most)
			most = t->rows[i].cells[value].n;
	for (size_t i = 0; i < t->n; i++) {
		uint64_t v = t->rows[i].cells[value].n;
		t->rows[i].cells[bar].n =
			v == UNKNOWN ? 0 : (uint64_t)((double)v / (double)most * 1000 + 0.5);
	}
}
