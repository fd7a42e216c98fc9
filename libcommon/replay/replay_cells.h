/* SPDX-License-Identifier: MIT
 * Cells: what one thread allocated at one site in one size class; and the blocks of each site by
 * size class and by lifetime.
 *
 * An event changes one cell, and of its site what no sum of cells gives. All figures by thread, by
 * size, and by site and thread are sums of cells, made when the recording ends: so an event costs
 * the same however many tables there are. A live block knows its cell, by number; a cell's number
 * never changes.
 *
 * Most sites allocate one size class, few have more than four. When the recording ends the classes of
 * each site are placed side by side in one array, in ascending order; `classes` of the site has a bit
 * for each, so that the place of a class is the number of bits below its own.
 */
#pragma once

#include "replay.h"
#include "replay_private.h"

struct ms_replay_cell {
	struct ms_level live;
	uint64_t allocations, bytes, temporary;
	/* Blocks that came (or, negative, went) by no call: of a checkpoint, inferred frees. What
	 * was allocated or came so and is not live any more was freed. */
	uint64_t others;
	uint32_t site, thread;
	uint32_t record; /* its ms_replay_site_thread, after ms_replay_sum_cells */
	uint8_t class;
	bool restored; /* blocks of a checkpoint were put back into it */
};

static inline unsigned ms_bits(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* A site's thread and size class in one number. */
static inline uint32_t ms_cell_key(uint32_t thread, uint64_t size_bytes)
{
	unsigned bits = ms_bits(size_bytes);
	return thread << 6 | (bits < MS_SIZE_CLASSES ? bits : MS_SIZE_CLASSES - 1);
}
_Static_assert(MS_SIZE_CLASSES == 1u << 6 && MS_REPLAY_THREADS_MAX <= 1u << 26, "a key's bits");

/* Makes that cell the latest one of the site; made if there is none. */
void ms_replay_turn_to_cell(struct ms_replay *r, struct ms_replay_site *s, uint32_t key);

/* Number of the cell of blocks of that site, thread and size. */
static inline uint32_t ms_replay_cell_of(struct ms_replay *r, struct ms_replay_site *s,
					 uint32_t thread, uint64_t size_bytes)
{
	uint32_t key = ms_cell_key(thread, size_bytes);
	if (__builtin_expect(s->cell_key != key, 0))
		ms_replay_turn_to_cell(r, s, key);
	return s->cell;
}

/* ---- lifetimes ---- */

/* The class of an age. Without a branch: how long blocks live is what no processor can foresee. No
 * two classes begin between one power of two and the next. */
static inline unsigned ms_age_class(const struct ms_age_classes *c, uint64_t age)
{
	unsigned n = c->by_bits[ms_bits(age)];
	return n + (age > c->last[n]);
}

/* The site's first ms_replay_ages. */
void ms_replay_add_ages(struct ms_replay *r, struct ms_replay_site *s);
/* One of the site's blocks was freed, `ticks` and `allocations` after it was allocated. */
static inline void ms_replay_age(struct ms_replay *r, struct ms_replay_site *s, uint64_t ticks,
				 uint64_t allocations)
{
	if (__builtin_expect(s->ages == 0, 0))
		ms_replay_add_ages(r, s);
	struct ms_replay_ages *a = &r->ages[s->ages - 1];
	a->time[ms_age_class(&r->by_ticks, ticks)]++;
	a->allocations[ms_age_class(&r->by_allocations, allocations)]++;
}

/* ---- at the end ---- */

/* Sets what is a sum of cells: of sites, threads, their records and classes, and of sizes. */
void ms_replay_sum_cells(struct ms_replay *r);
/* After ms_replay_finish: gives back what is known of single sites by size and lifetime. */
void ms_replay_forget_classes(struct ms_replay *r);
/* Calls `each` for every class of a site, in ascending order. */
void ms_replay_each_class(const struct ms_replay *r, const struct ms_replay_site *s,
			  void (*each)(void *arg, unsigned class, const struct ms_replay_size *c),
			  void *arg);
