/* SPDX-License-Identifier: MIT
 * Writes parts of the JSON report: views as tables, and details of a single site.
 */
#include "formats.h"

#include "ms-report/model/first_screen.h"
#include "ms-report/model/retained.h"
#include "ms-report/words/kept.h"

#include "libcommon/base/json_writer.h"

#include <string.h>

#define GROUP_ROWS 6 /* maximum rows of a group */

/* Writes an SQLite number, which may be infinite. */
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

static void open_keeper(struct model *m, struct ms_json *j, const struct kept_row *row)
{
	struct keeper k = kept_name(m, row);
	ms_json_format(j, "{keeper:%s name:%s module:%s thread:%s file:%s line:%lu type:%s",
		       *k.kind ? k.kind : NULL, k.name, k.module, k.thread, k.file, k.line, k.type);
}

void json_kept(struct model *m, struct ms_json *j)
{
	const struct kept *k = kept_read(m, 0);
	if (!k)
		return;
	ms_json_format(j, "retention:{scans:[");
	for (size_t i = 0; i < k->scan_count; i++) {
		const struct kept_scan *s = &k->scans[i];
		ms_json_format(j,
			       "{process:%lu scan:%lu label:%s time_ns:%lu state:%s live_bytes:%lu"
			       " kept_bytes:%lu unreachable_bytes:%lu}",
			       (uint64_t)m->processes.v[s->process].id, (uint64_t)s->id, s->label,
			       s->time_ns, s->state, s->live_bytes, s->kept_bytes,
			       s->unreachable_bytes);
	}
	ms_json_format(j, "] keepers:[");
	for (uint32_t i = k->first; i != NONE; i = k->rows[i].next) {
		const struct kept_row *x = &k->rows[i];
		open_keeper(m, j, x);
		ms_json_format(j,
			       "process:%lu retained_bytes:%lu retained_blocks:%lu observers:%lu}",
			       (uint64_t)m->processes.v[x->process].id, x->retained.bytes,
			       x->retained.blocks, x->keeper ? x->keeper->observers : UNKNOWN);
	}
	ms_json_format(j, "]}");
}

static bool is_site(void *arg, const struct site *s)
{
	return s == arg;
}

/* Writes what keeps the blocks of a site alive, if that is known. */
static void put_kept_by(struct model *m, struct ms_json *j, const struct site *s)
{
	const struct kept *k = kept_read(m, 0);
	struct kept_part *v;
	size_t n = kept_done(k) ? kept_parts(m, k, is_site, (void *)s, &v) : 0;
	if (!n)
		return;
	ms_json_open(j, "kept_by", '[');
	for (size_t i = 0; i < n; i++) {
		open_keeper(m, j, &k->rows[v[i].top]);
		ms_json_format(j, "bytes:%lu blocks:%lu}", v[i].live.bytes, v[i].live.blocks);
	}
	ms_json_close(j, ']');
}

/* Writes a row as an object. For a row that sums up others, only the sums are written. */
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

static void put_items(struct model *m, struct ms_json *j, const struct table *t)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->rows[i].kind == ROW_ITEM)
			put_row(m, j, t, &t->rows[i], NULL);
}

static void put_lost(struct model *m, struct ms_json *j, const struct site *s, bool roots)
{
	struct retained_rows r = retained_rows(m, s, roots, false);
	ms_json_open(j, roots ? "lost_with" : "retains", '[');
	for (size_t i = 0; i < r.n; i++) {
		ms_json_format(j, "{site:%lu bytes:%lu blocks:%lu}", (uint64_t)r.v[i].site->id,
			       r.v[i].live.bytes, r.v[i].live.blocks);
	}
	ms_json_close(j, ']');
}

void json_site_detail(struct model *m, struct ms_json *j, const struct site *s)
{
	struct table threads = site_threads(m, s, false), labels = site_threads(m, s, true),
		     sizes = site_sizes(m, s), after = site_lifetimes(m, s, false),
		     between = site_lifetimes(m, s, true), frees = site_frees(m, s),
		     unfreed = site_unfreed(m, s);
	ms_json_format(j, "threads:[");
	put_items(m, j, &threads);
	if (labels.n)
		ms_json_format(j, "] labels:[");
	put_items(m, j, &labels);
	ms_json_format(j, "] sizes:[");
	put_items(m, j, &sizes);
	ms_json_format(j, "] lifetimes:[");
	put_items(m, j, &after);
	put_items(m, j, &between);
	ms_json_format(j, "] freed_by:[");
	put_items(m, j, &frees);
	if (unfreed.n)
		ms_json_format(j, "] unfreed:[");
	put_items(m, j, &unfreed);
	ms_json_format(j, "]");
	put_lost(m, j, s, false);
	put_lost(m, j, s, true);
	put_kept_by(m, j, s);
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
	put_items(m, j, &v->table);
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

void json_groups(struct model *m, struct ms_json *j)
{
	struct first_screen f = {.n = 0};
	bool any = false;
	if (!m->diff && !m->proc_only)
		f = first_screen_groups(m, GROUP_ROWS, true);
	for (size_t i = 0; i < f.n; i++) {
		const struct list *l = &f.lists[i];
		if (!l->by || (l->metric > METRIC_COUNT && l->metric != METRIC_HELD))
			continue;
		if (!any)
			ms_json_open(j, "groups", '[');
		any = true;
		put_view(m, j,
			 &(struct json_view){.name = l->metric == METRIC_PEAK ? "peak" : "live",
					     .key = grouped_words[l->by],
					     .table = grouped_table(m, l)});
	}
	if (any)
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
		ms_interval_whole(v[i].value, &e->of[v[i].figure], &low, &high);
		ms_json_open(j, v[i].name, '{');
		ms_json_format(j, "low:%lu high:%lu}", low, high);
	}
	ms_json_close(j, '}');
}
