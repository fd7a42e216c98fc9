/* SPDX-License-Identifier: MIT
 * Compares the memory regions of two snapshots.
 */
#include "regions.h"

#include "libcommon/base/err.h"

/* Selects the regions of one moment, grouped by process name, kind and path. */
static const char grouped[] =
	"SELECT coalesce(p.comm, ''), r.kind, coalesce(r.path, ''), count(*),"
	" sum(r.\"end\" - r.start), sum(r.rss_bytes), sum(r.pss_bytes), sum(r.private_bytes),"
	" sum(r.swap_bytes) FROM region r JOIN snapshot s ON s.id = r.snapshot"
	" JOIN process p ON p.id = r.process WHERE s.label = ? AND r.kind IS NOT NULL"
	" GROUP BY 1, 2, 3 ORDER BY 1, 2, 3";
enum { KEYS = 3, FIGURES_OF_REGION = 6, COLUMNS = KEYS + FIGURES_OF_REGION };

/* Inserts or updates a group of one side; the figures of the other side begin as 0. */
#define UPSERT(side, other)                                                                        \
	"INSERT INTO region_diff(process, kind, path, " side "_regions, " side "_bytes, " side     \
	"_rss_bytes, " side "_pss_bytes, " side "_private_bytes, " side "_swap_bytes, " other      \
	"_regions, " other "_bytes, " other "_rss_bytes, " other "_pss_bytes, " other              \
	"_private_bytes, " other "_swap_bytes)"                                                    \
	" VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 0, 0, 0, 0, 0, 0)"                            \
	" ON CONFLICT DO UPDATE SET (" side "_regions, " side "_bytes, " side "_rss_bytes, " side  \
	"_pss_bytes, " side "_private_bytes, " side "_swap_bytes) = (?4, ?5, ?6, ?7, ?8, ?9)"

/* Completes the rows. A figure that one side did not record (--maps) is null, not 0, and so is its
 * difference. */
static const char finish[] =
	"UPDATE region_diff SET new_rss_bytes = NULL, new_pss_bytes = NULL,"
	" new_private_bytes = NULL, new_swap_bytes = NULL"
	" WHERE EXISTS (SELECT 1 FROM region_diff WHERE new_regions > 0 AND new_rss_bytes IS NULL);"
	"UPDATE region_diff SET old_rss_bytes = NULL, old_pss_bytes = NULL,"
	" old_private_bytes = NULL, old_swap_bytes = NULL"
	" WHERE EXISTS (SELECT 1 FROM region_diff WHERE old_regions > 0 AND old_rss_bytes IS NULL);"
	"UPDATE region_diff SET delta_bytes = new_bytes - old_bytes,"
	" delta_rss_bytes = new_rss_bytes - old_rss_bytes,"
	" delta_pss_bytes = new_pss_bytes - old_pss_bytes,"
	" delta_private_bytes = new_private_bytes - old_private_bytes,"
	" delta_swap_bytes = new_swap_bytes - old_swap_bytes,"
	" change = CASE WHEN old_regions = 0 THEN 'new' WHEN new_regions = 0 THEN 'gone'"
	"  WHEN coalesce(new_rss_bytes - old_rss_bytes, new_bytes - old_bytes) > 0 THEN 'grown'"
	"  WHEN coalesce(new_rss_bytes - old_rss_bytes, new_bytes - old_bytes) < 0 THEN 'shrunk'"
	"  ELSE 'unchanged' END;";

/* Adds the rows of one side to the table, which may be in another database. */
static int add_side(const struct run *from, sqlite3 *to, const char *upsert, struct ms_err *err)
{
	sqlite3_stmt *in = ms_sql_prepare(from->db, grouped, err);
	sqlite3_stmt *out = in ? ms_sql_prepare(to, upsert, err) : NULL;
	int rc = out ? SQLITE_ROW : SQLITE_ERROR;
	if (out)
		sqlite3_bind_text(in, 1, from->label, -1, SQLITE_STATIC);
	while (rc == SQLITE_ROW && (rc = sqlite3_step(in)) == SQLITE_ROW) {
		for (int i = 0; i < COLUMNS; i++)
			sqlite3_bind_value(out, i + 1, sqlite3_column_value(in, i));
		rc = sqlite3_step(out) == SQLITE_DONE ? SQLITE_ROW : SQLITE_ERROR;
		sqlite3_reset(out);
	}
	if (rc != SQLITE_DONE)
		ms_err_set(err, "cannot compare regions: %s", sqlite3_errmsg(to));
	sqlite3_finalize(in);
	sqlite3_finalize(out);
	return rc == SQLITE_DONE ? 0 : -1;
}

static bool has_regions(const struct run *r)
{
	return !r->missing && ms_sql_int(r->db, "SELECT count(*) FROM region", 0) > 0;
}

int regions_compare(const struct run *old, const struct run *new, struct ms_err *err)
{
	if (!has_regions(old) || !has_regions(new))
		return 0;
	if (ms_sql_exec(new->db, "DELETE FROM region_diff", err) != 0)
		return -1;
	if (add_side(old, new->db, UPSERT("old", "new"), err) != 0 ||
	    add_side(new, new->db, UPSERT("new", "old"), err) != 0)
		return -1;
	return ms_sql_exec(new->db, finish, err);
}

bool regions_grew(sqlite3 *db, int64_t min_change)
{
	int64_t grew = ms_sql_int(
		db, "SELECT sum(coalesce(delta_private_bytes, delta_bytes)) FROM region_diff", 0);
	return grew > 0 && grew >= min_change;
}
