/* SPDX-License-Identifier: MIT
 * The line of code that allocates the most short-lived blocks.
 */
#include "churn.h"

#include "recursion.h"

#include "libcommon/base/lookup.h"

#include <string.h>

enum { LEAST_CALLS = 1000 }; /* minimum calls of a run; in shorter ones all is freed soon */
enum { LEAST_PART = 20 };    /* least short-lived blocks from one line, as 1/n of all calls */

/* Holds the sums of all sites of one function and line. */
struct line {
	uint32_t frame, largest; /* indices: a frame of this line; the site with the most calls */
	uint64_t calls, soon;
	size_t sites;
	int64_t first; /* lowest id of these sites */
};

struct lines {
	const struct model *m;
	MS_ARRAY(struct line) v;
	struct ms_lookup lookup;
	uint32_t *of_frame; /* by frame: number of its line, from 1; 0 = not yet known */
};

static bool same(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

/* Tells whether two frames are of the same function and line; if the function has a name, even in
 * different processes. */
static bool is_line(const struct frame *f, const struct frame *g)
{
	return f->function && g->function && f->line == g->line &&
	       strcmp(f->function, g->function) == 0 && same(f->file, g->file) &&
	       (f->file || f->module == g->module);
}

static struct line *line_of(struct lines *x, uint32_t frame)
{
	const struct frame *f = &x->m->frames.v[frame];
	uint32_t *number = &x->of_frame[frame],
		 hash = ms_hash(f->function ? ms_hash_text(f->function) : frame, f->line);
	for (size_t at = hash;
	     x->v.v && !*number && (*number = ms_lookup_next(&x->lookup, hash, &at));)
		if (!is_line(f, &x->m->frames.v[x->v.v[*number - 1].frame]))
			*number = 0;
	if (!*number) {
		*MS_PUSH(&x->v) = (struct line){.frame = frame};
		*number = (uint32_t)x->v.n;
		ms_lookup_add(&x->lookup, hash, *number);
	}
	return &x->v.v[*number - 1];
}

/* Holds what is counted of a site. */
struct counted {
	int64_t id;
	uint32_t frame; /* NONE = nothing */
	uint64_t calls, soon;
};

static struct counted counted_of(const struct model *m, uint32_t i)
{
	struct counted c = {.frame = model_frame_of_site(m, i)};
	if (i < m->sites.n) {
		const struct site *s = &m->sites.v[i];
		c.id = s->id;
		c.calls = figure_or_0(s->allocations);
		c.soon = s->freed_soon;
		c.frame = s->est || s->one_time ? NONE : c.frame;
	} else {
		const struct ms_gone_site *g = &m->gone.v[i - m->sites.n];
		c.id = g->id;
		c.calls = g->allocations;
		c.soon = g->freed_soon;
	}
	c.frame = c.calls ? c.frame : NONE;
	return c;
}

static void add_sites(struct lines *x)
{
	for (uint32_t i = 0; i < model_site_count(x->m); i++) {
		struct counted c = counted_of(x->m, i);
		if (c.frame == NONE)
			continue;
		struct line *l = line_of(x, c.frame);
		struct counted most = counted_of(x->m, l->sites ? l->largest : i);
		l->first = !l->sites || c.id < l->first ? c.id : l->first;
		if (!l->sites++ || c.calls > most.calls ||
		    (c.calls == most.calls && c.id < most.id))
			l->largest = i;
		l->calls += c.calls;
		l->soon = figure_add(l->soon, c.soon);
	}
}

static const struct line *most(const struct lines *x)
{
	const struct line *best = NULL;
	for (size_t i = 0; i < x->v.n; i++) {
		const struct line *l = &x->v.v[i];
		bool more = !best || l->soon > best->soon ||
			    (l->soon == best->soon && l->first < best->first);
		if (l->soon <= l->calls && l->soon * 2 >= l->calls && more)
			best = l;
	}
	uint64_t all = x->m->totals.allocations;
	bool much = best && all != UNKNOWN && all >= LEAST_CALLS && best->soon >= all / LEAST_PART;
	return much ? best : NULL;
}

static const struct site *sum_of(struct model *m, struct lines *x, const struct line *l)
{
	uint32_t *members = ms_arena_alloc(&m->arena, l->sites * sizeof *members);
	size_t n = 0;
	members[n++] = l->largest;
	for (uint32_t i = 0; i < model_site_count(m); i++) {
		uint32_t frame = i == l->largest ? NONE : counted_of(m, i).frame;
		if (frame != NONE && line_of(x, frame) == l)
			members[n++] = i;
	}
	return recursion_sum(m, members, n);
}

struct list churn_list(struct model *m)
{
	struct lines x = {.m = m, .of_frame = ms_xcalloc(m->frames.n + 1, sizeof *x.of_frame)};
	struct list list = {.metric = METRIC_CHURN};
	add_sites(&x);
	const struct line *l = most(&x);
	if (l) {
		const struct site *sum = sum_of(m, &x, l);
		list = list_some(m, &sum, 1, METRIC_CHURN, 1);
		list.total = total_pair(m, METRIC_CHURN);
	}
	MS_FREE(x.of_frame, x.lookup.slots, x.v.v);
	return list;
}
