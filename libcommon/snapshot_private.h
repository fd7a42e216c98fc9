/* SPDX-License-Identifier: MIT
 * What the files of the snapshot module share among themselves and with nobody else.
 */
#ifndef MS_SNAPSHOT_PRIVATE_H
#define MS_SNAPSHOT_PRIVATE_H

#include "snapshot.h"

/* Turns off whatever a hostile database could make SQLite do. */
void ms_snapshot_harden(sqlite3 *db);
/* Runs statements without results. 0, or -1 with `err` set. */
int ms_sql_exec(sqlite3 *db, const char *sql, struct ms_err *err);

#endif
