/* SPDX-License-Identifier: MIT
 * What forked processes inherited from their parents: beside their own figures, never in them.
 */
#ifndef REPORT_INHERITED_H
#define REPORT_INHERITED_H

#include "words.h"

struct ms_json;
struct ms_err;

/* Fills m->inherited. 0, or -1 with `err` set. */
int inherited_read(struct model *m, struct ms_err *err);
/* Its words in the line of quality. */
void inherited_words(struct model *m, struct words *w);
void inherited_json(const struct model *m, struct ms_json *j);

#endif
