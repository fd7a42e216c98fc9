/* SPDX-License-Identifier: MIT
 * Corrects rows whose data the events alone do not give completely.
 *
 * If reading began at a checkpoint, or earlier events were dropped, the totals are those of the
 * recorder's end block. For a polled process there are only samples of /proc.
 */
#include "snapshot_private.h"

#include "libcommon/base/arena.h"
#include "format/trace.h"
#include "snapshot_insert.h"

/* Lists the totals of the whole recording that the end block contains. */
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
	for (size_t i = 0; i < sizeof totals / sizeof *totals; i++)
		if (ms_has(end, totals[i].field))
			ms_put(&u, ms_address(totals[i].column,
					      end->number[totals[i].field] & INT64_MAX));
	ms_put_row(&u, ms_int("id", p->id));
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
	return ms_part_is_headless(w->p) && !w->r->sampled ? put_totals(w->f, w->p) : 0;
}

/* ---- polled ---- */

/* Moves the peak to the sample with the largest heap. */
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
	MS_FREE(room, v);
	return n ? ms_put_growth(f, p->id, &t) : 0;
}

int ms_fill_polled(struct ms_fill *w)
{
	long long id = w->p->id;
	if (!ms_recording_is_polled(w->t))
		return 0;
	return ms_sql_execf(w->f->db, w->f->err, move_peak, id, id, id) || put_growth(w->f, w->p)
		       ? -1
		       : 0;
}

/* ---- images that a process replaced by exec ----
 *
 * The memory of such an image was freed when the next one began, so none of it is live at the
 * end of the process. The blocks that it held then are its moment "exec" and its figures
 * exec_bytes and exec_blocks. */

#define REPLACED "(SELECT id FROM process WHERE became IS NOT NULL)"
#define NONE_LIVE " SET live_bytes = live_bytes * 0, live_blocks = live_blocks * 0 WHERE "

/* Finds replaced program images: only the image that a process replaced by exec is the parent of an
 * image with the same pid. */
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
