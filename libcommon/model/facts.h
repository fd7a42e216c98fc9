/* SPDX-License-Identifier: MIT
 * What is asked of the database beyond its rows, and summed up over processes.
 */
#pragma once

#include "model.h"

/* ---- images ---- */

/* Links the images of m->processes, counts those that became another one, and finds those that the
 * peak and the end of all are of. m->sum_peak_bytes is set. */
void images_link(struct model *m);
/* The last image that `p` became, or `p`. */
const struct process *images_last(const struct model *m, const struct process *p);
/* The row of the process that a figure of all (the peak, the end) is of, when it is known;
 * UNKNOWN = not of one alone. */
uint64_t images_row(const struct model *m, uint32_t image, uint64_t figure);

/* ---- moments ---- */

/* At the snapshots of a label, of all processes together: when the last of them was, and sums. Not
 * known when there is none. */
struct moment {
	uint64_t time_ns, rss_bytes;
	struct live live;
	struct mmap_usage mmap;
};
struct moment moment_sum(const struct model *m, const char *label);
/* Is the heap no part of what is mapped? glibc takes it by calls of its own, which nobody sees;
 * other allocators' are recorded. */
bool moment_heap_is_apart(const struct model *m);

/* ---- /proc only ---- */

enum proc_only {
	PROC_ONLY_NOT, /* some process was recorded */
	PROC_ONLY_POLL,
	PROC_ONLY_REGIONS,
};
/* To be asked when the processes are read. */
enum proc_only proc_only_read(struct model *m);

/* The heap of a process as its last sample has it; UNKNOWN = no sample says. */
uint64_t proc_only_heap(struct model *m, uint32_t process);

/* ---- provenance ---- */

/* Returns the raw text that names the trace a process was cut from, and the tool that cut it; NULL
 * = it is no cut. Of process NONE: that of the first process that is one. */
const char *provenance_cut(struct model *m, uint32_t process);

/* Tells whether conditions of ms-filter left only some of the blocks that were recorded. */
bool provenance_some(struct model *m);

/* Holds sums, as of the moment of --at, over sites known to be allocations of the runtime. */
struct one_time {
	uint64_t sites, live_bytes, live_blocks;
};
struct one_time one_time_sum(struct model *m);

/* ---- what the figures do not have in them ---- */

/* A figure of m->gaps, m->inherited or m->before: its name in the report, NULL = it is not there, and
 * what it is of all processes. */
struct unrecorded {
	const char *name, *sql;
	size_t offset; /* in struct model */
};
extern const struct unrecorded unrecorded[];
extern const size_t unrecorded_count;

/* Fills m->gaps, m->inherited and m->before. 0, or -1 with `err` set. */
int unrecorded_read(struct model *m, struct ms_err *err);
/* Frees of unknown blocks that no pause explains. */
uint64_t unrecorded_frees(const struct model *m, uint64_t unknown_frees);

/* ---- growth ---- */

/* Fills in what the totals have of it: not known when no heap could be judged. */
void growth_read(struct model *m);
/* Is that because all were looked at for too short a time? */
bool growth_too_short(const struct model *m);
/* Tells whether some site is judged to grow, steadily or in doublings. */
bool growth_known(const struct model *m);
/* The site that grows fastest, or NULL. */
const struct site *growth_worst(const struct model *m);

/* ---- what the scan at the end of each process found ---- */

/* Fills in what sites have of unreachable blocks. 0, or -1 with `err` set. */
int verdicts_read(struct model *m, struct ms_err *err);
/* Does the report look at the end of processes that were all scanned? */
bool verdicts_known(const struct model *m);
/* Has the site a verdict, or could it have one: was its process scanned? */
bool verdicts_told(const struct model *m, const struct site *s);
/* And is no block unreachable? */
bool verdicts_all_reached(const struct model *m);
