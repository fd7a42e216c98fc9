/* SPDX-License-Identifier: MIT
 * What the scan at the end of each process found, read from the database into the model.
 */
#ifndef REPORT_VERDICTS_H
#define REPORT_VERDICTS_H

#include <stdbool.h>

struct model;
struct ms_err;

/* Fills in what sites have of unreachable blocks. 0, or -1 with `err` set. */
int verdicts_read(struct model *m, struct ms_err *err);
/* Does the report look at the end of processes that were all scanned? */
bool verdicts_known(const struct model *m);

#endif
