/* SPDX-License-Identifier: MIT
 * The groups of the first screen and their order.
 */
#include "first_screen.h"

#include "churn.h"
#include "libcommon/model/facts.h"
#include "grouped.h"

#include <stdlib.h>

/* Sets thresholds for listing the sites that kept what they allocated, mostly in runs that are too
 * short for a trend. */
enum { KEPT_BLOCKS = 16 };           /* fewer blocks are too few to judge */
static const double FIRST_AT = .5;   /* latest first allocation, as a part of the busy time */
static const double LAST_AT = .9;    /* earliest last allocation, as a part of the busy time */
static const double BUSY = .99;      /* part of all allocations at which the busy time ends */
static const double KEPT = .9;       /* least part of a site's blocks that were live at once */
static const double PART = .1;       /* least part of the peak that is worth a list */
static const double AT_PEAK = .9;    /* least part of the growth live at the peak for
					METRIC_GROWING */
static const double GIVEN_BACK = .5; /* most that a growing site may free, unless it frees all */
static const double STILL = .25;     /* least rise of the heap in the second half of the busy time,
					as a part of the bytes that the listed sites kept */

/* Set how many times the peak one site must have allocated to be the main problem. */
static const double CHURN_TIMES = 5, CHURN_RISING = 50; /* CHURN_RISING if the heap rises */
static const double RISING = .25; /* least rise in the second half of the busy time, as a part of
				     the peak */

/* Sets the ratio of peak to live memory up to which the peak of a running process is not listed. */
static const double LIKE_LIVE = 1.25;

/* ---- what grows ---- */

/* Holds the time span over which growth is judged, in ns; both 0 = it cannot be judged. */
struct busy {
	uint64_t from, to;
};

static double part_of(struct busy t, double part)
{
	return (double)t.from + part * (double)(t.to - t.from);
}

/* Returns the time from the first allocation until nearly all were made, as the last few
 * allocations and frees at exit are not typical of the program. If the process still runs, the time
 * ends now, also after an attach. */
static struct busy busy_time(const struct model *m)
{
	struct busy t = {UNKNOWN, 0};
	uint64_t all = 0, sum = 0;
	if (m->processes.n != 1 || m->est || m->part ||
	    (figure_some(m->quality.attached) && !m->quality.growing) ||
	    !figure_some(m->totals.peak_bytes))
		return (struct busy){0};
	for (size_t i = 0; i < m->points.n; i++)
		all += figure_or_0(m->points.v[i].allocations);
	for (size_t i = 0; i < m->points.n && (double)sum < BUSY * (double)all; i++) {
		const struct point *p = &m->points.v[i];
		sum += figure_or_0(p->allocations);
		t.from = sum && t.from == UNKNOWN ? p->time_ns : t.from;
		t.to = p->time_ns + 1;
	}
	uint64_t freeing = model_number(m, "SELECT teardown_ns FROM growth WHERE site = 0");
	t.to = m->quality.growing ? m->duration_ns
	       : freeing < t.to   ? freeing /* may be UNKNOWN, the largest number */
				  : t.to;
	return t.from < t.to ? t : (struct busy){0};
}

/* Returns by how much the heap rose in the second half of the busy time: from its minimum to the
 * largest size near the end. */
static uint64_t second_half(const struct model *m, struct busy t)
{
	uint64_t least = UNKNOWN, last = 0;
	for (size_t i = 0; i < m->points.n; i++) {
		const struct point *p = &m->points.v[i];
		double at = (double)p->time_ns;
		if (p->time_ns >= t.to || at < part_of(t, .5) || p->live_min == UNKNOWN)
			continue;
		least = p->live_min < least ? p->live_min : least;
		if (at >= part_of(t, LAST_AT) && p->live_max != UNKNOWN)
			last = p->live_max > last ? p->live_max : last;
	}
	return figure_or_0(figure_sub(last, least));
}

static bool kept_all_along(const struct site *s, struct busy t)
{
	if (s->one_time || s->lost.blocks || s->allocations == UNKNOWN || s->first_ns == UNKNOWN ||
	    s->last_ns == UNKNOWN || s->max_live_blocks == UNKNOWN)
		return false;
	if (figure_some(s->end.blocks) &&
	    (double)s->end.blocks < (1 - GIVEN_BACK) * (double)s->max_live_blocks)
		return false;
	return s->allocations >= KEPT_BLOCKS && (double)s->first_ns <= part_of(t, FIRST_AT) &&
	       (double)s->last_ns >= part_of(t, LAST_AT) &&
	       (double)s->max_live_blocks >= KEPT * (double)s->allocations;
}

/* Returns the size that a site has grown to: its live bytes if the process still runs; else the
 * maximum of its live bytes over the whole run; or, if that is not known, the larger of its live
 * bytes at the heap's peak and its growth (rise_bytes). */
static uint64_t grown_bytes(const struct model *m, const struct site *s)
{
	uint64_t peak = figure_or_0(s->peak.bytes);
	if (m->quality.growing)
		return figure_or_0(s->at.bytes);
	return s->max_live_bytes != UNKNOWN ? s->max_live_bytes
	       : peak > s->rise_bytes       ? peak
					    : s->rise_bytes;
}

/* Returns the metric, that is, the size shown, for a list of growing sites: their present size if
 * the process still runs; their size at the heap's peak if most of the growth was live then; else
 * the maximum of each site, or the growth of each site if a maximum is not known. */
static enum metric growing_metric(const struct model *m, const struct site *const *v, size_t n)
{
	uint64_t peak = 0, largest = 0;
	bool known = true;
	for (size_t i = 0; i < n; i++) {
		peak += figure_or_0(v[i]->peak.bytes);
		largest += grown_bytes(m, v[i]);
		known &= v[i]->max_live_bytes != UNKNOWN;
	}
	return m->quality.growing                          ? METRIC_GROWING_NOW
	       : (double)peak >= AT_PEAK * (double)largest ? METRIC_GROWING
	       : known                                     ? METRIC_GROWN
							   : METRIC_RISEN;
}

/* Fills `v`, which has room for all sites, with the sites that kept what they allocated; returns
 * their number. */
static size_t kept_sites(const struct model *m, const struct site **v)
{
	struct busy t = busy_time(m);
	uint64_t sum = 0;
	size_t n = 0;
	for (size_t i = 0; i < m->sites.n && t.to; i++) {
		const struct site *s = &m->sites.v[i];
		if (!kept_all_along(s, t))
			continue;
		sum += grown_bytes(m, s);
		v[n++] = s;
	}
	/* after an attach, the blocks allocated earlier count too */
	uint64_t most = m->quality.growing ? m->totals.unfreed_bytes : m->totals.peak_bytes,
		 all = figure_add(most, figure_or_0(m->before.bytes));
	bool much = (double)sum >= PART * (double)all &&
		    (double)second_half(m, t) >= STILL * (double)sum;
	return much ? n : 0;
}

static size_t growing_sites(const struct model *m, const struct site **v)
{
	sqlite3_stmt *q = model_ask(m, "SELECT site FROM growth WHERE trend IN"
				       " ('growing', 'doubling') AND site != 0 ORDER BY site");
	size_t n = 0;
	while (model_next(&q)) {
		v[n] = model_site(m, sqlite3_column_int64(q, 0));
		n += v[n] && grown_bytes(m, v[n]);
	}
	return n;
}

static void add(struct first_screen *f, struct list l)
{
	f->lists[f->n++] = l;
}

/* Adds a list of the sites that `find` returns, if any. */
static void add_some(struct model *m, struct first_screen *f, size_t limit,
		     size_t find(const struct model *m, const struct site **v))
{
	const struct site **v = ms_xrealloc(NULL, m->sites.n + 1, sizeof *v);
	size_t n = find(m, v);
	if (n)
		add(f, list_some(m, v, n, growing_metric(m, v, n), limit));
	free(v);
}

static bool has_trend(const struct model *m)
{
	return model_number(
		m, "SELECT count(*) FROM growth WHERE trend IN"
		   " ('growing', 'doubling') AND site != 0 OR trend != 'too short' AND site = 0");
}

/* ---- the order ---- */

/* Adds the list of the most frequent calls and, if that is a different site, the site with the most
 * allocated bytes. */
static void add_churn(const struct model *m, struct first_screen *f, const struct list *calls,
		      const struct list *bytes)
{
	if (calls->n && calls->rows[0]->stack != NONE && calls->rows[0]->allocations)
		add(f, *calls);
	const struct site *b = bytes->n ? bytes->rows[0] : NULL;
	if (!b || b->est || b->one_time || b->stack == NONE || !figure_some(b->allocated_bytes) ||
	    !figure_some(b->allocations))
		return;
	f->both = calls->n && site_stands_for(m, calls->rows[0], b);
	if (!f->both)
		add(f, *bytes);
}

/* Tells whether one site allocates many times the peak. */
static bool is_churning(const struct model *m, const struct list *bytes)
{
	struct busy t = busy_time(m);
	if (!t.to || !bytes->n)
		return false;
	double peak = (double)m->totals.peak_bytes;
	bool rising = (double)second_half(m, t) >= RISING * peak;
	return (double)figure_or_0(bytes->rows[0]->allocated_bytes) >=
	       (rising ? CHURN_RISING : CHURN_TIMES) * peak;
}

/* Tells whether the lists of the peak and of live memory have the same sites, and the peak is only
 * a little higher. */
static bool is_like_live(const struct list *peak, const struct list *live)
{
	bool same = peak->n == live->n && live->n;
	for (size_t i = 0; i < peak->n && same; i++) {
		same = false;
		for (size_t k = 0; k < live->n; k++)
			same |= peak->rows[i]->id == live->rows[k]->id;
	}
	return same && (double)peak->total.a <= LIKE_LIVE * (double)figure_or_0(live->total.a);
}

/* Groups the lists that are scattered over many sites. In lists of leaks, fills in the blocks that
 * are still reached. */
static void group_lists(struct model *m, struct first_screen *f, const struct list *held,
			size_t limit)
{
	for (size_t i = 0; i < f->n; i++) {
		struct list *l = &f->lists[i];
		if (!first_screen_is_most(l) && l->metric != METRIC_MAPPED)
			*l = list_grouped(m, *l, limit);
		if (l->metric == METRIC_UNREACHABLE)
			list_tell_still(m, l, held);
	}
}

struct first_screen first_screen_groups(struct model *m, size_t limit, bool fold)
{
	struct list (*make)(struct model *, enum metric, size_t) = fold ? list_folded : list_sites;
	struct list calls = churn_list(m), bytes = make(m, METRIC_ALLOCATED, 1);
	if (!calls.n)
		calls = make(m, METRIC_ALLOCATIONS, 1);
	bool known = verdicts_known(m);
	struct first_screen f = {.tidy = verdicts_all_reached(m),
				 .churning = is_churning(m, &bytes)};
	if (m->mapped_first)
		add(&f, make(m, METRIC_MAPPED, limit));
	for (enum metric of = METRIC_UNREACHABLE; known && of <= METRIC_LATE; of++) {
		struct list l = make(m, of, limit);
		if (l.total.b)
			add(&f, l);
	}
	bool growing = m->quality.growing, trend = has_trend(m);
	/* after an attach, growth is reported at the top (growth_verdict), so no list is added */
	bool attached = figure_some(m->quality.attached) && !growing;
	if (!attached)
		add_some(m, &f, limit, trend ? growing_sites : kept_sites);
	f.churning &= f.tidy && !f.n;
	if (f.churning)
		add_churn(m, &f, &calls, &bytes);
	struct list live = make(m, known ? METRIC_HELD : METRIC_LIVE, limit),
		    peak = make(m, METRIC_PEAK, limit);
	if (f.tidy && peak.all)
		add(&f, peak);
	if (live.all || (live.total.a != UNKNOWN && (live.metric == METRIC_LIVE || live.total.b)))
		add(&f, live);
	f.kept = f.n;
	if (!f.tidy && peak.all && !(growing && is_like_live(&peak, &live)))
		add(&f, peak);
	if (!f.churning)
		add_churn(m, &f, &calls, &bytes);
	group_lists(m, &f, &live, limit);
	return f;
}
