/* SPDX-License-Identifier: MIT
 * Samples a process: cheaply often, and exactly as often as the cost limit permits.
 */
#include "proc_sample.h"
#include "libcommon/base/clock.h"

#include <errno.h>

/* Minimum time between two readings of smaps: a little under a second, so that every sample of a
 * series with one sample a second can be exact. */
#define DETAIL_NS UINT64_C(950000000)
#define DETAIL_SHARE 100u
/* Minimum time between two readings of stat, which takes longer than the rest of a sample without
 * smaps. */
#define COUNTS_NS UINT64_C(95000000)

static uint64_t moved(uint64_t v, int64_t by)
{
	return by < 0 && v < -(uint64_t)by ? 0 : v + (uint64_t)by;
}

/* Fills in the figures of smaps; `statm` was read just before. */
static void take_exact(struct ms_proc_sampler *t, const struct ms_proc_statm *statm,
		       struct ms_proc_sample *out)
{
	struct ms_proc_memory all;
	ms_regions_sum(&t->regions, &all, NULL);
	out->rss = all.rss;
	out->heap = ms_regions_heap(&t->regions);
	out->exact = true;
	out->pss = all.pss;
	out->private = all.private_clean + all.private_dirty;
	out->shared = all.shared_clean + all.shared_dirty;
	out->swap = all.swap;
	t->rss_off = (int64_t)(out->rss - statm->rss);
	t->heap_off = (int64_t)(out->heap - (statm->rss - statm->shared));
	t->detailed = true;
	t->last_one = *out;
}

/* Tells whether smaps could be read. */
static bool read_detail(struct ms_proc_sampler *t, uint64_t ns)
{
	uint64_t start = ms_clock_ns(CLOCK_MONOTONIC);
	bool ok = ms_regions_read(&t->proc, true, &t->regions) == 0 && t->regions.n;
	uint64_t took = ms_clock_ns(CLOCK_MONOTONIC) - start, wait = took * DETAIL_SHARE;
	t->denied |= errno == EACCES || errno == EPERM;
	t->detail_ns = ns + (wait > DETAIL_NS ? wait : DETAIL_NS);
	return ok;
}

void ms_proc_sample_counts(const struct ms_proc *p, struct ms_proc_sample *out,
			   struct ms_proc_stat *stat)
{
	out->peak_rss = ms_proc_peak_rss(p);
	out->counted = ms_proc_read_stat(p, stat);
	if (!out->counted)
		return;
	out->minflt = stat->field[MS_STAT_MINFLT];
	out->majflt = stat->field[MS_STAT_MAJFLT];
	out->utime = stat->field[MS_STAT_UTIME] * p->tick_ns;
	out->stime = stat->field[MS_STAT_STIME] * p->tick_ns;
	out->threads = stat->field[MS_STAT_THREADS];
}

void ms_proc_peak_note(struct ms_proc_peak *p, const struct ms_proc_sample *s, bool mid_run)
{
	if (!p->noted)
		p->before = !mid_run ? 0 : s->peak_rss ? s->peak_rss : UINT64_MAX;
	p->noted = true;
	p->known |= s->peak_rss > p->before;
	uint64_t most = s->peak_rss > p->before ? s->peak_rss : 0;
	most = s->rss > most ? s->rss : most; /* neither of the two figures is exact to the page */
	p->bytes = most > p->bytes ? most : p->bytes;
}

bool ms_proc_sample_take(struct ms_proc_sampler *t, uint64_t ns, bool want_detail,
			 struct ms_proc_sample *out)
{
	struct ms_proc_statm m;
	*out = (struct ms_proc_sample){.ns = ns};
	errno = 0;
	if (!ms_proc_read_statm(&t->proc, &m))
		return false;
	if (m.shared > m.rss)
		m.shared = m.rss;
	out->vsz = m.vsz;
	if (want_detail || ns >= t->counts_ns) {
		t->counts_ns = ns + COUNTS_NS;
		ms_proc_sample_counts(&t->proc, out, &(struct ms_proc_stat){0});
	}
	if (!t->denied && (want_detail || ns >= t->detail_ns) && read_detail(t, ns)) {
		take_exact(t, &m, out);
		return true;
	}
	out->rss = moved(m.rss, t->rss_off);
	out->heap = moved(m.rss - m.shared, t->heap_off);
	return true;
}
