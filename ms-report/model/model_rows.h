/* SPDX-License-Identifier: MIT
 * The tables of a snapshot as the model's arrays.
 */
#ifndef REPORT_MODEL_ROWS_H
#define REPORT_MODEL_ROWS_H

#include "model.h"

/* Reads processes and moments; then m->at_label is to be set. 0, or -1 with `err` set. */
int rows_read_moments(struct model *m, struct ms_err *err);
/* Reads all other tables. 0, or -1 with `err` set. */
int rows_read(struct model *m, struct ms_err *err);

#endif
