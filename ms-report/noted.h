/* SPDX-License-Identifier: MIT
 * What a snapshot notes of itself: that its trace is a cut, and what is known of the runtime.
 */
#ifndef REPORT_NOTED_H
#define REPORT_NOTED_H

struct model;

/* "cut out of run.trace by --from 1s"; cleaned. NULL when no process was cut. */
const char *noted_cut(struct model *m);
/* "named as one-time runtime: 73.0 KiB (ms-filter --one-time)", of what is live at the moment that
 * the report is about; NULL when nothing is. */
const char *noted_one_time(struct model *m);

#endif
