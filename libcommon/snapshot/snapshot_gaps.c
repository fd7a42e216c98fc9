/* SPDX-License-Identifier: MIT
 * What a recording left out because it was asked to: before its start, in pauses, and what was
 * dropped at --max-size.
 */
#include "format/trace.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

static uint64_t end_field(const struct ms_recording *t, unsigned field)
{
	return ms_has(&t->end, field) ? t->end.number[field] : 0;
}

static uint64_t start_of(const struct ms_recording *t)
{
	return ms_has(&t->info, MS_INFO_STARTED_LATE) ? t->info.number[MS_INFO_STARTED_LATE] : 0;
}

bool ms_gap_is_loss(const struct ms_row *loss)
{
	uint64_t why = ms_has(loss, MS_LOSS_REASON) ? loss->number[MS_LOSS_REASON] : 0;
	return why != MS_LOST_PAUSED && why != MS_LOST_LIMIT;
}

bool ms_gap_is_between(const struct ms_recording *t, const struct ms_row *loss)
{
	uint64_t why = ms_has(loss, MS_LOSS_REASON) ? loss->number[MS_LOSS_REASON] : 0;
	return ms_gap_is_loss(loss) ||
	       (why == MS_LOST_PAUSED && loss->number[MS_LOSS_TO] > start_of(t));
}

/* Of a recording that has not ended, what its loss records say. */
static void sum_pauses(const struct ms_recording *t, uint64_t *ns, uint64_t *allocations)
{
	*ns = end_field(t, MS_END_PAUSED);
	*allocations = end_field(t, MS_END_PAUSED_ALLOCATIONS);
	for (size_t i = 0; i < t->losses.n && !t->has_end; i++) {
		const struct ms_row *l = &t->losses.v[i];
		uint64_t from = l->number[MS_LOSS_FROM], to = l->number[MS_LOSS_TO];
		if (!ms_has(l, MS_LOSS_REASON) || l->number[MS_LOSS_REASON] != MS_LOST_PAUSED)
			continue;
		*allocations += l->number[MS_LOSS_COUNT];
		if (to > start_of(t) && to > from)
			*ns += to - from;
	}
}

/* Before which time there are no events; of a recording that has not ended, where its first
 * checkpoint stands. */
static uint64_t dropped_until(const struct ms_recording *t)
{
	bool growing = !t->has_end && t->skipped && !t->parts;
	return growing ? t->replay.from_tick * t->head->tick_ns
		       : end_field(t, MS_END_DROPPED_UNTIL);
}

void ms_put_gaps(struct ms_insert *in, const struct ms_recording *t)
{
	uint64_t paused, allocations, start = start_of(t);
	uint64_t dropped = end_field(t, MS_END_DROPPED_EVENTS), until = dropped_until(t);
	sum_pauses(t, &paused, &allocations);
	ms_put(in, ms_int("paused_ns", paused), ms_int("paused_allocations", allocations),
	       ms_int_if("started_late_ns", start != 0, start),
	       ms_int_if("dropped_events", dropped || !until, dropped),
	       ms_int_if("dropped_until_ns", until != 0, until), ms_int("whole", !until));
}
