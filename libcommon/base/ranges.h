/* SPDX-License-Identifier: MIT
 * Ranges of addresses that do not overlap, each with an owner: mapped memory, and the stack that
 * mapped it.
 *
 * A sorted list in chunks: binary search finds the chunk, and the range in it. Adding or removing a
 * range moves at most one chunk's elements; full chunks are split, empty ones freed. Adjacent
 * ranges of one owner in the same chunk are merged, so that memory mapped in small steps takes few
 * ranges.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define MS_RANGES_CHUNK 256u

struct ms_range {
	uint64_t start, end; /* end: one past the last address */
	uint32_t owner;
};

struct ms_ranges {
	struct ms_range_chunk {
		uint32_t n;
		struct ms_range v[MS_RANGES_CHUNK];
	} * *chunks; /* no chunk is empty */
	size_t n, cap;
	uint64_t bytes; /* sum of all ranges */
};

/* Frees the ranges. All zero = no ranges. */
void ms_ranges_free(struct ms_ranges *r);
/* Removes the ranges in [start, end). `f` (may be NULL) is called for each piece, in address order.
 * Returns the number of bytes removed. */
uint64_t ms_ranges_cut(struct ms_ranges *r, uint64_t start, uint64_t end,
		       void (*f)(void *arg, const struct ms_range *piece), void *arg);
/* Adds [start, end), which must be free (ms_ranges_cut) and not empty. */
void ms_ranges_add(struct ms_ranges *r, uint64_t start, uint64_t end, uint32_t owner);
/* Returns the first range that ends after `address`, or NULL. Valid until the next change. */
const struct ms_range *ms_ranges_find(const struct ms_ranges *r, uint64_t address);
/* Calls `f` for all ranges, in address order. */
void ms_ranges_each(const struct ms_ranges *r, void (*f)(void *arg, const struct ms_range *range),
		    void *arg);
