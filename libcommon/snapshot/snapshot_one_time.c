/* SPDX-License-Identifier: MIT
 * Names the sites of a snapshot that are known one-time allocations of the runtime.
 *
 * A frame is a sign of one (one_time.h) as long as no frame of the user's own code lies between it
 * and the allocator.
 */
#include "snapshot_private.h"

#include "libcommon/symbols/one_time.h"
#include "snapshot_insert.h"

struct ms_signs ms_signs_join(struct ms_signs frame, const struct ms_signs *caller)
{
	if (!frame.user)
		frame.signs |= caller->signs & ~ms_one_time_inner();
	frame.user |= caller->user;
	return frame;
}

/* What is not known is null. */
static const char figures[] = "SELECT s.min_size, s.max_size, coalesce(s.max_live_blocks,"
			      " (SELECT max(live_blocks) FROM site_stat c WHERE c.site = s.id), 0)"
			      " FROM site s WHERE s.id = ?";

int ms_fill_one_time(struct ms_filling *f)
{
	struct ms_insert u = ms_update(f->db, "site", 1, f->err);
	sqlite3_stmt *q = ms_sql_prepare(f->db, figures, f->err);
	for (size_t i = 0; q && i < f->signs.n; i++) {
		const struct ms_site_signs *s = &f->signs.v[i];
		sqlite3_bind_int64(q, 1, s->site);
		ms_sql_next(f->db, q, f->err);
		struct ms_one_time_site site = {.min_size = (uint64_t)sqlite3_column_int64(q, 0),
						.max_size = (uint64_t)sqlite3_column_int64(q, 1),
						.blocks = (uint64_t)sqlite3_column_int64(q, 2),
						.user = s->signs.user};
		const char *name = ms_one_time(s->signs.signs, &site);
		sqlite3_reset(q);
		if (name)
			ms_put_row(&u, ms_text("one_time", name), ms_int("id", s->site));
	}
	sqlite3_finalize(q);
	return ms_insert_close(&u) || !q ? -1 : 0;
}
