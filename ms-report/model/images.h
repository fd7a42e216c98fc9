/* SPDX-License-Identifier: MIT
 * Images of one process that replaced each other by exec: which one a figure is of.
 */
#ifndef REPORT_IMAGES_H
#define REPORT_IMAGES_H

#include "model.h"

/* Links the images of m->processes, counts those that became another one, and finds those that the
 * peak and the end of all are of. m->sum_peak_bytes is set. */
void images_link(struct model *m);
/* The last image that `p` became, or `p`. */
const struct process *images_last(const struct model *m, const struct process *p);
/* The row of the process that the peak, and that the end, of all is of; UNKNOWN = not of one alone.
 */
uint64_t images_peak_row(const struct model *m);
uint64_t images_end_row(const struct model *m);

#endif
