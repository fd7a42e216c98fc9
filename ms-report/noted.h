/* SPDX-License-Identifier: MIT
 * What a snapshot notes of itself: that its trace is a cut, and what is known of the runtime.
 */
#ifndef REPORT_NOTED_H
#define REPORT_NOTED_H

#include <stdint.h>

struct model;

/* "cut out of run.trace by --from 1s"; cleaned. NULL when no process was cut. */
const char *noted_cut(struct model *m);
/* "named as one-time runtime: 73.0 KiB (ms-filter --one-time)", of what is live at the moment that
 * the report is about; NULL when nothing is. */
const char *noted_one_time(struct model *m);

/* What known allocation of the runtime each site is, by index; NULL = none. In the model's arena.
 */
const char **noted_names(struct model *m);
/* Of the moment of --at, of all of these. */
struct noted {
	uint64_t sites, live_bytes, live_blocks;
};
struct noted noted_sum(struct model *m);
/* Of which trace a process's is a cut, and by what, raw; NULL = of none. Of process NONE: the first
 * that is one. */
const char *noted_cut_of(struct model *m, uint32_t process);

#endif
