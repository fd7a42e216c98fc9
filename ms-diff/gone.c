/* SPDX-License-Identifier: MIT
 * Sites that are gone, copied from the old run's snapshot into the new one's, so that filters and
 * reports treat them like any other.
 */
#include "gone.h"

#include "libcommon/base/err.h"

/* The row that the new run gets: ?1 is its id, then keys, then what the old run's row says. */
static const struct {
	const char *last, *to, *from; /* from: NULL = there are keys only */
} tables[GONE_TABLES] = {
	[GONE_MODULE] = {"SELECT max(id) FROM module",
			 "INSERT INTO module(id, process, path, build_id, bias, kind, symbols)"
			 " VALUES(?, ?, ?, ?, ?, ?, ?)",
			 "SELECT nullif(path, ''), nullif(build_id, ''), iif(bias > 0, bias, NULL),"
			 " nullif(kind, ''), nullif(symbols, '') FROM module WHERE id = ?"},
	[GONE_FRAME] = {"SELECT max(id) FROM frame",
			"INSERT INTO frame(id, process, module, address, function, file, line,"
			" inlined, runtime, note) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
			"SELECT iif(address > 0, address, NULL), nullif(function, ''),"
			" nullif(file, ''), iif(line > 0, line, NULL), inlined IS 1, runtime IS 1,"
			" nullif(note, '') FROM frame WHERE id = ?"},
	[GONE_STACK] = {"SELECT max(id) FROM stack",
			"INSERT INTO stack(id, process, parent, frame, depth)"
			" VALUES(?, ?, ?, ?, coalesce(?, 0))",
			NULL},
	[GONE_SITE] = {"SELECT max(id) FROM site",
		       "INSERT INTO site(id, process, stack, user_frame, allocations, frees,"
		       " reallocations, failed_allocations, allocated_bytes, temporary)"
		       " VALUES(?, ?, ?, ?, 0, 0, 0, 0, 0, 0)",
		       NULL},
};

/* Copies a row; keys of 0 are null. Its id, or 0 with the error set. */
static int64_t copy_row(struct gone *g, enum gone_table table, int64_t old, const int64_t *keys,
			int n)
{
	struct gone_copy *c = &g->tables[table];
	sqlite3_bind_int64(c->to, 1, ++c->last);
	for (int i = 0; i < n; i++)
		if (keys[i])
			sqlite3_bind_int64(c->to, 2 + i, keys[i]);
	if (c->from) {
		sqlite3_bind_int64(c->from, 1, old);
		sqlite3_step(c->from);
		for (int i = 0; i < sqlite3_data_count(c->from); i++)
			sqlite3_bind_value(c->to, 2 + n + i, sqlite3_column_value(c->from, i));
	}
	bool done = sqlite3_step(c->to) == SQLITE_DONE;
	if (!done)
		ms_err_set(g->err, "snapshot database: %s", sqlite3_errmsg(g->db));
	sqlite3_reset(c->from);
	sqlite3_reset(c->to);
	sqlite3_clear_bindings(c->to);
	return done ? c->last : 0;
}
#define COPY_ROW(g, table, old, ...)                                                               \
	copy_row(g, table, old, (int64_t[]){__VA_ARGS__},                                          \
		 sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

/* The first process of the new run that runs the same program, else its first. */
static int64_t process_of(const struct gone *g, uint32_t old)
{
	uint32_t program = g->old->processes.v[old].program;
	for (size_t i = 0; i < g->new->processes.n; i++)
		if (g->new->processes.v[i].program == program)
			return g->new->processes.v[i].id;
	return g->new->processes.v[0].id;
}

static int64_t add_module(struct gone *g, uint32_t i, int64_t process)
{
	if (!g->modules[i])
		g->modules[i] = COPY_ROW(g, GONE_MODULE, g->old->modules.v[i].id, process);
	return g->modules[i];
}

static int64_t add_frame(struct gone *g, uint32_t i, int64_t process)
{
	const struct run_frame *f = &g->old->frames.v[i];
	if (g->frames[i])
		return g->frames[i];
	int64_t module = f->module == NONE ? 0 : add_module(g, f->module, process);
	if (f->module != NONE && !module)
		return 0;
	return g->frames[i] = COPY_ROW(g, GONE_FRAME, f->id, process, module);
}

/* Callers first: their rows come before. */
static int64_t add_stack(struct gone *g, uint32_t innermost, int64_t process)
{
	size_t depth = 0;
	for (uint32_t n = innermost; n != NONE; n = g->old->nodes.v[n].parent)
		depth++;
	uint32_t *way = ms_arena_alloc(&g->arena, (depth + 1) * sizeof *way);
	size_t k = depth;
	for (uint32_t n = innermost; n != NONE; n = g->old->nodes.v[n].parent)
		way[--k] = n;
	int64_t parent = 0;
	for (k = 0; k < depth; parent = g->nodes[way[k++]]) {
		if (g->nodes[way[k]])
			continue;
		int64_t frame = add_frame(g, g->old->nodes.v[way[k]].frame, process);
		if (!frame || !(g->nodes[way[k]] = COPY_ROW(g, GONE_STACK, 0, process, parent,
							    frame, (int64_t)k)))
			return 0;
	}
	return parent;
}

int64_t gone_add(struct gone *g, uint32_t i)
{
	const struct run_site *s = &g->old->sites.v[i];
	int64_t process = process_of(g, s->process);
	int64_t stack = s->stack == NONE ? 0 : add_stack(g, s->stack, process);
	if (s->stack != NONE && !stack)
		return 0;
	return COPY_ROW(g, GONE_SITE, 0, process, stack, s->user == NONE ? 0 : g->nodes[s->user]);
}

int gone_begin(struct gone *g, struct ms_err *err)
{
	g->err = err;
	g->modules = ms_arena_alloc(&g->arena, (g->old->modules.n + 1) * sizeof *g->modules);
	g->frames = ms_arena_alloc(&g->arena, (g->old->frames.n + 1) * sizeof *g->frames);
	g->nodes = ms_arena_alloc(&g->arena, (g->old->nodes.n + 1) * sizeof *g->nodes);
	for (int t = 0; t < GONE_TABLES && !g->old->missing; t++) {
		struct gone_copy *c = &g->tables[t];
		c->last = ms_sql_int(g->db, tables[t].last, 0);
		c->to = ms_sql_prepare(g->db, tables[t].to, err);
		c->from = tables[t].from ? ms_sql_prepare(g->old->db, tables[t].from, err) : NULL;
	}
	return err->text[0] ? -1 : 0;
}

void gone_end(struct gone *g)
{
	for (int t = 0; t < GONE_TABLES; t++) {
		sqlite3_finalize(g->tables[t].from);
		sqlite3_finalize(g->tables[t].to);
	}
	ms_arena_free(&g->arena);
}
