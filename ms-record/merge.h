/* SPDX-License-Identifier: MIT
 * The merge: items of all rings in the order of their stamps, to events of the trace.
 */
#ifndef MERGE_H
#define MERGE_H

#include <stdint.h>

struct session;

/* Merges every item whose stamp is below `limit` (UINT64_MAX = all). No item below it may arrive
 * later; items up to merge_lookahead() above it should have arrived, so that order can be repaired.
 */
void merge_until(struct session *s, uint64_t limit);
/* How far, in stamps, a free may be found late. */
uint64_t merge_lookahead(const struct session *s);

#endif
