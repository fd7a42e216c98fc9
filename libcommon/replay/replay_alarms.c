/* SPDX-License-Identifier: MIT
 * Handles alarms of the live-heap model: the timeline, which has a fixed number of spans that
 * become longer over time; and moments, whose live blocks are saved by site.
 */
#include "replay_private.h"

#include "libcommon/base/arena.h"
#include "replay_cells.h"
#include "replay_cohorts.h"
#include "replay_growth.h"
#include "replay_mapped.h"
#include "replay_sampled.h"

#include <stdlib.h>

/* Limit on moments for which the age of blocks is determined, since each needs a pass over the live
 * blocks. */
#define AGES_MOMENTS 64u

/* ---- the timeline ---- */

/* Merges pairs of spans of the timeline, so that the same memory covers twice the time. */
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

/* Returns a span without events, in which the present state continues. */
static struct ms_replay_span still(const struct ms_replay *r)
{
	struct ms_replay_span s = {.live_min = r->live_bytes,
				   .live_max = r->live_bytes,
				   .live_last = r->live_bytes,
				   .blocks_last = r->live_blocks};
	if (r->beside)
		s.mapped_last = r->beside->mapped_bytes;
	if (r->sampled)
		s.sampled_last = r->sampled->total.live;
	return s;
}

/* Fills in the figures of the current span, up to now. */
static void close_span(struct ms_replay *r)
{
	struct ms_replay_span *s = &r->spans[r->span];
	uint64_t least = s->live_min, most = s->live_max;
	*s = still(r);
	s->live_min = least;
	s->live_max = most;
	s->allocations = r->allocations - r->open.allocations;
	s->frees = r->frees - r->open.frees;
	s->bytes = r->bytes - r->open.bytes;
	r->open = (struct ms_replay_span){
		.allocations = r->allocations, .frees = r->frees, .bytes = r->bytes};
}

void ms_replay_move_timeline(struct ms_replay *r, uint64_t tick)
{
	if (tick / r->span_ticks == r->span)
		return;
	close_span(r);
	while (tick / r->span_ticks >= MS_TIMELINE_SPANS) {
		/* later spans repeat the present state */
		for (size_t i = r->span + 1; i < MS_TIMELINE_SPANS; i++)
			r->spans[i] = still(r);
		halve(r);
		r->span = MS_TIMELINE_SPANS / 2 - 1;
	}
	for (size_t to = (size_t)(tick / r->span_ticks); r->span < to;)
		r->spans[++r->span] = still(r);
}

/* ---- moments ---- */

size_t ms_replay_moment(struct ms_replay *r, uint64_t tick, uint64_t event)
{
	r->moments = ms_xrealloc(r->moments, r->moment_count + 1, sizeof *r->moments);
	r->moments[r->moment_count] = (struct ms_replay_moment){.tick = tick, .event = event};
	return r->moment_count++;
}

/* ---- how old the live blocks are ---- */

struct survey {
	const struct ms_replay *r;
	uint64_t *oldest;
};

static void look(void *arg, uint64_t number, const struct ms_live_block *b)
{
	const struct survey *s = arg;
	uint64_t *oldest = &s->oldest[ms_replay_site_of_block(s->r, b)];
	(void)number;
	*oldest = b->tick < *oldest ? b->tick : *oldest;
}

uint64_t *ms_replay_oldest(const struct ms_replay *r)
{
	if (r->sampled)
		return NULL;
	uint64_t *oldest = ms_xrealloc(NULL, r->site_count, sizeof *oldest);
	for (size_t i = 0; i < r->site_count; i++)
		oldest[i] = MS_NEVER;
	ms_blocks_each(&r->blocks, look, &(struct survey){r, oldest});
	return oldest;
}

/* ---- what no scan looked at ---- */

struct late_survey {
	const struct ms_replay *r;
	struct ms_replay_late *late;
};

static void look_late(void *arg, uint64_t number, const struct ms_live_block *b)
{
	struct late_survey *s = arg;
	if (number < s->r->judged)
		return;
	if (!s->late)
		s->late = ms_xcalloc(s->r->site_count, sizeof *s->late);
	struct ms_replay_late *l = &s->late[ms_replay_site_of_block(s->r, b)];
	l->bytes += b->size;
	l->blocks++;
}

struct ms_replay_late *ms_replay_late(const struct ms_replay *r)
{
	struct late_survey s = {.r = r};
	if (r->judged < r->next_number && !r->sampled)
		ms_blocks_each(&r->blocks, look_late, &s);
	return s.late;
}

/* ---- taking them ---- */

static void take_moment(struct ms_replay *r, struct ms_replay_moment *m)
{
	m->taken = true;
	m->live_bytes = r->live_bytes;
	m->live_blocks = r->live_blocks;
	uint64_t *oldest = r->moment_count <= AGES_MOMENTS ? ms_replay_oldest(r) : NULL;
	m->figures = ms_xrealloc(NULL, r->site_count, sizeof *m->figures);
	for (size_t i = 0; i < r->site_count; i++)
		if (r->sites[i].live.blocks)
			m->figures[m->figure_count++] = (struct ms_replay_figure){
				(uint32_t)i, r->sites[i].live.bytes, r->sites[i].live.blocks,
				oldest ? oldest[i] : MS_NEVER};
	free(oldest);
	m->figures = ms_xrealloc(m->figures, m->figure_count, sizeof *m->figures);
	if (r->sampled)
		ms_sampled_moment(r->sampled, &m->sampled);
	if (r->beside)
		ms_beside_moment(r->beside, &m->beside);
}

/* Saves the moments that lie before the event at `tick`; with `all`, also every moment given by
 * event number. Returns the tick of the next moment. */
static uint64_t take_due(struct ms_replay *r, uint64_t tick, bool all)
{
	uint64_t next = MS_NEVER;
	const struct ms_replay_moment *begin = NULL;
	r->alarm.event = MS_NEVER;
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
			r->alarm.event = m->event < r->alarm.event ? m->event : r->alarm.event;
	}
	if (begin)
		ms_replay_begin(r, begin->tick != MS_NEVER && begin->tick ? begin->tick - 1
									  : r->last_tick);
	return next;
}

void ms_replay_count_from(struct ms_replay *r, size_t moment)
{
	r->brief = false; /* of sites with earlier blocks the threads would not be known */
	r->moments[moment].begins = true;
}

void ms_replay_end_alarms(struct ms_replay *r, uint64_t tick)
{
	take_due(r, tick + 1, true);
	for (size_t i = 0; i < r->moment_count; i++)
		if (r->moments[i].begins && !r->moments[i].taken)
			ms_replay_begin(r, tick); /* no event was counted: the recording ended
						     before the moment from which counting begins */
	ms_replay_move_timeline(r, tick);
	close_span(r);
	ms_cohorts_finish(r, tick);
}

void ms_replay_alarm(struct ms_replay *r, uint64_t tick)
{
	uint64_t next = take_due(r, tick, false);
	ms_replay_move_timeline(r, tick);
	uint64_t span_end = (r->span + 1) * r->span_ticks, sample = ms_growth_due(r, tick),
		 part = ms_cohorts_due(r, tick);
	next = sample < next ? sample : next;
	next = part < next ? part : next;
	next = span_end < next ? span_end : next;
	r->alarm.tick = r->tick_limit < next ? r->tick_limit : next; /* the fast path must not see
									invalid events */
}
