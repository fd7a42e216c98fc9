/* SPDX-License-Identifier: MIT
 * The live-heap model's short way for many events.
 *
 * Nearly all events of nearly all recordings are allocations and frees of known blocks at sites
 * that were seen before, by threads that were seen before, between two alarms. These are applied
 * here with the totals in registers; whatever else comes is left to replay.c. Both do the same.
 */
#include "replay_cells.h"
#include "replay_private.h"

/* Events this far ahead are looked at, so that the blocks that they free are at hand. */
#define LOOK_AHEAD 12

/* What every event changes, out of memory. */
struct totals {
	uint64_t live_bytes, live_blocks, bytes, allocations, frees, temporary, next_number;
	uint64_t last_tick, span_min, span_max, run_max, epoch;
};

static inline struct totals take_totals(const struct ms_replay *r)
{
	const struct ms_replay_span *s = &r->spans[r->span];
	return (struct totals){
		.live_bytes = r->live_bytes,
		.live_blocks = r->live_blocks,
		.bytes = r->bytes,
		.allocations = r->allocations,
		.frees = r->frees,
		.temporary = r->temporary,
		.next_number = r->next_number,
		.last_tick = r->last_tick,
		.span_min = s->live_min,
		.span_max = s->live_max,
		.run_max = r->run_max,
		.epoch = r->peak_epoch,
	};
}

/* Puts them back; `n` events were applied since they were taken. */
static inline void put_totals(struct ms_replay *r, const struct totals *t, size_t n)
{
	r->live_bytes = t->live_bytes;
	r->live_blocks = t->live_blocks;
	r->bytes = t->bytes;
	r->allocations = t->allocations;
	r->frees = t->frees;
	r->temporary = t->temporary;
	r->next_number = t->next_number;
	r->last_tick = t->last_tick;
	r->spans[r->span].live_min = t->span_min;
	r->spans[r->span].live_max = t->span_max;
	r->run_max = t->run_max;
	r->peak_epoch = t->epoch;
	r->events += n;
	r->position += n;
}

static inline void change_cell(struct ms_replay_cell *c, uint64_t epoch, uint64_t bytes,
			       uint64_t blocks)
{
	if (c->live.epoch != epoch) {
		c->live.epoch = epoch;
		c->live.at_peak_bytes = c->live.bytes;
		c->live.at_peak_blocks = c->live.blocks;
	}
	c->live.bytes += bytes;
	c->live.blocks += blocks;
}

static inline bool quick_free(struct ms_replay *r, struct totals *t, const struct ms_event *ev,
			      struct ms_replay_thread *thread)
{
	struct ms_wide_block b;
	if (__builtin_expect(!ms_blocks_take(&r->blocks, ev->freed, &b), 0))
		return false;
	struct ms_replay_cell *c = &r->cells[b.owner];
	struct ms_replay_site *s = &r->sites[c->site];
	change_cell(c, t->epoch, 0 - b.size, UINT64_MAX);
	s->live.bytes -= b.size;
	s->live.blocks--;
	uint64_t lived = ev->time_ticks - b.tick, between = t->next_number - ev->freed - 1;
	s->lifetime_ticks += lived;
	s->lifetime_allocations += between;
	ms_replay_age(r, s, lived, between);
	bool temporary = thread->last == ev->freed;
	c->temporary += temporary;
	t->temporary += temporary;
	t->live_bytes -= b.size;
	t->live_blocks--;
	t->frees++;
	thread->frees++;
	if (t->live_bytes < t->span_min)
		t->span_min = t->live_bytes;
	return true;
}

/* `position`: of this event. */
static inline bool quick_allocation(struct ms_replay *r, struct totals *t,
				    const struct ms_event *ev, struct ms_replay_thread *thread,
				    uint64_t position)
{
	uint32_t site = ev->stack < r->node_count ? r->site_of_node[ev->stack] : 0;
	if (__builtin_expect(!site || ev->number < t->next_number, 0))
		return false;
	uint64_t size = ev->size;
	struct ms_replay_site *s = &r->sites[site - 1];
	uint32_t cell = ms_replay_cell_of(r, s, ev->thread, size);
	struct ms_replay_cell *c = &r->cells[cell];
	ms_blocks_add(&r->blocks, ev->number, size, ev->time_ticks, cell);
	change_cell(c, t->epoch, size, 1);
	c->allocations++;
	c->bytes += size;
	uint64_t bytes = s->live.bytes += size, blocks = ++s->live.blocks;
	s->max_live_bytes = bytes > s->max_live_bytes ? bytes : s->max_live_bytes;
	s->max_live_blocks = blocks > s->max_live_blocks ? blocks : s->max_live_blocks;
	s->min_size = size < s->min_size ? size : s->min_size;
	s->max_size = size > s->max_size ? size : s->max_size;
	ms_replay_seen_at(s, ev->time_ticks);
	thread->last = ev->number;
	t->next_number = ev->number + 1;
	t->allocations++;
	t->bytes += size;
	t->live_bytes += size;
	t->live_blocks++;
	t->span_max = t->live_bytes > t->span_max ? t->live_bytes : t->span_max;
	if (t->live_bytes <= t->run_max)
		return true;
	t->run_max = t->live_bytes;
	r->run_max_tick = ev->time_ticks;
	if (t->live_bytes <= r->peak_bytes)
		return true;
	r->peak_bytes = t->live_bytes;
	r->peak_blocks = t->live_blocks;
	r->peak_tick = ev->time_ticks;
	r->peak_position = position + 1;
	t->epoch++;
	return true;
}

size_t ms_replay_quick(struct ms_replay *r, const struct ms_event *ev, size_t n)
{
	struct totals t = take_totals(r);
	size_t i = 0;
	if (r->alarm_tick <= r->last_tick) /* gone off already */
		return 0;
	for (; i < n; i++, ev++) {
		if (i + LOOK_AHEAD < n && ev[LOOK_AHEAD].kind == MS_EV_FREE)
			ms_blocks_expect(&r->blocks, ev[LOOK_AHEAD].freed);
		/* also false when time goes back */
		bool usual = ev->time_ticks - t.last_tick < r->alarm_tick - t.last_tick &&
			     ev->thread < r->thread_count;
		if (__builtin_expect(!usual, 0))
			break;
		struct ms_replay_thread *thread = &r->threads[ev->thread];
		if (__builtin_expect(!thread->seen, 0))
			break;
		if (ev->kind == MS_EV_FREE) {
			if (!quick_free(r, &t, ev, thread))
				break;
		} else if (ev->kind != MS_EV_ALLOC ||
			   !quick_allocation(r, &t, ev, thread, r->position + i)) {
			break;
		}
		t.last_tick = ev->time_ticks;
		thread->last_tick = ev->time_ticks;
	}
	put_totals(r, &t, i);
	return i;
}
