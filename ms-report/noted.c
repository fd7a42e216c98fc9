/* SPDX-License-Identifier: MIT
 * What a snapshot notes of itself: that its trace is a cut, and what is known of the runtime.
 */
#include "noted.h"

#include "model.h"
#include "names.h"
#include "say.h"

#include "libcommon/base/arena.h"
#include "libcommon/snapshot/snapshot.h"

static const char *text(struct model *m, sqlite3_stmt *q, int column)
{
	const char *s = (const char *)sqlite3_column_text(q, column);
	return s ? ms_arena_strdup(&m->arena, s) : NULL;
}

const char *noted_cut_of(struct model *m, uint32_t process)
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

const char *noted_cut(struct model *m)
{
	const char *cut = noted_cut_of(m, NONE);
	return cut ? ms_arena_printf(&m->arena, "cut out of %s", name_clean(&m->arena, cut, true))
		   : NULL;
}

const char **noted_names(struct model *m)
{
	const char **v = ms_arena_alloc(&m->arena, (m->sites.n + 1) * sizeof *v);
	sqlite3_stmt *q = ms_sql_prepare(
		m->db, "SELECT id, one_time FROM site WHERE one_time IS NOT NULL", NULL);
	while (q && sqlite3_step(q) == SQLITE_ROW) {
		uint32_t i = model_index(m->sites.v, m->sites.n, sizeof *m->sites.v,
					 sqlite3_column_int64(q, 0));
		if (i != NONE)
			v[i] = text(m, q, 1);
	}
	sqlite3_finalize(q);
	return v;
}

struct noted noted_sum(struct model *m)
{
	struct noted sum = {0};
	const char **names = noted_names(m);
	for (size_t i = 0; i < m->sites.n; i++) {
		if (!names[i])
			continue;
		sum.sites++;
		sum.live_bytes = figure_add(sum.live_bytes, m->sites.v[i].at.bytes);
		sum.live_blocks = figure_add(sum.live_blocks, m->sites.v[i].at.blocks);
	}
	return sum;
}

const char *noted_one_time(struct model *m)
{
	struct noted sum = noted_sum(m);
	return sum.live_bytes && sum.live_bytes != UNKNOWN
		       ? ms_arena_printf(&m->arena,
					 "named as one-time runtime: %s (ms-filter --one-time)",
					 say_size(m, sum.live_bytes))
		       : NULL;
}
