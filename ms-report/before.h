/* SPDX-License-Identifier: MIT
 * What attached processes had already: beside the recorded figures, never in them.
 */
#ifndef REPORT_BEFORE_H
#define REPORT_BEFORE_H

#include "words.h"

struct ms_json;
struct ms_err;

/* Fills m->before. 0, or -1 with `err` set. */
int before_read(struct model *m, struct ms_err *err);
/* Its words in the line of quality: of recordings that began in mid-run. */
void before_words(struct model *m, struct words *w);
void before_json(const struct model *m, struct ms_json *j);

#endif
