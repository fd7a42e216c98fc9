/* SPDX-License-Identifier: MIT
 * A snapshot of regions: what /proc says of processes, at one time or several, as rows.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/proc/proc.h"
#include "snapshot.h"

struct ms_err;
struct ms_region_snapshot;

/* One process at one time. */
struct ms_region_process {
	const struct ms_proc *proc;
	const struct ms_proc_stat *stat;
	const struct ms_proc_statm *statm; /* NULL = it has no memory */
	const struct ms_regions *regions;
	const char *exe;  /* NULL = not known */
	const char *args; /* NUL-separated, NULL = not known */
	size_t args_bytes;
	uint64_t time_ns; /* since the snapshot began */
};

/* Begins one. `smaps`: figures of regions are known. `all`: of all processes. `wall_ns`: when,
 * since 1970. NULL with `err` set. */
struct ms_region_snapshot *ms_region_snapshot_new(bool smaps, bool all, uint64_t wall_ns,
						  struct ms_err *err);
/* Failures are kept until ms_region_snapshot_end. */
void ms_region_snapshot_add(struct ms_region_snapshot *s, const struct ms_region_process *p);
/* A process that could not be read: why, in a few words. `name` may be NULL. */
void ms_region_snapshot_skip(struct ms_region_snapshot *s, uint64_t time_ns, pid_t pid,
			     const char *name, const char *reason);
/* The database, which is the caller's; or NULL with the error of the beginning set. `s` is freed.
 * Moments are named then: "end" the last, "start" the first of several, "1.5s" those between. */
sqlite3 *ms_region_snapshot_end(struct ms_region_snapshot *s);
