/* SPDX-License-Identifier: MIT
 * Removes sites from a snapshot so that its sums still add up.
 *
 * For every process and moment: total = the remaining sites + the rows of `hidden` of all stages.
 */
#include "hide.h"

#include "match.h"
#include "libcommon/base/err.h"
#include "libcommon/snapshot/snapshot.h"
#include "libcommon/snapshot/snapshot_insert.h"
#include "libcommon/stats/estimate.h"

#include <math.h>

/* Lists the hidden sites in a table, with the number of the suppressing rule, or 0. */
static int list_gone(sqlite3 *db, const struct matches *m, struct ms_err *err)
{
	if (ms_sql_exec(db, "CREATE TEMP TABLE gone(site INTEGER PRIMARY KEY, rule INTEGER)",
			err) != 0)
		return -1;
	struct ms_insert in = ms_insert(db, "temp.gone", err);
	for (size_t i = 0; i < m->sites.n; i++)
		if (m->sites.v[i].hidden)
			ms_put_row(&in, ms_int("site", m->sites.v[i].id),
				   ms_int("rule", m->sites.v[i].rule));
	return ms_insert_close(&in);
}

/* Adds up the figures of hidden sites. The sum is 0 if no site is hidden, and null if a site's
 * figure is unknown or the process did not record the figure. */
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

/* ---- the intervals of a sampled recording ---- */

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

/* Selects the estimates for the sum of hidden sites (site -1), each with the figure that it
 * estimates. */
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

/* Merges the estimates of the sites in temp.gone into those of the hidden sites (site -1), whose
 * variances are sums. Call after the rows of `hidden` are written. */
static int hide_estimates(sqlite3 *db, struct ms_err *err)
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

/* ---- rows ---- */

static int drop_stacks(sqlite3 *db, const struct matches *m, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(db, "DELETE FROM stack WHERE id = ?", err);
	for (size_t i = 0; q && i < m->model.nodes.n && !err->text[0]; i++) {
		if (m->needed[i])
			continue;
		sqlite3_bind_int64(q, 1, model_node_id(&m->model, i));
		ms_sql_next(db, q, err);
		sqlite3_reset(q);
	}
	sqlite3_finalize(q);
	if (err->text[0])
		return -1;
	return ms_sql_exec(db, "DELETE FROM frame WHERE id NOT IN (SELECT frame FROM stack)", err);
}

/* Deletes all rows of hidden sites: from every table that has a column named site. Where a site is
 * only named, as in the trees of what is kept, whose sums need each row, it becomes null. */
static int drop_rows(sqlite3 *db, struct ms_err *err)
{
	sqlite3_stmt *q = ms_sql_prepare(
		db,
		"SELECT m.name FROM main.sqlite_schema m JOIN pragma_table_info(m.name) c"
		" ON c.name = 'site' WHERE m.type = 'table' AND m.name NOT IN ('kept', 'keeper')"
		" ORDER BY m.name",
		err);
	int rc = q ? 0 : -1;
	while (rc == 0 && ms_sql_next(db, q, err))
		rc = ms_sql_execf(db, err,
				  "DELETE FROM \"%w\" WHERE site IN (SELECT site FROM temp.gone)",
				  sqlite3_column_text(q, 0));
	sqlite3_finalize(q);
	if (err->text[0])
		return -1;
	return ms_sql_exec(
		db,
		"UPDATE kept SET site = NULL WHERE site IN (SELECT site FROM temp.gone);"
		"UPDATE keeper SET site = NULL WHERE site IN (SELECT site FROM temp.gone);"
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
			       suppressions_note(db, m, stage, err) || hide_estimates(db, err) ||
			       ms_diff_hide(db, stage, filter, err) || drop_rows(db, err) ||
			       drop_stacks(db, m, err) || ms_sql_exec(db, "COMMIT", err)
		       ? -1
		       : 0;
}
