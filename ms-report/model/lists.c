/* SPDX-License-Identifier: MIT
 * The largest sites by some figure, and what the rest adds up to.
 */
#include "lists.h"

#include "mmap_usage.h"

#include <stdlib.h>

const char *const metric_names[METRIC_COUNT] = {"live",      "peak",   "allocated", "allocations",
						"temporary", "failed", "mapped"};

bool metric_is_bytes(enum metric metric)
{
	return metric <= METRIC_ALLOCATED || metric >= METRIC_MAPPED;
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

/* What the figures of a metric rest on. */
static struct pair estimated(struct pair v, const struct estimates *e, enum metric metric)
{
	static const struct {
		enum est_figure a, b;
	} of[METRIC_COUNT] = {[METRIC_LIVE] = {EST_AT, EST_AT_BLOCKS},
			      [METRIC_PEAK] = {EST_PEAK, EST_PEAK_BLOCKS},
			      [METRIC_ALLOCATED] = {EST_ALLOCATED, EST_ALLOCATIONS},
			      [METRIC_ALLOCATIONS] = {EST_ALLOCATIONS, EST_ALLOCATED},
			      [METRIC_FAILED] = {EST_COUNT, EST_ALLOCATIONS}};
	if (!e || metric == METRIC_TEMPORARY || metric >= METRIC_MAPPED)
		return v;
	v.estimated = true;
	if (of[metric].a != EST_COUNT)
		v.ea = e->of[of[metric].a];
	v.eb = e->of[of[metric].b];
	return v;
}

static struct pair pair_sub(struct pair x, struct pair y)
{
	return (struct pair){.a = figure_sub(x.a, y.a), .b = figure_sub(x.b, y.b)};
}

static struct pair site_of(const struct site *s, enum metric metric)
{
	switch (metric) {
	case METRIC_LIVE:
		return (struct pair){.a = s->at.bytes, .b = s->at.blocks};
	case METRIC_PEAK:
		return (struct pair){.a = s->peak.bytes, .b = s->peak.blocks};
	case METRIC_ALLOCATED:
		return (struct pair){.a = s->allocated_bytes, .b = s->allocations};
	case METRIC_ALLOCATIONS:
		return (struct pair){.a = s->allocations, .b = s->allocated_bytes};
	case METRIC_FAILED:
		return (struct pair){.a = s->failed, .b = s->allocations};
	case METRIC_MAPPED:
		return (struct pair){.a = s->at_mmap.mapped, .b = s->maps};
	case METRIC_UNREACHABLE:
		return (struct pair){.a = s->lost.bytes, .b = s->lost.blocks};
	case METRIC_HELD:
		return (struct pair){.a = figure_sub(s->at.bytes, s->lost.bytes),
				     .b = figure_sub(s->at.blocks, s->lost.blocks)};
	default:
		return (struct pair){.a = s->temporary, .b = s->allocations};
	}
}

struct pair site_pair(const struct site *s, enum metric metric)
{
	return estimated(site_of(s, metric), s->est, metric);
}

static struct pair total_of(const struct model *m, enum metric metric)
{
	const struct totals *t = &m->totals;
	switch (metric) {
	case METRIC_LIVE:
		return (struct pair){.a = m->at.bytes, .b = m->at.blocks};
	case METRIC_PEAK:
		return (struct pair){.a = m->peak.bytes, .b = m->peak.blocks};
	case METRIC_ALLOCATED:
		return (struct pair){.a = t->allocated_bytes, .b = t->allocations};
	case METRIC_ALLOCATIONS:
		return (struct pair){.a = t->allocations, .b = t->allocated_bytes};
	case METRIC_FAILED:
		return (struct pair){.a = t->failed, .b = t->allocations};
	case METRIC_MAPPED:
		return (struct pair){.a = mmap_usage_at(m, m->at_label).mapped, .b = t->maps};
	case METRIC_UNREACHABLE:
		return (struct pair){.a = t->unreachable_bytes, .b = t->unreachable_blocks};
	case METRIC_HELD:
		return (struct pair){.a = figure_sub(m->at.bytes, t->unreachable_bytes),
				     .b = figure_sub(m->at.blocks, t->unreachable_blocks)};
	default:
		return (struct pair){.a = t->temporary, .b = t->allocations};
	}
}

struct pair total_pair(const struct model *m, enum metric metric)
{
	return estimated(total_of(m, metric), m->est, metric);
}

static struct pair hidden_of(const struct model *m, enum metric metric)
{
	const struct hidden *h = &m->hidden;
	switch (metric) {
	case METRIC_LIVE:
		return (struct pair){.a = h->at.bytes, .b = h->at.blocks};
	case METRIC_PEAK:
		return (struct pair){.a = h->peak.bytes, .b = h->peak.blocks};
	case METRIC_ALLOCATED:
		return (struct pair){.a = h->allocated_bytes, .b = h->allocations};
	case METRIC_ALLOCATIONS:
		return (struct pair){.a = h->allocations, .b = h->allocated_bytes};
	case METRIC_FAILED:
		return (struct pair){.a = h->failed, .b = h->allocations};
	case METRIC_MAPPED:
		return (struct pair){.a = h->at_mapped, .b = h->maps};
	case METRIC_UNREACHABLE:
		return (struct pair){.a = h->lost.bytes, .b = h->lost.blocks};
	case METRIC_HELD:
		return (struct pair){.a = figure_sub(h->at.bytes, h->lost.bytes),
				     .b = figure_sub(h->at.blocks, h->lost.blocks)};
	default:
		return (struct pair){.a = h->temporary, .b = h->allocations};
	}
}

struct pair hidden_pair(const struct model *m, enum metric metric)
{
	return estimated(hidden_of(m, metric), m->hidden.est, metric);
}

struct entry {
	struct pair pair;
	const struct site *site;
};

/* An unknown figure sorts as nothing. */
static uint64_t known(uint64_t v)
{
	return v == UNKNOWN ? 0 : v;
}

static int larger_first(const void *x, const void *y)
{
	const struct entry *p = x, *q = y;
	uint64_t a = known(p->pair.a), b = known(q->pair.a);
	if (a != b)
		return a < b ? 1 : -1;
	a = known(p->pair.b), b = known(q->pair.b);
	if (a != b)
		return a < b ? 1 : -1;
	return p->site->id < q->site->id ? -1 : p->site->id > q->site->id;
}

struct list list_sites(struct model *m, enum metric metric, size_t limit)
{
	struct list l = {
		.metric = metric, .hidden = hidden_pair(m, metric), .total = total_pair(m, metric)};
	struct entry *e = ms_xrealloc(NULL, m->sites.n, sizeof *e);
	size_t first = 0; /* those with something to show come first */
	for (size_t i = 0; i < m->sites.n; i++) {
		struct pair p = site_pair(&m->sites.v[i], metric);
		if (known(p.a) || known(p.b))
			e[l.all++] = (struct entry){p, &m->sites.v[i]};
		l.with += known(p.a) != 0;
		first += known(p.a) != 0 ||
			 (known(p.b) && (metric <= METRIC_PEAK || metric > METRIC_COUNT));
	}
	qsort(e, l.all, sizeof *e, larger_first);
	l.n = first < limit ? first : limit;
	l.rows = ms_arena_alloc(&m->arena, (l.n + 1) * sizeof *l.rows);
	struct pair shown = {0};
	for (size_t i = 0; i < l.all; i++) {
		if (i < l.n) {
			l.rows[i] = e[i].site;
			shown = pair_add(shown, e[i].pair);
		} else {
			l.more = pair_add(l.more, e[i].pair);
		}
	}
	l.more_sites = l.all - l.n;
	l.other = pair_sub(pair_sub(pair_sub(l.total, shown), l.more), l.hidden);
	free(e);
	return l;
}

struct list list_all(struct model *m, enum metric metric)
{
	struct list l = {.metric = metric, .n = m->sites.n};
	struct entry *e = ms_xrealloc(NULL, m->sites.n, sizeof *e);
	for (size_t i = 0; i < l.n; i++)
		e[i] = (struct entry){site_pair(&m->sites.v[i], metric), &m->sites.v[i]};
	qsort(e, l.n, sizeof *e, larger_first);
	l.rows = ms_arena_alloc(&m->arena, (l.n + 1) * sizeof *l.rows);
	for (size_t i = 0; i < l.n; i++)
		l.rows[i] = e[i].site;
	free(e);
	return l;
}
