/* SPDX-License-Identifier: MIT
 * Questions that a report asks the database about one site, or about all of them at once: threads,
 * sizes, lifetimes, frees.
 */
#include "model.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"

#include <stdlib.h>
#include <string.h>

/* Prepares a query about site ?1; NULL when that is not to be had. */
static sqlite3_stmt *ask(struct model *m, const char *sql, const struct site *s)
{
	struct ms_err ignored = {0};
	sqlite3_stmt *st = ms_sql_prepare(m->db, sql, &ignored);
	if (st && s)
		sqlite3_bind_int64(st, 1, s->id);
	return st;
}

/* Copies what was collected into the arena and frees it. */
#define KEEP_ARRAY(m, a, out)                                                                      \
	do {                                                                                       \
		*(out) = ms_arena_alloc(&(m)->arena, ((a)->n + 1) * sizeof **(out));               \
		if ((a)->n)                                                                        \
			memcpy(*(out), (a)->v, (a)->n * sizeof **(out));                           \
		free((a)->v);                                                                      \
	} while (0)

size_t model_site_threads(struct model *m, const struct site *s, struct site_thread **out)
{
	MS_ARRAY(struct site_thread) a = {0};
	sqlite3_stmt *st =
		ask(m,
		    "SELECT thread, allocations, allocated_bytes, live_bytes, live_blocks"
		    " FROM site_thread WHERE site = ? ORDER BY allocations DESC, thread",
		    s);
	while (st && sqlite3_step(st) == SQLITE_ROW) {
		const struct thread *t = model_thread(m, sqlite3_column_int64(st, 0));
		if (t)
			*MS_PUSH(&a) =
				(struct site_thread){.thread = t,
						     .allocations = figure_in(st, 1),
						     .allocated_bytes = figure_in(st, 2),
						     .live = {figure_in(st, 3), figure_in(st, 4)}};
	}
	sqlite3_finalize(st);
	/* how sure these are nobody noted */
	for (size_t i = 0; s->est && i < a.n; i++)
		a.v[i] = (struct site_thread){a.v[i].thread, UNKNOWN, UNKNOWN, {UNKNOWN, UNKNOWN}};
	KEEP_ARRAY(m, &a, out);
	return a.n;
}

static size_t read_sizes(struct model *m, sqlite3_stmt *st, struct size_class **out)
{
	MS_ARRAY(struct size_class) a = {0};
	while (st && sqlite3_step(st) == SQLITE_ROW)
		*MS_PUSH(&a) = (struct size_class){.low = figure_in(st, 0),
						   .high = figure_in(st, 1),
						   .allocations = figure_in(st, 2),
						   .allocated_bytes = figure_in(st, 3),
						   .temporary = figure_in(st, 4),
						   .peak = {figure_in(st, 5), figure_in(st, 6)},
						   .live = {figure_in(st, 7), figure_in(st, 8)}};
	sqlite3_finalize(st);
	KEEP_ARRAY(m, &a, out);
	return a.n;
}

size_t model_sizes(struct model *m, struct size_class **out)
{
	*out = m->classes.v;
	if (!m->hidden.sites)
		return m->classes.n;
	return read_sizes(m,
			  ask(m,
			      "SELECT low, high, sum(allocations), sum(allocated_bytes),"
			      " sum(temporary), sum(peak_bytes), sum(peak_blocks), sum(live_bytes),"
			      " sum(live_blocks) FROM site_size GROUP BY low, high ORDER BY low",
			      NULL),
			  out);
}

size_t model_site_sizes(struct model *m, const struct site *s, struct size_class **out)
{
	return read_sizes(m,
			  ask(m,
			      "SELECT low, high, allocations, allocated_bytes, temporary,"
			      " peak_bytes, peak_blocks, live_bytes, live_blocks FROM site_size"
			      " WHERE site = ? ORDER BY low",
			      s),
			  out);
}

size_t model_site_lifetimes(struct model *m, const struct site *s, const char *unit,
			    struct lifetime **out)
{
	MS_ARRAY(struct lifetime) a = {0};
	sqlite3_stmt *st = ask(m,
			       "SELECT low, high, frees FROM site_lifetime WHERE site = ?1"
			       " AND unit = ?2 ORDER BY low",
			       s);
	if (st)
		sqlite3_bind_text(st, 2, unit, -1, SQLITE_STATIC);
	while (st && sqlite3_step(st) == SQLITE_ROW)
		*MS_PUSH(&a) =
			(struct lifetime){figure_in(st, 0), figure_in(st, 1), figure_in(st, 2)};
	sqlite3_finalize(st);
	KEEP_ARRAY(m, &a, out);
	return a.n;
}

size_t model_site_frees(struct model *m, const struct site *s, struct site_free **out)
{
	MS_ARRAY(struct site_free) a = {0};
	sqlite3_stmt *st = ask(m,
			       "SELECT stack, frees, freed_bytes FROM free_site WHERE site = ?1"
			       " ORDER BY frees DESC, freed_bytes DESC, stack",
			       s);
	while (st && sqlite3_step(st) == SQLITE_ROW)
		*MS_PUSH(&a) = (struct site_free){MODEL_FIND(m->nodes, sqlite3_column_int64(st, 0)),
						  figure_in(st, 1), figure_in(st, 2)};
	sqlite3_finalize(st);
	KEEP_ARRAY(m, &a, out);
	return a.n;
}

uint32_t model_user_node(const struct model *m, uint32_t stack)
{
	for (uint32_t n = stack; n != NONE; n = m->nodes.v[n].parent) {
		const struct frame *f = &m->frames.v[m->nodes.v[n].frame];
		if (!f->runtime && !f->note)
			return n;
	}
	return stack;
}
