/* SPDX-License-Identifier: MIT
 * The blocks of each site by size class and by lifetime.
 *
 * Most sites allocate one size class, few have more than four. When the recording ends the classes of
 * each site are placed side by side in one array, in ascending order; `classes` of the site has a bit
 * for each, so that the place of a class is the number of bits below its own.
 */
#pragma once

#include "replay.h"

/* The class of the least number of allocations with so many bits: a power of ten lies at most once
 * between two powers of two. */
extern const uint8_t ms_age_by_bits[65];
/* Where the class behind a class begins; the last has none. */
extern const uint64_t ms_age_next[MS_AGES];

/* Gives each site room for its `classes`, all zero. */
void ms_replay_place_classes(struct ms_replay *r);
/* One of them. */
static inline struct ms_replay_size *ms_replay_class(const struct ms_replay *r,
						     const struct ms_replay_site *s, unsigned class)
{
	uint64_t below = s->classes & ((UINT64_C(1) << class) - 1);
	return &r->classes[s->first_class + (unsigned)__builtin_popcountll(below)];
}
/* The site's first ms_replay_ages. */
void ms_replay_add_ages(struct ms_replay *r, struct ms_replay_site *s);

static inline unsigned ms_bits(uint64_t v)
{
	return v ? 64 - (unsigned)__builtin_clzll(v) : 0;
}

static inline unsigned ms_replay_class_of(uint64_t size_bytes)
{
	unsigned bits = ms_bits(size_bytes);
	return bits < MS_SIZE_CLASSES ? bits : MS_SIZE_CLASSES - 1;
}

/* One of the site's blocks was freed, `ticks` and `allocations` after it was allocated. */
static inline void ms_replay_age(struct ms_replay *r, struct ms_replay_site *s, uint64_t ticks,
				 uint64_t allocations)
{
	if (__builtin_expect(s->ages == 0, 0))
		ms_replay_add_ages(r, s);
	struct ms_replay_ages *a = &r->ages[s->ages - 1];
	/* Hardly a branch: how long blocks live is what no processor can foresee. */
	unsigned t = r->age_by_bits[ms_bits(ticks)], n = ms_age_by_bits[ms_bits(allocations)];
	while (t < MS_AGES - 1 && ticks >= r->age_ticks[t])
		t++;
	n += allocations >= ms_age_next[n];
	a->time[t]++;
	a->allocations[n]++;
}

/* Calls `each` for every class of a site, in ascending order. */
void ms_replay_each_class(const struct ms_replay *r, const struct ms_replay_site *s,
			  void (*each)(void *arg, unsigned class, const struct ms_replay_size *c),
			  void *arg);
