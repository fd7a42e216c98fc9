/* SPDX-License-Identifier: MIT
 * Images of one process that replaced each other by exec: which one a figure is of.
 */
#ifndef REPORT_IMAGES_H
#define REPORT_IMAGES_H

#include "model.h"

struct ms_json;

/* Links the images of m->processes, counts those that became another one, and finds those that the
 * peak and the end of all are of. m->sum_peak_bytes is set. */
void images_link(struct model *m);
/* The last image that `p` became, or `p`. */
const struct process *images_last(const struct model *m, const struct process *p);
/* ", of image 3 of 5, app": which one the peak or the end of several is of; NULL = not one alone.
 */
const char *images_of_peak(struct model *m);
const char *images_of_end(struct model *m);
/* "2.7 MiB in 400 blocks, gone with the 4 images that became others"; NULL = none did. */
const char *images_gone(struct model *m);
/* Members of "totals" of the JSON report. */
void images_json(const struct model *m, struct ms_json *j);

#endif
