/* SPDX-License-Identifier: MIT
 * What a recording left out because it was asked to: before its start, in pauses, and what was
 * dropped at --max-size.
 */
#include "libcommon/base/err.h"
#include "format/trace.h"
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

static int bind(sqlite3_stmt *st, int at, bool known, uint64_t v)
{
	return known ? sqlite3_bind_int64(st, at, v > INT64_MAX ? INT64_MAX : (int64_t)v)
		     : sqlite3_bind_null(st, at);
}

int ms_fill_gaps(struct ms_filling *f, const struct ms_kept_process *p)
{
	const struct ms_recording *t = p->rec;
	uint64_t paused, allocations, start = start_of(t);
	uint64_t dropped = end_field(t, MS_END_DROPPED_EVENTS), until = dropped_until(t);
	sum_pauses(t, &paused, &allocations);
	sqlite3_stmt *st = ms_sql_prepare(
		f->db,
		"UPDATE process SET paused_ns=?1, paused_allocations=?2, started_late_ns=?3,"
		" dropped_events=?4, dropped_until_ns=?5, whole=CASE WHEN ?5>0 THEN 0 ELSE whole "
		"END"
		" WHERE id=?6",
		f->err);
	if (!st)
		return -1;
	bool bad = bind(st, 1, true, paused) || bind(st, 2, true, allocations) ||
		   bind(st, 3, start != 0, start) || bind(st, 4, dropped || !until, dropped) ||
		   bind(st, 5, until != 0, until) || bind(st, 6, true, (uint64_t)p->id) ||
		   sqlite3_step(st) != SQLITE_DONE;
	sqlite3_finalize(st);
	return bad ? ms_err_set(f->err, "cannot fill the snapshot: %s", sqlite3_errmsg(f->db)) : 0;
}
