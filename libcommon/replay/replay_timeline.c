/* SPDX-License-Identifier: MIT
 * The timeline of the live-heap model: a bounded number of spans, which become longer as time goes.
 */
#include "replay_private.h"

#include "replay_mapped.h"
#include "replay_sampled.h"

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

/* A span in which nothing happens. */
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

/* The current span gets its figures; what is left of it belongs to the next one. */
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
		/* spans not reached yet are as the last one left them */
		for (size_t i = r->span + 1; i < MS_TIMELINE_SPANS; i++)
			r->spans[i] = still(r);
		halve(r);
		r->span = MS_TIMELINE_SPANS / 2 - 1;
	}
	for (size_t to = (size_t)(tick / r->span_ticks); r->span < to;)
		r->spans[++r->span] = still(r);
}

void ms_replay_end_timeline(struct ms_replay *r, uint64_t tick)
{
	ms_replay_move_timeline(r, tick);
	close_span(r);
}
