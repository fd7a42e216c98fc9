/* SPDX-License-Identifier: MIT
 * Updates the tables of ms-diff in a snapshot when other tools remove sites.
 */
#include "snapshot_private.h"

bool ms_snapshot_is_diff(sqlite3 *db)
{
	return ms_sql_int(db, "SELECT count(*) FROM diff", 0) != 0;
}

/* Makes the SQL that adds up column `x`: NULL if a row has NULL, 0 without rows. */
#define SUM(x) "iif(count(*) = count(" x "), coalesce(sum(" x "), 0), NULL)"
#define SUMS(side)                                                                                     \
	SUM(side "_live_bytes")                                                                        \
	"," SUM(side "_live_blocks") "," SUM(side "_peak_bytes") "," SUM(side "_peak_blocks") "," SUM( \
		side                                                                                   \
		"_allocations") "," SUM(side                                                           \
					"_frees") "," SUM(side                                         \
							  "_allocated_bytes") "," SUM(side             \
										      "_temporar"      \
										      "y")

int ms_diff_hide(sqlite3 *db, int64_t stage, const char *filter, struct ms_err *err)
{
	if (!ms_snapshot_is_diff(db))
		return 0;
	return ms_sql_execf(
		db, err,
		"INSERT INTO diff_hidden SELECT max(%lld, (SELECT coalesce(max(stage), 0) + 1"
		" FROM diff_hidden)), %Q, count(*), " SUMS("old") ", " SUMS(
			"new") " FROM site_diff WHERE site IN (SELECT site FROM temp.gone);"
			       "DELETE FROM site_diff WHERE site IN (SELECT site FROM temp.gone);"
			       "DELETE FROM site_diff_range WHERE site NOT IN (SELECT site FROM "
			       "site_diff)",
		(long long)stage, filter);
}
