/* SPDX-License-Identifier: MIT
 * Ranges of addresses that do not overlap, each with an owner: what is mapped, and by which stack.
 *
 * A sorted list in chunks: chunks are found by binary search, and so is a range in its chunk. To
 * add or remove moves at most a chunk; a full chunk is split, an empty one goes. Neighbours of one
 * owner that touch are one range where they meet in a chunk, so that memory taken in small steps
 * stays small here.
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
	} * *chunks; /* none is empty */
	size_t n, cap;
	uint64_t bytes; /* of all ranges */
};

/* All zero is an empty one. */
void ms_ranges_free(struct ms_ranges *r);
/* The part of [start, end) that is there goes: `f` (may be NULL) is called for each piece, in order
 * of address. Returns the bytes. */
uint64_t ms_ranges_cut(struct ms_ranges *r, uint64_t start, uint64_t end,
		       void (*f)(void *arg, const struct ms_range *piece), void *arg);
/* Adds [start, end), which must be free (ms_ranges_cut) and not empty. */
void ms_ranges_add(struct ms_ranges *r, uint64_t start, uint64_t end, uint32_t owner);
/* The first range that ends behind `address`, or NULL. Valid until the next change. */
const struct ms_range *ms_ranges_find(const struct ms_ranges *r, uint64_t address);
/* Calls `f` for all, in order of address. */
void ms_ranges_each(const struct ms_ranges *r, void (*f)(void *arg, const struct ms_range *range),
		    void *arg);
