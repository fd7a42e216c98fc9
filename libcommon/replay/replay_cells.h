/* SPDX-License-Identifier: MIT
 * Cells: the allocations of one thread at one site in one size class; and the blocks of each site
 * by size class and by lifetime.
 *
 * An event changes one cell, and those figures of its site that are not sums over cells. All
 * figures by thread, by size, and by site and thread are sums of cells, computed when they are
 * needed, so the cost of an event does not depend on the number of tables. A live block stores the
 * number of its cell, which never changes.
 *
 * Most sites allocate one size class, few have more than four. When the recording ends, the classes
 * of each site are stored side by side in one array, in ascending order. The bit set `classes` of
 * the site tells which there are, so the index of a class is the number of bits below its own.
 */
#pragma once

#include "replay.h"
#include "replay_private.h"
#include "replay_sampled.h"

struct ms_replay_cell {
	struct ms_level live;
	uint64_t allocations, bytes, temporary;
	/* Blocks added (or, if negative, removed) without a call: blocks of a checkpoint, and
	 * inferred frees. Frees = allocations + others - live blocks. */
	uint64_t others;
	uint32_t site, thread;
	uint32_t record; /* index of the cell's ms_replay_site_thread, after ms_replay_sum_parts */
	uint8_t class;
	bool restored; /* the cell has blocks of a checkpoint */
};

static inline unsigned ms_bits(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

/* Returns a cell's key: its thread and size class, packed into one number. */
static inline uint32_t ms_cell_key(uint32_t thread, uint64_t size_bytes)
{
	unsigned bits = ms_bits(size_bytes);
	return thread << 6 | (bits < MS_SIZE_CLASSES ? bits : MS_SIZE_CLASSES - 1);
}
_Static_assert(MS_SIZE_CLASSES == 1u << 6 && MS_REPLAY_THREADS_MAX <= 1u << 26, "a key's bits");

/* Makes the cell with that key the site's current one; creates the cell if needed. */
void ms_replay_turn_to_cell(struct ms_replay *r, struct ms_replay_site *s, uint32_t key);

/* Returns the number of the cell for a site, a thread and a size. */
static inline uint32_t ms_replay_cell_of(struct ms_replay *r, struct ms_replay_site *s,
					 uint32_t thread, uint64_t size_bytes)
{
	uint32_t key = ms_cell_key(thread, size_bytes);
	if (__builtin_expect(s->cell_key != key, 0))
		ms_replay_turn_to_cell(r, s, key);
	return s->cell;
}

/* Returns the site of a live block: its owner is a cell, in a brief replay the site itself. */
static inline uint32_t ms_replay_site_of_block(const struct ms_replay *r,
					       const struct ms_live_block *b)
{
	return r->brief ? b->owner : r->cells[b->owner].site;
}

/* ---- lifetimes ---- */

/* Returns the class of an age. Branch-free, since lifetimes are unpredictable. At most one class
 * begins between a power of two and the next. */
static inline unsigned ms_age_class(const struct ms_age_classes *c, uint64_t age)
{
	unsigned n = c->by_bits[ms_bits(age)];
	return n + (age > c->last[n]);
}

/* Creates the ms_replay_lifetimes of a site. */
void ms_replay_add_lifetimes(struct ms_replay *r, struct ms_replay_site *s);
/* Returns what classes of these lifetimes carry, in multiples of 256. */
struct ms_replay_ages *ms_replay_carries(struct ms_replay *r, struct ms_replay_lifetimes *l);
/* Counts a freed block of the site, `ticks` and `allocations` after its allocation. */
static inline void ms_replay_age(struct ms_replay *r, struct ms_replay_site *s, uint64_t ticks,
				 uint64_t allocations)
{
	if (__builtin_expect(s->lifetimes == 0, 0))
		ms_replay_add_lifetimes(r, s);
	struct ms_replay_lifetimes *l = &r->lifetimes.v[s->lifetimes - 1];
	unsigned time = ms_age_class(&r->by_ticks, ticks),
		 between = ms_age_class(&r->by_allocations, allocations);
	l->ticks += ticks;
	l->allocations += allocations;
	if (__builtin_expect(++l->time[time] == 0, 0))
		ms_replay_carries(r, l)->time[time]++;
	if (__builtin_expect(++l->between[between] == 0, 0))
		ms_replay_carries(r, l)->allocations[between]++;
}

/* ---- sums ---- */

/* Returns the allocations of a cell; in a sampled recording an estimate. */
static inline uint64_t ms_replay_calls(const struct ms_replay *r, size_t cell)
{
	const struct ms_sampled *s = r->sampled;
	return !s ? r->cells[cell].allocations : cell < s->cell_count ? s->allocations[cell] : 0;
}

/* Computes the figures of sites, threads and sizes, which are sums of cells. More events may follow,
 * after which the sums can be computed again. */
void ms_replay_sum_cells(struct ms_replay *r);
/* Computes the figures of each site by thread and by class. Call once, at the end. */
void ms_replay_sum_parts(struct ms_replay *r);
/* Frees the figures of single sites by size. Call after ms_replay_finish. */
void ms_replay_forget_classes(struct ms_replay *r);
/* Calls `each` for every class of a site, in ascending order. */
void ms_replay_each_class(const struct ms_replay *r, size_t site,
			  void (*each)(void *arg, unsigned class, const struct ms_replay_size *c),
			  void *arg);
