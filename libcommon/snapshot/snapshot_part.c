/* SPDX-License-Identifier: MIT
 * What is known of a process whose events were not all counted: its rows, corrected afterwards.
 *
 * Where reading began at a checkpoint, or the events before one were dropped, what is live is known
 * exactly, but what the history alone tells is not: it becomes null or goes, and the totals are
 * those that the recorder left in the end block. Of a span (--from, --to) everything is known.
 */
#include "snapshot_private.h"

#include "libcommon/base/arena.h"
#include "format/trace.h"
#include "snapshot_insert.h"

#include <inttypes.h>

/* Rows that only the history gives. %1$ is the process. */
static const char forget[] =
	"UPDATE site SET allocations = NULL, frees = NULL, reallocations = NULL,"
	" failed_allocations = NULL, allocated_bytes = NULL, temporary = NULL, min_size = NULL,"
	" max_size = NULL, max_live_bytes = NULL, max_live_blocks = NULL, first_ns = NULL,"
	" last_ns = NULL, lifetime_ns = NULL, lifetime_allocations = NULL, marked = NULL,"
	" maps = NULL, mapped_bytes = NULL WHERE process = %1$" PRId64 ";"
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

static int run(struct ms_filling *f, struct ms_arena *a, const char *sql, int64_t id)
{
	return ms_sql_exec(f->db, ms_arena_printf(a, sql, id), f->err);
}

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

int ms_fill_part(struct ms_filling *f, const struct ms_kept_process *p)
{
	const struct ms_recording *t = p->rec;
	struct ms_arena a = {0};
	int rc = 0;
	if (ms_part_is_headless(p)) {
		rc = run(f, &a, forget, p->id);
		if (rc == 0 && t->parts)
			rc = run(f, &a, forget_end, p->id);
		if (rc == 0 && !t->replay.sampled)
			rc = put_totals(f, p);
	}
	if (rc == 0 && (p->counted_from || p->to_ns != MS_NEVER))
		rc = put_span(f, p);
	ms_arena_free(&a);
	return rc;
}
