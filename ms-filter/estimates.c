/* SPDX-License-Identifier: MIT
 * The intervals of a sampled recording, when sites go: what is hidden has intervals too, and the
 * totals keep theirs.
 */
#include "hide.h"

#include "libcommon/base/err.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/snapshot/snapshot_insert.h"
#include "libcommon/stats/estimate.h"

#include <math.h>

static const char move[] =
	"INSERT INTO estimate(process, snapshot, site, thread, figure, seen, variance, step,"
	" step_variance) SELECT process, snapshot, -1, 0, figure, sum(seen), sum(variance),"
	" max(step), max(step_variance) FROM estimate WHERE site IN (SELECT site FROM temp.gone)"
	" GROUP BY process, snapshot, figure"
	" ON CONFLICT(process, snapshot, site, thread, figure) DO UPDATE SET"
	" seen = seen + excluded.seen, variance = variance + excluded.variance,"
	" step = max(step, excluded.step),"
	" step_variance = max(step_variance, excluded.step_variance);"
	"DELETE FROM estimate WHERE site IN (SELECT site FROM temp.gone)";

/* Each of the hidden with its figure. */
static const char figures[] =
	"SELECT e.process, e.snapshot, e.figure, e.seen, e.variance, e.step, e.step_variance,"
	" sum(CASE e.figure WHEN 'allocations' THEN h.allocations"
	" WHEN 'allocated_bytes' THEN h.allocated_bytes WHEN 'frees' THEN h.frees"
	" WHEN 'live_bytes' THEN h.live_bytes WHEN 'live_blocks' THEN h.live_blocks END)"
	" FROM estimate e JOIN hidden h ON h.process = e.process"
	" AND coalesce(h.snapshot, 0) = e.snapshot WHERE e.site = -1"
	" GROUP BY e.process, e.snapshot, e.figure";

static void put_interval(struct ms_insert *u, sqlite3_stmt *q)
{
	struct ms_spread x = {fabs(sqlite3_column_double(q, 3)), fabs(sqlite3_column_double(q, 4)),
			      fabs(sqlite3_column_double(q, 5)), fabs(sqlite3_column_double(q, 6))};
	int64_t value = sqlite3_column_int64(q, 7);
	uint64_t low, high;
	ms_interval_whole(value > 0 ? (uint64_t)value : 0, &x, &low, &high);
	ms_put_row(u, ms_int("low", low), ms_int("high", high),
		   ms_address("process", (uint64_t)sqlite3_column_int64(q, 0)),
		   ms_address("snapshot", (uint64_t)sqlite3_column_int64(q, 1)),
		   ms_address("site", (uint64_t)-1), ms_int("thread", 0),
		   ms_text("figure", (const char *)sqlite3_column_text(q, 2)));
}

int estimates_hide(sqlite3 *db, struct ms_err *err)
{
	if (ms_sql_int(db, "SELECT count(*) FROM estimate", 0) == 0)
		return 0;
	if (ms_sql_exec(db, move, err) != 0)
		return -1;
	struct ms_insert u = ms_update(db, "estimate", 5, err);
	sqlite3_stmt *q = ms_sql_prepare(db, figures, err);
	while (q && ms_sql_next(db, q, err))
		put_interval(&u, q);
	sqlite3_finalize(q);
	return ms_insert_close(&u) || err->text[0] ? -1 : 0;
}
