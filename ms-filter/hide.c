/* SPDX-License-Identifier: MIT
 * Taking sites out of a snapshot while its sums go on adding up.
 *
 * For every process and moment: total = the sites that are there + the rows of `hidden`, over all
 * stages.
 */
#include "hide.h"

#include "match.h"
#include "suppressions.h"

#include "libcommon/base/err.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/snapshot/snapshot_insert.h"

static int list_gone(sqlite3 *db, const struct matches *m, struct ms_err *err)
{
	if (ms_sql_exec(db, "CREATE TEMP TABLE gone(site INTEGER PRIMARY KEY)", err) != 0)
		return -1;
	struct ms_insert in = ms_insert(db, "temp.gone", err);
	for (size_t i = 0; i < m->sites.n; i++)
		if (m->sites.v[i].hidden)
			ms_put_row(&in, ms_int("site", m->sites.v[i].id));
	return ms_insert_close(&in);
}

/* A sum of nothing is 0; a sum of what is not known is not known; and what was not recorded of the
 * whole is not known of a part. */
static const char count_sites[] =
	"INSERT INTO hidden(stage, filter, process, snapshot, sites, allocations, frees,"
	" reallocations, failed_allocations, allocated_bytes, temporary, maps, mapped_bytes)"
	" SELECT %lld, %Q, p.id, NULL, count(s.id),"
	" iif(count(s.id), sum(s.allocations), 0), iif(count(s.id), sum(s.frees), 0),"
	" iif(count(s.id), sum(s.reallocations), 0),"
	" iif(count(s.id), sum(s.failed_allocations), 0),"
	" iif(count(s.id), sum(s.allocated_bytes), 0), iif(count(s.id), sum(s.temporary), 0),"
	" iif(p.maps IS NULL, NULL, coalesce(sum(s.maps), 0)),"
	" iif(p.mapped_bytes IS NULL, NULL, coalesce(sum(s.mapped_bytes), 0))"
	" FROM process p LEFT JOIN site s"
	" ON s.process = p.id AND s.id IN (SELECT site FROM temp.gone)"
	" GROUP BY p.id ORDER BY p.id";
static const char count_moments[] =
	"INSERT INTO hidden(stage, filter, process, snapshot, sites, live_bytes, live_blocks,"
	" mapped_bytes, usable_bytes)"
	" SELECT %lld, %Q, t.process, t.id, coalesce(sum(c.live_blocks > 0), 0),"
	" coalesce(sum(c.live_bytes), 0), coalesce(sum(c.live_blocks), 0),"
	" iif(t.mapped_bytes IS NULL, NULL, coalesce(sum(c.mapped_bytes), 0)),"
	" iif(t.usable_bytes IS NULL, NULL, coalesce(sum(c.usable_bytes), 0))"
	" FROM snapshot t LEFT JOIN site_stat c"
	" ON c.snapshot = t.id AND c.site IN (SELECT site FROM temp.gone)"
	" GROUP BY t.id ORDER BY t.process, t.id";
static const char name_filter[] =
	"INSERT INTO meta(key, value) VALUES('filters', json_array(%Q))"
	" ON CONFLICT(key) DO UPDATE SET value = json_insert(value, '$[#]', %Q)";

static int drop_stacks(sqlite3 *db, const struct matches *m, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(db, "DELETE FROM stack WHERE id = ?", err);
	for (size_t i = 0; q && i < m->stacks.n && !err->text[0]; i++) {
		if (m->stacks.v[i].needed)
			continue;
		sqlite3_bind_int64(q, 1, m->stacks.v[i].id);
		ms_sql_next(db, q, err);
		sqlite3_reset(q);
	}
	sqlite3_finalize(q);
	if (err->text[0])
		return -1;
	return ms_sql_exec(db, "DELETE FROM frame WHERE id NOT IN (SELECT frame FROM stack)", err);
}

/* Whatever is known of a site goes with it: every table has the site in a column of that name. */
static int drop_rows(sqlite3 *db, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(
		db,
		"SELECT m.name FROM main.sqlite_schema m JOIN pragma_table_info(m.name) c"
		" ON c.name = 'site' WHERE m.type = 'table' ORDER BY m.name",
		err);
	int rc = q ? 0 : -1;
	while (rc == 0 && ms_sql_next(db, q, err))
		rc = ms_sql_execf(db, err,
				  "DELETE FROM \"%w\" WHERE site IN (SELECT site FROM temp.gone)",
				  sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	if (err->text[0])
		return -1;
	return ms_sql_exec(db,
			   "DELETE FROM site WHERE id IN (SELECT site FROM temp.gone);"
			   "DROP TABLE temp.gone",
			   err);
}

int hide(sqlite3 *db, const struct matches *m, const char *filter, struct ms_err *err)
{
	long long stage = 1 + ms_sql_int(db, "SELECT max(stage) FROM hidden", 0);
	return ms_sql_exec(db, "BEGIN", err) || list_gone(db, m, err) ||
			       ms_sql_execf(db, err, count_sites, stage, filter) ||
			       ms_sql_execf(db, err, count_moments, stage, filter) ||
			       ms_sql_execf(db, err, name_filter, filter, filter) ||
			       suppressions_note(db, m, stage, err) || estimates_hide(db, err) ||
			       ms_diff_hide(db, stage, filter, err) || drop_rows(db, err) ||
			       drop_stacks(db, m, err) || ms_sql_exec(db, "COMMIT", err)
		       ? -1
		       : 0;
}
