/* SPDX-License-Identifier: MIT
 * The live-heap model: what each kind of event does.
 */
#include "replay.h"

#include "arena.h"
#include "replay_ages.h"
#include "replay_cells.h"
#include "replay_growth.h"
#include "replay_mapped.h"
#include "replay_private.h"
#include "replay_sampled.h"

#include <stdlib.h>
#include <string.h>

void ms_replay_init(struct ms_replay *r)
{
	*r = (struct ms_replay){
		.span_ticks = 1, .alarm_tick = 1, .alarm_event = MS_NEVER, .tick_limit = MS_NEVER};
	ms_blocks_init(&r->blocks);
	r->blocks.owners = &r->cells;
	r->record_mask = 255;
	r->record_table = memset(ms_xrealloc(NULL, 256, sizeof *r->record_table), 0,
				 256 * sizeof *r->record_table);
	ms_replay_nodes(r, 1);
	ms_replay_tick(r, 1);
}

void ms_replay_free(struct ms_replay *r)
{
	ms_blocks_free(&r->blocks);
	free(r->oldest);
	free(r->sites);
	free(r->site_of_node);
	free(r->records);
	free(r->record_table);
	free(r->cells);
	free(r->cell_table);
	free(r->classes);
	free(r->ages);
	free(r->threads);
	for (size_t i = 0; i < r->moment_count; i++)
		free(r->moments[i].figures);
	free(r->moments);
	ms_sampled_free(r->sampled);
	ms_beside_free(r->beside);
	ms_growth_free(r->growth);
}

/* ---- sites, threads, and both ---- */

void ms_replay_nodes(struct ms_replay *r, size_t count)
{
	if (count > r->node_count)
		r->node_count = count;
	if (count <= r->node_cap)
		return;
	size_t cap = r->node_cap ? r->node_cap : 1024;
	while (cap < count)
		cap *= 2;
	r->site_of_node = ms_xrealloc(r->site_of_node, cap, sizeof *r->site_of_node);
	memset(r->site_of_node + r->node_cap, 0, (cap - r->node_cap) * sizeof *r->site_of_node);
	r->node_cap = cap;
}

static uint32_t new_site(struct ms_replay *r, uint32_t node)
{
	if (r->site_count == r->site_cap)
		r->sites = ms_xrealloc(r->sites, r->site_cap = r->site_cap ? r->site_cap * 2 : 256,
				       sizeof *r->sites);
	r->sites[r->site_count] = ms_replay_idle_site(node);
	r->site_of_node[node] = (uint32_t)++r->site_count;
	return (uint32_t)r->site_count - 1;
}

static inline uint32_t site_of(struct ms_replay *r, const struct ms_event *ev)
{
	uint32_t node = ev->stack < r->node_count ? ev->stack : 0;
	uint32_t site = r->site_of_node[node];
	return site ? site - 1 : new_site(r, node);
}

uint32_t ms_replay_site_of(struct ms_replay *r, uint32_t stack)
{
	struct ms_event ev = {.stack = stack};
	return site_of(r, &ev);
}

void ms_replay_more_threads(struct ms_replay *r, size_t count)
{
	size_t cap = r->thread_count ? r->thread_count : 16;
	while (cap < count)
		cap *= 2;
	r->threads = ms_xrealloc(r->threads, cap, sizeof *r->threads);
	for (size_t i = r->thread_count; i < cap; i++)
		r->threads[i] = (struct ms_replay_thread){.last = MS_NEVER};
	r->thread_count = cap;
}

static inline struct ms_replay_thread *thread_of(struct ms_replay *r, const struct ms_event *ev)
{
	if (__builtin_expect(ev->thread >= r->thread_count, 0))
		ms_replay_more_threads(r, (size_t)ev->thread + 1);
	struct ms_replay_thread *t = &r->threads[ev->thread];
	if (__builtin_expect(!t->seen, 0)) {
		t->seen = true;
		t->first_tick = ev->time_ticks;
	}
	t->last_tick = ev->time_ticks;
	return t;
}

static size_t record_home(const struct ms_replay *r, uint32_t site, uint32_t thread)
{
	uint64_t key = (uint64_t)site << 32 | thread;
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 24) & r->record_mask;
}

static void grow_record_table(struct ms_replay *r)
{
	size_t size = (r->record_mask + 1) * 2;
	free(r->record_table);
	r->record_table = memset(ms_xrealloc(NULL, size, sizeof *r->record_table), 0,
				 size * sizeof *r->record_table);
	r->record_mask = size - 1;
	for (size_t n = 0; n < r->record_count; n++) {
		size_t i = record_home(r, r->records[n].site, r->records[n].thread);
		while (r->record_table[i])
			i = (i + 1) & r->record_mask;
		r->record_table[i] = (uint32_t)n + 1;
	}
}

static uint32_t find_record(struct ms_replay *r, uint32_t site, uint32_t thread)
{
	size_t i = record_home(r, site, thread);
	for (; r->record_table[i]; i = (i + 1) & r->record_mask) {
		const struct ms_replay_site_thread *s = &r->records[r->record_table[i] - 1];
		if (s->site == site && s->thread == thread)
			return r->record_table[i] - 1;
	}
	if (r->record_count == r->record_cap)
		r->records = ms_xrealloc(r->records,
					 r->record_cap = r->record_cap ? r->record_cap * 2 : 256,
					 sizeof *r->records);
	r->records[r->record_count] =
		(struct ms_replay_site_thread){.site = site, .thread = thread};
	r->record_table[i] = (uint32_t)++r->record_count;
	if (r->record_count * 2 > r->record_mask)
		grow_record_table(r);
	return (uint32_t)r->record_count - 1;
}

uint32_t ms_replay_record(struct ms_replay *r, uint32_t site, uint32_t thread)
{
	uint32_t n = r->sites[site].record;
	if (n == UINT32_MAX || r->records[n].thread != thread)
		r->sites[site].record = n = find_record(r, site, thread);
	return n;
}

/* ---- levels and the peak ---- */

void ms_replay_at_peak(const struct ms_replay *r, const struct ms_level *l, uint64_t *bytes,
		       uint64_t *blocks)
{
	bool touched = l->epoch == r->peak_epoch;
	*bytes = touched ? l->at_peak_bytes : l->bytes;
	*blocks = touched ? l->at_peak_blocks : l->blocks;
}

/* ---- the timeline ---- */

/* Pairs of spans become one: twice the time in the same room. */
static void halve(struct ms_replay *r)
{
	for (size_t i = 0; i < MS_TIMELINE_SPANS / 2; i++) {
		struct ms_replay_span a = r->spans[2 * i], b = r->spans[2 * i + 1];
		b.live_min = a.live_min < b.live_min ? a.live_min : b.live_min;
		b.live_max = a.live_max > b.live_max ? a.live_max : b.live_max;
		b.allocations += a.allocations;
		b.frees += a.frees;
		b.bytes += a.bytes;
		r->spans[i] = b;
	}
	r->span_ticks *= 2;
}

static uint64_t mapped_now(const struct ms_replay *r)
{
	return r->beside ? r->beside->mapped_bytes : 0;
}

/* The current span gets its figures; what is left of it belongs to the next one. */
static void close_span(struct ms_replay *r)
{
	struct ms_replay_span *s = &r->spans[r->span];
	s->live_last = r->live_bytes;
	s->blocks_last = r->live_blocks;
	s->mapped_last = mapped_now(r);
	s->allocations = r->allocations - r->open.allocations;
	s->frees = r->frees - r->open.frees;
	s->bytes = r->bytes - r->open.bytes;
	r->open = (struct ms_replay_span){
		.allocations = r->allocations, .frees = r->frees, .bytes = r->bytes};
}

static void open_span(struct ms_replay *r)
{
	r->spans[r->span] =
		(struct ms_replay_span){.live_min = r->live_bytes, .live_max = r->live_bytes};
}

/* Makes the span that holds `tick` the current one. A jump of any length costs at most a pass or
 * two over the spans. */
void ms_replay_move_timeline(struct ms_replay *r, uint64_t tick)
{
	if (tick / r->span_ticks == r->span)
		return;
	close_span(r);
	while (tick / r->span_ticks >= MS_TIMELINE_SPANS) {
		/* spans not reached yet are as the last one left them */
		for (size_t i = r->span + 1; i < MS_TIMELINE_SPANS; i++)
			r->spans[i] = (struct ms_replay_span){r->live_bytes,
							      r->live_bytes,
							      r->live_bytes,
							      r->live_blocks,
							      0,
							      0,
							      0,
							      mapped_now(r)};
		halve(r);
		r->span = MS_TIMELINE_SPANS / 2 - 1;
	}
	for (size_t to = (size_t)(tick / r->span_ticks); r->span < to;) {
		r->span++;
		open_span(r);
		r->spans[r->span].live_last = r->live_bytes;
		r->spans[r->span].blocks_last = r->live_blocks;
		r->spans[r->span].mapped_last = mapped_now(r);
	}
}

/* ---- moments ---- */

size_t ms_replay_moment(struct ms_replay *r, uint64_t tick, uint64_t event)
{
	r->moments = ms_xrealloc(r->moments, r->moment_count + 1, sizeof *r->moments);
	r->moments[r->moment_count] = (struct ms_replay_moment){.tick = tick, .event = event};
	if (tick < r->alarm_tick)
		r->alarm_tick = tick;
	if (event < r->alarm_event)
		r->alarm_event = event;
	return r->moment_count++;
}

static void take_moment(struct ms_replay *r, struct ms_replay_moment *m)
{
	m->taken = true;
	m->live_bytes = r->live_bytes;
	m->live_blocks = r->live_blocks;
	m->figures = ms_xrealloc(NULL, r->site_count, sizeof *m->figures);
	for (size_t i = 0; i < r->site_count; i++)
		if (r->sites[i].live.blocks)
			m->figures[m->figure_count++] =
				(struct ms_replay_figure){(uint32_t)i, r->sites[i].live.bytes,
							  r->sites[i].live.blocks, MS_NEVER};
	m->figures = ms_xrealloc(m->figures, m->figure_count, sizeof *m->figures);
	ms_ages_moment(r, m);
	if (r->sampled)
		ms_sampled_moment(r, (size_t)(m - r->moments));
	if (r->beside)
		ms_beside_moment(r, (size_t)(m - r->moments));
}

/* Takes the moments that lie before the event at `tick`; all that count by events when `all`.
 * Returns the tick of the next one. */
static uint64_t take_due(struct ms_replay *r, uint64_t tick, bool all)
{
	uint64_t next = MS_NEVER;
	const struct ms_replay_moment *begin = NULL;
	r->alarm_event = MS_NEVER;
	for (size_t i = 0; i < r->moment_count; i++) {
		struct ms_replay_moment *m = &r->moments[i];
		if (m->taken || m->missed)
			continue;
		if (m->tick != MS_NEVER ? tick >= m->tick : all || r->position >= m->event) {
			take_moment(r, m);
			begin = m->begins ? m : begin;
		} else if (m->tick != MS_NEVER)
			next = m->tick < next ? m->tick : next;
		else
			r->alarm_event = m->event < r->alarm_event ? m->event : r->alarm_event;
	}
	if (begin)
		ms_replay_begin(r, begin->tick != MS_NEVER && begin->tick ? begin->tick - 1
									  : r->last_tick);
	return next;
}

void ms_replay_count_from(struct ms_replay *r, size_t moment)
{
	r->moments[moment].begins = true;
}

/* What is to be done before the event at `tick`, now that an alarm has gone off; sets the next
 * alarm. */
static void before_event(struct ms_replay *r, uint64_t tick)
{
	uint64_t next = take_due(r, tick, false);
	ms_replay_move_timeline(r, tick);
	uint64_t span_end = (r->span + 1) * r->span_ticks, sample = ms_growth_due(r, tick);
	next = sample < next ? sample : next;
	r->alarm_tick = span_end < next ? span_end : next;
}

/* ---- events ---- */

static inline void new_maximum(struct ms_replay *r, uint64_t tick)
{
	if (r->live_bytes > r->spans[r->span].live_max)
		r->spans[r->span].live_max = r->live_bytes;
	if (r->live_bytes <= r->run_max)
		return;
	r->run_max = r->live_bytes;
	r->run_max_tick = tick;
	if (r->live_bytes <= r->peak_bytes)
		return;
	r->peak_bytes = r->live_bytes;
	r->peak_blocks = r->live_blocks;
	r->peak_tick = tick;
	r->peak_epoch++;
	r->peak_position = r->position;
	if (r->beside)
		ms_beside_peak(r);
}

static inline void seen_at(struct ms_replay_site *s, uint64_t tick)
{
	if (__builtin_expect(s->first_tick == MS_NEVER, 0))
		s->first_tick = tick;
	s->last_tick = tick;
}

static inline void add_block(struct ms_replay *r, const struct ms_event *ev,
			     struct ms_replay_thread *t)
{
	uint64_t size = ev->size;
	uint32_t site = site_of(r, ev); /* may move r->sites */
	struct ms_replay_site *s = &r->sites[site];
	uint32_t cell = ms_replay_cell_of(r, s, ev->thread, size);
	struct ms_replay_cell *c = &r->cells[cell];

	ms_blocks_add(&r->blocks, ev->number, size, ev->time_ticks, cell);
	r->next_number = ev->number + 1;
	r->allocations++;
	r->bytes += size;
	r->live_bytes += size;
	r->live_blocks++;
	t->last = ev->number;

	ms_replay_touch(r, &c->live);
	c->live.bytes += size;
	c->live.blocks++;
	c->allocations++;
	c->bytes += size;

	s->live.bytes += size;
	s->live.blocks++;
	if (s->live.bytes > s->max_live_bytes)
		s->max_live_bytes = s->live.bytes;
	if (s->live.blocks > s->max_live_blocks)
		s->max_live_blocks = s->live.blocks;
	if (size < s->min_size)
		s->min_size = size;
	if (size > s->max_size)
		s->max_size = size;
	seen_at(s, ev->time_ticks);
}

/* Takes block `ev->freed` out of everything. False when it is not live. */
static inline bool remove_block(struct ms_replay *r, const struct ms_event *ev, bool inferred,
				struct ms_replay_thread *t)
{
	struct ms_wide_block b;
	if (!ms_blocks_take(&r->blocks, ev->freed, &b))
		return false;
	struct ms_replay_cell *c = &r->cells[b.owner];
	struct ms_replay_site *s = &r->sites[c->site];
	if (r->beside)
		ms_beside_removed(r, ev, c->site, b.size);
	r->live_bytes -= b.size;
	r->live_blocks--;
	ms_replay_touch(r, &c->live);
	c->live.bytes -= b.size;
	c->live.blocks--;
	s->live.bytes -= b.size;
	s->live.blocks--;
	if (inferred) {
		c->others--;
		r->inferred_frees++;
		s->marked = true;
		return true;
	}
	r->frees++;
	t->frees++;
	uint64_t lived = ev->time_ticks - b.tick, between = r->next_number - ev->freed - 1;
	s->lifetime_ticks += lived;
	s->lifetime_allocations += between;
	ms_replay_age(r, s, lived, between);
	bool temporary = t->last == ev->freed;
	r->temporary += temporary;
	c->temporary += temporary;
	return true;
}

static void failed_allocation(struct ms_replay *r, const struct ms_event *ev)
{
	uint32_t site = site_of(r, ev);
	r->failed++;
	r->sites[site].failed++;
	seen_at(&r->sites[site], ev->time_ticks);
}

static inline void allocation(struct ms_replay *r, const struct ms_event *ev,
			      struct ms_replay_thread *t)
{
	add_block(r, ev, t);
	if (r->beside)
		ms_beside_added(r, ev, site_of(r, ev));
	if (ev->kind != MS_EV_ALLOC) {
		r->reallocations++;
		r->sites[r->site_of_node[ev->stack < r->node_count ? ev->stack : 0] - 1]
			.reallocations++;
	}
	new_maximum(r, ev->time_ticks);
}

/* A block from before the fork goes: the next event is no free of an unknown block. */
static void inherited_free(struct ms_replay *r, const struct ms_event *ev)
{
	r->explained = r->events + 1;
	r->inherited_frees++;
	r->inherited_freed_bytes += ev->size >> 57 ? 0 : ev->size; /* no address space is larger */
}

/* The same of a block from before the attachment; or it says so of an earlier free. */
static void before_free(struct ms_replay *r, const struct ms_event *ev)
{
	if (ev->freed == MS_BEFORE_EARLIER)
		r->unknown_frees -= r->unknown_frees != 0;
	else
		r->explained = r->events + 1;
	r->before_frees++;
	r->before_freed_bytes += ev->size >> 57 ? 0 : ev->size;
}

/* Extended kinds change nothing of the heap. */
static void extended(struct ms_replay *r, const struct ms_event *ev)
{
	if (ev->ext == MS_EXT_MAP)
		ms_beside_map(r, ev, site_of(r, ev));
	else if (ev->ext == MS_EXT_UNMAP)
		ms_beside_unmap(r, ev);
	else if (ev->ext == MS_EXT_INHERITED)
		inherited_free(r, ev);
	else if (ev->ext == MS_EXT_BEFORE)
		before_free(r, ev);
}

/* Is it an event that this model can apply? Numbers and times of a good trace never go back. */
static inline bool sane(const struct ms_replay *r, const struct ms_event *ev)
{
	bool makes = ev->kind == MS_EV_ALLOC || ev->kind == MS_EV_REALLOC ||
		     ev->kind == MS_EV_REALLOC_UNKNOWN;
	return ev->time_ticks >= r->last_tick && ev->thread < MS_REPLAY_THREADS_MAX &&
	       (!makes || ev->number >= r->next_number);
}

/* Another kind than these two. False: it gives back a block that nobody knows. */
static __attribute__((noinline)) bool rare_event(struct ms_replay *r, const struct ms_event *ev,
						 struct ms_replay_thread *t)
{
	bool known = true;
	switch (ev->kind) {
	case MS_EV_FREE_INFERRED:
		remove_block(r, ev, true, t);
		break;
	case MS_EV_REALLOC:
		known = remove_block(r, ev, false, t);
		allocation(r, ev, t);
		break;
	case MS_EV_REALLOC_UNKNOWN:
		known = false;
		allocation(r, ev, t);
		break;
	case MS_EV_FAILED:
		failed_allocation(r, ev);
		break;
	case MS_EV_FREE_UNKNOWN:
		known = false;
		break;
	default:
		extended(r, ev);
		break;
	}
	return known;
}

/* One event, of any kind and in any recording. */
static inline void one_event(struct ms_replay *r, const struct ms_event *ev)
{
	if (__builtin_expect(!sane(r, ev), 0)) {
		r->bad_events++;
		r->position++;
		return;
	}
	if (__builtin_expect(ev->time_ticks >= r->alarm_tick || r->position >= r->alarm_event, 0))
		before_event(r, ev->time_ticks);
	r->last_tick = ev->time_ticks;
	r->events++;
	r->position++;
	const struct ms_event *recorded = ev;
	struct ms_event weighed;
	if (r->sampled)
		ev = ms_sampled_weigh(r->sampled, ev, &weighed);
	struct ms_replay_thread *t = thread_of(r, ev);
	bool known = true;
	/* Two kinds are nearly all: a jump by a table would be foreseen far less often. */
	if (__builtin_expect(ev->kind == MS_EV_FREE, 1))
		known = remove_block(r, ev, false, t);
	else if (__builtin_expect(ev->kind == MS_EV_ALLOC, 1))
		allocation(r, ev, t);
	else
		known = rare_event(r, ev, t);
	if (!known && r->explained != r->events)
		r->unknown_frees++;
	if (r->live_bytes < r->spans[r->span].live_min)
		r->spans[r->span].live_min = r->live_bytes;
	if (r->sampled)
		ms_sampled_count(r, recorded);
}

/* ---- many events ----
 *
 * Nearly all events of nearly all recordings are allocations and frees of known blocks at sites
 * that were seen before, by threads that were seen before, between two alarms. These are applied
 * here with the totals in registers; whatever else comes is left to one_event(). Both do the same.
 */

/* Events this far ahead are looked at, so that the old blocks that they free are at hand. */
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
	seen_at(s, ev->time_ticks);
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

/* Applies what it can of `n` events, of which none is at an alarm by position. Returns how many. */
static size_t quick_events(struct ms_replay *r, const struct ms_event *ev, size_t n)
{
	struct totals t = take_totals(r);
	size_t i = 0;
	if (r->alarm_tick <= r->last_tick) /* gone off already */
		return 0;
	for (; i < n; i++, ev++) {
		if (i + LOOK_AHEAD < n && ev[LOOK_AHEAD].kind == MS_EV_FREE &&
		    ev[LOOK_AHEAD].freed < r->blocks.base)
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

void ms_replay_events(struct ms_replay *r, const struct ms_event *ev, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t left = r->alarm_event > r->position ? r->alarm_event - r->position : 0;
		if (!r->sampled && !r->beside)
			i += quick_events(r, ev + i, n - i < left ? n - i : (size_t)left);
		if (i < n)
			one_event(r, &ev[i]);
	}
}

void ms_replay_finish(struct ms_replay *r, uint64_t tick)
{
	if (tick < r->last_tick)
		tick = r->last_tick;
	take_due(r, tick + 1, true);
	for (size_t i = 0; i < r->moment_count; i++)
		if (r->moments[i].begins && !r->moments[i].taken)
			ms_replay_begin(r, tick); /* it ended before: nothing was counted */
	ms_replay_move_timeline(r, tick);
	close_span(r);
	ms_growth_finish(r, tick);
	ms_ages_finish(r);
	if (!r->sampled)
		ms_blocks_free(&r->blocks);
	ms_replay_sum_cells(r);
	ms_replay_sum_classes(r);
	if (r->sampled)
		ms_sampled_finish(r);
	if (r->beside)
		ms_beside_finish(r);
}

void ms_replay_settle(struct ms_replay *r)
{
	ms_blocks_free(&r->blocks);
	if (r->sampled)
		ms_blocks_free(&r->sampled->blocks);
	free(r->cells);
	free(r->cell_table);
	r->cells = NULL;
	r->cell_table = NULL;
	r->cell_count = r->cell_cap = r->cell_mask = 0;
	r->sites = ms_xrealloc(r->sites, r->site_cap = r->site_count, sizeof *r->sites);
	r->records = ms_xrealloc(r->records, r->record_cap = r->record_count, sizeof *r->records);
	r->classes = ms_xrealloc(r->classes, r->class_cap = r->class_count, sizeof *r->classes);
	r->ages = ms_xrealloc(r->ages, r->age_cap = r->age_count, sizeof *r->ages);
}
