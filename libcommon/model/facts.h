/* SPDX-License-Identifier: MIT
 * Queries beyond the rows of the database, and sums over processes.
 */
#pragma once

#include "model.h"

/* ---- images ---- */

/* Links each program image (process between two execs) in m->processes to its successor, counts the
 * images that were replaced, and finds the images of the overall peak and end. Needs
 * m->sum_peak_bytes. */
void images_link(struct model *m);
/* Returns the last program image that the process of `p` became by exec; may be `p`. */
const struct process *images_last(const struct model *m, const struct process *p);
/* Returns the id of the process to which an overall figure (the peak, the end) belongs; UNKNOWN =
 * to several, or the figure is not known. */
uint64_t images_row(const struct model *m, uint32_t image, uint64_t figure);

/* ---- moments ---- */

/* Holds sums over the snapshots with one label in all processes, and the time of the latest one.
 * All UNKNOWN if there is no such snapshot. */
struct moment {
	uint64_t time_ns, rss_bytes;
	struct live live;
	struct mmap_usage mmap;
};
struct moment moment_sum(const struct model *m, const char *label);
/* Tells whether the heap is missing from mapped memory: glibc maps it with internal calls, which
 * are not recorded; other allocators' mappings are. */
bool moment_heap_is_apart(const struct model *m);

/* ---- /proc only ---- */

enum proc_only {
	PROC_ONLY_NOT, /* at least one process was recorded */
	PROC_ONLY_POLL,
	PROC_ONLY_REGIONS,
};
/* Tells whether the processes were only observed through /proc. Call after they are read. */
enum proc_only proc_only_read(struct model *m);

/* Returns the heap size in the last sample of a process; UNKNOWN = not sampled. */
uint64_t proc_only_heap(struct model *m, uint32_t process);

/* ---- provenance ---- */

/* Returns the trace that a process was cut from and the tool that cut it, as raw text; NULL = not a
 * cut. Process NONE stands for the first process that is a cut. */
const char *provenance_cut(struct model *m, uint32_t process);

/* Tells whether conditions of ms-filter removed some of the recorded blocks. */
bool provenance_some(struct model *m);

/* Holds sums over sites known to be one-time allocations of the runtime, at the moment of --at. */
struct one_time {
	uint64_t sites, live_bytes, live_blocks;
};
struct one_time one_time_sum(struct model *m);

/* ---- allocations that were not recorded ---- */

/* Describes a figure of m->gaps, m->inherited or m->before: its name in the report, NULL = not
 * shown, and the SQL sum over all processes. */
struct unrecorded {
	const char *name, *sql;
	size_t offset; /* offset in struct model */
};
extern const struct unrecorded unrecorded[];
extern const size_t unrecorded_count;

/* Fills m->gaps, m->inherited and m->before. Returns 0, or -1 with `err` set. */
int unrecorded_read(struct model *m, struct ms_err *err);
/* Returns the number of frees of unknown blocks that pauses of the recording do not explain. */
uint64_t unrecorded_frees(const struct model *m, uint64_t unknown_frees);

/* ---- growth ---- */

/* Reads growth into the totals: UNKNOWN if no heap could be judged. */
void growth_read(struct model *m);
/* Tells whether growth is not known because all heaps were observed for too short a time. */
bool growth_too_short(const struct model *m);
/* Tells whether some site is judged to grow, steadily or in doublings. */
bool growth_known(const struct model *m);
/* Returns the fastest-growing site, or NULL. */
const struct site *growth_worst(const struct model *m);

/* ---- results of the scan at the end of each process ---- */

/* Reads the unreachable blocks of all sites. Returns 0, or -1 with `err` set. */
int verdicts_read(struct model *m, struct ms_err *err);
/* Tells whether the report shows the end of the run, and all processes were scanned there. */
bool verdicts_known(const struct model *m);
/* Tells whether the site's process was scanned, so that the site may have a verdict. */
bool verdicts_told(const struct model *m, const struct site *s);
/* Tells whether the scans are known and found no unreachable block. */
bool verdicts_all_reached(const struct model *m);
