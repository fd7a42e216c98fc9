/* SPDX-License-Identifier: MIT
 * Where a recording comes from: a cut of which trace, and what of it is known to be the runtime's.
 */
#include "facts.h"

#include "model.h"

#include "libcommon/base/arena.h"
#include "libcommon/snapshot/snapshot.h"

static const char *text(struct model *m, sqlite3_stmt *q, int column)
{
	const char *s = (const char *)sqlite3_column_text(q, column);
	return s ? ms_arena_strdup(&m->arena, s) : NULL;
}

const char *provenance_cut(struct model *m, uint32_t process)
{
	const char *out = NULL;
	sqlite3_stmt *q = ms_sql_prepare(m->db,
					 "SELECT cut FROM process WHERE cut IS NOT NULL"
					 " AND coalesce(id = ?1, 1) ORDER BY id LIMIT 1",
					 NULL);
	if (q && process != NONE)
		sqlite3_bind_int64(q, 1, m->processes.v[process].id);
	if (q && sqlite3_step(q) == SQLITE_ROW)
		out = text(m, q, 0);
	sqlite3_finalize(q);
	return out;
}

const char **one_time_names(struct model *m)
{
	const char **v = ms_arena_alloc(&m->arena, (m->sites.n + 1) * sizeof *v);
	sqlite3_stmt *q = ms_sql_prepare(
		m->db, "SELECT id, one_time FROM site WHERE one_time IS NOT NULL", NULL);
	while (q && sqlite3_step(q) == SQLITE_ROW) {
		uint32_t i = MODEL_FIND(m->sites, sqlite3_column_int64(q, 0));
		if (i != NONE)
			v[i] = text(m, q, 1);
	}
	sqlite3_finalize(q);
	return v;
}

struct one_time one_time_sum(struct model *m)
{
	struct one_time sum = {0};
	const char **names = one_time_names(m);
	for (size_t i = 0; i < m->sites.n; i++) {
		if (!names[i])
			continue;
		sum.sites++;
		sum.live_bytes = figure_add(sum.live_bytes, m->sites.v[i].at.bytes);
		sum.live_blocks = figure_add(sum.live_blocks, m->sites.v[i].at.blocks);
	}
	return sum;
}
