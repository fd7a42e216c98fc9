/* SPDX-License-Identifier: MIT
 * Parts of the JSON report: views as tables, and what is only said of a single site.
 */
#include "formats.h"

#include "libcommon/base/json_writer.h"

#include <string.h>

static void put_threads(struct model *m, struct ms_json *j, const struct site *s)
{
	struct site_thread *t;
	size_t n = model_site_threads(m, s, &t);
	ms_json_open(j, "threads", '[');
	for (size_t i = 0; i < n; i++) {
		ms_json_open(j, NULL, '{');
		ms_json_number(j, "tid", t[i].thread->tid);
		ms_json_string(j, "name", t[i].thread->name);
		MS_JSON_NUMBERS(j, {"allocations", t[i].allocations},
				{"allocated_bytes", t[i].allocated_bytes},
				{"live_bytes", t[i].live.bytes}, {"live_blocks", t[i].live.blocks});
		ms_json_close(j, '}');
	}
	ms_json_close(j, ']');
}

static void put_sizes(struct model *m, struct ms_json *j, const struct site *s)
{
	struct size_class *c;
	size_t n = model_site_sizes(m, s, &c);
	ms_json_open(j, "sizes", '[');
	for (size_t i = 0; i < n; i++) {
		ms_json_open(j, NULL, '{');
		MS_JSON_NUMBERS(j, {"low", c[i].low}, {"high", c[i].high},
				{"allocations", c[i].allocations},
				{"allocated_bytes", c[i].allocated_bytes},
				{"temporary", c[i].temporary}, {"peak_bytes", c[i].peak.bytes},
				{"peak_blocks", c[i].peak.blocks}, {"live_bytes", c[i].live.bytes},
				{"live_blocks", c[i].live.blocks});
		ms_json_close(j, '}');
	}
	ms_json_close(j, ']');
}

static void put_lifetimes(struct model *m, struct ms_json *j, const struct site *s,
			  const char *unit)
{
	struct lifetime *v;
	size_t n = model_site_lifetimes(m, s, unit, &v);
	for (size_t i = 0; i < n; i++) {
		ms_json_open(j, NULL, '{');
		ms_json_string(j, "unit", unit);
		MS_JSON_NUMBERS(j, {"low", v[i].low}, {"high", v[i].high}, {"frees", v[i].frees});
		ms_json_close(j, '}');
	}
}

/* Named after the same frame as a site would be. */
static void put_frees(struct model *m, struct ms_json *j, const struct site *s)
{
	struct site_free *v;
	size_t n = model_site_frees(m, s, &v);
	ms_json_open(j, "freed_by", '[');
	for (size_t i = 0; i < n; i++) {
		uint32_t node = model_user_node(m, v[i].stack);
		const struct frame *f = node == NONE ? NULL : &m->frames.v[m->nodes.v[node].frame];
		ms_json_open(j, NULL, '{');
		MS_JSON_NUMBERS(j, {"frees", v[i].frees}, {"freed_bytes", v[i].bytes});
		ms_json_string(j, "function", f ? f->function : NULL);
		ms_json_string(j, "file", f ? f->file : NULL);
		ms_json_number(j, "line", f && f->line ? f->line : UNKNOWN);
		ms_json_close(j, '}');
	}
	ms_json_close(j, ']');
}

void json_site_detail(struct model *m, struct ms_json *j, const struct site *s)
{
	put_threads(m, j, s);
	put_sizes(m, j, s);
	ms_json_open(j, "lifetimes", '[');
	put_lifetimes(m, j, s, "ns");
	put_lifetimes(m, j, s, "allocations");
	ms_json_close(j, ']');
	put_frees(m, j, s);
}

/* A number of SQLite's, which may be infinite. */
static void put_value(struct ms_json *j, const char *name, const char *s)
{
	ms_json_raw(j, name, s && !strpbrk(s, "IN") ? s : NULL);
}

static void put_cell(struct ms_json *j, const struct column *c, const struct cell *x)
{
	if (c->kind == CELL_VALUE) {
		put_value(j, c->name, x->s);
	} else if (column_is_number(c)) {
		ms_json_number(j, c->name, x->n);
	} else {
		ms_json_string(j, c->name, x->s);
	}
}

/* A row as an object. Of one that sums up others, only what it sums up. */
static void put_row(struct model *m, struct ms_json *j, const struct table *t, const struct row *r,
		    const char *key)
{
	ms_json_open(j, key, '{');
	if (r->kind == ROW_MORE)
		ms_json_number(j, "rows", t->more);
	for (size_t c = 0; c < t->column_count; c++) {
		const struct column *k = &t->columns[c];
		bool figure = column_is_number(k) && k->kind != CELL_BAR &&
			      (k->sum || r->cells[c].n != UNKNOWN);
		if (k->name && (r->kind == ROW_ITEM || figure))
			put_cell(j, k, &r->cells[c]);
		uint64_t low, high;
		if (k->name && figure && est_cell_limits(&r->cells[c], &low, &high)) {
			ms_json_number(j, ms_arena_printf(&m->arena, "%s_low", k->name), low);
			ms_json_number(j, ms_arena_printf(&m->arena, "%s_high", k->name), high);
		}
	}
	ms_json_close(j, '}');
}

static void put_view(struct model *m, struct ms_json *j, const struct json_view *v)
{
	static const char *const rest[] = {[ROW_MORE] = "more",
					   [ROW_HIDDEN] = "hidden",
					   [ROW_OTHER] = "other",
					   [ROW_TOTAL] = "total"};
	ms_json_open(j, NULL, '{');
	ms_json_string(j, "view", v->name);
	if (v->key)
		ms_json_string(j, "by", v->key);
	ms_json_open(j, "rows", '[');
	for (size_t i = 0; i < v->table.n; i++)
		if (v->table.rows[i].kind == ROW_ITEM)
			put_row(m, j, &v->table, &v->table.rows[i], NULL);
	ms_json_close(j, ']');
	for (size_t i = 0; i < v->table.n; i++)
		if (v->table.rows[i].kind != ROW_ITEM)
			put_row(m, j, &v->table, &v->table.rows[i], rest[v->table.rows[i].kind]);
	ms_json_close(j, '}');
}

void json_views(struct model *m, struct ms_json *j, const struct json_view *v, size_t n)
{
	if (!n)
		return;
	ms_json_open(j, "views", '[');
	for (size_t i = 0; i < n; i++)
		put_view(m, j, &v[i]);
	ms_json_close(j, ']');
}

void json_intervals(struct ms_json *j, const struct estimates *e, const struct est_named *v,
		    size_t n)
{
	if (!e)
		return;
	ms_json_open(j, "intervals", '{');
	for (size_t i = 0; i < n; i++) {
		uint64_t low, high;
		if (v[i].value == UNKNOWN)
			continue;
		est_limits(v[i].value, &e->of[v[i].figure], &low, &high);
		ms_json_open(j, v[i].name, '{');
		MS_JSON_NUMBERS(j, {"low", low}, {"high", high});
		ms_json_close(j, '}');
	}
	ms_json_close(j, '}');
}
