/* SPDX-License-Identifier: MIT
 * The largest sites by some figure, and what the rest adds up to.
 */
#include "lists.h"

#include <stdlib.h>

const char *const metric_names[METRIC_COUNT] = {"live",        "peak",      "allocated",
						"allocations", "temporary", "failed"};

bool metric_is_bytes(enum metric metric)
{
	return metric <= METRIC_ALLOCATED;
}

struct pair pair_add(struct pair x, struct pair y)
{
	return (struct pair){figure_add(x.a, y.a), figure_add(x.b, y.b)};
}

static struct pair pair_sub(struct pair x, struct pair y)
{
	return (struct pair){figure_sub(x.a, y.a), figure_sub(x.b, y.b)};
}

struct pair site_pair(const struct site *s, enum metric metric)
{
	switch (metric) {
	case METRIC_LIVE:
		return (struct pair){s->at.bytes, s->at.blocks};
	case METRIC_PEAK:
		return (struct pair){s->peak.bytes, s->peak.blocks};
	case METRIC_ALLOCATED:
		return (struct pair){s->allocated_bytes, s->allocations};
	case METRIC_ALLOCATIONS:
		return (struct pair){s->allocations, s->allocated_bytes};
	case METRIC_FAILED:
		return (struct pair){s->failed, s->allocations};
	default:
		return (struct pair){s->temporary, s->allocations};
	}
}

struct pair total_pair(const struct model *m, enum metric metric)
{
	const struct totals *t = &m->totals;
	switch (metric) {
	case METRIC_LIVE:
		return (struct pair){m->at.bytes, m->at.blocks};
	case METRIC_PEAK:
		return (struct pair){m->peak.bytes, m->peak.blocks};
	case METRIC_ALLOCATED:
		return (struct pair){t->allocated_bytes, t->allocations};
	case METRIC_ALLOCATIONS:
		return (struct pair){t->allocations, t->allocated_bytes};
	case METRIC_FAILED:
		return (struct pair){t->failed, t->allocations};
	default:
		return (struct pair){t->temporary, t->allocations};
	}
}

struct pair hidden_pair(const struct model *m, enum metric metric)
{
	const struct hidden *h = &m->hidden;
	switch (metric) {
	case METRIC_LIVE:
		return (struct pair){h->at.bytes, h->at.blocks};
	case METRIC_PEAK:
		return (struct pair){h->peak.bytes, h->peak.blocks};
	case METRIC_ALLOCATED:
		return (struct pair){h->allocated_bytes, h->allocations};
	case METRIC_ALLOCATIONS:
		return (struct pair){h->allocations, h->allocated_bytes};
	case METRIC_FAILED:
		return (struct pair){h->failed, h->allocations};
	default:
		return (struct pair){h->temporary, h->allocations};
	}
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
		first += known(p.a) != 0 || (known(p.b) && metric <= METRIC_PEAK);
	}
	qsort(e, l.all, sizeof *e, larger_first);
	l.n = first < limit ? first : limit;
	l.rows = ms_arena_alloc(&m->arena, (l.n + 1) * sizeof *l.rows);
	struct pair shown = {0, 0};
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
