/* SPDX-License-Identifier: MIT
 * What the recordings left out because they were asked to: their late start, pauses, and what was
 * dropped to keep a trace small.
 */
#ifndef REPORT_GAPS_H
#define REPORT_GAPS_H

#include "words.h"

struct ms_json;
struct ms_err;

/* Fills m->gaps. 0, or -1 with `err` set. */
int gaps_read(struct model *m, struct ms_err *err);
/* Their words in the line of quality. */
void gaps_words(struct model *m, struct words *w);
/* The head of a list of sites at the peak, when the peak of the run lies in what was dropped; else
 * NULL. */
const char *gaps_peak(struct model *m);
/* Frees of unknown blocks that no pause explains. */
uint64_t gaps_unexplained(const struct model *m, uint64_t unknown_frees);
void gaps_json(const struct model *m, struct ms_json *j);

#endif
