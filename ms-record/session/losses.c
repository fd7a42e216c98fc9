/* SPDX-License-Identifier: MIT
 * What is not in the trace of a session.
 */
#include "losses.h"

#include "format/trace.h"
#include "session.h"

void losses_add(struct session *s, uint64_t from, uint64_t to, uint64_t count, unsigned reason,
		uint32_t thread)
{
	if (!count)
		return;
	struct ms_record_writer *w = batch_record(&session_batch(s)->losses, 80);
	ms_record_number(w, MS_LOSS_FROM, from);
	ms_record_number(w, MS_LOSS_TO, to);
	ms_record_number(w, MS_LOSS_COUNT, count);
	ms_record_number(w, MS_LOSS_REASON, reason);
	if (thread)
		ms_record_number(w, MS_LOSS_THREAD, thread);
	ms_record_end(w);
}

/* Returns how much a counter of the target grew since the last call; 0 if it shrank. */
static uint64_t grown(const uint64_t *shared, uint64_t *seen)
{
	uint64_t now = __atomic_load_n(shared, __ATOMIC_RELAXED);
	uint64_t d = now > *seen ? now - *seen : 0;
	*seen = now;
	return d;
}

static uint64_t ticks_ns(const struct session *s, uint64_t ticks)
{
	uint64_t hz = s->tsc_hz;
	return hz ? (uint64_t)((double)ticks * 1e9 / (double)hz) : ticks;
}

void losses_take(struct session *s, struct reader *r)
{
	uint64_t lost = grown(&r->ring->lost, &r->lost);
	uint64_t from = __atomic_load_n(&r->ring->lost_first, __ATOMIC_RELAXED);
	uint64_t to = __atomic_load_n(&r->ring->lost_last, __ATOMIC_RELAXED);
	losses_add(s, clock_ns(&s->clock, from), clock_ns(&s->clock, to), lost, MS_LOST_OVERFLOW,
		   r->thread == UINT32_MAX ? 0 : r->thread + 1);
	s->stats.lost += lost;
	uint64_t waited = ticks_ns(s, grown(&r->ring->waited, &r->waited));
	s->stats.waited_ns += waited;
	uint64_t most = ticks_ns(s, __atomic_load_n(&r->ring->waited_max, __ATOMIC_RELAXED));
	if (most > s->stats.waited_max_ns)
		s->stats.waited_max_ns = most;
	s->stats.verified += grown(&r->ring->verified, &r->verified);
	s->stats.mismatches += grown(&r->ring->mismatched, &r->mismatched);
	s->stats.paused_allocations += grown(&r->ring->passed, &r->passed);
	if ((lost || waited) && r->thread != UINT32_MAX) {
		struct thread *t = &s->threads.all.v[r->thread];
		t->lost += lost;
		t->waited += waited;
		t->dirty = true;
	}
}

void losses_take_all(struct session *s)
{
	for (size_t i = 0; i < s->rings.taken.n; i++)
		losses_take(s, s->rings.taken.v[i]);
}
