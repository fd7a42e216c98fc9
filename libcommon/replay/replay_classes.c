/* SPDX-License-Identifier: MIT
 * The blocks of each site by size class and by lifetime: the pool that classes live in.
 */
#include "replay_classes.h"

#include "libcommon/base/arena.h"
#include "replay_growth.h"

#include <stdlib.h>

const uint64_t ms_age_ns[MS_AGES] = {
	0,
	UINT64_C(1000000),
	UINT64_C(10000000),
	UINT64_C(100000000),
	UINT64_C(1000000000),
	UINT64_C(10000000000),
	UINT64_C(60000000000),
	UINT64_C(600000000000),
	UINT64_C(3600000000000),
};
const uint64_t ms_age_allocations[MS_AGES] = {
	0, 1, 10, 100, 1000, 10000, 100000, 1000000, 10000000,
};

const uint64_t ms_age_next[MS_AGES] = {
	1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, UINT64_MAX,
};
const uint8_t ms_age_by_bits[65] = {0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5,
				    5, 6, 6, 6, 7, 7, 7, 7, 8, 8, 8, 8, 8, 8, 8, 8, 8,
				    8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8,
				    8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8};

void ms_replay_tick(struct ms_replay *r, uint64_t tick_ns)
{
	for (unsigned i = 0; i < MS_AGES - 1; i++)
		r->age_ticks[i] = (ms_age_ns[i + 1] + tick_ns - 1) / tick_ns;
	r->age_ticks[MS_AGES - 1] = MS_NEVER;
	for (unsigned bits = 0, class = 0; bits <= 64; bits++) {
		uint64_t least = bits ? UINT64_C(1) << (bits - 1) : 0;
		while (class < MS_AGES - 1 && least >= r->age_ticks[class])
			class ++;
		r->age_by_bits[bits] = (uint8_t) class;
	}
	ms_growth_start(r, tick_ns);
}

void ms_replay_place_classes(struct ms_replay *r)
{
	r->class_count = 0;
	for (size_t i = 0; i < r->site_count; i++) {
		r->sites[i].first_class = (uint32_t)r->class_count;
		r->class_count += (unsigned)__builtin_popcountll(r->sites[i].classes);
	}
	free(r->classes);
	r->classes = ms_xcalloc(r->class_count, sizeof *r->classes);
}

void ms_replay_add_ages(struct ms_replay *r, struct ms_replay_site *s)
{
	*MS_APPEND(r->ages, r->age_count, r->age_cap) = (struct ms_replay_ages){0};
	s->ages = (uint32_t)r->age_count;
}

void ms_replay_each_class(const struct ms_replay *r, const struct ms_replay_site *s,
			  void (*each)(void *arg, unsigned class, const struct ms_replay_size *c),
			  void *arg)
{
	const struct ms_replay_size *c = r->classes + s->first_class;
	for (unsigned class = 0; class < MS_SIZE_CLASSES; class ++)
		if (s->classes >> class & 1)
			each(arg, class, c++);
}
