/* SPDX-License-Identifier: MIT
 * Cells: finds them in a table, and sums them up.
 */
#include "replay_cells.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/ready.h"

#include <stdlib.h>
#include <string.h>

static uint32_t key_of(const struct ms_replay_cell *c)
{
	return c->thread << 6 | c->class;
}

void ms_replay_turn_to_cell(struct ms_replay *r, struct ms_replay_site *s, uint32_t key)
{
	uint32_t site = (uint32_t)(s - r->sites);
	uint32_t hash = ms_hash(site, key), n;
	size_t at = hash;
	while ((n = ms_lookup_next(&r->cell_index, hash, &at)))
		if (r->cells[n - 1].site == site && key_of(&r->cells[n - 1]) == key)
			break;
	if (!n) {
		size_t cap = r->cell_cap;
		*MS_APPEND(r->cells, r->cell_count, r->cell_cap) = (struct ms_replay_cell){
			.site = site, .thread = key >> 6, .class = key & (MS_SIZE_CLASSES - 1)};
		if (r->cell_cap != cap)
			ready_huge(r->cells, r->cell_cap * sizeof *r->cells);
		ms_lookup_add(&r->cell_index, hash, n = (uint32_t)r->cell_count);
	}
	s->cell = n - 1;
	s->cell_key = key;
}

void ms_replay_add_lifetimes(struct ms_replay *r, struct ms_replay_site *s)
{
	*MS_PUSH(&r->lifetimes) = (struct ms_replay_lifetimes){0};
	s->lifetimes = (uint32_t)r->lifetimes.n;
}

struct ms_replay_ages *ms_replay_carries(struct ms_replay *r, struct ms_replay_lifetimes *l)
{
	if (!l->carries) {
		*MS_PUSH(&r->carries) = (struct ms_replay_ages){0};
		l->carries = (uint32_t)r->carries.n;
	}
	return &r->carries.v[l->carries - 1];
}

const struct ms_replay_rare *ms_replay_rare_of(const struct ms_replay *r,
					       const struct ms_replay_site *s)
{
	static const struct ms_replay_rare none;
	return r->rare ? &r->rare[s - r->sites] : &none;
}

const struct ms_replay_lifetimes *ms_replay_lifetimes_of(const struct ms_replay *r,
							 const struct ms_replay_site *s)
{
	static const struct ms_replay_lifetimes none;
	return s->lifetimes && !r->brief ? &r->lifetimes.v[s->lifetimes - 1] : &none;
}

struct ms_replay_ages ms_replay_ages_of(const struct ms_replay *r, const struct ms_replay_site *s)
{
	const struct ms_replay_lifetimes *l = ms_replay_lifetimes_of(r, s);
	struct ms_replay_ages a = {0};
	if (l->carries)
		a = r->carries.v[l->carries - 1];
	for (unsigned i = 0; i < MS_AGES; i++) {
		a.time[i] = a.time[i] * 256 + l->time[i];
		a.allocations[i] = a.allocations[i] * 256 + l->between[i];
	}
	return a;
}

/* ---- sums ---- */

static void add_level(const struct ms_replay *r, struct ms_level *to, const struct ms_level *l)
{
	uint64_t bytes, blocks;
	ms_replay_at_peak(r, l, &bytes, &blocks);
	to->bytes += l->bytes;
	to->blocks += l->blocks;
	to->at_peak_bytes += bytes;
	to->at_peak_blocks += blocks;
	to->epoch = r->peak_epoch;
}

/* Allocates the size classes of all sites, zeroed. */
static void place_classes(struct ms_replay *r)
{
	r->class_count = 0;
	for (size_t i = 0; i < r->site_count; i++) {
		r->rare[i].first_class = (uint32_t)r->class_count;
		r->class_count += (unsigned)__builtin_popcountll(r->rare[i].classes);
	}
	free(r->classes);
	r->classes = ms_xcalloc(r->class_count, sizeof *r->classes);
}

/* Returns one size class of a site. */
static struct ms_replay_size *class_of(const struct ms_replay *r, uint32_t site, unsigned class)
{
	const struct ms_replay_rare *s = &r->rare[site];
	uint64_t below = s->classes & ((UINT64_C(1) << class) - 1);
	return &r->classes[s->first_class + (unsigned)__builtin_popcountll(below)];
}
static void add_size(const struct ms_replay *r, struct ms_replay_size *to,
		     const struct ms_replay_cell *c, uint64_t calls)
{
	add_level(r, &to->live, &c->live);
	to->allocations += calls;
	to->bytes += c->bytes;
	to->temporary += c->temporary;
}

/* Tells whether the cell had any blocks since counting began. */
static bool has_blocks(const struct ms_replay_cell *c)
{
	return c->allocations || c->restored;
}

/* Returns the index of the ms_replay_site_thread of a site and a thread. */
static uint32_t record_of(struct ms_replay *r, struct ms_lookup *index, uint32_t site,
			  uint32_t thread)
{
	uint32_t hash = ms_hash(site, thread), n;
	for (size_t at = hash; (n = ms_lookup_next(index, hash, &at));)
		if (r->records[n - 1].site == site && r->records[n - 1].thread == thread)
			return n - 1;
	*MS_APPEND(r->records, r->record_count, r->record_cap) =
		(struct ms_replay_site_thread){.site = site, .thread = thread};
	ms_lookup_add(index, hash, (uint32_t)r->record_count);
	return (uint32_t)r->record_count - 1;
}

void ms_replay_sum_cells(struct ms_replay *r)
{
	const struct ms_level none = {.epoch = r->peak_epoch};
	for (size_t i = 0; i < r->site_count; i++) {
		struct ms_replay_site *s = &r->sites[i];
		s->live = none;
		s->allocations = s->bytes = s->temporary = r->rare[i].frees = 0;
	}
	for (size_t i = 0; i < r->thread_count; i++) {
		struct ms_replay_thread *t = &r->threads[i];
		t->live = none;
		t->allocations = t->bytes = t->temporary = 0;
	}
	memset(r->sizes, 0, sizeof r->sizes);
	for (size_t i = 0; i < r->cell_count; i++) {
		const struct ms_replay_cell *c = &r->cells[i];
		struct ms_replay_site *s = &r->sites[c->site];
		struct ms_replay_thread *t = &r->threads[c->thread];
		uint64_t calls = ms_replay_calls(r, i);
		add_level(r, &s->live, &c->live);
		s->allocations += calls;
		s->bytes += c->bytes;
		r->rare[c->site].frees += c->allocations + c->others - c->live.blocks;
		s->temporary += c->temporary;
		add_level(r, &t->live, &c->live);
		t->allocations += calls;
		t->bytes += c->bytes;
		t->temporary += c->temporary;
		add_size(r, &r->sizes[c->class], c, calls);
	}
}

void ms_replay_sum_parts(struct ms_replay *r)
{
	struct ms_lookup records = {0};
	for (size_t i = 0; i < r->cell_count; i++)
		if (has_blocks(&r->cells[i]))
			r->rare[r->cells[i].site].classes |= UINT64_C(1) << r->cells[i].class;
	place_classes(r);
	for (size_t i = 0; i < r->cell_count; i++) {
		struct ms_replay_cell *c = &r->cells[i];
		if (has_blocks(c))
			add_size(r, class_of(r, c->site, c->class), c, c->allocations);
		c->record = UINT32_MAX;
		if (!c->allocations && !c->live.blocks)
			continue;
		c->record = record_of(r, &records, c->site, c->thread);
		struct ms_replay_site_thread *st = &r->records[c->record];
		st->allocations += c->allocations;
		st->bytes += c->bytes;
		st->live_bytes += c->live.bytes;
		st->live_blocks += c->live.blocks;
	}
	free(records.slots);
}

void ms_replay_forget_classes(struct ms_replay *r)
{
	free(r->classes);
	r->classes = NULL;
}

void ms_replay_each_class(const struct ms_replay *r, size_t site,
			  void (*each)(void *arg, unsigned class, const struct ms_replay_size *c),
			  void *arg)
{
	const struct ms_replay_rare *s = &r->rare[site];
	const struct ms_replay_size *c = r->classes + s->first_class;
	for (unsigned class = 0; class < MS_SIZE_CLASSES; class ++)
		if (s->classes >> class & 1)
			each(arg, class, c++);
}
