/* SPDX-License-Identifier: MIT
 * The tables of ms-diff in a snapshot, kept right when other tools take sites away.
 */
#pragma once

#include "snapshot.h"

/* Is the snapshot the output of ms-diff? */
bool ms_snapshot_is_diff(sqlite3 *db);
/* Before the sites in table temp.gone(site) go: takes their rows of the comparison away and adds
 * their figures to diff_hidden, as stage `stage` of `filter`. A row goes with its site. Nothing
 * where there is no comparison. 0, or -1 with `err` set. */
int ms_diff_hide(sqlite3 *db, int64_t stage, const char *filter, struct ms_err *err);
