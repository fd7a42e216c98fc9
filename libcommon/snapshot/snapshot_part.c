/* SPDX-License-Identifier: MIT
 * Rows that are corrected afterwards, because less is known of a process, or less is left of it,
 * than they say.
 *
 * Where reading began at a checkpoint, or the events before one were dropped, what is live is known
 * exactly, but what the history alone tells is not: it becomes null or goes, and the totals are
 * those that the recorder left in the end block. Of a span (--from, --to) everything is known. Of a
 * process that was polled there are samples of /proc, and no event says anything of its heap.
 */
#include "snapshot_private.h"

#include "libcommon/base/arena.h"
#include "format/trace.h"
#include "snapshot_insert.h"

#include <inttypes.h>
#include <stdlib.h>

/* Rows that only the history gives. %1$ is the process. */
static const char forget[] =
	"UPDATE site SET allocations = NULL, frees = NULL, reallocations = NULL,"
	" failed_allocations = NULL, allocated_bytes = NULL, temporary = NULL, min_size = NULL,"
	" max_size = NULL, max_live_bytes = NULL, max_live_blocks = NULL, first_ns = NULL,"
	" last_ns = NULL, lifetime_ns = NULL, lifetime_allocations = NULL, freed_soon = NULL,"
	" marked = NULL, maps = NULL, mapped_bytes = NULL WHERE process = %1$" PRId64 ";"
	"UPDATE thread SET allocations = NULL, frees = NULL, allocated_bytes = NULL,"
	" temporary = NULL, peak_bytes = NULL, peak_blocks = NULL WHERE process = %1$" PRId64 ";"
	"DELETE FROM site_size WHERE site IN (SELECT id FROM site WHERE process = %1$" PRId64 ");"
	"DELETE FROM site_lifetime WHERE site IN (SELECT id FROM site WHERE process = %1$" PRId64
	");"
	"DELETE FROM site_thread WHERE site IN (SELECT id FROM site WHERE process = %1$" PRId64 ");"
	"DELETE FROM free_site WHERE process = %1$" PRId64 ";"
	"DELETE FROM heap WHERE process = %1$" PRId64 ";"
	"DELETE FROM size_class WHERE process = %1$" PRId64 ";"
	"DELETE FROM estimate WHERE process = %1$" PRId64
	" AND figure NOT IN ('live_bytes', 'live_blocks', 'unfreed_bytes', 'unfreed_blocks');"
	"UPDATE process SET allocations = NULL, frees = NULL, reallocations = NULL,"
	" failed_allocations = NULL, allocated_bytes = NULL, temporary_allocations = NULL,"
	" freed_soon = NULL,"
	" peak_bytes = NULL, peak_blocks = NULL, peak_time_ns = NULL, at_sum_peak_bytes = NULL,"
	" maps = NULL, unmaps = NULL, mapped_bytes = NULL, mapped_peak_bytes = NULL,"
	" mapped_peak_time_ns = NULL, mapped_end_bytes = NULL, peak_usable_bytes = NULL,"
	" whole = 0 WHERE id = %1$" PRId64 ";";

/* Of what was read in part, what the end of the reading says is not that of the recording. */
static const char forget_end[] =
	"DELETE FROM timeline WHERE process = %1$" PRId64 ";"
	"UPDATE thread SET live_bytes = NULL, live_blocks = NULL WHERE process = %1$" PRId64 ";"
	"UPDATE process SET events = NULL, inferred_frees = NULL, unknown_frees = NULL,"
	" unfreed_bytes = NULL, unfreed_blocks = NULL, unfreed_usable_bytes = NULL,"
	" before_frees = NULL, before_freed_bytes = NULL"
	" WHERE id = %1$" PRId64 ";";

/* Totals of the whole recording, from its end block. */
static const struct {
	unsigned field;
	const char *column;
} totals[] = {
	{MS_END_EVENTS, "events"},
	{MS_END_ALLOCATIONS, "allocations"},
	{MS_END_FREES, "frees"},
	{MS_END_REALLOCATIONS, "reallocations"},
	{MS_END_FAILED, "failed_allocations"},
	{MS_END_ALLOCATED_BYTES, "allocated_bytes"},
	{MS_END_TEMPORARY, "temporary_allocations"},
	{MS_END_PEAK_BYTES, "peak_bytes"},
	{MS_END_PEAK_BLOCKS, "peak_blocks"},
	{MS_END_PEAK_TIME, "peak_time_ns"},
	{MS_END_UNFREED_BYTES, "unfreed_bytes"},
	{MS_END_UNFREED_BLOCKS, "unfreed_blocks"},
	{MS_END_INFERRED_FREES, "inferred_frees"},
	{MS_END_UNKNOWN_FREES, "unknown_frees"},
};

static int put_totals(struct ms_filling *f, const struct ms_kept_process *p)
{
	const struct ms_fields *end = &p->rec->end;
	struct ms_insert u = ms_update(f->db, "process", 1, f->err);
	ms_put(&u, ms_int("whole", 0));
	for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
		if (ms_has(end, totals[i].field))
			ms_put(&u, ms_address(totals[i].column,
					      end->number[totals[i].field] & INT64_MAX));
	ms_put_row(&u, ms_int("id", p->id));
	return ms_insert_close(&u);
}

static int put_span(struct ms_filling *f, const struct ms_kept_process *p)
{
	struct ms_insert u = ms_update(f->db, "process", 1, f->err);
	ms_put_row(
		&u, ms_int("whole", 0),
		ms_int_if("from_ns", p->from.kind == MS_KEPT_MOMENT, p->from.time_ns & INT64_MAX),
		ms_int_if("to_ns", p->to_ns != MS_NEVER, p->to_ns & INT64_MAX),
		ms_int("id", p->id));
	return ms_insert_close(&u);
}

bool ms_part_is_headless(const struct ms_kept_process *p)
{
	return !p->counted_from && (p->rec->skipped || p->rec->parts);
}

bool ms_is_corrected(const struct ms_kept_process *p)
{
	return ms_part_is_headless(p) || p->rec->replay.sampled;
}

int ms_fill_part(struct ms_fill *w)
{
	const struct ms_kept_process *p = w->p;
	sqlite3 *db = w->f->db;
	struct ms_err *err = w->f->err;
	struct ms_arena a = {0};
	int rc = 0;
	if (ms_part_is_headless(p))
		rc = ms_sql_exec(db, ms_arena_printf(&a, forget, p->id), err) ||
		     (w->t->parts &&
		      ms_sql_exec(db, ms_arena_printf(&a, forget_end, p->id), err)) ||
		     (!w->r->sampled && put_totals(w->f, p));
	if (rc == 0 && (p->counted_from || p->to_ns != MS_NEVER))
		rc = put_span(w->f, p);
	ms_arena_free(&a);
	return rc ? -1 : 0;
}

/* ---- polled ---- */

bool ms_is_polled(const struct ms_recording *t)
{
	return t->info.number[MS_INFO_OPTIONS] & MS_OPTION_POLL;
}

/* What no event was there to tell. */
static const char forget_events[] =
	"UPDATE process SET events_lost = NULL, stacks_cut = NULL, stacks_truncated = NULL,"
	" stacks_not_taken = NULL, events_late = NULL, inferred_frees = NULL, unknown_frees = "
	"NULL, waited_ns = NULL,"
	" waited_max_ns = NULL, frames_without_symbol = NULL, allocations = NULL, frees = NULL,"
	" reallocations = NULL, failed_allocations = NULL, allocated_bytes = NULL,"
	" temporary_allocations = NULL, freed_soon = NULL, peak_bytes = NULL, peak_blocks = NULL, "
	"peak_time_ns = NULL,"
	" at_sum_peak_bytes = NULL, unfreed_bytes = NULL, unfreed_blocks = NULL, clock = NULL,"
	" depth = NULL, images_kept = NULL, images_trivial = NULL, images_missed = NULL, "
	"children_not_recorded = NULL"
	" WHERE id = %lld;"
	"UPDATE snapshot SET live_bytes = NULL, live_blocks = NULL WHERE process = %lld;"
	"DELETE FROM timeline WHERE process = %lld; DELETE FROM growth WHERE process = %lld;";

/* The peak is where the heap is largest, as far as samples show it. */
static const char move_peak[] =
	"UPDATE snapshot SET (time_ns, rss_bytes, pss_bytes, private_bytes, swap_bytes) ="
	" (SELECT time_ns, rss_bytes, pss_bytes, private_bytes, swap_bytes FROM sample"
	"  WHERE process = %lld ORDER BY heap_bytes DESC, time_ns LIMIT 1)"
	" WHERE process = %lld AND label = 'peak'"
	" AND EXISTS (SELECT 1 FROM sample WHERE process = %lld);";

static int put_growth(struct ms_filling *f, const struct ms_kept_process *p)
{
	const struct ms_rows *s = &p->rec->samples;
	struct ms_trend_sample *v = ms_xrealloc(NULL, s->n + 1, sizeof *v);
	uint64_t to = ms_recording_reached(p->rec), last = 0;
	size_t n = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct ms_row *r = &s->v[i];
		uint64_t at = r->number[MS_SAMPLE_TIME];
		if (!ms_has(r, MS_SAMPLE_HEAP) || at > to || (n && at <= last))
			continue;
		last = at;
		v[n++] = (struct ms_trend_sample){(double)at / 1e9,
						  (double)r->number[MS_SAMPLE_HEAP]};
	}
	struct ms_trend_span *room = ms_xrealloc(NULL, n + 1, sizeof *room);
	bool exited = ms_recording_exited(p->rec);
	struct ms_trend t = ms_trend_until(v, n, exited ? ms_trend_teardown_of(v, n, room) : 0);
	free(room);
	free(v);
	return n ? ms_put_growth(f, p->id, &t) : 0;
}

int ms_fill_polled(struct ms_fill *w)
{
	long long id = w->p->id;
	if (!ms_is_polled(w->t))
		return 0;
	return ms_sql_execf(w->f->db, w->f->err, forget_events, id, id, id, id) ||
			       ms_sql_execf(w->f->db, w->f->err, move_peak, id, id, id) ||
			       put_growth(w->f, w->p)
		       ? -1
		       : 0;
}

/* ---- images that a process replaced by exec ----
 *
 * The memory of such an image was gone when the next one began, so none of it is live at the end of
 * the process. What it held then is its moment "exec" and its figures exec_bytes and exec_blocks.
 */

#define REPLACED "(SELECT id FROM process WHERE became IS NOT NULL)"
#define NONE_LIVE " SET live_bytes = live_bytes * 0, live_blocks = live_blocks * 0 WHERE "

/* Only the image of a process that became another one is the parent of an image of the same pid. */
static const char replace[] =
	"UPDATE process SET became = q.id FROM (SELECT id, parent, pid FROM process) q"
	" WHERE process.id = q.parent AND process.pid = q.pid AND process.end_reason = 'exec';"
	"UPDATE process SET exec_bytes = unfreed_bytes * (became IS NOT NULL),"
	" exec_blocks = unfreed_blocks * (became IS NOT NULL);"
	"UPDATE process SET unfreed_bytes = unfreed_bytes * 0,"
	" unfreed_blocks = unfreed_blocks * 0, unfreed_usable_bytes = unfreed_usable_bytes * 0,"
	" mapped_end_bytes = mapped_end_bytes * 0 WHERE became IS NOT NULL;"
	"UPDATE snapshot SET label = 'exec' WHERE label = 'end' AND process IN " REPLACED ";"
	"UPDATE heap SET backing_bytes = 0, backing_blocks = 0 WHERE process IN " REPLACED ";"
	"UPDATE thread" NONE_LIVE "process IN " REPLACED ";"
	"UPDATE size_class" NONE_LIVE "process IN " REPLACED ";"
	"UPDATE site_size" NONE_LIVE "site IN (SELECT id FROM site WHERE process IN " REPLACED ");"
	"UPDATE site_thread" NONE_LIVE "thread IN (SELECT id FROM thread WHERE process IN " REPLACED
	");"
	"UPDATE estimate SET figure = replace(figure, 'unfreed_', 'exec_')"
	" WHERE figure LIKE 'unfreed!_%' ESCAPE '!' AND process IN " REPLACED ";"
	"DELETE FROM estimate WHERE thread <> 0 AND figure LIKE 'live!_%' ESCAPE '!'"
	" AND process IN " REPLACED ";";

int ms_fill_replaced(sqlite3 *db, struct ms_err *err)
{
	return ms_sql_exec(db, replace, err);
}
