/* SPDX-License-Identifier: MIT
 * The intervals of a sampled recording, when sites go: what is hidden has intervals too, and the
 * totals keep theirs.
 */
#include "hide.h"

#include "libcommon/base/err.h"
#include "libcommon/snapshot/snapshot.h"
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

static const char state[] = "UPDATE estimate SET low = ?, high = ? WHERE process = ? AND"
			    " snapshot = ? AND site = -1 AND thread = 0 AND figure = ?";

static int state_one(sqlite3 *db, sqlite3_stmt *from, sqlite3_stmt *to, struct ms_err *err)
{
	struct ms_spread x = {
		fabs(sqlite3_column_double(from, 3)), fabs(sqlite3_column_double(from, 4)),
		fabs(sqlite3_column_double(from, 5)), fabs(sqlite3_column_double(from, 6))};
	int64_t value = sqlite3_column_int64(from, 7);
	uint64_t low, high;
	ms_interval_whole(value > 0 ? (uint64_t)value : 0, &x, &low, &high);
	sqlite3_reset(to);
	sqlite3_bind_int64(to, 1, (int64_t)low);
	sqlite3_bind_int64(to, 2, (int64_t)high);
	for (int i = 0; i < 3; i++)
		sqlite3_bind_value(to, 3 + i, sqlite3_column_value(from, i));
	if (sqlite3_step(to) == SQLITE_DONE)
		return 0;
	return ms_err_set(err, "snapshot database: %s", sqlite3_errmsg(db));
}

static int state_all(sqlite3 *db, struct ms_err *err)
{
	sqlite3_stmt *from = ms_sql_prepare(db, figures, err);
	sqlite3_stmt *to = from ? ms_sql_prepare(db, state, err) : NULL;
	int rc = to ? 0 : -1, step = SQLITE_DONE;
	while (rc == 0 && (step = sqlite3_step(from)) == SQLITE_ROW)
		rc = state_one(db, from, to, err);
	if (rc == 0 && step != SQLITE_DONE)
		rc = ms_err_set(err, "snapshot database: %s", sqlite3_errmsg(db));
	sqlite3_finalize(from);
	sqlite3_finalize(to);
	return rc;
}

int estimates_hide(sqlite3 *db, struct ms_err *err)
{
	if (ms_sql_int(db, "SELECT count(*) FROM estimate", 0) == 0)
		return 0;
	if (ms_sql_exec(db, move, err) != 0)
		return -1;
	return state_all(db, err);
}
