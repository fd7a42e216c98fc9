/* SPDX-License-Identifier: MIT
 * Taking sites out of a snapshot while its sums go on adding up.
 *
 * For every process and moment: total = the sites that are there + the rows of `hidden`, over all
 * stages.
 */
#include "hide.h"

#include "estimates.h"
#include "match.h"
#include "suppressions.h"

#include <stddef.h>

#include "libcommon/base/err.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/snapshot/snapshot_diff.h"

/* Runs `sql` once, with `stage` and `filter` for ?1 and ?2 where it has them. */
static int run(sqlite3 *db, const char *sql, int64_t stage, const char *filter, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(db, sql, err);
	if (!q)
		return -1;
	if (sqlite3_bind_parameter_count(q) >= 1)
		sqlite3_bind_int64(q, 1, stage);
	if (sqlite3_bind_parameter_count(q) >= 2)
		sqlite3_bind_text(q, 2, filter, -1, SQLITE_STATIC);
	int rc = 0;
	if (sqlite3_step(q) != SQLITE_DONE)
		rc = ms_err_set(err, "snapshot database: %s", sqlite3_errmsg(db));
	sqlite3_finalize(q);
	return rc;
}

/* Runs `sql` for one id after the other. */
static int run_id(sqlite3 *db, sqlite3_stmt *q, int64_t id, struct ms_err *err)
{
	sqlite3_bind_int64(q, 1, id);
	int rc = sqlite3_step(q);
	sqlite3_reset(q);
	return rc == SQLITE_DONE ? 0 : ms_err_set(err, "snapshot database: %s", sqlite3_errmsg(db));
}

static int list_gone(sqlite3 *db, const struct matches *m, struct ms_err *err)
{
	if (run(db, "CREATE TEMP TABLE gone(site INTEGER PRIMARY KEY)", 0, NULL, err) != 0)
		return -1;
	sqlite3_stmt *q = ms_sql_prepare(db, "INSERT INTO temp.gone VALUES(?)", err);
	int rc = q ? 0 : -1;
	for (size_t i = 0; rc == 0 && i < m->sites.n; i++)
		if (m->sites.v[i].hidden)
			rc = run_id(db, q, m->sites.v[i].id, err);
	sqlite3_finalize(q);
	return rc;
}

static int drop_stacks(sqlite3 *db, const struct matches *m, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(db, "DELETE FROM stack WHERE id = ?", err);
	int rc = q ? 0 : -1;
	for (size_t i = 0; rc == 0 && i < m->stacks.n; i++)
		if (!m->stacks.v[i].needed)
			rc = run_id(db, q, m->stacks.v[i].id, err);
	sqlite3_finalize(q);
	return rc;
}

/* A sum of nothing is 0; a sum of what is not known is not known; and what was not recorded of the
 * whole is not known of a part. */
static const char *const count_gone[] = {
	"INSERT INTO hidden(stage, filter, process, snapshot, sites, allocations, frees,"
	" reallocations, failed_allocations, allocated_bytes, temporary, maps, mapped_bytes)"
	" SELECT ?1, ?2, p.id, NULL, count(s.id),"
	" iif(count(s.id), sum(s.allocations), 0), iif(count(s.id), sum(s.frees), 0),"
	" iif(count(s.id), sum(s.reallocations), 0),"
	" iif(count(s.id), sum(s.failed_allocations), 0),"
	" iif(count(s.id), sum(s.allocated_bytes), 0), iif(count(s.id), sum(s.temporary), 0),"
	" iif(p.maps IS NULL, NULL, coalesce(sum(s.maps), 0)),"
	" iif(p.mapped_bytes IS NULL, NULL, coalesce(sum(s.mapped_bytes), 0))"
	" FROM process p LEFT JOIN site s"
	" ON s.process = p.id AND s.id IN (SELECT site FROM temp.gone)"
	" GROUP BY p.id ORDER BY p.id",
	"INSERT INTO hidden(stage, filter, process, snapshot, sites, live_bytes, live_blocks,"
	" mapped_bytes, usable_bytes)"
	" SELECT ?1, ?2, t.process, t.id, coalesce(sum(c.live_blocks > 0), 0),"
	" coalesce(sum(c.live_bytes), 0), coalesce(sum(c.live_blocks), 0),"
	" iif(t.mapped_bytes IS NULL, NULL, coalesce(sum(c.mapped_bytes), 0)),"
	" iif(t.usable_bytes IS NULL, NULL, coalesce(sum(c.usable_bytes), 0))"
	" FROM snapshot t LEFT JOIN site_stat c"
	" ON c.snapshot = t.id AND c.site IN (SELECT site FROM temp.gone)"
	" GROUP BY t.id ORDER BY t.process, t.id",
	"INSERT INTO meta(key, value) VALUES('filters', json_array(?2))"
	" ON CONFLICT(key) DO UPDATE SET value = json_insert(value, '$[#]', ?2)",
};

/* Whatever is known of a site goes with it: every table has the site in a column of that name. */
static int drop_rows(sqlite3 *db, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(
		db,
		"SELECT m.name FROM main.sqlite_schema m JOIN pragma_table_info(m.name) c"
		" ON c.name = 'site' WHERE m.type = 'table' ORDER BY m.name",
		err);
	int rc = q ? 0 : -1, step = SQLITE_DONE;
	while (rc == 0 && (step = sqlite3_step(q)) == SQLITE_ROW) {
		char *sql = sqlite3_mprintf(
			"DELETE FROM \"%w\" WHERE site IN (SELECT site FROM temp.gone)",
			sqlite3_column_text(q, 0));
		rc = sql ? run(db, sql, 0, NULL, err) : ms_err_set(err, "out of memory");
		sqlite3_free(sql);
	}
	if (rc == 0 && step != SQLITE_DONE)
		rc = ms_err_set(err, "snapshot database: %s", sqlite3_errmsg(db));
	sqlite3_finalize(q);
	if (rc == 0)
		rc = run(db, "DELETE FROM site WHERE id IN (SELECT site FROM temp.gone)", 0, NULL,
			 err);
	return rc == 0 ? run(db, "DROP TABLE temp.gone", 0, NULL, err) : rc;
}

static int hide_all(sqlite3 *db, const struct matches *m, const char *filter, struct ms_err *err)
{
	int64_t stage = 1 + ms_sql_int(db, "SELECT max(stage) FROM hidden", 0);
	if (list_gone(db, m, err) != 0)
		return -1;
	for (size_t i = 0; i < sizeof count_gone / sizeof *count_gone; i++)
		if (run(db, count_gone[i], stage, filter, err) != 0)
			return -1;
	if (suppressions_note(db, m, stage, err) != 0 || estimates_hide(db, err) != 0 ||
	    ms_diff_hide(db, stage, filter, err) != 0)
		return -1;
	if (drop_rows(db, err) != 0 || drop_stacks(db, m, err) != 0)
		return -1;
	return run(db, "DELETE FROM frame WHERE id NOT IN (SELECT frame FROM stack)", 0, NULL, err);
}

int hide(sqlite3 *db, const struct matches *m, const char *filter, struct ms_err *err)
{
	if (run(db, "BEGIN", 0, NULL, err) != 0)
		return -1;
	if (hide_all(db, m, filter, err) != 0)
		return -1;
	return run(db, "COMMIT", 0, NULL, err);
}
