/* SPDX-License-Identifier: MIT
 * Mapped address space and usable sizes: what the program has besides the bytes that it asked for.
 */
#ifndef REPORT_MMAP_USAGE_H
#define REPORT_MMAP_USAGE_H

#include "model.h"

/* At the moments of that label, of all processes. */
struct mmap_usage mmap_usage_at(const struct model *m, const char *label);
/* Live bytes and RSS then. */
void mmap_usage_live(const struct model *m, const char *label, uint64_t *live, uint64_t *rss);
/* Is the heap no part of what is mapped? glibc takes it by calls of its own, which nobody sees;
 * other allocators' are recorded. */
bool mmap_usage_heap_is_apart(const struct model *m);
/* Is the peak one moment, or each process's own? */
bool mmap_usage_one_peak(const struct model *m);

#endif
