/* SPDX-License-Identifier: MIT
 * Recording that waits for its start or is paused.
 */
#include "pause.h"

#include <string.h>

#include "format/trace.h"
#include "losses.h"
#include "session_options.h"
#include "session.h"

/* Changes the guest's state. Returns false if the state was not `from`: the guest is off for
 * good, or recording began at the start mark. */
static bool change(struct session *s, uint32_t from, uint32_t to)
{
	return __atomic_compare_exchange_n(&s->mem->state, &from, to, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

static bool started(const struct run *r)
{
	return __atomic_load_n(&r->started_ns, __ATOMIC_ACQUIRE) != 0;
}

static bool paused(const struct run *r)
{
	return __atomic_load_n(&r->paused, __ATOMIC_ACQUIRE) != 0;
}

/* Passes a pause that --tell requested on to the guest. */
static void tell(struct session *s)
{
	__atomic_store_n(&s->mem->told_paused, s->pause.told, __ATOMIC_SEQ_CST);
	mg_settle(s->mem);
}

void pause_init(struct session *s, struct run *run)
{
	s->run = run;
	s->pause.waiting = !started(run);
	s->pause.told = !s->pause.waiting && paused(run);
	s->pause.user = s->standby && __atomic_load_n(&s->mem->user_paused, __ATOMIC_ACQUIRE);
	s->pause.since_ns = 0;
	if (s->pause.waiting && s->opt->start_mark)
		strncpy(s->mem->start_mark, s->opt->start_mark, sizeof s->mem->start_mark - 1);
	if (s->standby)
		return; /* session_wake does the rest */
	if (s->pause.waiting)
		s->mem->state = MG_WAITING;
	else if (s->pause.told)
		tell(s);
}

void pause_adopt(struct session *s, struct run *run)
{
	s->run = run;
	s->pause.waiting = __atomic_load_n(&s->mem->state, __ATOMIC_ACQUIRE) == MG_WAITING;
	s->pause.told = __atomic_load_n(&s->mem->told_paused, __ATOMIC_ACQUIRE);
	s->pause.user = __atomic_load_n(&s->mem->user_began, __ATOMIC_ACQUIRE);
}

static void add_loss(struct session *s, uint64_t to)
{
	losses_add(s, s->pause.since_ns, to, s->stats.paused_allocations - s->pause.reported,
		   MS_LOST_PAUSED, 0);
	s->pause.reported = s->stats.paused_allocations;
}

/* Ends the current wait or pause at `ns`. If recording was waiting and is also paused, a pause
 * begins at `ns`. */
static void end(struct session *s, uint64_t ns)
{
	if (ns < s->pause.since_ns)
		ns = s->pause.since_ns;
	if (!s->damaged)
		losses_take_all(s);
	add_loss(s, ns);
	if (s->pause.waiting) {
		struct ms_record_writer *w = batch_record(&session_batch(s)->info, 32);
		s->stats.started_late_ns = ns;
		ms_record_number(w, MS_INFO_STARTED_LATE, ns);
		ms_record_end(w);
	} else {
		s->stats.paused_ns += ns - s->pause.since_ns;
	}
	s->pause.waiting = false;
	s->pause.since_ns = ns;
}

/* Handles a change of one pause flag; `was`: the session was paused before the change. */
static void update(struct session *s, bool was, uint64_t ns)
{
	bool is = pause_on(&s->pause);
	if (is && !was)
		s->pause.since_ns = ns;
	if (was && !is)
		end(s, ns);
}

void pause_look(struct session *s)
{
	if (!s->run || s->damaged)
		return;
	if (s->pause.waiting) {
		if (!started(s->run))
			return;
		change(s, MG_WAITING, MG_ON);
		mg_settle(s->mem);
		end(s, session_now(s));
	} else if (s->pause.told != paused(s->run)) {
		bool was = pause_on(&s->pause);
		s->pause.told = !s->pause.told;
		tell(s);
		update(s, was, session_now(s));
	}
}

void pause_mark(struct session *s, const char *name, uint64_t ns)
{
	uint64_t never = 0;
	if (!s->pause.waiting || !s->opt->start_mark || strcmp(name, s->opt->start_mark))
		return;
	__atomic_compare_exchange_n(&s->run->started_ns, &never, s->clock.start_mono + ns, false,
				    __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
	change(s, MG_WAITING, MG_ON); /* for a mark from outside; after the program's own mark the
					 state is MG_ON already */
	mg_settle(s->mem);
	end(s, ns);
}

void pause_user(struct session *s, uint64_t change, uint64_t ns)
{
	if (change <= s->pause.change)
		return;
	s->pause.change = change;
	bool was = pause_on(&s->pause);
	s->pause.user = change & 1;
	update(s, was, ns);
}

void pause_finish(struct session *s)
{
	uint64_t now = session_now(s);
	if (pause_on(&s->pause))
		s->stats.paused_ns += now - s->pause.since_ns;
	/* includes allocations counted too late for the record of the pause in which they were
	 * made */
	add_loss(s, now);
}
