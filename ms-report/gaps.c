/* SPDX-License-Identifier: MIT
 * What the recordings left out because they were asked to.
 */
#include "gaps.h"

#include "libcommon/base/err.h"
#include "libcommon/base/json_writer.h"

static uint64_t column(sqlite3_stmt *st, int i)
{
	return sqlite3_column_type(st, i) == SQLITE_INTEGER ? (uint64_t)sqlite3_column_int64(st, i)
							    : UNKNOWN;
}

int gaps_read(struct model *m, struct ms_err *err)
{
	sqlite3_stmt *st = ms_sql_prepare(
		m->db,
		"SELECT max(paused_ns), sum(paused_allocations), max(started_late_ns),"
		" sum(dropped_events), max(dropped_until_ns), max(options LIKE '%keep=last%')"
		" FROM process",
		err);
	if (!st)
		return -1;
	int rc = sqlite3_step(st);
	m->gaps = (struct gaps){column(st, 0), column(st, 1), column(st, 2),
				column(st, 3), column(st, 4), column(st, 5) == 1};
	sqlite3_finalize(st);
	return rc == SQLITE_ROW
		       ? 0
		       : ms_err_set(err, "cannot read the snapshot: %s", sqlite3_errmsg(m->db));
}

static bool positive(uint64_t v)
{
	return v != UNKNOWN && v > 0;
}

static void add(struct words *w, const char *s)
{
	if (w->n < WORDS_MAX)
		w->v[w->n++] = s;
}

#define SAY(...) ms_arena_printf(&m->arena, __VA_ARGS__)

void gaps_words(struct model *m, struct words *w)
{
	const struct gaps *g = &m->gaps;
	const char *not_recorded =
		positive(g->paused_allocations)
			? SAY(": %s not recorded",
			      say_things(m, g->paused_allocations, "allocation", "allocations"))
			: "";
	if (positive(g->started_late_ns))
		add(w, SAY("recording began %s after the start%s", say_time(m, g->started_late_ns),
			   positive(g->paused_ns) ? "" : not_recorded));
	if (positive(g->paused_ns))
		add(w, SAY("paused %s%s", say_time(m, g->paused_ns), not_recorded));
	if (positive(g->dropped_until_ns) && g->last)
		add(w, SAY("every event since %s kept (--keep=last), before only what was live "
			   "then: totals are of the whole run, ms-snap --from %.4fs has figures "
			   "since",
			   say_time(m, g->dropped_until_ns), (double)g->dropped_until_ns / 1e9));
	else if (positive(g->dropped_until_ns))
		add(w, SAY("events before %s dropped (--keep=live): allocations, peak by site and "
			   "timeline before are unknown",
			   say_time(m, g->dropped_until_ns)));
}

const char *gaps_peak(struct model *m)
{
	uint64_t until = m->gaps.dropped_until_ns, peak = m->totals.peak_time_ns;
	if (!positive(until) || peak == UNKNOWN || peak >= until)
		return NULL;
	return SAY("PEAK since %s (the run's, at %s, was before: its sites are unknown)",
		   say_time(m, until), say_time(m, peak));
}

uint64_t gaps_unexplained(const struct model *m, uint64_t unknown_frees)
{
	uint64_t passed = m->gaps.paused_allocations;
	return passed == UNKNOWN || unknown_frees == UNKNOWN ? unknown_frees
	       : unknown_frees > passed                      ? unknown_frees - passed
							     : 0;
}

void gaps_json(const struct model *m, struct ms_json *j)
{
	const struct gaps *g = &m->gaps;
	ms_json_number(j, "paused_ns", g->paused_ns);
	ms_json_number(j, "paused_allocations", g->paused_allocations);
	ms_json_number(j, "started_late_ns", g->started_late_ns);
	ms_json_number(j, "dropped_events", g->dropped_events);
	ms_json_number(j, "dropped_until_ns", g->dropped_until_ns);
}
