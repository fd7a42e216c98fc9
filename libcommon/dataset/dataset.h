/* SPDX-License-Identifier: MIT
 * Room dataset: figures of many runs, in a folder that other query engines can read.
 *   In:  snapshots, and keys that tell runs apart.
 *   Out: one partition per run, ms-dataset(5); its runs, read back as snapshots.
 *   Used by: ms-snap appends to one, ms-diff takes a history from one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/cli.h"
#include "libcommon/snapshot/snapshot.h"

/* Inserts a text NAME=VALUE into a struct ms_cli_list, which is sorted by name. */
ms_cli_take ms_dataset_key_take;
/* Returns the value of the key `name` in a list made by ms_dataset_key_take, or NULL. */
const char *ms_dataset_key(const struct ms_cli_list *keys, const char *name);

/* Checks, before the slow part, that a run with these keys could be appended to folder `dir`.
 * Returns 0, or -1 with `err` set: the dataset already has that run, or there are no keys. */
int ms_dataset_check(const char *dir, const struct ms_cli_list *keys, struct ms_err *err);
/* Appends the run of `db`, which has the snapshots "peak" and "end", to the dataset, which is
 * created if needed. Atomic, even if other processes append at the same time. Returns 0, or -1 with
 * `err` set. */
int ms_dataset_append(const char *dir, const struct ms_cli_list *keys, sqlite3 *db,
		      struct ms_err *err);

/* Describes a run of a dataset. */
struct ms_dataset_run {
	const char *id;     /* 32 hex digits */
	const char *commit; /* NULL = not known */
	int64_t time_s;
};
/* Returns the latest complete runs, at most `most`, that have all these keys; the oldest first, in
 * `a`. Returns 0, or -1 with `err` set: no dataset, or a damaged one. */
int ms_dataset_last(const char *dir, const struct ms_cli_list *keys, size_t most,
		    struct ms_arena *a, struct ms_dataset_run **runs, size_t *n,
		    struct ms_err *err);
/* Opens a run as a snapshot, which has only the figures stored in the dataset: one process, and
 * sites with stacks of one frame. Returns NULL with `err` set on failure. */
sqlite3 *ms_dataset_open(const char *dir, const char *id, struct ms_err *err);
