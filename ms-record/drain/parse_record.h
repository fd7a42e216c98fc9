/* SPDX-License-Identifier: MIT
 * The layout of records in a ring: the length of each kind and the positions of its parts.
 *
 * A word of shared memory is read once into a local: the process that wrote it may change it at
 * any time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ms-record/guest/layout.h"

/* Describes a record in a ring's window; its words begin at `w`. */
struct record {
	const uint64_t *w;
	uint8_t kind, flags;
	uint32_t count, keep;
	uint64_t stamp; /* set if records of this kind have a stamp */
	uint64_t left;  /* bytes left to read in the ring, from this record on */
};

static inline uint64_t word(const struct record *c, unsigned i)
{
	return __atomic_load_n(&c->w[i], __ATOMIC_RELAXED);
}

#define SET(kind) (1u << (kind))
#define EVENTS (SET(MG_ALLOC) | SET(MG_FREE) | SET(MG_USER_ALLOC) | SET(MG_USER_FREE))
#define HAVE_FRAMES                                                                                \
	(EVENTS | SET(MG_REALLOC) | SET(MG_FAILED) | SET(MG_PUSH) | SET(MG_MAP) | SET(MG_UNMAP) |  \
	 SET(MG_USER_REALLOC) | SET(MG_HEAP_ALLOC) | SET(MG_HEAP_REALLOC) | SET(MG_ALLOC_WHOLE))
#define HAVE_NO_STAMP (SET(MG_PUSH) | SET(MG_WRAP) | SET(MG_CODE))
#define MAY_BE_USABLE (SET(MG_ALLOC) | SET(MG_REALLOC))

static inline bool is_one(uint8_t kind, unsigned set)
{
	return set >> (kind & 31) & 1;
}

/* Returns the number of words before the frames in a record of this kind; 0 = unknown kind. */
static inline unsigned fixed_words(uint8_t kind)
{
	static const uint8_t words[32] = {
		[MG_ALLOC] = 4,        [MG_FREE] = 3,         [MG_REALLOC] = 6,
		[MG_FAILED] = 3,       [MG_PUSH] = 1,         [MG_THREAD] = 4,
		[MG_EPOCH] = 3,        [MG_MARK] = 3,         [MG_COPY] = 4,
		[MG_WRAP] = 1,         [MG_USER_ALLOC] = 4,   [MG_USER_FREE] = 3,
		[MG_MAP] = 6,          [MG_UNMAP] = 5,        [MG_FORK] = 2,
		[MG_PAUSE] = 3,        [MG_USER_REALLOC] = 6, [MG_HEAP_ALLOC] = 6,
		[MG_HEAP_REALLOC] = 8, [MG_HEAP_BACKING] = 5, [MG_POOL] = 6,
		[MG_CODE] = 4,         [MG_ALLOC_WHOLE] = 4,  [MG_IGNORE] = 3,
		[MG_LABEL] = 3};
	return kind < 32 ? words[kind] : 0;
}

/* Returns the number of words before the frames, including the usable size if the record has
 * one. */
static inline unsigned head_words(const struct record *c)
{
	bool usable = c->flags & MG_F_USABLE && is_one(c->kind, MAY_BE_USABLE);
	return fixed_words(c->kind) + usable;
}

static inline const uint64_t *frames_of(const struct record *c)
{
	return c->w + head_words(c);
}

/* Returns the block's slack as in struct ms_event: usable size - size + 1; 0 = the usable size is
 * unknown. */
static inline uint32_t slack_of(const struct record *c, uint64_t size)
{
	unsigned fixed = fixed_words(c->kind);
	if (head_words(c) == fixed)
		return 0;
	uint64_t usable = word(c, fixed), slack = usable > size ? usable - size : 0;
	return slack < UINT32_MAX - 1 ? (uint32_t)slack + 1 : UINT32_MAX - 1;
}
