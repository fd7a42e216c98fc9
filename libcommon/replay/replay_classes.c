/* SPDX-License-Identifier: MIT
 * The blocks of each site by size class and by lifetime: the pool that classes live in.
 */
#include "replay_classes.h"

#include "libcommon/base/arena.h"
#include "replay_growth.h"

#include <string.h>

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

/* Room for `n` more elements at the pool's end. Returns the first. */
static uint32_t reserve(struct ms_replay *r, uint32_t n)
{
	if (r->class_count + n > r->class_cap) {
		r->class_cap = (r->class_count + n) * 2;
		r->classes = ms_xrealloc(r->classes, r->class_cap, sizeof *r->classes);
	}
	r->class_count += n;
	return (uint32_t)(r->class_count - n);
}

void ms_replay_turn_to_class(struct ms_replay *r, struct ms_replay_site *s, unsigned class)
{
	uint64_t bit = UINT64_C(1) << class;
	unsigned below = (unsigned)__builtin_popcountll(s->classes & (bit - 1));
	if (!(s->classes & bit)) {
		unsigned n = (unsigned)__builtin_popcountll(s->classes);
		if ((n & (n - 1)) == 0) { /* 0, 1, 2, 4...: the run is full */
			uint32_t to = reserve(r, n ? 2 * n : 1);
			memcpy(r->classes + to, r->classes + s->first_class,
			       n * sizeof *r->classes);
			s->first_class = to;
		}
		struct ms_replay_size *at = r->classes + s->first_class + below;
		memmove(at + 1, at, (n - below) * sizeof *at);
		*at = (struct ms_replay_size){0};
		s->classes |= bit;
	}
	s->latest = s->first_class + below;
	s->latest_class = (uint8_t) class;
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
	if (!s->classes) /* and perhaps no pool yet */
		return;
	const struct ms_replay_size *c = r->classes + s->first_class;
	for (unsigned class = 0; class < MS_SIZE_CLASSES; class ++)
		if (s->classes >> class & 1)
			each(arg, class, c++);
}
