/* SPDX-License-Identifier: MIT
 * Reads what keeps blocks alive: the retention scan of each process, its keepers and its rows.
 */
#include "kept.h"

#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

#define OF_SCAN " WHERE process = %lld AND scan = %lld"

static const char *text_in(struct model *m, sqlite3_stmt *st, int column)
{
	const char *s = (const char *)sqlite3_column_text(st, column);
	return s ? ms_arena_strdup(&m->arena, s) : NULL;
}

/* ---- which scan ---- */

/* Tells whether a scan was made no later than the report's moment. */
static bool is_before(const struct model *m, const struct kept_scan *s)
{
	uint64_t ns = figure_add(s->time_ns, m->processes.v[s->process].offset_ns);
	return strcmp(m->at_label, "end") == 0 || m->at_time_ns == UNKNOWN ||
	       (s->label && strcmp(s->label, m->at_label) == 0) || ns <= m->at_time_ns;
}

static bool is_done(const struct kept_scan *s)
{
	return strcmp(s->state, "done") == 0;
}

/* Fills k->scans with the last scan of each process, or with those of number `scan`. */
static void choose_scans(struct model *m, struct kept *k, int64_t scan)
{
	struct kept_scan *v = ms_arena_alloc(&m->arena, (m->processes.n + 1) * sizeof *v);
	k->scans = v;
	sqlite3_stmt *st = model_ask(
		m, "SELECT r.process, r.scan, s.label, r.state, s.time_ns, r.live_bytes,"
		   " r.kept_bytes, r.unreachable_bytes FROM retention r LEFT JOIN scan s"
		   " ON s.process = r.process AND s.scan = r.scan ORDER BY r.process, r.scan");
	while (model_next(&st)) {
		struct kept_scan s = {.process =
					      MODEL_FIND(m->processes, sqlite3_column_int64(st, 0)),
				      .id = sqlite3_column_int64(st, 1),
				      .time_ns = figure_in(st, 4),
				      .live_bytes = figure_in(st, 5),
				      .kept_bytes = figure_in(st, 6),
				      .unreachable_bytes = figure_in(st, 7)};
		s.label = text_in(m, st, 2);
		s.state = text_in(m, st, 3) ?: "unknown";
		if (s.process == NONE || (scan ? s.id != scan : !is_before(m, &s)))
			continue;
		size_t n = k->scan_count;
		/* each process once, also where a damaged table does not name them in order */
		if (!n || v[n - 1].process < s.process)
			v[k->scan_count++] = s;
		else if (v[n - 1].process == s.process && (is_done(&s) || !is_done(&v[n - 1])))
			v[n - 1] = s;
	}
}

/* ---- keepers ---- */

static struct keeper *find_keeper(const struct kept *k, const struct kept_scan *s, int64_t id)
{
	return s->keeper_count ? MS_FIND_ID(&k->keepers[s->keepers], s->keeper_count, id) : NULL;
}

static void read_keepers(struct model *m, struct kept *k, struct kept_scan *s, uint32_t *n)
{
	int64_t process = m->processes.v[s->process].id;
	s->keepers = *n;
	sqlite3_stmt *st =
		model_ask(m,
			  "SELECT id, kind, name, module, file, line, type, thread, size, site"
			  " FROM keeper" OF_SCAN " ORDER BY id",
			  (long long)process, (long long)s->id);
	while (model_next(&st)) {
		struct keeper *x = &k->keepers[(*n)++];
		*x = (struct keeper){.id = sqlite3_column_int64(st, 0),
				     .line = figure_in(st, 5),
				     .size = figure_in(st, 8),
				     .site = sqlite3_column_int64(st, 9)};
		x->kind = text_in(m, st, 1) ?: "";
		x->name = text_in(m, st, 2);
		x->module = text_in(m, st, 3);
		x->file = text_in(m, st, 4);
		x->type = text_in(m, st, 6);
		x->thread = text_in(m, st, 7);
	}
	s->keeper_count = *n - s->keepers;
	st = model_ask(m,
		       "SELECT id, observes FROM keeper" OF_SCAN
		       " AND observes IS NOT NULL ORDER BY id",
		       (long long)process, (long long)s->id);
	while (model_next(&st)) {
		struct keeper *x = find_keeper(k, s, sqlite3_column_int64(st, 0)),
			      *y = find_keeper(k, s, sqlite3_column_int64(st, 1));
		if (x && y && x != y) {
			x->observes = y;
			y->observers++;
		}
	}
}

static const struct keeper_set *read_set(struct model *m, const struct kept *k,
					 const struct kept_scan *s, int64_t id)
{
	struct keeper_set *set = ms_arena_alloc(&m->arena, sizeof *set);
	const char *from = "FROM keeper_set" OF_SCAN " AND id = %lld";
	long long process = m->processes.v[s->process].id;
	uint64_t n = model_number(m, ms_arena_printf(&m->arena, "SELECT count(*) %s", from),
				  process, (long long)s->id, (long long)id);
	set->v = ms_arena_alloc(&m->arena, (figure_or_0(n) + 1) * sizeof *set->v);
	sqlite3_stmt *st =
		model_ask(m, ms_arena_printf(&m->arena, "SELECT keeper %s ORDER BY keeper", from),
			  process, (long long)s->id, (long long)id);
	while (model_next(&st)) {
		const struct keeper *x = find_keeper(k, s, sqlite3_column_int64(st, 0));
		if (x)
			set->v[set->n++] = x;
		else
			set->others = true;
	}
	return set;
}

/* ---- rows ---- */

static void read_rows(struct model *m, struct kept *k, const struct kept_scan *s)
{
	size_t begin = k->n;
	sqlite3_stmt *st = model_ask(m,
				     "SELECT id, parent, keeper, set_id, site, bytes, blocks,"
				     " retained_bytes, retained_blocks, \"offset\", depth, type, "
				     "path, mapped_bytes, rest, path_cut"
				     " FROM kept" OF_SCAN " ORDER BY id",
				     (long long)m->processes.v[s->process].id, (long long)s->id);
	while (model_next(&st)) {
		struct kept_row *x = &k->rows[k->n];
		const struct kept_row *above = NULL;
		*x = (struct kept_row){
			.id = sqlite3_column_int64(st, 0),
			.site = sqlite3_column_int64(st, 4),
			.bytes = figure_or_0(figure_in(st, 5)),
			.blocks = figure_or_0(figure_in(st, 6)),
			.retained = {figure_or_0(figure_in(st, 7)), figure_or_0(figure_in(st, 8))},
			.offset = figure_in(st, 9),
			.depth = figure_or_0(figure_in(st, 10)),
			.mapped_bytes = figure_in(st, 13),
			.rest = sqlite3_column_int(st, 14),
			.path_cut = sqlite3_column_int(st, 15),
			.process = s->process};
		/* only an earlier row is a parent, so that following parents terminates */
		if (sqlite3_column_type(st, 1) != SQLITE_NULL && k->n > begin)
			above = MS_FIND_ID(&k->rows[begin], k->n - begin,
					   sqlite3_column_int64(st, 1));
		x->parent = above ? (uint32_t)(above - k->rows) : NONE;
		x->top = above ? above->top : (uint32_t)k->n;
		if (sqlite3_column_type(st, 2) != SQLITE_NULL)
			x->keeper = find_keeper(k, s, sqlite3_column_int64(st, 2));
		if (sqlite3_column_type(st, 3) != SQLITE_NULL)
			x->set = read_set(m, k, s, sqlite3_column_int64(st, 3));
		x->type = text_in(m, st, 11);
		x->path = text_in(m, st, 12);
		k->n++;
	}
}

/* Orders rows by their parents, and those of one parent by what they retain, the least first. */
static int by_parent(const void *a, const void *b, void *arg)
{
	const struct kept_row *v = arg, *x = &v[*(const uint32_t *)a],
			      *y = &v[*(const uint32_t *)b];
	return MS_ORDER(x->parent, y->parent)
		       ?: MS_ORDER(x->retained.bytes, y->retained.bytes)
		       ?: MS_ORDER(x->retained.blocks, y->retained.blocks)
		       ?: MS_ORDER(y, x);
}

static void link_rows(struct kept *k)
{
	uint32_t *order = ms_xrealloc(NULL, k->n + 1, sizeof *order);
	k->first = NONE;
	for (uint32_t i = 0; i < k->n; i++) {
		order[i] = i;
		k->rows[i].first = NONE;
	}
	MS_SORT_R(order, k->n, by_parent, k->rows);
	for (size_t i = 0; i < k->n; i++) {
		struct kept_row *x = &k->rows[order[i]];
		uint32_t *first = x->parent == NONE ? &k->first : &k->rows[x->parent].first;
		x->next = *first;
		*first = order[i];
	}
	free(order);
}

/* ---- all ---- */

static size_t count(const struct model *m, const char *table, const struct kept_scan *s)
{
	return figure_or_0(model_number(m, "SELECT count(*) FROM %s" OF_SCAN, table,
					(long long)m->processes.v[s->process].id,
					(long long)s->id));
}

static struct kept *read(struct model *m, int64_t scan)
{
	struct kept *k = ms_arena_alloc(&m->arena, sizeof *k);
	size_t rows = 0, keepers = 0;
	uint32_t n = 0;
	choose_scans(m, k, scan);
	for (size_t i = 0; i < k->scan_count; i++) {
		rows += count(m, "kept", &k->scans[i]);
		keepers += count(m, "keeper", &k->scans[i]);
	}
	k->rows = ms_arena_alloc(&m->arena, (rows + 1) * sizeof *k->rows);
	k->keepers = ms_arena_alloc(&m->arena, (keepers + 1) * sizeof *k->keepers);
	for (size_t i = 0; i < k->scan_count; i++) {
		struct kept_scan *s = &k->scans[i];
		if (!is_done(s))
			continue;
		read_keepers(m, k, s, &n);
		read_rows(m, k, s);
		k->live_bytes = figure_add(k->live_bytes, s->live_bytes);
		k->kept_bytes = figure_add(k->kept_bytes, s->kept_bytes);
		k->unreachable_bytes = figure_add(k->unreachable_bytes, s->unreachable_bytes);
	}
	link_rows(k);
	return k;
}

const struct kept *kept_read(struct model *m, int64_t scan)
{
	if (!scan && strncmp(m->at_label, "scan:", 5) == 0)
		scan = strtoll(m->at_label + 5, NULL, 10);
	if (!m->kept || (scan && scan != m->kept_scan)) {
		m->kept = read(m, scan);
		m->kept_scan = scan;
	}
	return m->kept->scan_count ? m->kept : NULL;
}

uint32_t kept_next(const struct kept *k, uint32_t row)
{
	if (k->rows[row].first != NONE)
		return k->rows[row].first;
	while (k->rows[row].parent != NONE && k->rows[row].next == NONE)
		row = k->rows[row].parent;
	return k->rows[row].next;
}

size_t kept_path(struct model *m, const struct kept *k, const struct kept_row *row,
		 const struct keeper **root, struct kept_step *steps, size_t max)
{
	size_t n = 0;
	const struct kept_scan *s = k->scans;
	*root = NULL;
	while (s->process != row->process)
		s++;
	/* [KEEPER, [SITE, COUNT], ...] */
	sqlite3_stmt *st =
		row->path ? model_ask(m,
				      "SELECT key, iif(type = 'array', value ->> 0, value),"
				      " iif(type = 'array', value ->> 1, 1) FROM json_each(%Q)"
				      " ORDER BY key",
				      row->path)
			  : NULL;
	while (model_next(&st)) {
		if (sqlite3_column_int64(st, 0) == 0)
			*root = find_keeper(k, s, sqlite3_column_int64(st, 1));
		else if (n < max)
			steps[n++] =
				(struct kept_step){sqlite3_column_int64(st, 1), figure_in(st, 2)};
	}
	return *root ? n : 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct kept_part *x = a, *y = b;
	return MS_ORDER(y->live.bytes, x->live.bytes) ?:
	       MS_ORDER(y->live.blocks, x->live.blocks) ?:
	       MS_ORDER(x->top, y->top);
}

size_t kept_parts(struct model *m, const struct kept *k,
		  bool (*wanted)(void *arg, const struct site *s), void *arg,
		  struct kept_part **parts)
{
	uint32_t *of_top = ms_xcalloc(k->n + 1, sizeof *of_top); /* by row: number of its part */
	struct kept_part *v = ms_arena_alloc(&m->arena, (k->n + 1) * sizeof *v);
	size_t n = 0;
	for (uint32_t i = 0; i < k->n; i++) {
		const struct kept_row *x = &k->rows[i];
		const struct site *s = x->site ? model_site(m, x->site) : NULL;
		if (!s || !wanted(arg, s))
			continue;
		if (!of_top[x->top]) {
			v[n] = (struct kept_part){.top = x->top, .most = i};
			of_top[x->top] = (uint32_t)++n;
		}
		struct kept_part *p = &v[of_top[x->top] - 1];
		live_add(&p->live, (struct live){x->bytes, x->blocks});
		if (x->bytes > k->rows[p->most].bytes)
			p->most = i;
	}
	free(of_top);
	MS_SORT(v, n, by_bytes);
	*parts = v;
	return n;
}
