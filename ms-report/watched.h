/* SPDX-License-Identifier: MIT
 * What /proc said of processes that were not recorded: polled (ms-record --poll), or looked at for
 * their regions (ms-snap --maps, --smaps).
 */
#ifndef REPORT_WATCHED_H
#define REPORT_WATCHED_H

#include "table.h"

enum watched {
	WATCHED_NOT, /* some process was recorded */
	WATCHED_POLL,
	WATCHED_REGIONS,
};
/* To be asked when the processes are read. */
enum watched watched_read(struct model *m);

/* The heap of a process as its last sample has it; UNKNOWN = no sample says. */
uint64_t watched_heap(struct model *m, uint32_t process);

/* ---- tables ---- */

/* Samples over time, in `limit` spans at most: the largest of each span. */
struct table watched_timeline(struct model *m, size_t limit);
/* Regions at the moment, most resident first (or the largest, where that is not known). */
struct table watched_regions(struct model *m, size_t limit);
/* Of ms-diff: what changed between two snapshots of regions; rows of 0 = they were not compared. */
struct table watched_diff(struct model *m, size_t limit);
/* By what they are for. */
struct table watched_kinds(struct model *m);
/* Processes by what they hold. */
struct table watched_processes(struct model *m, size_t limit);
/* Those that could not be read. */
struct table watched_skipped(struct model *m, size_t limit);
/* The tables of the first screen, at most WATCHED_TABLES; how many. */
#define WATCHED_TABLES 4
size_t watched_first(struct model *m, size_t limit, struct table out[WATCHED_TABLES]);

#endif
