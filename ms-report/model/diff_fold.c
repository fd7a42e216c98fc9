/* SPDX-License-Identifier: MIT
 * Changes for people: sites that differ only in the rounds of a recursion are one row.
 */
#include "diff.h"

#include "libcommon/model/facts.h"
#include "recursion.h"
#include "lists.h"

#include "libcommon/base/arena.h"

#include <stdlib.h>
#include <string.h>

/* Sets the fraction above which the change of a folded row is significant. It is relative to the
 * largest change of one of its sites, as changes that only move between recursion depths cancel
 * out, or to a significant change of the whole run. */
static const double LEFT = .5;

static int64_t known(int64_t v)
{
	return v == DELTA_UNKNOWN ? 0 : v;
}

struct group {
	struct diff_row row;
	size_t rows;
	int64_t largest[DIFF_FIGURES]; /* largest of the significant changes, by figure */
};

static void add_figures(int64_t *to, const int64_t *v)
{
	for (int f = 0; f < DIFF_FIGURES; f++)
		to[f] = delta_add(to[f], v[f]);
}

static void note_largest(struct group *g, const struct diff_row *x)
{
	for (int f = 0; f < DIFF_FIGURES; f++) {
		int64_t v = x->changed & 1U << f ? llabs(known(x->delta[f])) : 0;
		g->largest[f] = v > g->largest[f] ? v : g->largest[f];
	}
}

static void add_row(struct group *g, const struct diff_row *x, const struct site *site)
{
	note_largest(g, x);
	if (!g->rows++) {
		g->row = *x;
		g->row.site = site;
		return;
	}
	struct diff_row *r = &g->row;
	add_figures(r->old, x->old);
	add_figures(r->new, x->new);
	add_figures(r->delta, x->delta);
	r->changed |= x->changed;
	r->significant |= x->significant;
	r->share += x->share;
	r->ranges = NULL;
	r->over = delta_add(r->over, x->over);
	r->kind = r->kind == x->kind ? r->kind : DIFF_KINDS;
}

static bool all_zero(const int64_t *v)
{
	for (int f = 0; f < DIFF_FIGURES; f++)
		if (known(v[f]))
			return false;
	return true;
}

/* Tells whether a row's change of a figure is most of a significant change of the whole run. */
static bool is_most(const struct diff *d, const struct diff_row *r, int f)
{
	const struct diff_total *t = diff_total(d, diff_figure_names[f]);
	int64_t all = t && t->significant ? known(t->delta) : 0, v = known(r->delta[f]);
	return all && (all > 0) == (v > 0) && (double)llabs(v) >= LEFT * (double)llabs(all);
}

static void settle(const struct diff *d, struct group *g)
{
	struct diff_row *r = &g->row;
	if (g->rows < 2)
		return;
	for (int f = 0; f < DIFF_FIGURES; f++) {
		if ((double)llabs(known(r->delta[f])) < LEFT * (double)g->largest[f])
			r->changed &= ~(1U << f);
		if (is_most(d, r, f))
			r->changed |= 1U << f;
	}
	r->significant = r->changed != 0;
	if (r->kind != DIFF_KINDS)
		return;
	r->kind = all_zero(r->old)   ? DIFF_NEW
		  : all_zero(r->new) ? DIFF_GONE
		  : !r->significant  ? DIFF_UNCHANGED
		  : r->share > 0     ? DIFF_GROWN
				     : DIFF_SHRUNK;
}

/* Returns, by index of site, the row of recursion_fold that the site is part of. */
static uint32_t *groups_of(struct model *m, const struct site *const *sites, size_t n)
{
	uint32_t *of = ms_xcalloc(m->sites.n + 1, sizeof *of);
	for (size_t i = 0; i < n; i++) {
		of[model_site(m, sites[i]->id) - m->sites.v] = (uint32_t)i;
		for (size_t k = 0; k < sites[i]->folded + 1 && sites[i]->members; k++)
			of[sites[i]->members[k]] = (uint32_t)i;
	}
	return of;
}

static struct diff_rows fold(struct model *m)
{
	const struct diff *d = m->diff;
	size_t all, n = 0;
	const struct site *const *sites = recursion_fold(m, &all);
	uint32_t *of = groups_of(m, sites, all);
	struct group *g = ms_xcalloc(all + 1, sizeof *g);
	struct diff_row *v = ms_arena_alloc(&m->arena, (d->rows.n + 1) * sizeof *v);
	struct diff_rows out = {.v = v};
	for (size_t i = 0; i < d->rows.n; i++) {
		uint32_t k = of[d->rows.v[i].site - m->sites.v];
		add_row(&g[k], &d->rows.v[i], sites[k]);
	}
	for (size_t i = 0; i < all; i++) {
		if (!g[i].rows)
			continue;
		settle(d, &g[i]);
		const struct diff_row *x = &g[i].row;
		out.significant += x->significant;
		if (x->kind < DIFF_UNCHANGED && !x->significant)
			diff_sum_add(&out.noise, x, x->delta);
		v[n++] = *x;
	}
	out.n = n;
	diff_sort(v, n);
	MS_FREE(of, g);
	return out;
}

struct diff_rows diff_shown(struct model *m, bool folded)
{
	struct diff *d = m->diff;
	if (folded && !d->folded.v)
		d->folded = fold(m);
	return folded ? d->folded
		      : (struct diff_rows){d->rows.v, d->rows.n, d->significant, d->noise};
}

/* Tells whether a site has unreachable blocks now, but had none in the old runs, as far as these
 * were scanned. */
static bool newly_lost(const struct model *m, const struct site *s)
{
	const char *before = m->diff->known[s - m->sites.v];
	return figure_some(s->direct.blocks) &&
	       !(before && (strcmp(before, "unreachable") == 0 || strcmp(before, "unknown") == 0));
}

static bool any_newly_lost(struct model *m, const struct site *s)
{
	if (!s->members)
		return newly_lost(m, model_site(m, s->id));
	for (size_t k = 0; k < s->folded + 1; k++)
		if (newly_lost(m, &m->sites.v[s->members[k]]))
			return true;
	return false;
}

struct list diff_newly_lost(struct model *m, const struct diff_rows *rows, size_t n, size_t limit)
{
	const struct diff *d = m->diff;
	size_t all, found = 0, shown = 0;
	const struct site *const *sites = recursion_fold(m, &all);
	const struct site **v = ms_xrealloc(NULL, all + 1, sizeof *v);
	bool ends = strcmp(d->old_point, "end") == 0 && strcmp(d->new_point, "end") == 0;
	for (size_t i = 0; i < all && ends && !d->old_missing && verdicts_known(m); i++)
		if (any_newly_lost(m, sites[i]))
			v[found++] = sites[i];
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < found; k++)
			shown += rows->v[i].site->id == v[k]->id;
	struct list l = list_some(m, v, shown < found ? found : 0, METRIC_UNREACHABLE, limit);
	l.title = "NEWLY UNREACHABLE, nothing points to these";
	free(v);
	return l;
}
