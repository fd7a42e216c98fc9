/* SPDX-License-Identifier: MIT
 * A process that was polled: there are samples of /proc, and no event says anything of its heap.
 */
#include "libcommon/base/arena.h"
#include "format/trace.h"
#include "snapshot_private.h"
#include "libcommon/stats/trend.h"

#include <stdlib.h>

bool ms_is_polled(const struct ms_recording *t)
{
	return ms_has(&t->info, MS_INFO_OPTIONS) &&
	       (t->info.number[MS_INFO_OPTIONS] & MS_OPTION_POLL);
}

/* What no event was there to tell. */
static const char forget[] =
	"UPDATE process SET events_lost = NULL, stacks_cut = NULL, stacks_truncated = NULL,"
	" stacks_not_taken = NULL, events_late = NULL, inferred_frees = NULL, unknown_frees = "
	"NULL, waited_ns = NULL,"
	" waited_max_ns = NULL, frames_without_symbol = NULL, allocations = NULL, frees = NULL,"
	" reallocations = NULL, failed_allocations = NULL, allocated_bytes = NULL,"
	" temporary_allocations = NULL, peak_bytes = NULL, peak_blocks = NULL, peak_time_ns = NULL,"
	" at_sum_peak_bytes = NULL, unfreed_bytes = NULL, unfreed_blocks = NULL, clock = NULL,"
	" depth = NULL, images_kept = NULL, images_trivial = NULL, children_not_recorded = NULL"
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
	struct ms_trend t = ms_trend_of(v, n);
	free(v);
	return n ? ms_put_growth(f, p->id, &t) : 0;
}

int ms_fill_polled(struct ms_filling *f, const struct ms_kept_process *p)
{
	if (!ms_is_polled(p->rec))
		return 0;
	long long id = p->id;
	return ms_sql_execf(f->db, f->err, forget, id, id, id, id) ||
			       ms_sql_execf(f->db, f->err, move_peak, id, id, id) ||
			       put_growth(f, p)
		       ? -1
		       : 0;
}
