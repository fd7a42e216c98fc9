/* SPDX-License-Identifier: MIT
 * What a snapshot notes of itself: that its trace is a cut, and what is known of the runtime.
 */
#include "noted.h"

#include "model.h"
#include "names.h"
#include "words.h"

#include "libcommon/arena.h"
#include "libcommon/snapshot.h"

const char *noted_cut(struct model *m)
{
	const char *out = NULL;
	sqlite3_stmt *q = ms_sql_prepare(
		m->db, "SELECT cut, count(*) FROM process WHERE cut IS NOT NULL", NULL);
	if (q && sqlite3_step(q) == SQLITE_ROW && sqlite3_column_text(q, 0)) {
		const char *cut = (const char *)sqlite3_column_text(q, 0);
		out = ms_arena_printf(&m->arena, "cut out of %s", name_clean(&m->arena, cut, true));
	}
	sqlite3_finalize(q);
	return out;
}

const char *noted_one_time(struct model *m)
{
	const char *out = NULL;
	sqlite3_stmt *q = ms_sql_prepare(m->db,
					 "SELECT sum(c.live_bytes) FROM site s"
					 " JOIN site_stat c ON c.site = s.id"
					 " JOIN snapshot t ON t.id = c.snapshot AND t.label = ?1"
					 " WHERE s.one_time IS NOT NULL",
					 NULL);
	if (q) {
		sqlite3_bind_text(q, 1, m->at_label, -1, SQLITE_STATIC);
		sqlite3_int64 bytes =
			sqlite3_step(q) == SQLITE_ROW ? sqlite3_column_int64(q, 0) : 0;
		if (bytes > 0)
			out = ms_arena_printf(
				&m->arena, "named as one-time runtime: %s (ms-filter --one-time)",
				say_size(m, (uint64_t)bytes));
	}
	sqlite3_finalize(q);
	return out;
}
