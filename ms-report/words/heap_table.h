/* SPDX-License-Identifier: MIT
 * Heaps of the program's own beside malloc's, as a table and in a line.
 */
#ifndef REPORT_HEAP_TABLE_H
#define REPORT_HEAP_TABLE_H

#include "table.h"

/* One row a heap, that with the most live bytes first. */
struct table table_heaps(struct model *m, size_t limit);
/* The same in a line, or NULL: there is but one. */
const char *heaps_line(struct model *m);

/* Functions that were to be hooked and that no process had: 'a', 'b'; or NULL. */
const char *heaps_missing(struct model *m);

#endif
