/* SPDX-License-Identifier: MIT
 * Room dataset: figures of many runs, as a folder that engines of other people read.
 *   In:  snapshots, and keys that tell runs apart.
 *   Out: a partition a run, ms-dataset(5); runs of it as snapshots again.
 *   Used by: ms-snap appends to one, ms-diff takes a history from one.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/cli.h"
#include "libcommon/snapshot/snapshot.h"

/* Onto a struct ms_cli_list, in order of names: a text NAME=VALUE. */
ms_cli_take ms_dataset_key_take;
/* The value of the key `name` among such, or NULL. */
const char *ms_dataset_key(const struct ms_cli_list *keys, const char *name);

/* Whether a run of these keys could be appended to folder `dir`, before the long part starts. 0, or
 * -1 with `err` set: it is there already, or there are no keys. */
int ms_dataset_check(const char *dir, const struct ms_cli_list *keys, struct ms_err *err);
/* Appends the run of `db`, which has the moments peak and end, to the dataset, which is made if it
 * is not there. Whole or not at all, whoever else appends at the same time. 0, or -1 with `err`
 * set. */
int ms_dataset_append(const char *dir, const struct ms_cli_list *keys, sqlite3 *db,
		      struct ms_err *err);

/* A run of a dataset. */
struct ms_dataset_run {
	const char *id;     /* 32 hex digits */
	const char *commit; /* NULL = not known */
	int64_t time_s;
};
/* The last runs, at most `most`, that are complete and have all these keys; the oldest first, in
 * `a`. 0, or -1 with `err` set: no dataset, or a damaged one. */
int ms_dataset_last(const char *dir, const struct ms_cli_list *keys, size_t most,
		    struct ms_arena *a, struct ms_dataset_run **runs, size_t *n,
		    struct ms_err *err);
/* A run as a snapshot, with what the dataset knows of it: one process, and sites with stacks of one
 * frame. NULL with `err` set. */
sqlite3 *ms_dataset_open(const char *dir, const char *id, struct ms_err *err);
