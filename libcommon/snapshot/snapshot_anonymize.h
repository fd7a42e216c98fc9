/* SPDX-License-Identifier: MIT
 * --anonymize of a snapshot.
 */
#pragma once

#include "snapshot.h"

struct ms_anonymizer;

/* Replaces every name in the database, which is in memory; nothing of the old ones stays in its
 * pages. `a` keeps what stands for what; NULL: one of its own. 0, or -1 with `err` set. */
int ms_snapshot_anonymize(sqlite3 *db, struct ms_anonymizer *a, struct ms_err *err);
