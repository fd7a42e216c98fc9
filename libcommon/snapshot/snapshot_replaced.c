/* SPDX-License-Identifier: MIT
 * Images that a process replaced by exec: which one each became, and its rows, corrected
 * afterwards.
 *
 * The memory of such an image was gone when the next one began, so none of it is live at the end of
 * the process. What it held then is its moment "exec" and its figures exec_bytes and exec_blocks.
 */
#include "snapshot_private.h"

#define REPLACED "(SELECT id FROM process WHERE became IS NOT NULL)"
#define NONE_LIVE " SET live_bytes = live_bytes * 0, live_blocks = live_blocks * 0 WHERE "

/* Only the image of a process that became another one is the parent of an image of the same pid. */
static const char sql[] =
	"UPDATE process SET became = q.id FROM (SELECT id, parent, pid FROM process) q"
	" WHERE process.id = q.parent AND process.pid = q.pid AND process.end_reason = 'exec';"
	"UPDATE process SET exec_bytes = unfreed_bytes * (became IS NOT NULL),"
	" exec_blocks = unfreed_blocks * (became IS NOT NULL);"
	"UPDATE process SET unfreed_bytes = unfreed_bytes * 0,"
	" unfreed_blocks = unfreed_blocks * 0, unfreed_usable_bytes = unfreed_usable_bytes * 0,"
	" mapped_end_bytes = mapped_end_bytes * 0 WHERE became IS NOT NULL;"
	"UPDATE snapshot SET label = 'exec' WHERE label = 'end' AND process IN " REPLACED ";"
	"UPDATE thread" NONE_LIVE "process IN " REPLACED ";"
	"UPDATE size_class" NONE_LIVE "process IN " REPLACED ";"
	"UPDATE site_size" NONE_LIVE "site IN (SELECT id FROM site WHERE process IN " REPLACED ");"
	"UPDATE site_thread" NONE_LIVE "site IN (SELECT id FROM site WHERE process IN " REPLACED
	");"
	"UPDATE estimate SET figure = replace(figure, 'unfreed_', 'exec_')"
	" WHERE figure LIKE 'unfreed!_%' ESCAPE '!' AND process IN " REPLACED ";"
	"DELETE FROM estimate WHERE thread <> 0 AND figure LIKE 'live!_%' ESCAPE '!'"
	" AND process IN " REPLACED ";";

int ms_fill_replaced(sqlite3 *db, struct ms_err *err)
{
	return ms_sql_exec(db, sql, err);
}
