/* SPDX-License-Identifier: MIT
 * Sets the live-heap model to a state: that of a checkpoint, or zero counts from a moment on.
 */
#include "replay_private.h"

#include "replay_cells.h"
#include "replay_cohorts.h"
#include "replay_growth.h"
#include "replay_mapped.h"
#include "replay_sampled.h"

/* ---- what is live, without counting it as allocated ---- */

static void put_in_cell(struct ms_replay *r, uint32_t cell, uint64_t size)
{
	struct ms_replay_cell *c = &r->cells[cell];
	ms_replay_touch(&c->live, r->peak_epoch);
	c->live.bytes += size;
	c->live.blocks++;
	c->others++;
	c->restored = true;
}

static void put_live(struct ms_replay *r, uint32_t site, uint64_t size)
{
	struct ms_replay_site *s = &r->sites[site];
	if (r->brief)
		ms_replay_touch(&s->live, r->peak_epoch);
	r->touched[site] = 1;
	s->live.bytes += size;
	s->live.blocks++;
	if (s->live.bytes > s->max_live_bytes)
		s->max_live_bytes = s->live.bytes;
	if (s->live.blocks > s->max_live_blocks)
		s->max_live_blocks = s->live.blocks;
	r->live_bytes += size;
	r->live_blocks++;
}

static void forget_live(struct ms_replay *r)
{
	for (size_t i = 0; i < r->site_count; i++) {
		if (r->brief)
			ms_replay_touch(&r->sites[i].live, r->peak_epoch);
		r->touched[i] = 1;
		r->sites[i].live.bytes = r->sites[i].live.blocks = 0;
	}
	for (size_t i = 0; i < r->cell_count; i++) {
		struct ms_replay_cell *c = &r->cells[i];
		ms_replay_touch(&c->live, r->peak_epoch);
		c->others -= c->live.blocks;
		c->live.bytes = c->live.blocks = 0;
	}
	ms_cohorts_forget(r);
	r->live_bytes = r->live_blocks = 0;
}

/* Records the present live bytes as the peak; they exceed every earlier value. */
static void set_peak(struct ms_replay *r, uint64_t tick)
{
	r->peak_bytes = r->live_bytes;
	r->peak_blocks = r->live_blocks;
	r->peak_tick = tick;
	r->peak_position = r->position;
	r->peak_epoch++;
	if (r->beside)
		ms_beside_peak(r);
}

/* ---- the timeline ---- */

/* Begins the timeline at `tick` with the live blocks. Earlier spans are made neutral, so that
 * merging spans ignores them. */
static void begin_timeline(struct ms_replay *r, uint64_t tick)
{
	ms_replay_move_timeline(r, tick);
	for (size_t i = 0; i < r->span; i++)
		r->spans[i] = (struct ms_replay_span){.live_min = UINT64_MAX};
	r->spans[r->span] =
		(struct ms_replay_span){.live_min = r->live_bytes, .live_max = r->live_bytes};
	r->open = (struct ms_replay_span){
		.allocations = r->allocations, .frees = r->frees, .bytes = r->bytes};
	r->from_tick = tick;
	ms_growth_begin(r, tick);
	ms_cohorts_begin(r, tick);
}

/* ---- a checkpoint ---- */

/* Marks moments that the checkpoint skips as missed. */
static void miss_moments(struct ms_replay *r, const struct ms_checkpoint_head *h)
{
	for (size_t i = 0; i < r->moment_count; i++) {
		struct ms_replay_moment *m = &r->moments[i];
		bool over = m->tick != MS_NEVER ? m->tick <= h->tick : m->event < h->event;
		m->missed |= !m->taken && over;
	}
}

bool ms_replay_restore(struct ms_replay *r, const struct ms_checkpoint_head *h, bool anew)
{
	if (h->event < r->position || h->number < r->next_number || h->tick < r->last_tick ||
	    h->tick > r->tick_limit)
		return false;
	if (anew)
		miss_moments(r, h);
	r->brief &= r->site_count != 0;
	r->restored_threads.n = 0;
	r->last_tick = h->tick;
	r->next_number = h->number;
	r->position = h->event;
	r->restored = 0;
	forget_live(r);
	ms_blocks_clear(&r->blocks);
	r->restored_bytes = 0;
	if (r->sampled)
		ms_sampled_restore(r);
	if (r->beside)
		ms_beside_restore(r);
	return true;
}

bool ms_replay_restore_block(struct ms_replay *r, const struct ms_checkpoint_block *b)
{
	if (b->thread >= MS_REPLAY_THREADS_MAX || b->number < r->restored ||
	    b->number >= r->next_number || !ms_event_size_fits(b->size))
		return false;
	r->restored = b->number + 1;
	ms_replay_more_threads(r, (size_t)b->thread + 1);
	struct ms_replay_thread *t = &r->threads[b->thread];
	uint64_t tick = b->tick < r->last_tick ? b->tick : r->last_tick;
	if (!t->seen || tick < t->first_tick)
		t->first_tick = tick;
	t->seen = true;
	uint32_t site = ms_replay_site_of(r, b->stack);
	uint64_t size = ms_sampled_size(r->sampled, b->size);
	uint32_t owner = r->brief ? site : ms_replay_cell_of(r, &r->sites[site], b->thread, size);
	ms_blocks_add(&r->blocks, b->number, b->size, tick, owner);
	r->restored_bytes += b->size;
	if (r->sampled)
		ms_sampled_put(r, b->number, &(struct ms_live_block){b->size, tick, owner});
	if (r->beside)
		ms_beside_added(r, b->number, b->slack, site);
	if (r->brief)
		*MS_PUSH(&r->restored_threads) = (struct ms_replay_restored){b->number, b->thread};
	else
		put_in_cell(r, owner, size);
	if (b->number < r->cohort_first)
		ms_cohorts_put(r, b->number, tick, size);
	put_live(r, site, size);
	return true;
}

/* Notes the thread of a live block, if it is one of the checkpoint. */
static void note_restored(void *arg, uint64_t number, const struct ms_live_block *b)
{
	struct ms_replay *r = arg;
	size_t lo = 0, hi = r->restored_threads.n;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (r->restored_threads.v[mid].number < number)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < r->restored_threads.n && r->restored_threads.v[lo].number == number)
		ms_replay_note_thread(&r->sites[b->owner], r->restored_threads.v[lo].thread);
}

void ms_replay_note_restored(struct ms_replay *r)
{
	ms_blocks_each(&r->blocks, note_restored, r);
}

void ms_replay_restore_last(struct ms_replay *r, uint32_t thread, uint64_t number)
{
	if (number == MS_NEVER || thread >= MS_REPLAY_THREADS_MAX || number >= r->next_number)
		return;
	ms_replay_more_threads(r, (size_t)thread + 1);
	r->threads[thread].last = number;
}

bool ms_replay_restored(struct ms_replay *r, const struct ms_checkpoint_head *h, bool anew)
{
	if (anew)
		begin_timeline(r, h->tick);
	if (r->live_bytes > r->run_max) {
		r->run_max = r->live_bytes;
		r->run_max_tick = h->tick;
	}
	if (r->live_bytes > r->peak_bytes)
		set_peak(r, h->tick);
	struct ms_replay_span *s = &r->spans[r->span];
	s->live_min = r->live_bytes < s->live_min ? r->live_bytes : s->live_min;
	s->live_max = r->live_bytes > s->live_max ? r->live_bytes : s->live_max;
	return r->restored_bytes == h->live_bytes && r->live_blocks == h->live_blocks;
}

/* ---- counting anew ---- */

/* Resets all counts except live ones. Live blocks keep their cells; cells without live blocks are
 * reset completely. */
static void forget_counts(struct ms_replay *r)
{
	for (size_t i = 0; i < r->site_count; i++) {
		r->sites[i] = ms_replay_idle_site(r->sites[i].node);
		r->rare[i] = (struct ms_replay_rare){0};
	}
	for (size_t i = 0; i < r->thread_count; i++) {
		struct ms_replay_thread *t = &r->threads[i];
		*t = (struct ms_replay_thread){.last = t->last,
					       .first_tick = t->first_tick,
					       .last_tick = t->last_tick,
					       .seen = t->seen};
	}
	for (size_t i = 0; i < r->cell_count; i++) {
		struct ms_replay_cell *c = &r->cells[i];
		struct ms_replay_site *s = &r->sites[c->site];
		c->allocations = c->bytes = c->temporary = 0;
		c->others = c->live.blocks;
		c->restored = c->live.blocks != 0;
		s->max_live_bytes = s->live.bytes += c->live.bytes;
		s->max_live_blocks = s->live.blocks += c->live.blocks;
	}
	r->lifetimes.n = r->carries.n = 0;
	r->explained = r->explained == r->events + 1; /* if the next event is an explained free, its
							 new number is 1 */
	r->events = r->allocations = r->frees = r->reallocations = r->failed = 0;
	r->bytes = r->temporary = r->freed_soon = r->inferred_frees = r->unknown_frees = 0;
	r->inherited_frees = r->inherited_freed_bytes = r->before_frees = r->before_freed_bytes = 0;
}

void ms_replay_begin(struct ms_replay *r, uint64_t tick)
{
	ms_replay_move_timeline(r, tick);
	forget_counts(r);
	begin_timeline(r, tick);
	if (r->beside)
		ms_beside_begin(r, tick);
	if (r->sampled)
		ms_sampled_begin(r);
	for (size_t i = 0; i < r->backing.n; i++) {
		r->backing.v[i].taken = 0;
		r->backing.v[i].most_bytes = r->backing.v[i].bytes;
	}
	set_peak(r, tick);
	r->run_max = r->live_bytes;
	r->run_max_tick = tick;
}
