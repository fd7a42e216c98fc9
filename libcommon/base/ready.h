/* SPDX-License-Identifier: MIT
 * Tells the kernel how memory will be used, so that it causes fewer page faults and TLB misses.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14; refused by older kernels, harmlessly */
#endif

/* Minimum size for huge pages: the kernel clears a whole one at the first write, too much for a
 * small table. */
#define READY_HUGE_FROM ((size_t)4 << 20) /* bytes */

/* Has the kernel use huge pages, if available, for a large table that is accessed at random. */
static inline void ready_huge(const void *from, size_t bytes)
{
	uintptr_t page = 4096, first = ((uintptr_t)from + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)from + bytes) & ~(page - 1);
	if (bytes >= READY_HUGE_FROM)
		madvise((void *)first, end - first, MADV_HUGEPAGE);
}

/* Populates the whole pages between `from` and `from + bytes` that are about to be written: a fault
 * for each page costs several times as much. */
static inline void ready_memory(const void *from, size_t bytes)
{
	uintptr_t page = 4096, first = ((uintptr_t)from + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)from + bytes) & ~(page - 1);
	if (end > first)
		madvise((void *)first, end - first, MADV_POPULATE_WRITE);
}
