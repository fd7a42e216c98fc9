/* SPDX-License-Identifier: MIT
 * Populates memory that is about to be written in one call: a fault for each page costs several
 * times as much.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* since Linux 5.14; refused by older kernels, harmlessly */
#endif

/* Populates the whole pages between `from` and `from + bytes`. */
static inline void ready_memory(const void *from, size_t bytes)
{
	uintptr_t page = 4096, first = ((uintptr_t)from + page - 1) & ~(page - 1);
	uintptr_t end = ((uintptr_t)from + bytes) & ~(page - 1);
	if (end > first)
		madvise((void *)first, end - first, MADV_POPULATE_WRITE);
}
