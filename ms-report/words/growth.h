/* SPDX-License-Identifier: MIT
 * Growth: which sites' live memory trends upwards.
 */
#ifndef REPORT_GROWTH_H
#define REPORT_GROWTH_H

#include "say.h"
#include "table.h"

struct style;

/* The whole heap of each process, then growing sites, fastest first, then those that fill or went
 * up in a step. `reach`: a size in bytes; how long each growing one takes until it has that is
 * told; 0 = none. */
struct table table_growth(struct model *m, uint64_t reach, size_t limit);

/* Appends the fastest growing sites in a phrase each; nothing where none grows. */
void growth_words(struct model *m, const struct style *st, struct words *w);

#endif
