/* SPDX-License-Identifier: MIT
 * Sites that are gone, copied from the old run's snapshot into the new one's, so that filters and
 * reports treat them like any other.
 */
#include "gone.h"

#include "libcommon/base/err.h"

static void put(sqlite3_stmt *st, int column, int64_t v)
{
	if (v == UNKNOWN || v == 0)
		sqlite3_bind_null(st, column);
	else
		sqlite3_bind_int64(st, column, v);
}

static int64_t run_row(struct gone *g, sqlite3_stmt *st, int64_t id)
{
	int rc = sqlite3_step(st);
	sqlite3_reset(st);
	sqlite3_clear_bindings(st);
	if (rc == SQLITE_DONE)
		return id;
	ms_err_set(g->err, "snapshot database: %s", sqlite3_errmsg(g->db));
	return 0;
}

static void put_text(sqlite3_stmt *st, int column, const char *s)
{
	if (s)
		sqlite3_bind_text(st, column, s, -1, SQLITE_STATIC);
}

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
	const struct run_module *m = &g->old->modules.v[i];
	if (g->modules[i])
		return g->modules[i];
	sqlite3_bind_int64(g->module, 1, ++g->last_module);
	sqlite3_bind_int64(g->module, 2, process);
	put_text(g->module, 3, m->path);
	put_text(g->module, 4, m->build_id);
	put(g->module, 5, m->bias);
	put_text(g->module, 6, m->kind);
	put_text(g->module, 7, m->symbols);
	return g->modules[i] = run_row(g, g->module, g->last_module);
}

static int64_t add_frame(struct gone *g, uint32_t i, int64_t process)
{
	const struct run_frame *f = &g->old->frames.v[i];
	if (g->frames[i])
		return g->frames[i];
	int64_t module = f->module == NONE ? 0 : add_module(g, f->module, process);
	if (f->module != NONE && !module)
		return 0;
	sqlite3_bind_int64(g->frame, 1, ++g->last_frame);
	sqlite3_bind_int64(g->frame, 2, process);
	put(g->frame, 3, module);
	put(g->frame, 4, f->address);
	put_text(g->frame, 5, f->function);
	put_text(g->frame, 6, f->file);
	put(g->frame, 7, f->line);
	sqlite3_bind_int(g->frame, 8, f->inlined);
	sqlite3_bind_int(g->frame, 9, f->runtime);
	put_text(g->frame, 10, f->note);
	return g->frames[i] = run_row(g, g->frame, g->last_frame);
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
		if (!frame)
			return 0;
		sqlite3_bind_int64(g->stack, 1, ++g->last_stack);
		sqlite3_bind_int64(g->stack, 2, process);
		put(g->stack, 3, parent);
		sqlite3_bind_int64(g->stack, 4, frame);
		sqlite3_bind_int64(g->stack, 5, (int64_t)k);
		if (!(g->nodes[way[k]] = run_row(g, g->stack, g->last_stack)))
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
	sqlite3_bind_int64(g->site, 1, ++g->last_site);
	sqlite3_bind_int64(g->site, 2, process);
	put(g->site, 3, stack);
	put(g->site, 4, s->user == NONE ? 0 : g->nodes[s->user]);
	return run_row(g, g->site, g->last_site);
}

int gone_begin(struct gone *g, struct ms_err *err)
{
	g->err = err;
	g->modules = ms_arena_alloc(&g->arena, (g->old->modules.n + 1) * sizeof *g->modules);
	g->frames = ms_arena_alloc(&g->arena, (g->old->frames.n + 1) * sizeof *g->frames);
	g->nodes = ms_arena_alloc(&g->arena, (g->old->nodes.n + 1) * sizeof *g->nodes);
	g->last_module = ms_sql_int(g->db, "SELECT max(id) FROM module", 0);
	g->last_frame = ms_sql_int(g->db, "SELECT max(id) FROM frame", 0);
	g->last_stack = ms_sql_int(g->db, "SELECT max(id) FROM stack", 0);
	g->last_site = ms_sql_int(g->db, "SELECT max(id) FROM site", 0);
	g->module = ms_sql_prepare(g->db,
				   "INSERT INTO module(id, process, path, build_id, bias, kind,"
				   " symbols) VALUES(?, ?, ?, ?, ?, ?, ?)",
				   err);
	g->frame = ms_sql_prepare(g->db,
				  "INSERT INTO frame(id, process, module, address, function, file,"
				  " line, inlined, runtime, note) VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?,"
				  " ?)",
				  err);
	g->stack = ms_sql_prepare(g->db,
				  "INSERT INTO stack(id, process, parent, frame, depth)"
				  " VALUES(?, ?, ?, ?, ?)",
				  err);
	g->site = ms_sql_prepare(g->db,
				 "INSERT INTO site(id, process, stack, user_frame, allocations,"
				 " frees, reallocations, failed_allocations, allocated_bytes,"
				 " temporary) VALUES(?, ?, ?, ?, 0, 0, 0, 0, 0, 0)",
				 err);
	return g->module && g->frame && g->stack && g->site ? 0 : -1;
}

void gone_end(struct gone *g)
{
	sqlite3_finalize(g->module);
	sqlite3_finalize(g->frame);
	sqlite3_finalize(g->stack);
	sqlite3_finalize(g->site);
	ms_arena_free(&g->arena);
}
