/* SPDX-License-Identifier: MIT
 * Parts of the JSON report: views as tables, and what is only said of a single site.
 */
#include "json_parts.h"

#include "beside.h"
#include "json_writer.h"
#include "out.h"

#include <string.h>

static void put_threads(struct model *m, struct json *j, const struct site *s)
{
	struct site_thread *t;
	size_t n = model_site_threads(m, s, &t);
	json_open(j, "threads", '[');
	for (size_t i = 0; i < n; i++) {
		json_open(j, NULL, '{');
		json_number(j, "tid", t[i].thread->tid);
		json_string(j, "name", t[i].thread->name);
		json_number(j, "allocations", t[i].allocations);
		json_number(j, "allocated_bytes", t[i].allocated_bytes);
		json_number(j, "live_bytes", t[i].live.bytes);
		json_number(j, "live_blocks", t[i].live.blocks);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_sizes(struct model *m, struct json *j, const struct site *s)
{
	struct size_class *c;
	size_t n = model_site_sizes(m, s, &c);
	json_open(j, "sizes", '[');
	for (size_t i = 0; i < n; i++) {
		json_open(j, NULL, '{');
		json_number(j, "low", c[i].low);
		json_number(j, "high", c[i].high);
		json_number(j, "allocations", c[i].allocations);
		json_number(j, "allocated_bytes", c[i].allocated_bytes);
		json_number(j, "temporary", c[i].temporary);
		json_number(j, "peak_bytes", c[i].peak.bytes);
		json_number(j, "peak_blocks", c[i].peak.blocks);
		json_number(j, "live_bytes", c[i].live.bytes);
		json_number(j, "live_blocks", c[i].live.blocks);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void put_lifetimes(struct model *m, struct json *j, const struct site *s, const char *unit)
{
	struct lifetime *v;
	size_t n = model_site_lifetimes(m, s, unit, &v);
	for (size_t i = 0; i < n; i++) {
		json_open(j, NULL, '{');
		json_string(j, "unit", unit);
		json_number(j, "low", v[i].low);
		json_number(j, "high", v[i].high);
		json_number(j, "frees", v[i].frees);
		json_close(j, '}');
	}
}

/* Named after the same frame as a site would be. */
static void put_frees(struct model *m, struct json *j, const struct site *s)
{
	struct site_free *v;
	size_t n = model_site_frees(m, s, &v);
	json_open(j, "freed_by", '[');
	for (size_t i = 0; i < n; i++) {
		uint32_t node = beside_user(m, v[i].stack);
		const struct frame *f = node == NONE ? NULL : &m->frames.v[m->nodes.v[node].frame];
		json_open(j, NULL, '{');
		json_number(j, "frees", v[i].frees);
		json_number(j, "freed_bytes", v[i].bytes);
		json_string(j, "function", f ? f->function : NULL);
		json_string(j, "file", f ? f->file : NULL);
		json_number(j, "line", f && f->line ? f->line : UNKNOWN);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void json_site_detail(struct model *m, struct json *j, const struct site *s)
{
	put_threads(m, j, s);
	put_sizes(m, j, s);
	json_open(j, "lifetimes", '[');
	put_lifetimes(m, j, s, "ns");
	put_lifetimes(m, j, s, "allocations");
	json_close(j, ']');
	put_frees(m, j, s);
}

/* A number of SQLite's, which may be infinite. */
static void put_value(struct json *j, const char *name, const char *s)
{
	json_key(j, NULL);
	json_quote(j->o, name);
	out_char(j->o, ':');
	out_str(j->o, s && !strpbrk(s, "IN") ? s : "null");
}

static void put_text(struct json *j, const char *name, const char *s)
{
	json_key(j, NULL);
	json_quote(j->o, name);
	out_char(j->o, ':');
	if (s)
		json_quote(j->o, s);
	else
		out_str(j->o, "null");
}

static void put_cell(struct json *j, const struct column *c, const struct cell *x)
{
	if (c->kind == CELL_VALUE) {
		put_value(j, c->name, x->s);
	} else if (column_is_number(c)) {
		json_number(j, c->name, x->n);
	} else {
		put_text(j, c->name, x->s);
	}
}

/* A row as an object. Of one that sums up others, only what it sums up. */
static void put_row(struct model *m, struct json *j, const struct table *t, const struct row *r,
		    const char *key)
{
	json_open(j, key, '{');
	if (r->kind == ROW_MORE)
		json_number(j, "rows", t->more);
	for (size_t c = 0; c < t->column_count; c++) {
		const struct column *k = &t->columns[c];
		bool figure = column_is_number(k) && k->kind != CELL_BAR &&
			      (k->sum || r->cells[c].n != UNKNOWN);
		if (k->name && (r->kind == ROW_ITEM || figure))
			put_cell(j, k, &r->cells[c]);
		uint64_t low, high;
		if (k->name && figure && est_cell_limits(&r->cells[c], &low, &high)) {
			json_number(j, ms_arena_printf(&m->arena, "%s_low", k->name), low);
			json_number(j, ms_arena_printf(&m->arena, "%s_high", k->name), high);
		}
	}
	json_close(j, '}');
}

static void put_view(struct model *m, struct json *j, const struct json_view *v)
{
	static const char *const rest[] = {[ROW_MORE] = "more",
					   [ROW_HIDDEN] = "hidden",
					   [ROW_OTHER] = "other",
					   [ROW_TOTAL] = "total"};
	json_open(j, NULL, '{');
	json_string(j, "view", v->name);
	if (v->key)
		json_string(j, "by", v->key);
	json_open(j, "rows", '[');
	for (size_t i = 0; i < v->table.n; i++)
		if (v->table.rows[i].kind == ROW_ITEM)
			put_row(m, j, &v->table, &v->table.rows[i], NULL);
	json_close(j, ']');
	for (size_t i = 0; i < v->table.n; i++)
		if (v->table.rows[i].kind != ROW_ITEM)
			put_row(m, j, &v->table, &v->table.rows[i], rest[v->table.rows[i].kind]);
	json_close(j, '}');
}

void json_views(struct model *m, struct json *j, const struct json_view *v, size_t n)
{
	if (!n)
		return;
	json_open(j, "views", '[');
	for (size_t i = 0; i < n; i++)
		put_view(m, j, &v[i]);
	json_close(j, ']');
}
