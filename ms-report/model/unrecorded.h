/* SPDX-License-Identifier: MIT
 * What the figures do not have in them: what was there before the recording, was inherited by fork,
 * fell into a pause, or was dropped to keep a trace small.
 */
#ifndef REPORT_UNRECORDED_H
#define REPORT_UNRECORDED_H

#include "model.h"

/* A figure of m->gaps, m->inherited or m->before: its name in the report, NULL = it is not there, and
 * what it is of all processes. */
struct unrecorded {
	const char *name, *sql;
	size_t offset; /* in struct model */
};
extern const struct unrecorded unrecorded[];
extern const size_t unrecorded_count;
uint64_t unrecorded_figure(const struct model *m, size_t i);

/* Fills m->gaps, m->inherited and m->before. 0, or -1 with `err` set. */
int unrecorded_read(struct model *m, struct ms_err *err);
/* Frees of unknown blocks that no pause explains. */
uint64_t unrecorded_frees(const struct model *m, uint64_t unknown_frees);

#endif
