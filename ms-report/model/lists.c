/* SPDX-License-Identifier: MIT
 * The largest sites by a figure, and the sums of the rest.
 */
#include "lists.h"

#include "figures.h"
#include "recursion.h"
#include "retained.h"

#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

#define STRAYS 4u /* a leak has this many unreachable blocks for each reachable one, or more */
#define FEW 64u   /* rows up to which the largest are picked without sorting all */

const char *const metric_names[METRIC_COUNT] = {"live",      "peak",   "allocated", "allocations",
						"temporary", "failed", "mapped"};

bool metric_is_bytes(enum metric metric)
{
	return metric <= METRIC_ALLOCATED || (metric >= METRIC_MAPPED && metric != METRIC_CHURN);
}

bool metric_is_growth(enum metric metric)
{
	return metric >= METRIC_GROWING && metric <= METRIC_RISEN;
}

struct pair pair_add(struct pair x, struct pair y)
{
	struct pair v = {.a = figure_add(x.a, y.a), .b = figure_add(x.b, y.b)};
	if (!x.estimated && !y.estimated)
		return v;
	v.estimated = true;
	v.ea = x.ea;
	v.eb = x.eb;
	ms_spread_add(&v.ea, &y.ea);
	ms_spread_add(&v.eb, &y.eb);
	return v;
}

const struct ms_spread *pair_ea(const struct pair *v)
{
	return v->estimated ? &v->ea : NULL;
}

const struct ms_spread *pair_eb(const struct pair *v)
{
	return v->estimated ? &v->eb : NULL;
}

static struct pair pair_sub(struct pair x, struct pair y)
{
	return (struct pair){.a = figure_sub(x.a, y.a), .b = figure_sub(x.b, y.b)};
}

/* Maps a metric to its two figures. Those of METRIC_HELD are of all live memory; pair_of subtracts
 * unreachable and late blocks. */
static const enum told pairs[METRIC_LISTS][2] = {
	[METRIC_LIVE] = {TOLD_LIVE, TOLD_LIVE_BLOCKS},
	[METRIC_PEAK] = {TOLD_PEAK, TOLD_PEAK_BLOCKS},
	[METRIC_ALLOCATED] = {TOLD_ALLOCATED, TOLD_ALLOCATIONS},
	[METRIC_ALLOCATIONS] = {TOLD_ALLOCATIONS, TOLD_ALLOCATED},
	[METRIC_TEMPORARY] = {TOLD_TEMPORARY, TOLD_ALLOCATIONS},
	[METRIC_FAILED] = {TOLD_FAILED, TOLD_ALLOCATIONS},
	[METRIC_MAPPED] = {TOLD_MAPPED, TOLD_MAPS},
	[METRIC_UNREACHABLE] = {TOLD_LEAK, TOLD_LEAK_BLOCKS},
	[METRIC_LATE] = {TOLD_LATE, TOLD_LATE_BLOCKS},
	[METRIC_HELD] = {TOLD_LIVE, TOLD_LIVE_BLOCKS},
	[METRIC_GROWING] = {TOLD_PEAK, TOLD_PEAK_BLOCKS},
	[METRIC_GROWING_NOW] = {TOLD_LIVE, TOLD_LIVE_BLOCKS},
	[METRIC_GROWN] = {TOLD_PEAK, TOLD_PEAK_BLOCKS},
	[METRIC_RISEN] = {TOLD_PEAK, TOLD_PEAK_BLOCKS},
	[METRIC_CHURN] = {TOLD_ALLOCATIONS, TOLD_ALLOCATED}};

/* Adds to a pair the estimates of a metric's figures, if there are any. */
static struct pair estimated(struct pair v, const struct estimates *e, enum metric metric)
{
	enum est_figure a = told[pairs[metric][0]].est, b = told[pairs[metric][1]].est;
	if (!e || metric == METRIC_TEMPORARY ||
	    (metric >= METRIC_MAPPED && !metric_is_growth(metric)))
		return v;
	v.estimated = true;
	if (a != EST_COUNT)
		v.ea = e->of[a];
	v.eb = e->of[b];
	return v;
}

static struct pair pair_of(const void *what, enum told_of of, enum metric metric)
{
	struct pair v = {.a = told_value(pairs[metric][0], of, what),
			 .b = told_value(pairs[metric][1], of, what)};
	if (metric != METRIC_HELD)
		return v;
	struct pair lost = {.a = told_value(TOLD_LOST, of, what),
			    .b = told_value(TOLD_LOST_BLOCKS, of, what)};
	return pair_sub(pair_sub(v, lost), pair_of(what, of, METRIC_LATE));
}

struct pair site_pair(const struct site *s, enum metric metric)
{
	if (metric == METRIC_GROWN)
		return (struct pair){.a = s->max_live_bytes, .b = s->max_live_blocks};
	if (metric == METRIC_RISEN)
		return (struct pair){.a = s->rise_bytes,
				     .b = UNKNOWN,
				     .estimated = s->est != NULL,
				     .ea = s->rise_spread ? *s->rise_spread
							  : (struct ms_spread){0}};
	return estimated(pair_of(s, TOLD_OF_SITE, metric), s->est, metric);
}

struct pair total_pair(const struct model *m, enum metric metric)
{
	return estimated(pair_of(m, TOLD_OF_ALL, metric), m->est, metric);
}

struct pair hidden_pair(const struct model *m, enum metric metric)
{
	return estimated(pair_of(&m->hidden, TOLD_OF_HIDDEN, metric), m->hidden.est, metric);
}

struct row_sites row_sites(const struct model *m, const struct site *s, enum metric metric)
{
	struct row_sites n = {0};
	bool held = metric < METRIC_ALLOCATED || (metric > METRIC_FAILED && metric < METRIC_CHURN);
	for (size_t i = 0; i <= s->folded; i++) {
		struct site room;
		if (held && s->members && s->members[i] >= m->sites.n)
			continue; /* it is gone, and has no such figures */
		struct pair p =
			site_pair(s->members ? model_site_at(m, s->members[i], &room) : s, metric);
		n.any += figure_some(p.a) || figure_some(p.b);
		n.first += figure_some(p.a);
	}
	return n;
}

bool site_stands_for(const struct model *m, const struct site *row, const struct site *s)
{
	struct site room;
	for (size_t i = 0; row->members && i <= row->folded; i++)
		if (model_site_at(m, row->members[i], &room)->id == s->id)
			return true;
	return row->id == s->id;
}

bool site_is_leak(const struct site *s)
{
	uint64_t held = site_pair(s, METRIC_HELD).b;
	return figure_some(s->lost.blocks) && figure_some(held) && held <= s->lost.blocks / STRAYS;
}

/* Holds the sort keys of a site. These are sorted instead of pairs, which with their estimates are
 * several times as large. */
struct entry {
	uint64_t a, b;
	const struct site *site;
	bool leak; /* reachable rest of a leak, reported with the leak and not as a row */
};

static int larger_first(const void *x, const void *y)
{
	const struct entry *p = x, *q = y;
	return MS_ORDER(p->leak, q->leak) ?: MS_ORDER(q->a, p->a) ?: MS_ORDER(q->b, p->b)
			?: MS_ORDER(p->site->id, q->site->id);
}

/* Moves the `n` largest to the front, in order. Sorts all if there are estimates, whose sums depend
 * on the order. */
static void sort_first(const struct model *m, struct entry *e, size_t all, size_t n)
{
	if (m->est || n > FEW)
		n = all;
	qsort(e, n, sizeof *e, larger_first);
	for (size_t i = n; i < all && n; i++) {
		struct entry x = e[i];
		size_t k = n;
		while (k > 0 && larger_first(&x, &e[k - 1]) < 0)
			k--;
		if (k == n)
			continue;
		e[i] = e[n - 1];
		memmove(&e[k + 1], &e[k], (n - 1 - k) * sizeof *e);
		e[k] = x;
	}
}

/* Returns the sort keys of sites, in any order: of all sites, or of those whose figures are not
 * 0. */
static struct entry *entries(const struct site *const *sites, size_t count, enum metric metric,
			     bool all, size_t *n)
{
	struct entry *e = ms_xrealloc(NULL, count, sizeof *e);
	*n = 0;
	for (size_t i = 0; i < count; i++) {
		struct pair p = site_pair(sites[i], metric);
		e[*n] = (struct entry){figure_or_0(p.a), figure_or_0(p.b), sites[i],
				       !all && metric == METRIC_HELD && site_is_leak(sites[i])};
		*n += all || e[*n].a || e[*n].b;
	}
	return e;
}

/* Returns the index of the row that is site `s` or includes it; l->n = none. */
static size_t row_of(const struct model *m, const struct list *l, const struct site *s)
{
	size_t at = 0;
	while (at < l->n && !site_stands_for(m, l->rows[at], s))
		at++;
	return at;
}

struct list list_of_rows(struct model *m, const struct site *const *sites, size_t count,
			 enum metric metric, size_t limit)
{
	struct list l = {
		.metric = metric, .hidden = hidden_pair(m, metric), .total = total_pair(m, metric)};
	size_t n, leaks = 0, first = 0; /* first: number of sites that can be rows */
	struct entry *e = entries(sites, count, metric, false, &n);
	for (size_t i = 0; i < n; i++) {
		struct row_sites of = row_sites(m, e[i].site, metric);
		l.all += of.any;
		l.with += of.first;
		leaks += e[i].leak;
		first += !e[i].leak && (e[i].a || metric <= METRIC_PEAK || metric > METRIC_COUNT);
	}
	l.n = first < limit ? first : limit;
	sort_first(m, e, n, l.n);
	l.rows = ms_arena_alloc(&m->arena, (l.n + 1) * sizeof *l.rows);
	l.leaks = ms_arena_alloc(&m->arena, (leaks + 1) * sizeof *l.leaks);
	struct pair shown = {0};
	bool some = list_is_of_some(metric) && l.total.a != UNKNOWN;
	for (size_t i = 0; i < n; i++) {
		struct pair p = site_pair(e[i].site, metric);
		struct row_sites of = row_sites(m, e[i].site, metric);
		if (e[i].leak) {
			l.leaks[l.leak_rows++] = e[i].site;
			l.leak_sites += of.any;
			l.leaked = pair_add(l.leaked, p);
		} else if (i < l.n) {
			l.rows[i] = e[i].site;
			l.shown += of.any;
			l.shown_with += of.first;
			shown = pair_add(shown, p);
			l.verdicts |= metric == METRIC_LIVE && e[i].site->verdict;
		} else {
			struct pair *to = some && !e[i].a ? &l.none : &l.more;
			*to = pair_add(*to, p);
		}
	}
	l.shown += l.leak_sites;
	l.more_sites = some ? l.with - l.shown_with : l.all - l.shown;
	l.none_sites = l.all - l.shown - l.more_sites;
	struct pair rest = pair_add(pair_add(l.more, l.none), pair_add(l.hidden, l.leaked));
	l.other = pair_sub(pair_sub(l.total, shown), rest);
	l.sum = shown;
	free(e);
	return l;
}

void list_tell_still(struct model *m, struct list *l, const struct list *held)
{
	l->still = ms_arena_alloc(&m->arena, (l->n + 1) * sizeof *l->still);
	memset(l->still, 0, (l->n + 1) * sizeof *l->still);
	for (size_t i = 0; i < held->leak_rows; i++) {
		const struct site *s = held->leaks[i];
		struct pair p = site_pair(s, METRIC_HELD);
		size_t at = row_of(m, l, s);
		struct retained_rows roots = {0};
		if (at == l->n)
			roots = retained_rows(m, model_site(m, s->id), true, false);
		if (roots.n)
			at = row_of(m, l, roots.v[0].site);
		live_add(&l->still[at], (struct live){p.a, p.b});
	}
}

struct list list_some(struct model *m, const struct site *const *sites, size_t n,
		      enum metric metric, size_t limit)
{
	struct list l = list_of_rows(m, sites, n, metric, limit);
	l.total = l.more_sites ? pair_add(l.sum, l.more) : l.sum;
	l.total = l.none_sites ? pair_add(l.total, l.none) : l.total;
	l.hidden = l.other = (struct pair){0};
	const struct site **of = ms_arena_alloc(&m->arena, (n + 1) * sizeof(struct site *));
	for (size_t i = 0; i < n; i++)
		of[i] = sites[i];
	l.of = of;
	l.of_n = n;
	return l;
}

/* Returns all sites as an array of pointers, which the caller frees. */
static const struct site **single(struct model *m)
{
	const struct site **v = ms_xrealloc(NULL, m->sites.n + 1, sizeof *v);
	for (size_t i = 0; i < m->sites.n; i++)
		v[i] = &m->sites.v[i];
	return v;
}

struct list list_sites(struct model *m, enum metric metric, size_t limit)
{
	const struct site **sites = single(m);
	struct list l = list_of_rows(m, sites, m->sites.n, metric, limit);
	free(sites);
	return l;
}

struct list list_folded(struct model *m, enum metric metric, size_t limit)
{
	size_t n;
	const struct site *const *sites = recursion_fold(m, &n);
	return list_of_rows(m, sites, n, metric, limit);
}

struct list list_all(struct model *m, enum metric metric)
{
	struct list l = {.metric = metric};
	const struct site **sites = single(m);
	struct entry *e = entries(sites, m->sites.n, metric, true, &l.n);
	qsort(e, l.n, sizeof *e, larger_first);
	l.rows = ms_arena_alloc(&m->arena, (l.n + 1) * sizeof *l.rows);
	for (size_t i = 0; i < l.n; i++)
		l.rows[i] = e[i].site;
	MS_FREE(sites, e);
	return l;
}
