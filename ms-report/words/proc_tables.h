/* SPDX-License-Identifier: MIT
 * What /proc said of processes that were not recorded: polled (ms-record --poll), or looked at for
 * their regions (ms-snap --maps, --smaps).
 */
#ifndef REPORT_PROC_TABLES_H
#define REPORT_PROC_TABLES_H

#include "table.h"

/* Samples over time, in `limit` spans at most: the largest of each span. */
struct table proc_timeline(struct model *m, size_t limit);
/* Regions at the moment, most resident first (or the largest, where that is not known). */
struct table proc_regions(struct model *m, size_t limit);
/* Of ms-diff: what changed between two snapshots of regions; rows of 0 = they were not compared. */
struct table proc_diff(struct model *m, size_t limit);
/* By what they are for. */
struct table proc_kinds(struct model *m);
/* Processes by what they hold. */
struct table proc_processes(struct model *m, size_t limit);
/* Those that could not be read. */
struct table proc_skipped(struct model *m, size_t limit);
/* The tables of the first screen, at most PROC_TABLES; how many. */
#define PROC_TABLES 4
size_t proc_first(struct model *m, size_t limit, struct table out[PROC_TABLES]);

#endif
