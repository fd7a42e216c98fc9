/* SPDX-License-Identifier: MIT
 * Writes the tables of a comparison into the snapshot of the new run. Sites that are gone are
 * copied from the old run's snapshot, so that filters and reports treat them like other sites.
 */
#include "write.h"

#include "phases.h"

#include "libcommon/base/err.h"
#include "libcommon/snapshot/snapshot_insert.h"

#include <stdlib.h>
#include <string.h>

static struct ms_value number(const char *column, int64_t v)
{
	return v == DELTA_UNKNOWN ? ms_null(column) : ms_address(column, (uint64_t)v);
}

static void put_interval(struct ms_insert *in, const char *low, const char *high, struct limits x)
{
	ms_put(in, number(low, x.low), number(high, x.high));
}

/* ---- inputs of the comparison ---- */

static void put_text(struct ms_insert *in, const char *key, const char *value)
{
	if (value)
		ms_put_row(in, ms_text("key", key), ms_text("value", value));
}

static void put_number(struct ms_insert *in, const char *key, int64_t value)
{
	ms_put_row(in, ms_text("key", key), number("value", value));
}

/* Returns the options that chose the old runs, as typed on a command line. */
static const char *history_words(const struct options *o, struct ms_arena *a)
{
	const char *words = ms_arena_printf(a, "--history %s,last:%llu", o->history,
					    (unsigned long long)o->last);
	for (size_t i = 0; i < o->keys.n; i++)
		words = ms_arena_printf(a, "%s --key %s", words, o->keys.v[i]);
	return words;
}

static int write_keys(sqlite3 *db, struct matching *m, const struct opened *runs,
		      const struct options *o, struct ms_err *err)
{
	struct ms_insert in = ms_insert(db, "diff", err);
	for (int side = OLD; side <= NEW; side++) {
		const struct run *r = runs->shown[side];
		bool new = side == NEW;
		put_text(&in, side_names[side], r->name);
		put_text(&in, new ? "new_point" : "old_point", r->label);
		put_number(&in, new ? "new_runs" : "old_runs",
			   r->missing ? 0 : (int64_t)m->s->runs[side].n);
		put_text(&in, new ? "new_nameless" : "old_nameless",
			 nameless_modules(m, (enum side)side));
		if (o->per)
			put_number(&in, new ? "new_operations" : "old_operations", r->operations);
	}
	put_text(&in, "per", o->per);
	if (runs->history)
		put_text(&in, "history", history_words(o, &m->arena));
	put_number(&in, "min_change", o->min_change);
	put_number(&in, "old_missing", runs->missing);
	put_number(&in, "same_program", runs->same_program);
	return ms_insert_close(&in);
}

static int write_runs(sqlite3 *db, const struct spots *s, const struct opened *runs,
		      struct ms_err *err)
{
	struct ms_insert in = ms_insert(db, "diff_run", err);
	int64_t id = 0;
	for (size_t i = 0; i < s->every.n; i++) {
		const struct run *r = s->every.v[i];
		const struct process *p = r->m.processes.v;
		if (r->missing)
			continue;
		ms_put_row(&in, number("id", ++id), ms_text("side", side_names[r->side]),
			   number("reference", r == runs->shown[r->side]), ms_text("name", r->name),
			   ms_text("point", r->label), ms_text("exe", p->exe),
			   ms_text("command", p->command), number("started_ns", r->started_ns),
			   number("processes", (int64_t)r->m.processes.n),
			   number("complete", r->complete), number("events_lost", r->events_lost),
			   number("sampled_bytes", r->sampled_bytes),
			   ms_text("filters", r->filters), number("operations", r->operations),
			   number("live_bytes", run_total(r, "live_bytes")),
			   number("peak_bytes", run_total(r, "peak_bytes")),
			   number("allocations", run_total(r, "allocations")));
	}
	return ms_insert_close(&in);
}

static void put_total(struct ms_insert *in, const char *name, const struct figure_change *t)
{
	ms_put(in, ms_text("figure", name), number("old", t->values[OLD]),
	       number("new", t->values[NEW]), number("delta", t->delta));
	put_interval(in, "delta_low", "delta_high", t->delta_sampled);
	put_interval(in, "old_low", "old_high", t->ranges[OLD]);
	put_interval(in, "new_low", "new_high", t->ranges[NEW]);
	ms_put_row(in, number("significant", t->significant));
}

/* Writes the bytes that both runs held in the phase of the old peak, and in that of the new
 * peak. */
static void put_phases(struct ms_insert *in, const struct changes *c, const struct opened *runs)
{
	static const char *const names[] = {"live_at_old_peak_bytes", "live_at_new_peak_bytes"};
	static const struct limits none = {DELTA_UNKNOWN, DELTA_UNKNOWN};
	for (int side = OLD; side <= NEW; side++) {
		struct figure_change t = {.ranges = {none, none}, .delta_sampled = none};
		if (!phase_of(c, runs, (enum side)side, t.values))
			continue;
		t.delta = delta_sub(t.values[NEW], t.values[OLD]);
		put_total(in, names[side], &t);
	}
}

static int write_totals(sqlite3 *db, const struct changes *c, const struct opened *runs,
			struct ms_err *err)
{
	struct ms_insert in = ms_insert(db, "diff_total", err);
	for (int i = 0; i < TOTALS; i++)
		put_total(&in, totals[i].name, &c->totals[i]);
	if (c->moved)
		put_phases(&in, c, runs);
	return ms_insert_close(&in);
}

static const char *const columns[][DIFF_FIGURES] = {
	DIFF_FIGURE_NAMES("old_"), DIFF_FIGURE_NAMES("new_"), DIFF_FIGURE_NAMES("delta_")};

static int write_hidden(sqlite3 *db, const struct opened *runs, struct ms_err *err)
{
	struct ms_insert in = ms_insert(db, "diff_hidden", err);
	ms_put(&in, ms_int("stage", 0), ms_null("filter"),
	       number("sites",
		      delta_add(runs->shown[OLD]->hidden_sites, runs->shown[NEW]->hidden_sites)));
	for (int side = OLD; side <= NEW; side++)
		for (int f = 0; f < DIFF_FIGURES; f++)
			ms_put(&in, number(columns[side][f], runs->shown[side]->hidden[f]));
	ms_end_row(&in);
	return ms_insert_close(&in);
}

/* ---- sites that are gone ---- */

enum gone_table { GONE_MODULE, GONE_FRAME, GONE_STACK, GONE_SITE, GONE_TABLES };

struct gone {
	const struct run *old, *new;
	struct ms_arena arena;
	int64_t *modules, *frames, *nodes; /* new id of each row of the old run, 0 = not copied */
	struct ms_insert rows[GONE_TABLES];
	int64_t last[GONE_TABLES]; /* last id used, by table */
};

static struct ms_value positive(const char *column, int64_t v)
{
	return ms_int_if(column, v > 0, (uint64_t)v);
}

/* Returns the first process of the new run with the same program, else its first process. */
static int64_t process_of(const struct gone *g, uint32_t old)
{
	uint32_t program = g->old->programs[old];
	for (size_t i = 0; i < g->new->m.processes.n; i++)
		if (g->new->programs[i] == program)
			return g->new->m.processes.v[i].id;
	return g->new->m.processes.v[0].id;
}

static int64_t add_module(struct gone *g, uint32_t i, int64_t process)
{
	const struct module *m = &g->old->m.modules.v[i];
	if (g->modules[i])
		return g->modules[i];
	ms_put_row(&g->rows[GONE_MODULE], ms_int("id", ++g->last[GONE_MODULE]),
		   ms_int("process", process), ms_text("path", m->path),
		   ms_text("build_id", m->build_id), positive("bias", (int64_t)m->bias),
		   ms_text("kind", m->kind), ms_text("symbols", m->symbols));
	return g->modules[i] = g->last[GONE_MODULE];
}

static int64_t add_frame(struct gone *g, uint32_t i, int64_t process)
{
	const struct frame *f = &g->old->m.frames.v[i];
	if (g->frames[i])
		return g->frames[i];
	int64_t module = f->module == NONE ? 0 : add_module(g, f->module, process);
	ms_put_row(&g->rows[GONE_FRAME], ms_int("id", ++g->last[GONE_FRAME]),
		   ms_int("process", process), positive("module", module),
		   positive("address", f->address == UNKNOWN ? 0 : (int64_t)f->address),
		   ms_text("function", f->function), ms_text("file", f->file),
		   positive("line", f->line), ms_int("inlined", f->inlined),
		   ms_int("runtime", f->runtime), ms_text("note", f->note));
	return g->frames[i] = g->last[GONE_FRAME];
}

/* Copies a stack, callers first, and returns the id of its innermost row. */
static int64_t add_stack(struct gone *g, uint32_t innermost, int64_t process)
{
	size_t depth = 0;
	for (uint32_t n = innermost; n != NONE; n = g->old->m.nodes.v[n].parent)
		depth++;
	uint32_t *way = ms_arena_alloc(&g->arena, (depth + 1) * sizeof *way);
	size_t k = depth;
	for (uint32_t n = innermost; n != NONE; n = g->old->m.nodes.v[n].parent)
		way[--k] = n;
	int64_t parent = 0;
	for (k = 0; k < depth; parent = g->nodes[way[k++]]) {
		if (g->nodes[way[k]])
			continue;
		int64_t frame = add_frame(g, g->old->m.nodes.v[way[k]].frame, process);
		g->nodes[way[k]] = ++g->last[GONE_STACK];
		ms_put_row(&g->rows[GONE_STACK], ms_int("id", g->nodes[way[k]]),
			   ms_int("process", process), positive("parent", parent),
			   ms_int("frame", frame), ms_int("depth", k));
	}
	return parent;
}

/* Copies site `i` of the old run with its stack, with all figures 0, to a process of the same
 * program. Returns its new id. */
static int64_t gone_add(struct gone *g, uint32_t i)
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

static void gone_begin(struct gone *g, struct ms_err *err)
{
	static const char *const tables[] = {"module", "frame", "stack", "site"};
	g->modules = ms_arena_alloc(&g->arena, (g->old->m.modules.n + 1) * sizeof *g->modules);
	g->frames = ms_arena_alloc(&g->arena, (g->old->m.frames.n + 1) * sizeof *g->frames);
	g->nodes = ms_arena_alloc(&g->arena, (g->old->m.nodes.n + 1) * sizeof *g->nodes);
	for (int t = 0; t < GONE_TABLES; t++) {
		const char *last = ms_arena_printf(&g->arena, "SELECT max(id) FROM %s", tables[t]);
		g->last[t] = ms_sql_int(g->new->db, last, 0);
		g->rows[t] = ms_insert(g->new->db, tables[t], err);
		g->rows[t].now = true;
	}
}

static int gone_end(struct gone *g)
{
	int rc = 0;
	for (int t = 0; t < GONE_TABLES; t++)
		rc |= ms_insert_close(&g->rows[t]);
	ms_arena_free(&g->arena);
	return rc;
}

/* ---- sites ---- */

static const char *figures_text(const struct change *c, char *buf)
{
	char *to = buf;
	*buf = 0;
	for (int f = 0; f < DIFF_FIGURES; f++)
		if (c->figures[f].significant)
			to = stpcpy(stpcpy(to, to > buf ? "," : ""), diff_figure_names[f]);
	return *buf ? buf : NULL;
}

static bool has_range(const struct figure_change *x)
{
	return x->ranges[OLD].low != x->ranges[OLD].high ||
	       x->ranges[NEW].low != x->ranges[NEW].high || x->delta_sampled.low != DELTA_UNKNOWN;
}

static void write_ranges(struct ms_insert *in, const struct change *c, int64_t site)
{
	for (int f = 0; f < DIFF_FIGURES; f++) {
		const struct figure_change *x = &c->figures[f];
		if (!has_range(x))
			continue;
		ms_put(in, number("site", site), ms_text("figure", diff_figure_names[f]));
		put_interval(in, "old_low", "old_high", x->ranges[OLD]);
		put_interval(in, "new_low", "new_high", x->ranges[NEW]);
		put_interval(in, "delta_low", "delta_high", x->delta_sampled);
		ms_end_row(in);
	}
	if (c->over == DELTA_UNKNOWN)
		return;
	ms_put(in, number("site", site), ms_text("figure", "max_live_bytes"));
	put_interval(in, "old_low", "old_high", (struct limits){c->most[OLD], c->most[OLD]});
	put_interval(in, "new_low", "new_high", (struct limits){c->most[NEW], c->most[NEW]});
	put_interval(in, "delta_low", "delta_high", (struct limits){c->over, c->over});
	ms_end_row(in);
}

static void write_site(struct ms_insert *in, const struct change *c, int64_t site, int64_t old_site)
{
	char buf[200];
	const struct row *r = c->row;
	ms_put(in, number("site", site), ms_text("kind", diff_kind_names[c->kind]),
	       number("significant", change_counts(c)), ms_text("figures", figures_text(c, buf)),
	       ms_text("matched", matched_names[r->matched]), number("weak", r->weak),
	       ms_text("evidence", r->evidence), number("sites", (int64_t)c->sites[NEW]),
	       number("old_sites", (int64_t)c->sites[OLD]), number("old_site", old_site),
	       ms_real("share", c->share));
	for (int f = 0; f < DIFF_FIGURES; f++)
		ms_put(in, number(columns[OLD][f], c->figures[f].values[OLD]),
		       number(columns[NEW][f], c->figures[f].values[NEW]),
		       number(columns[2][f], c->figures[f].delta));
	ms_end_row(in);
}

static int write_sites(sqlite3 *db, const struct changes *c, const struct opened *runs,
		       struct ms_err *err)
{
	const struct run *old = runs->shown[OLD], *new = runs->shown[NEW];
	struct gone g = {.old = old, .new = new};
	struct ms_insert rows = ms_insert(db, "site_diff", err),
			 ranges = ms_insert(db, "site_diff_range", err);
	gone_begin(&g, err);
	for (size_t i = 0; i < c->n && !err->text[0]; i++) {
		const struct change *x = &c->v[i];
		int64_t old_site =
			x->site[OLD] == NONE ? DELTA_UNKNOWN : old->sites.v[x->site[OLD]].id;
		int64_t site = x->site[NEW] == NONE ? gone_add(&g, x->site[OLD])
						    : new->sites.v[x->site[NEW]].id;
		write_site(&rows, x, site, old_site);
		write_ranges(&ranges, x, site);
	}
	return ms_insert_close(&rows) | ms_insert_close(&ranges) | gone_end(&g);
}

/* Writes the verdicts on sites of the new run that the old runs had too, and that the change
 * therefore did not cause. */
static int write_known(sqlite3 *db, const struct changes *c, const struct matching *m,
		       const struct run *new, struct ms_err *err)
{
	const struct change **of_row =
		ms_xrealloc(NULL, m->rows.n + 1, sizeof *of_row); /* by row; NULL = the row is not
								     in the runs shown */
	memset(of_row, 0, (m->rows.n + 1) * sizeof *of_row);
	for (size_t i = 0; i < c->n; i++)
		of_row[c->v[i].row - m->rows.v] = &c->v[i];
	struct ms_insert in = ms_insert(db, "diff_known", err);
	for (size_t i = 0; i < new->sites.n; i++) {
		const struct run_site *s = &new->sites.v[i];
		const struct change *x = of_row[m->s->all.v[s->spot].row];
		if (s->verdict && x && change_is_known(x))
			ms_put_row(&in, ms_int("site", (uint64_t)s->id),
				   ms_text("verdict", x->old_verdict));
	}
	free(of_row);
	return ms_insert_close(&in);
}

/* Deletes the results of an earlier comparison. */
static const char forget[] = "BEGIN; DELETE FROM diff; DELETE FROM diff_run; DELETE FROM "
			     "diff_total; DELETE FROM site_diff; DELETE FROM diff_known;"
			     " DELETE FROM site_diff_range; DELETE FROM diff_hidden;";

int write_changes(const struct changes *c, struct matching *m, const struct opened *runs,
		  const struct options *o, struct ms_err *err)
{
	sqlite3 *db = runs->shown[NEW]->db;
	return ms_sql_exec(db, forget, err) || write_keys(db, m, runs, o, err) ||
			       write_runs(db, m->s, runs, err) || write_totals(db, c, runs, err) ||
			       write_hidden(db, runs, err) || write_sites(db, c, runs, err) ||
			       write_known(db, c, m, runs->shown[NEW], err) ||
			       ms_sql_exec(db, "COMMIT", err)
		       ? -1
		       : 0;
}
