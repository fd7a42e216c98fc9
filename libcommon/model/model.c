/* SPDX-License-Identifier: MIT
 * Adds figures that may be unknown, runs queries, and finds rows by id.
 */
#include "model.h"

#include <stdarg.h>

uint64_t figure_add(uint64_t a, uint64_t b)
{
	if (a == UNKNOWN || b == UNKNOWN)
		return UNKNOWN;
	return a + b < a || a + b == UNKNOWN ? UNKNOWN - 1 : a + b;
}

uint64_t figure_sub(uint64_t a, uint64_t b)
{
	if (a == UNKNOWN || b == UNKNOWN)
		return UNKNOWN;
	return a > b ? a - b : 0;
}

void live_add(struct live *to, struct live l)
{
	to->bytes = figure_add(to->bytes, l.bytes);
	to->blocks = figure_add(to->blocks, l.blocks);
}

uint64_t figure_in(sqlite3_stmt *st, int column)
{
	int64_t v = sqlite3_column_type(st, column) == SQLITE_INTEGER
			    ? sqlite3_column_int64(st, column)
			    : -1;
	return v < 0 ? UNKNOWN : (uint64_t)v;
}

static sqlite3_stmt *ask(const struct model *m, const char *format, va_list ap)
{
	char *sql = sqlite3_vmprintf(format, ap);
	sqlite3_stmt *st = sql ? ms_sql_prepare(m->db, sql, NULL) : NULL;
	sqlite3_free(sql);
	return st;
}

sqlite3_stmt *model_ask(const struct model *m, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	sqlite3_stmt *st = ask(m, format, ap);
	va_end(ap);
	return st;
}

uint64_t model_number(const struct model *m, const char *format, ...)
{
	va_list ap;
	va_start(ap, format);
	sqlite3_stmt *st = ask(m, format, ap);
	va_end(ap);
	uint64_t v = st && sqlite3_step(st) == SQLITE_ROW ? figure_in(st, 0) : UNKNOWN;
	sqlite3_finalize(st);
	return v;
}

bool model_next(sqlite3_stmt **st)
{
	if (*st && sqlite3_step(*st) == SQLITE_ROW)
		return true;
	sqlite3_finalize(*st);
	*st = NULL;
	return false;
}

uint32_t model_index(const void *v, size_t n, size_t size, int64_t want)
{
	const char *base = v;
	if (!base)
		return NONE;
#define ID(i) (*(const int64_t *)(const void *)(base + (i)*size))
	if (want >= 1 && (uint64_t)want <= n && ID((size_t)want - 1) == want)
		return (uint32_t)(want - 1);
	size_t lo = 0, hi = n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (ID(mid) < want)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < n && ID(lo) == want ? (uint32_t)lo : NONE;
#undef ID
}

uint32_t model_node(const struct model *m, int64_t id)
{
	if (m->node_ids.n)
		return MODEL_FIND(m->node_ids, id);
	return id >= 1 && (uint64_t)id <= m->nodes.n ? (uint32_t)(id - 1) : NONE;
}

const struct site *model_site(const struct model *m, int64_t want)
{
	uint32_t i = MODEL_FIND(m->sites, want);
	return i == NONE ? NULL : &m->sites.v[i];
}

static struct site site_of_gone(const struct model *m, const struct ms_gone_site *g)
{
	struct site s = {.id = g->id,
			 .process = m->frames.v[m->nodes.v[g->stack - 1].frame].process,
			 .stack = g->stack - 1,
			 .user = g->user - 1,
			 .thread = g->thread,
			 .at_mmap = {UNKNOWN, UNKNOWN}};
#define X(name, type, adds) s.name = UNKNOWN;
	MS_FIGURES_OF_SITE(X)
#undef X
	s.allocations = g->allocations;
	s.allocated_bytes = g->bytes;
	s.temporary = g->temporary;
	s.freed_soon = g->freed_soon;
	return s;
}

const struct site *model_site_at(const struct model *m, size_t i, struct site *room)
{
	if (i < m->sites.n)
		return &m->sites.v[i];
	*room = site_of_gone(m, &m->gone.v[i - m->sites.n]);
	return room;
}

uint32_t model_frame_of_site(const struct model *m, size_t i)
{
	const struct site *s = i < m->sites.n ? &m->sites.v[i] : NULL;
	uint32_t node = !s                ? m->gone.v[i - m->sites.n].user - 1
			: s->user != NONE ? s->user
					  : s->stack;
	return node == NONE ? NONE : m->nodes.v[node].frame;
}

const struct thread *model_thread(const struct model *m, int64_t want)
{
	uint32_t i = MODEL_FIND(m->threads, want);
	return i == NONE ? NULL : &m->threads.v[i];
}

size_t model_thread_count(const struct model *m)
{
	size_t n = 0;
	for (size_t i = 0; i < m->threads.n; i++)
		n += m->threads.v[i].of_thread == UNKNOWN;
	return n;
}

size_t model_stack(const struct model *m, uint32_t stack, uint32_t *frames)
{
	size_t n = 0;
	for (uint32_t i = stack; i != NONE; i = m->nodes.v[i].parent)
		frames[n++] = m->nodes.v[i].frame;
	return n;
}

uint64_t model_user_depth(const struct model *m, const struct site *s)
{
	uint64_t depth = 0;
	for (uint32_t n = s->stack; n != NONE; n = m->nodes.v[n].parent, depth++)
		if (n == s->user)
			return depth;
	return UNKNOWN;
}

uint32_t model_user_node(const struct model *m, uint32_t stack)
{
	for (uint32_t n = stack; n != NONE; n = m->nodes.v[n].parent)
		if (!model_frame(m, n)->runtime && !model_frame(m, n)->note)
			return n;
	return stack;
}

const char **model_site_texts(struct model *m, const char *column)
{
	const char **v = ms_arena_alloc(&m->arena, (m->sites.n + 1) * sizeof *v);
	sqlite3_stmt *st = model_ask(m, "SELECT id, %s FROM site WHERE %s IS NOT NULL ORDER BY id",
				     column, column);
	while (model_next(&st)) {
		uint32_t i = MODEL_FIND(m->sites, sqlite3_column_int64(st, 0));
		const char *s = (const char *)sqlite3_column_text(st, 1);
		if (i != NONE && s)
			v[i] = ms_arena_strdup(&m->arena, s);
	}
	return v;
}
