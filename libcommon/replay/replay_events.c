/* SPDX-License-Identifier: MIT
 * The live-heap model: applies each kind of event.
 */
#include "replay.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/ready.h"
#include "replay_cells.h"
#include "replay_cohorts.h"
#include "replay_growth.h"
#include "replay_mapped.h"
#include "replay_prefetch.h"
#include "replay_private.h"
#include "replay_sampled.h"

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

static void set_age_classes(struct ms_age_classes *c, const uint64_t begins[MS_AGES], uint64_t unit)
{
	for (unsigned n = 0; n < MS_AGES - 1; n++)
		c->last[n] = (begins[n + 1] - 1) / unit;
	c->last[MS_AGES - 1] = UINT64_MAX;
	for (unsigned bits = 0, n = 0; bits <= 64; bits++) {
		uint64_t least = bits ? UINT64_C(1) << (bits - 1) : 0;
		while (least > c->last[n])
			n++;
		c->by_bits[bits] = (uint8_t)n;
	}
}

void ms_replay_tick(struct ms_replay *r, uint64_t tick_ns)
{
	set_age_classes(&r->by_ticks, ms_age_ns, tick_ns);
	set_age_classes(&r->by_allocations, ms_age_allocations, 1);
	ms_growth_start(r, tick_ns);
	ms_cohorts_start(r, tick_ns);
}

void ms_replay_init(struct ms_replay *r)
{
	*r = (struct ms_replay){.span_ticks = 1,
				.alarm.event = MS_NEVER,
				.tick_limit = MS_NEVER,
				.judged = MS_NEVER};
	ms_blocks_init(&r->blocks);
	ms_replay_nodes(r, 1);
	ms_replay_tick(r, 1);
}

void ms_replay_brief(struct ms_replay *r)
{
	r->brief = !r->sampled && !r->beside && !r->site_count;
}

void ms_replay_free(struct ms_replay *r)
{
	ms_blocks_free(&r->blocks);
	MS_FREE(r->oldest, r->late, r->sites, r->site_of_node, r->records, r->cells,
		r->cell_index.slots, r->classes, r->lifetimes.v, r->carries.v, r->rare, r->threads,
		r->backing.v, r->restored_threads.v, r->touched);
	for (size_t i = 0; i < r->moment_count; i++)
		MS_FREE(r->moments[i].figures, r->moments[i].sampled.sites,
			r->moments[i].beside.figures);
	free(r->moments);
	ms_sampled_free(r->sampled);
	ms_beside_free(r->beside);
	ms_growth_free(r->growth);
	ms_cohorts_free(r->cohorts);
}

/* ---- places: stack nodes, sites, threads ---- */

void ms_replay_nodes(struct ms_replay *r, size_t count)
{
	if (count > r->node_count)
		r->node_count = count;
	r->site_of_node = ms_xgrow(r->site_of_node, &r->node_cap, count, sizeof *r->site_of_node);
}

uint32_t ms_replay_site_of(struct ms_replay *r, uint32_t stack)
{
	uint32_t node = stack < r->node_count ? stack : 0;
	if (!r->site_of_node[node]) {
		size_t cap = r->site_cap;
		*MS_APPEND(r->sites, r->site_count, r->site_cap) = ms_replay_idle_site(node);
		if (r->site_cap != cap)
			ready_huge(r->sites, r->site_cap * sizeof *r->sites);
		r->site_of_node[node] = (uint32_t)r->site_count;
		r->touched = ms_xgrow(r->touched, &r->touched_cap, r->site_count, 1);
		if (!r->brief)
			r->rare = ms_xgrow(r->rare, &r->rare_cap, r->site_count, sizeof *r->rare);
	}
	return r->site_of_node[node] - 1;
}

void ms_replay_more_threads(struct ms_replay *r, size_t count)
{
	size_t i = r->thread_count;
	r->threads = ms_xgrow(r->threads, &r->thread_count, count, sizeof *r->threads);
	for (; i < r->thread_count; i++)
		r->threads[i].last = MS_NEVER;
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

/* ---- levels and the peak ---- */

void ms_replay_at_peak(const struct ms_replay *r, const struct ms_level *l, uint64_t *bytes,
		       uint64_t *blocks)
{
	bool touched = l->epoch == r->peak_epoch;
	*bytes = touched ? l->at_peak_bytes : l->bytes;
	*blocks = touched ? l->at_peak_blocks : l->blocks;
}

/* ---- blocks come and go ---- */

/* Totals are passed as `t`: &r->totals or, in the fast path, a copy in registers. `quick` means the
 * fast path, in which the recording is not sampled and has no mapped memory or usable sizes.
 * `brief` is r->brief, a constant in the fast path. */

/* Updates the maxima after live bytes have grown. `position`: number of the next event. */
static inline void new_maximum(struct ms_replay *r, struct ms_replay_totals *t, uint64_t tick,
			       uint64_t position, bool quick)
{
	if (t->live_bytes <= t->run_max)
		return;
	t->run_max = t->live_bytes;
	r->run_max_tick = tick;
	if (t->live_bytes <= r->peak_bytes)
		return;
	r->peak_bytes = t->live_bytes;
	r->peak_blocks = t->live_blocks;
	r->peak_tick = tick;
	r->peak_position = position;
	t->peak_epoch++;
	if (!quick && r->beside)
		ms_beside_peak(r);
}

/* Counts an allocation in the site's cell. Returns the number of the cell. */
static inline uint32_t add_to_cell(struct ms_replay *r, struct ms_replay_site *s, uint32_t thread,
				   uint64_t size, uint64_t peak_epoch)
{
	uint32_t cell = ms_replay_cell_of(r, s, thread, size);
	struct ms_replay_cell *c = &r->cells[cell];
	ms_replay_touch(&c->live, peak_epoch);
	c->live.bytes += size;
	c->live.blocks++;
	c->allocations++;
	c->bytes += size;
	return cell;
}

/* Counts an allocation in a brief replay, in which sites have no cells. Returns the site. */
static inline uint32_t add_to_site(struct ms_replay *r, struct ms_replay_site *s, uint32_t thread,
				   uint64_t size, uint64_t peak_epoch)
{
	ms_replay_note_thread(s, thread);
	ms_replay_touch(&s->live, peak_epoch);
	s->allocations++;
	s->bytes += size;
	r->sizes[ms_cell_key(0, size)].allocations++;
	return (uint32_t)(s - r->sites);
}

static inline void add_block(struct ms_replay *r, struct ms_replay_totals *t,
			     const struct ms_event *ev, struct ms_replay_thread *thread,
			     uint32_t site, uint64_t position, bool quick, bool brief)
{
	uint64_t size = quick ? ev->size : ms_sampled_size(r->sampled, ev->size);
	struct ms_replay_site *s = &r->sites[site];
	r->touched[site] = 1;
	uint32_t owner = brief ? add_to_site(r, s, ev->thread, size, t->peak_epoch)
			       : add_to_cell(r, s, ev->thread, size, t->peak_epoch);
	ms_blocks_add(&r->blocks, ev->number, ev->size, ev->time_ticks, owner);
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
	if (!quick && r->beside)
		ms_beside_added(r, ev->number, ev->slack, site);
	if (!quick && r->sampled)
		ms_sampled_added(r, ev, owner);
	new_maximum(r, t, ev->time_ticks, position, quick);
}

/* Removes block `ev->freed` from all figures. Returns false if it is not live. */
static inline bool remove_block(struct ms_replay *r, struct ms_replay_totals *t,
				const struct ms_event *ev, struct ms_replay_thread *thread,
				bool quick, bool brief)
{
	struct ms_live_block b;
	if (__builtin_expect(!ms_blocks_take(&r->blocks, ev->freed, &b), 0))
		return false;
	uint64_t size = quick ? b.size : ms_sampled_size(r->sampled, b.size);
	struct ms_replay_cell *c = brief ? NULL : &r->cells[b.owner];
	uint32_t site = brief ? b.owner : c->site;
	struct ms_replay_site *s = &r->sites[site];
	r->touched[site] = 1;
	if (!quick && r->beside)
		ms_beside_removed(r, ev, site, size);
	if (!quick && r->sampled)
		ms_sampled_removed(r, ev, &b);
	ms_replay_touch(brief ? &s->live : &c->live, t->peak_epoch);
	if (!brief) {
		if (ev->freed < r->cohort_first)
			ms_cohorts_freed(r, ev->freed, b.tick, size);
		c->live.bytes -= size;
		c->live.blocks--;
	}
	s->live.bytes -= size;
	s->live.blocks--;
	t->live_bytes -= size;
	t->live_blocks--;
	if (!quick && ev->kind == MS_EV_FREE_INFERRED) {
		r->inferred_frees++;
		if (!brief) {
			c->others--;
			r->rare[site].marked = true;
		}
		return true;
	}
	uint64_t lived = ev->time_ticks - b.tick, between = t->next_number - ev->freed - 1;
	bool temporary = thread->last == ev->freed;
	if (brief) {
		s->soon += between < MS_FREED_SOON;
		s->temporary += temporary;
	} else {
		ms_replay_age(r, s, lived, between);
		c->temporary += temporary;
	}
	t->temporary += temporary;
	t->freed_soon += between < MS_FREED_SOON;
	t->frees++;
	thread->frees++;
	return true;
}

/* ---- the fast path ----
 *
 * Nearly all events of nearly all recordings are allocations and frees of known blocks, at known
 * sites, by known threads, between two alarms. They are applied with the totals in registers;
 * one_event applies the others. */

/* Distance, in events, of prefetching the blocks that frees refer to, where that is enough. */
#define LOOK_AHEAD 12

/* Prefetches what the events after the first of `n` will read. `all`: more than blocks of the
 * window. */
static MS_PREFETCHES void prefetch(const struct ms_replay *r, const struct ms_event *ev, size_t n,
				   bool all)
{
	if (__builtin_expect(all, 0))
		ms_prefetch_due(r, ev, n);
	else if (n > LOOK_AHEAD && ev[LOOK_AHEAD].kind == MS_EV_FREE)
		ms_blocks_expect(&r->blocks, ev[LOOK_AHEAD].freed);
}

/* Applies the first of `n` events, up to the first unusual one. No alarm may be set for the number
 * of one of these events. Not for recordings that are sampled, or have mapped memory or usable
 * sizes. `ahead`: number of events that can be read; `all`: as for prefetch. Returns the number
 * applied. */
static inline __attribute__((always_inline)) size_t quick_events(struct ms_replay *r,
								 const struct ms_event *ev,
								 size_t n, size_t ahead, bool all,
								 bool brief)
{
	struct ms_replay_totals t = r->totals;
	struct ms_replay_span *span = &r->spans[r->span];
	uint64_t least = span->live_min, most = span->live_max;
	size_t i = 0;
	if (r->alarm.tick <= r->last_tick) /* an alarm is already due */
		return 0;
	for (; i < n; i++, ev++) {
		prefetch(r, ev, ahead - i, all);
		/* also false if the time is lower than before */
		bool usual = ev->time_ticks - t.last_tick < r->alarm.tick - t.last_tick &&
			     ev->thread < r->thread_count;
		if (__builtin_expect(!usual, 0))
			break;
		struct ms_replay_thread *thread = &r->threads[ev->thread];
		if (__builtin_expect(!thread->seen, 0))
			break;
		if (ev->kind == MS_EV_FREE) {
			if (!remove_block(r, &t, ev, thread, true, brief))
				break;
			least = t.live_bytes < least ? t.live_bytes : least;
		} else if (ev->kind == MS_EV_ALLOC) {
			uint32_t site = ev->stack < r->node_count ? r->site_of_node[ev->stack] : 0;
			if (__builtin_expect(!site || ev->number < t.next_number ||
						     !ms_event_size_fits(ev->size),
					     0))
				break;
			add_block(r, &t, ev, thread, site - 1, r->position + i + 1, true, brief);
			most = t.live_bytes > most ? t.live_bytes : most;
		} else {
			break;
		}
		t.last_tick = ev->time_ticks;
		thread->last_tick = ev->time_ticks;
	}
	r->totals = t;
	span->live_min = least;
	span->live_max = most;
	r->events += i;
	r->position += i;
	return i;
}

static __attribute__((noinline)) size_t quick_brief(struct ms_replay *r, const struct ms_event *ev,
						    size_t n, size_t ahead, bool all)
{
	return quick_events(r, ev, n, ahead, all, true);
}

static __attribute__((noinline)) size_t quick_full(struct ms_replay *r, const struct ms_event *ev,
						   size_t n, size_t ahead, bool all)
{
	return quick_events(r, ev, n, ahead, all, false);
}

/* ---- events ---- */

static void failed_allocation(struct ms_replay *r, const struct ms_event *ev)
{
	uint32_t site = ms_replay_site_of(r, ev->stack);
	r->failed++;
	if (!r->brief)
		r->rare[site].failed++;
	ms_replay_seen_at(&r->sites[site], ev->time_ticks);
}

static void allocation(struct ms_replay *r, const struct ms_event *ev, struct ms_replay_thread *t)
{
	uint32_t site = ms_replay_site_of(r, ev->stack); /* may move r->sites */
	bool again = ev->kind != MS_EV_ALLOC;
	r->reallocations += again;
	if (!r->brief)
		r->rare[site].reallocations += again;
	add_block(r, &r->totals, ev, t, site, r->position, false, r->brief);
	struct ms_replay_span *span = &r->spans[r->span];
	span->live_max = r->live_bytes > span->live_max ? r->live_bytes : span->live_max;
}

/* Counts a free of a block from before the fork, so that the next event does not count as a free of
 * an unknown block. */
static void inherited_free(struct ms_replay *r, const struct ms_event *ev)
{
	r->explained = r->events + 1;
	r->inherited_frees++;
	r->inherited_freed_bytes += ev->size >> 57 ? 0 : ev->size; /* larger than any address
								      space */
}

/* Counts a free of a block from before the attachment. The next event, or with MS_BEFORE_EARLIER an
 * earlier one, does not count as a free of an unknown block. */
static void before_free(struct ms_replay *r, const struct ms_event *ev)
{
	if (ev->freed == MS_BEFORE_EARLIER)
		r->unknown_frees -= r->unknown_frees != 0;
	else
		r->explained = r->events + 1;
	r->before_frees++;
	r->before_freed_bytes += ev->size >> 57 ? 0 : ev->size;
}

/* Applies an event of an extended kind, which does not change the heap. */
static void extended(struct ms_replay *r, const struct ms_event *ev)
{
	if (ev->ext == MS_EXT_MAP || ev->ext == MS_EXT_UNMAP)
		ms_beside_mapped(r, ev);
	else if (ev->ext == MS_EXT_INHERITED)
		inherited_free(r, ev);
	else if (ev->ext == MS_EXT_BEFORE)
		before_free(r, ev);
	else if (ev->ext == MS_EXT_BACKING || ev->ext == MS_EXT_UNBACKING)
		ms_backing_event(r, ev);
}

/* Tells whether this model can apply the event. In a valid trace, numbers and times never
 * decrease. */
static inline bool sane(const struct ms_replay *r, const struct ms_event *ev)
{
	return ev->time_ticks >= r->last_tick && ev->time_ticks <= r->tick_limit &&
	       ev->thread < MS_REPLAY_THREADS_MAX &&
	       (!ms_event_allocates(ev->kind) ||
		(ev->number >= r->next_number && ms_event_size_fits(ev->size)));
}

/* Applies an event that is neither MS_EV_FREE nor MS_EV_ALLOC. Returns false if it frees an unknown
 * block. */
static __attribute__((noinline)) bool rare_event(struct ms_replay *r, const struct ms_event *ev,
						 struct ms_replay_thread *t)
{
	bool known = ev->kind != MS_EV_FREE_UNKNOWN && ev->kind != MS_EV_REALLOC_UNKNOWN;
	if (ms_event_releases(ev->kind))
		known = remove_block(r, &r->totals, ev, t, false, r->brief) ||
			ev->kind == MS_EV_FREE_INFERRED;
	if (ms_event_allocates(ev->kind))
		allocation(r, ev, t);
	else if (ev->kind == MS_EV_FAILED)
		failed_allocation(r, ev);
	else if (ev->kind == MS_EV_EXT)
		extended(r, ev);
	return known;
}

/* Applies one event, of any kind and in any recording. */
static inline void one_event(struct ms_replay *r, const struct ms_event *ev)
{
	if (__builtin_expect(!sane(r, ev), 0)) {
		r->bad_events++;
		r->position++;
		return;
	}
	if (__builtin_expect(ev->time_ticks >= r->alarm.tick || r->position >= r->alarm.event, 0))
		ms_replay_alarm(r, ev->time_ticks);
	r->last_tick = ev->time_ticks;
	r->events++;
	r->position++;
	struct ms_replay_thread *t = thread_of(r, ev);
	bool known = true;
	/* Nearly all events are frees or allocations. Branches on them are predicted far better
	 * than a jump table. */
	if (__builtin_expect(ev->kind == MS_EV_FREE, 1))
		known = remove_block(r, &r->totals, ev, t, false, r->brief);
	else if (__builtin_expect(ev->kind == MS_EV_ALLOC, 1))
		allocation(r, ev, t);
	else
		known = rare_event(r, ev, t);
	if (!known && r->explained != r->events)
		r->unknown_frees++;
	if (r->live_bytes < r->spans[r->span].live_min)
		r->spans[r->span].live_min = r->live_bytes;
}

void ms_replay_events(struct ms_replay *r, const struct ms_event *ev, size_t n)
{
	bool all = ms_prefetch_pays(r);
	if (all)
		ms_prefetch_begin(r, ev, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t left = r->alarm.event > r->position ? r->alarm.event - r->position : 0;
		size_t most = n - i < left ? n - i : (size_t)left;
		if (!r->sampled && !r->beside)
			i += (r->brief ? quick_brief : quick_full)(r, ev + i, most, n - i, all);
		if (i < n) {
			prefetch(r, ev + i, n - i, all);
			one_event(r, &ev[i]);
		}
	}
}

void ms_replay_finish(struct ms_replay *r, uint64_t tick)
{
	if (tick < r->last_tick)
		tick = r->last_tick;
	ms_replay_end_alarms(r, tick);
	ms_growth_finish(r, tick);
	r->oldest = ms_replay_oldest(r);
	r->late = ms_replay_late(r);
	if (r->restored_threads.n)
		ms_replay_note_restored(r);
	if (!r->sampled)
		ms_blocks_free(&r->blocks);
	if (!r->brief) {
		ms_replay_sum_cells(r);
		ms_replay_sum_parts(r);
	}
	if (r->sampled)
		ms_sampled_finish(r);
	if (r->beside)
		ms_beside_finish(r);
}

void ms_replay_settle(struct ms_replay *r)
{
	ms_blocks_free(&r->blocks);
	free(r->cells);
	free(r->cell_index.slots);
	r->cells = NULL;
	r->cell_index = (struct ms_lookup){0};
	r->cell_count = r->cell_cap = 0;
	r->sites = ms_xrealloc(r->sites, r->site_cap = r->site_count, sizeof *r->sites);
	r->records = ms_xrealloc(r->records, r->record_cap = r->record_count, sizeof *r->records);
	r->lifetimes.v = ms_xrealloc(r->lifetimes.v, r->lifetimes.cap = r->lifetimes.n,
				     sizeof *r->lifetimes.v);
}
