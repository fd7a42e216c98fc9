/* SPDX-License-Identifier: MIT
 * What the figures do not have in them, in the line of quality.
 */
#ifndef REPORT_UNRECORDED_WORDS_H
#define REPORT_UNRECORDED_WORDS_H

#include "say.h"

/* Of recordings that began in mid-run: what the processes had already. */
void unrecorded_before(struct model *m, struct words *w);
/* Late starts, pauses, dropped events, and what was inherited by fork. */
void unrecorded_words(struct model *m, struct words *w);
/* The head of a list of sites at the peak, when the peak of the run lies in what was dropped; else
 * NULL. */
const char *unrecorded_peak(struct model *m);

#endif
