/* SPDX-License-Identifier: MIT
 * What the control thread asks of the draining thread.
 */
#include "orders.h"

#include <unistd.h>

#include "drain.h"
#include "format/trace.h"
#include "merge.h"
#include "session.h"

void orders_give(struct drain *d, struct order *o)
{
	__atomic_store_n(&o->done, 0, __ATOMIC_RELAXED);
	pthread_mutex_lock(&d->lock);
	d->next_order = o;
	pthread_mutex_unlock(&d->lock);
	drain_wake(d);
}

void orders_take(struct drain *d)
{
	pthread_mutex_lock(&d->lock);
	struct order *o = d->next_order;
	d->next_order = NULL;
	pthread_mutex_unlock(&d->lock);
	if (!o)
		return;
	d->order = o;
	for (size_t i = 0; i < d->count; i++) {
		struct session *s = d->sessions[i];
		pause_look(s);
		if (o->kind == ORDER_LOOK)
			continue;
		s->order = o;
		s->order_stamp = clock_round(&s->clock);
	}
}

void orders_merge(struct session *s, uint64_t limit)
{
	if (!s->order || limit < s->order_stamp)
		return;
	merge_until(s, s->order_stamp);
	orders_do(s);
}

void orders_do(struct session *s)
{
	const struct order *o = s->order;
	s->order = NULL;
	if (!o)
		return;
	if (o->kind == ORDER_MARK)
		merge_mark(s, o->name, clock_ns(&s->clock, s->order_stamp), 0);
	session_flush(s);
}

void orders_add_figures(struct figures *f, const struct session *s)
{
	const struct stats *t = &s->stats;
	f->images++;
	f->events += t->events;
	f->allocations += t->allocations;
	f->live_bytes += t->live_bytes;
	f->live_blocks += t->live_blocks;
	f->lost += t->lost;
	f->paused_allocations += t->paused_allocations;
	uint64_t paused = t->paused_ns;
	if (s->pause.on && !s->finished)
		paused += session_now(s) - s->pause.since_ns;
	if (paused > f->paused_ns)
		f->paused_ns = paused;
	if (t->peak_bytes > f->peak_bytes)
		f->peak_bytes = t->peak_bytes;
}

void orders_answer(struct drain *d)
{
	struct order *o = d->order;
	uint64_t one = 1;
	if (!o)
		return;
	for (size_t i = 0; i < d->count; i++)
		if (d->sessions[i]->order)
			return;
	o->figures = (struct figures){0};
	for (size_t i = 0; i < d->count; i++)
		orders_add_figures(&o->figures, d->sessions[i]);
	o->ticket = writer_ticket(d->writer);
	d->order = NULL;
	__atomic_store_n(&o->done, 1, __ATOMIC_RELEASE);
	if (write(d->event, &one, sizeof one) < 0)
		return; /* it is set already */
}
