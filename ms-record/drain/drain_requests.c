/* SPDX-License-Identifier: MIT
 * Passes requests from the control thread to the draining thread.
 */
#include "drain_requests.h"

#include "drain.h"
#include "drained.h"
#include "ms-record/heap/merge.h"
#include "ms-record/session/session.h"

void drain_requests_send(struct drain *d, struct drain_request *r)
{
	__atomic_store_n(&r->done, 0, __ATOMIC_RELAXED);
	pthread_mutex_lock(&d->lock);
	d->next_request = r;
	pthread_mutex_unlock(&d->lock);
	wake_up(&d->wake);
}

static bool is_for(const struct drain_mark *m, const struct session *s)
{
	return m->image == s->image || m->image == DRAIN_ALL;
}

/* Tells whether the request names a mark for the session. */
static bool has_mark(const struct drain_request *r, const struct session *s)
{
	for (size_t i = 0; i < r->marks.n; i++)
		if (is_for(&r->marks.v[i], s))
			return true;
	return false;
}

/* Inserts the marks for the session, and asks for a checkpoint behind them. */
static void insert_marks(struct session *s, const struct drain_marks *marks)
{
	uint64_t ns = clock_ns(&s->clock, s->drained->request_stamp);
	for (size_t i = 0; i < marks->n; i++) {
		const struct drain_mark *m = &marks->v[i];
		if (!is_for(m, s))
			continue;
		if (m->image == s->image)
			__atomic_store_n(&s->kept_for_sure, 1, __ATOMIC_RELEASE);
		if (m->checkpoint)
			session_batch(s)->checkpoint = true;
		if (m->name)
			merge_mark(s, m->name, ns, 0);
	}
}

void drain_requests_take(struct drain *d)
{
	pthread_mutex_lock(&d->lock);
	struct drain_request *r = d->next_request;
	d->next_request = NULL;
	pthread_mutex_unlock(&d->lock);
	if (!r)
		return;
	d->request = r;
	for (size_t i = 0; i < d->sessions.n; i++) {
		struct session *s = d->sessions.v[i];
		pause_look(s);
		if (!has_mark(r, s))
			continue;
		s->drained->request = r;
		s->drained->request_stamp = clock_round(&s->clock);
	}
}

uint64_t drain_requests_stamp(const struct session *s)
{
	return s->drained->request ? s->drained->request_stamp : UINT64_MAX;
}

void drain_requests_reached(struct session *s, uint64_t stamp)
{
	if (drain_requests_stamp(s) == stamp)
		drain_requests_perform(s);
}

void drain_requests_perform(struct session *s)
{
	const struct drain_request *r = s->drained->request;
	s->drained->request = NULL;
	if (!r)
		return;
	insert_marks(s, &r->marks);
	session_flush(s);
}

void figures_add(struct figures *f, const struct stats *t, uint64_t paused_ns)
{
	f->images++;
	f->events += t->events;
	f->allocations += t->allocations;
	f->lost += t->lost;
	f->paused_allocations += t->paused_allocations;
	if (paused_ns > f->paused_ns)
		f->paused_ns = paused_ns;
	if (t->peak_bytes > f->peak_bytes)
		f->peak_bytes = t->peak_bytes;
}

void drain_requests_add_figures(struct figures *f, const struct session *s)
{
	uint64_t paused = s->stats.paused_ns;
	if (pause_on(&s->pause) && !s->finished)
		paused += session_now(s) - s->pause.since_ns;
	figures_add(f, &s->stats, paused);
	f->live_bytes += s->stats.live_bytes;
	f->live_blocks += s->stats.live_blocks;
}

void drain_requests_answer(struct drain *d)
{
	struct drain_request *r = d->request;
	if (!r)
		return;
	for (size_t i = 0; i < d->sessions.n; i++)
		if (d->sessions.v[i]->drained->request)
			return;
	r->figures = (struct figures){0};
	for (size_t i = 0; i < d->sessions.n; i++)
		drain_requests_add_figures(&r->figures, d->sessions.v[i]);
	r->ticket = writer_ticket(d->writer);
	d->request = NULL;
	__atomic_store_n(&r->done, 1, __ATOMIC_RELEASE);
	wake_event(d->event);
}
