/* SPDX-License-Identifier: MIT
 * Makes the model of a snapshot: its rows, the moment chosen, and sums over all processes.
 */
#ifndef REPORT_LOAD_H
#define REPORT_LOAD_H

#include "model.h"

/* Reads `db` (borrowed, kept for questions about one site). `at` is the label of the snapshot whose
 * live blocks are wanted, NULL = "end". 0, or -1 with `err` set: a broken table, or no snapshot of
 * that label. On either the model must be freed. */
int model_load(struct model *m, sqlite3 *db, const char *at, struct ms_err *err);
void model_free(struct model *m);

#endif
