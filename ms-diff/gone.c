/* SPDX-License-Identifier: MIT
 * Sites that are gone, copied from the old run's snapshot into the new one's, so that filters and
 * reports treat them like any other.
 */
#include "gone.h"

static struct ms_value positive(const char *column, int64_t v)
{
	return ms_int_if(column, v > 0, (uint64_t)v);
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
	ms_put_row(&g->rows[GONE_MODULE], ms_int("id", ++g->last[GONE_MODULE]),
		   ms_int("process", process), ms_text("path", m->path),
		   ms_text("build_id", m->build_id), positive("bias", m->bias),
		   ms_text("kind", m->kind), ms_text("symbols", m->symbols));
	return g->modules[i] = g->last[GONE_MODULE];
}

static int64_t add_frame(struct gone *g, uint32_t i, int64_t process)
{
	const struct run_frame *f = &g->old->frames.v[i];
	if (g->frames[i])
		return g->frames[i];
	int64_t module = f->module == NONE ? 0 : add_module(g, f->module, process);
	ms_put_row(&g->rows[GONE_FRAME], ms_int("id", ++g->last[GONE_FRAME]),
		   ms_int("process", process), positive("module", module),
		   positive("address", f->address), ms_text("function", f->function),
		   ms_text("file", f->file), positive("line", f->line),
		   ms_int("inlined", f->inlined), ms_int("runtime", f->runtime),
		   ms_text("note", f->note));
	return g->frames[i] = g->last[GONE_FRAME];
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
		g->nodes[way[k]] = ++g->last[GONE_STACK];
		ms_put_row(&g->rows[GONE_STACK], ms_int("id", g->nodes[way[k]]),
			   ms_int("process", process), positive("parent", parent),
			   ms_int("frame", frame), ms_int("depth", k));
	}
	return parent;
}

int64_t gone_add(struct gone *g, uint32_t i)
{
	const struct run_site *s = &g->old->sites.v[i];
	int64_t process = process_of(g, s->process);
	int64_t stack = s->stack == NONE ? 0 : add_stack(g, s->stack, process);
	ms_put_row(&g->rows[GONE_SITE], ms_int("id", ++g->last[GONE_SITE]),
		   ms_int("process", process), positive("stack", stack),
		   positive("user_frame", s->user == NONE ? 0 : g->nodes[s->user]),
		   ms_int("allocations", 0), ms_int("frees", 0), ms_int("reallocations", 0),
		   ms_int("failed_allocations", 0), ms_int("allocated_bytes", 0),
		   ms_int("temporary", 0));
	return g->last[GONE_SITE];
}

void gone_begin(struct gone *g, struct ms_err *err)
{
	static const char *const tables[] = {"module", "frame", "stack", "site"};
	g->modules = ms_arena_alloc(&g->arena, (g->old->modules.n + 1) * sizeof *g->modules);
	g->frames = ms_arena_alloc(&g->arena, (g->old->frames.n + 1) * sizeof *g->frames);
	g->nodes = ms_arena_alloc(&g->arena, (g->old->nodes.n + 1) * sizeof *g->nodes);
	for (int t = 0; t < GONE_TABLES; t++) {
		const char *last = ms_arena_printf(&g->arena, "SELECT max(id) FROM %s", tables[t]);
		g->last[t] = ms_sql_int(g->new->db, last, 0);
		g->rows[t] = ms_insert(g->new->db, tables[t], err);
		g->rows[t].now = true;
	}
}

int gone_end(struct gone *g)
{
	int rc = 0;
	for (int t = 0; t < GONE_TABLES; t++)
		rc |= ms_insert_close(&g->rows[t]);
	ms_arena_free(&g->arena);
	return rc;
}
