/* SPDX-License-Identifier: MIT
 * Samples of a polled process: cheap ones often, exact ones as often as they may cost.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "libcommon/arena.h"
#include "poll.h"

/* A little under a second, so that a sample each second is an exact one. */
#define DETAIL_NS UINT64_C(950000000)
#define DETAIL_SHARE 100u

static uint64_t moved(uint64_t v, int64_t by)
{
	return by < 0 && v < -(uint64_t)by ? 0 : v + (uint64_t)by;
}

/* The figures of smaps; `statm` was read right before. */
static void take_exact(struct poll_taker *t, const struct ms_proc_statm *statm,
		       struct poll_sample *out)
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

/* True when smaps could be read. */
static bool read_detail(struct poll_taker *t, uint64_t ns)
{
	uint64_t start = clock_mono();
	bool ok = ms_regions_read(&t->proc, true, &t->regions) == 0 && t->regions.n;
	uint64_t took = clock_mono() - start, wait = took * DETAIL_SHARE;
	t->denied |= errno == EACCES || errno == EPERM;
	t->detail_spent += took;
	t->detail_ns = ns + (wait > DETAIL_NS ? wait : DETAIL_NS);
	return ok;
}

static void take_counts(const struct poll_taker *t, struct poll_sample *out)
{
	struct ms_proc_stat st;
	out->counted = ms_proc_read_stat(&t->proc, &st);
	if (!out->counted)
		return;
	out->minflt = st.field[MS_STAT_MINFLT];
	out->majflt = st.field[MS_STAT_MAJFLT];
	out->utime = st.field[MS_STAT_UTIME] * t->proc.tick_ns;
	out->stime = st.field[MS_STAT_STIME] * t->proc.tick_ns;
	out->threads = st.field[MS_STAT_THREADS];
}

bool poll_take(struct poll_taker *t, uint64_t ns, bool want_detail, struct poll_sample *out)
{
	struct ms_proc_statm m;
	*out = (struct poll_sample){.ns = ns};
	errno = 0;
	if (!ms_proc_read_statm(&t->proc, &m))
		return false;
	if (m.shared > m.rss)
		m.shared = m.rss;
	out->vsz = m.vsz;
	take_counts(t, out);
	if (!t->denied && (want_detail || ns >= t->detail_ns) && read_detail(t, ns)) {
		take_exact(t, &m, out);
		return true;
	}
	out->rss = moved(m.rss, t->rss_off);
	out->heap = moved(m.rss - m.shared, t->heap_off);
	return true;
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void poll_keep(struct poll_series *s, const struct poll_sample *p)
{
	struct poll_point at = {p->ns, p->rss, p->heap, p->vsz};
	if (!s->samples++)
		s->first = s->peak = at;
	s->last = at;
	s->peak = (struct poll_point){at.ns, larger(s->peak.rss, at.rss),
				      larger(s->peak.heap, at.heap), larger(s->peak.vsz, at.vsz)};
	if (s->n && s->skip++ < s->every)
		return;
	s->skip = 0;
	if (s->n == POLL_POINTS) {
		for (size_t i = 0; i < POLL_POINTS / 2; i++)
			s->v[i] = s->v[2 * i];
		s->n = POLL_POINTS / 2;
		s->every = s->every * 2 + 1;
	}
	*MS_PUSH(s) = at;
}

struct ms_trend poll_trend(const struct poll_series *s, enum poll_figure f)
{
	struct ms_trend_sample *v = ms_xrealloc(NULL, s->n + 1, sizeof *v);
	for (size_t i = 0; i < s->n; i++) {
		const struct poll_point *p = &s->v[i];
		uint64_t value = f == POLL_HEAP ? p->heap : f == POLL_RSS ? p->rss : p->vsz;
		v[i] = (struct ms_trend_sample){(double)p->ns / 1e9, (double)value};
	}
	struct ms_trend t = ms_trend_of(v, s->n);
	free(v);
	return t;
}
