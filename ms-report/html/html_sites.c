/* SPDX-License-Identifier: MIT
 * Writes the sites of a page: chooses those listed individually, and writes their call stacks as a
 * tree in preorder.
 *
 * Neighbours in preorder share most of their stack and often similar figures, which makes the page
 * small.
 */
#include "html_data.h"

#include "ms-report/model/diff.h"
#include "ms-report/model/figures.h"
#include "libcommon/model/facts.h"
#include "ms-report/words/page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/order.h"

/* ---- choosing sites ---- */

struct scored {
	double score;
	uint32_t site;
};

MS_COMPARE(best_first, struct scored, MS_ORDER(y->score, x->score) ?: MS_ORDER(x->site, y->site))

static double share(uint64_t part, uint64_t whole)
{
	return part == UNKNOWN || whole == UNKNOWN || !whole ? 0 : (double)part / (double)whole;
}

/* Returns the largest share that the site has of all bytes, blocks or calls of any metric; 1 if it
 * grows. */
static double score(const struct model *m, const struct site *s, const struct pair *totals)
{
	double best = s->verdict && strcmp(s->verdict, "growing") == 0 ? 1 : 0;
	for (int k = 0; k < METRIC_COUNT; k++) {
		struct pair v = site_pair(s, (enum metric)k);
		double part = share(v.a, totals[k].a);
		best = part > best ? part : best;
	}
	double lost = share(s->leak.bytes, m->totals.unreachable_bytes);
	return lost > best ? lost : best;
}

/* Raises the scores of the sites that ms-diff compared above all other scores, ordered by the size
 * of the change. */
static void score_changes(const struct model *m, struct scored *v)
{
	const struct diff *d = m->diff;
	for (size_t i = 0; d && i < d->rows.n; i++) {
		const struct diff_row *x = &d->rows.v[i];
		struct scored *s = &v[x->site - m->sites.v];
		static const int of[] = {DIFF_LIVE, DIFF_PEAK, DIFF_ALLOCATED};
		for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
			int64_t delta = x->delta[of[k]];
			if (delta != DELTA_UNKNOWN)
				s->score += delta < 0 ? -(double)delta : (double)delta;
		}
		s->score += x->significant ? 1e15 : 1;
	}
}

/* Walks the call stacks in preorder, over nodes with a chosen site at or below the node. `up` is
 * the number of levels from the previous node up to the node's caller. */
struct walk {
	const struct model *m;
	bool *used;
	uint32_t *child, *next; /* lists of called nodes, in the order of the model */
	uint32_t roots;
	uint32_t *order; /* nodes in preorder */
	uint32_t *up;
	uint32_t *row; /* by node: index of the node in `order` */
	size_t n;
};

static void walk_free(struct walk *w)
{
	MS_FREE(w->used, w->child, w->next, w->order, w->up, w->row);
}

static void link_nodes(struct walk *w)
{
	const struct model *m = w->m;
	memset(w->child, 0xff, (m->nodes.n + 1) * sizeof *w->child);
	w->roots = NONE;
	for (uint32_t i = (uint32_t)m->nodes.n; i-- > 0;) {
		if (!w->used[i])
			continue;
		uint32_t parent = m->nodes.v[i].parent;
		uint32_t *list = parent == NONE ? &w->roots : &w->child[parent];
		w->next[i] = *list;
		*list = i;
	}
}

static struct walk walk_nodes(const struct model *m, const uint32_t *sites, size_t n)
{
	size_t nodes = m->nodes.n + 1;
	struct walk w = {.m = m};
	w.used = ms_xcalloc(nodes, sizeof *w.used);
	w.child = ms_xrealloc(NULL, nodes, sizeof *w.child);
	w.next = ms_xrealloc(NULL, nodes, sizeof *w.next);
	w.order = ms_xrealloc(NULL, nodes, sizeof *w.order);
	w.up = ms_xrealloc(NULL, nodes, sizeof *w.up);
	w.row = ms_xrealloc(NULL, nodes, sizeof *w.row);
	for (size_t i = 0; i < n; i++)
		for (uint32_t k = m->sites.v[sites[i]].stack; k != NONE && !w.used[k];
		     k = m->nodes.v[k].parent)
			w.used[k] = true;
	link_nodes(&w);
	uint32_t up = 0;
	for (uint32_t at = w.roots; at != NONE;) {
		w.up[w.n] = up;
		w.row[at] = (uint32_t)w.n;
		w.order[w.n++] = at;
		up = 0;
		if (w.child[at] != NONE) {
			at = w.child[at];
			continue;
		}
		while (at != NONE && w.next[at] == NONE) {
			at = m->nodes.v[at].parent;
			up++;
		}
		at = at == NONE ? NONE : w.next[at];
		up++;
	}
	return w;
}

static int by_stack(const void *x, const void *y, void *arg)
{
	const struct walk *w = arg;
	uint32_t a = *(const uint32_t *)x, b = *(const uint32_t *)y;
	uint32_t na = w->m->sites.v[a].stack, nb = w->m->sites.v[b].stack;
	uint64_t ra = na == NONE ? 0 : (uint64_t)w->row[na] + 1,
		 rb = nb == NONE ? 0 : (uint64_t)w->row[nb] + 1;
	return MS_ORDER(ra, rb) ?: MS_ORDER(a, b);
}

struct html_sites html_sites_choose(struct model *m, size_t most)
{
	struct html_sites s = {.n = m->sites.n < most ? m->sites.n : most};
	struct scored *v = ms_xrealloc(NULL, m->sites.n + 1, sizeof *v);
	struct pair totals[METRIC_COUNT];
	for (int k = 0; k < METRIC_COUNT; k++)
		totals[k] = total_pair(m, (enum metric)k);
	for (uint32_t i = 0; i < m->sites.n; i++)
		v[i] = (struct scored){score(m, &m->sites.v[i], totals), i};
	score_changes(m, v);
	qsort(v, m->sites.n, sizeof *v, best_first);
	s.v = ms_xrealloc(NULL, s.n + 1, sizeof *s.v);
	s.largest = ms_xrealloc(NULL, s.n + 1, sizeof *s.largest);
	for (size_t i = 0; i < s.n; i++) {
		s.v[i] = v[i].site;
		s.largest[i] = &m->sites.v[v[i].site];
	}
	struct walk w = walk_nodes(m, s.v, s.n);
	qsort_r(s.v, s.n, sizeof *s.v, by_stack, &w);
	s.row = ms_xrealloc(NULL, m->sites.n + 1, sizeof *s.row);
	memset(s.row, 0xff, (m->sites.n + 1) * sizeof *s.row);
	for (uint32_t i = 0; i < s.n; i++)
		s.row[s.v[i]] = i;
	walk_free(&w);
	free(v);
	return s;
}

void html_sites_free(struct html_sites *s)
{
	MS_FREE(s->v, s->row, s->largest);
	*s = (struct html_sites){0};
}

/* ---- frames and functions ---- */

/* Writes `number` as its distance below the next unused number, so that 0 marks the first use.
 * Numbers are assigned in order of first use. */
static void put_new(struct html_columns *c, uint32_t *seen, uint32_t number)
{
	html_plain(c, *seen - number);
	*seen += *seen == number;
}

/* Identifies a function. Frames with equal bytes of this struct are merged, so it must not have
 * padding. */
struct function {
	uint32_t name, module; /* number of the name in strings; index of the module's path + 1 */
	uint32_t known, noted; /* flags: the function has a name; the name is only a remark */
};

#define BRIEF 64 /* maximum columns of a short name */

static struct function function_of(struct page *p, const struct frame *f, struct table_of_bytes *s)
{
	struct model *m = p->m;
	const char *name = frame_name(&m->arena, m, f), *path = NULL;
	if (f->module != NONE)
		path = m->modules.v[f->module].path;
	return (struct function){.name = html_string(s, html_text(p, name)),
				 .module = path ? html_string(s, html_text(p, path)) + 1 : 0,
				 .known = f->function && *f->function && !f->note,
				 .noted = f->note != NULL};
}

/* Returns the short names of functions, in order. Different functions get different names. */
static const char **brief_names(struct page *p, const struct table_of_bytes *functions,
				const struct table_of_bytes *strings)
{
	struct ms_arena *a = &p->m->arena;
	const char **v = ms_arena_alloc(a, (functions->n + 1) * sizeof *v);
	const char **known = ms_arena_alloc(a, (functions->n + 1) * sizeof *known);
	size_t n = 0, length;
	struct function x;
	for (uint32_t i = 0; i < functions->n; i++) {
		bytes_copy(functions, i, &x);
		v[i] = ms_arena_strdup(a, bytes_of(strings, x.name, &length));
		if (x.known)
			known[n++] = v[i];
	}
	ms_names_fit(a, known, n, BRIEF, false);
	n = 0;
	for (uint32_t i = 0; i < functions->n; i++) {
		bytes_copy(functions, i, &x);
		v[i] = x.known ? known[n++] : v[i];
	}
	return v;
}

static void put_functions(struct page *p, const struct table_of_bytes *functions,
			  struct table_of_bytes *strings, struct html_columns *c)
{
	static const char *const names[] = {"function_name", "function_short", "function_module",
					    "function_flags"};
	const char **brief = brief_names(p, functions, strings);
	for (int column = 0; column < 4; column++) {
		uint64_t before = 0;
		html_column(c, functions->n, column < 2 ? "delta" : "plain", "%s", names[column]);
		for (uint32_t i = 0; i < functions->n; i++) {
			struct function x;
			bytes_copy(functions, i, &x);
			if (column < 2)
				html_delta(c, &before,
					   column ? html_string(strings, brief[i]) : x.name);
			else
				html_plain(c, column == 2 ? x.module : !x.known && !x.noted);
		}
	}
}

static const struct frame *frame_at(const struct model *m, const struct table_of_bytes *frames,
				    uint32_t i)
{
	uint32_t f = 0;
	bytes_copy(frames, i, &f);
	return &m->frames.v[f];
}

/* Writes the frames. `frames`: indices in m->frames, in order of first use. */
static void put_frames(struct page *p, const struct table_of_bytes *frames,
		       struct table_of_bytes *s, struct html_columns *c)
{
	const struct model *m = p->m;
	struct table_of_bytes functions = {0};
	uint32_t n = (uint32_t)frames->n, seen = 0;
	uint64_t before = 0;
	html_column(c, n, "new", "frame_function");
	for (uint32_t i = 0; i < n; i++) {
		struct function x = function_of(p, frame_at(m, frames, i), s);
		put_new(c, &seen, bytes_number(&functions, &x, sizeof x, NULL));
	}
	html_column(c, n, "delta", "frame_file");
	for (uint32_t i = 0; i < n; i++) {
		const char *file = frame_at(m, frames, i)->file;
		html_delta(c, &before, file && *file ? html_string(s, html_text(p, file)) + 1 : 0);
	}
	html_column(c, n, "plain", "frame_line");
	for (uint32_t i = 0; i < n; i++)
		html_plain(c, frame_at(m, frames, i)->line);
	html_column(c, n, "plain", "frame_flags");
	for (uint32_t i = 0; i < n; i++) {
		const struct frame *x = frame_at(m, frames, i);
		html_plain(c, (uint64_t)x->inlined | (uint64_t)x->runtime << 1 |
				      (uint64_t) !!x->note << 2);
	}
	put_functions(p, &functions, s, c);
	bytes_free(&functions);
}

/* ---- sites ---- */

static void put_figures(const struct model *m, const struct html_sites *s, struct html_columns *c)
{
	for (int f = 0; f < TOLD_COUNT; f++) {
		bool of_peak = f == TOLD_PEAK || f == TOLD_PEAK_BLOCKS;
		html_column(c, s->n, f == TOLD_FREES ? "change" : "figure", "site_%s",
			    told[f].name);
		for (size_t i = 0; i < s->n; i++) {
			const struct site *x = &m->sites.v[s->v[i]];
			uint64_t v = told_value((enum told)f, TOLD_OF_SITE, x);
			if (f == TOLD_FREES)
				html_change(c, x->allocations, v);
			else
				html_figure(c, of_peak && m->peak.bytes == UNKNOWN ? UNKNOWN : v);
		}
	}
}

static const enum told estimated[] = {TOLD_LIVE, TOLD_PEAK, TOLD_ALLOCATED, TOLD_ALLOCATIONS};
#define ESTIMATED (sizeof estimated / sizeof *estimated)

/* Writes the ends of the intervals of all estimates. */
static void put_intervals(const struct model *m, const struct html_sites *s, struct html_columns *c)
{
	for (size_t k = 0; m->est && k < 2 * ESTIMATED; k++) {
		enum told f = estimated[k / 2];
		html_column(c, s->n, "figure", "site_%s_%s", told[f].name, k % 2 ? "high" : "low");
		for (size_t i = 0; i < s->n; i++) {
			const struct site *x = &m->sites.v[s->v[i]];
			uint64_t limits[2] = {UNKNOWN, UNKNOWN}, v = told_value(f, TOLD_OF_SITE, x);
			const struct ms_spread *e = est_of(x->est, told[f].est);
			if (e && v != UNKNOWN)
				ms_interval_whole(v, e, &limits[0], &limits[1]);
			html_figure(c, limits[k % 2]);
		}
	}
}

/* Writes the spreads of estimates, from which the page computes the intervals of sums. */
static void put_spreads(const struct model *m, const struct html_sites *s, struct html_columns *c)
{
	static const char *const names[] = {"seen", "deviation", "step", "step_deviation"};
	for (size_t k = 0; m->est && k < 4 * ESTIMATED; k++) {
		enum told f = estimated[k / 4];
		html_column(c, s->n, "plain", "spread_%s_%s", told[f].name, names[k % 4]);
		for (size_t i = 0; i < s->n; i++) {
			const struct ms_spread *e = est_of(m->sites.v[s->v[i]].est, told[f].est);
			double v = !e           ? 0
				   : k % 4 == 0 ? e->seen
				   : k % 4 == 1 ? sqrt(e->variance)
				   : k % 4 == 2 ? e->step
						: sqrt(e->step_variance);
			html_plain(c, (uint64_t)llround(v * 1000));
		}
	}
}

static void put_sites(struct page *p, const struct html_sites *s, const uint32_t *row,
		      struct table_of_bytes *strings, struct html_columns *c)
{
	struct model *m = p->m;
	uint64_t before = 0;
	html_column(c, s->n, "delta", "site_id");
	for (size_t i = 0; i < s->n; i++)
		html_delta(c, &before, (uint64_t)m->sites.v[s->v[i]].id);
	html_column(c, s->n, "plain", "site_process");
	for (size_t i = 0; i < s->n; i++)
		html_plain(c, m->sites.v[s->v[i]].process);
	html_column(c, s->n, "delta", "site_node");
	before = 0;
	for (size_t i = 0; i < s->n; i++) {
		uint32_t node = m->sites.v[s->v[i]].stack;
		html_delta(c, &before, node == NONE ? 0 : (uint64_t)row[node] + 1);
	}
	html_column(c, s->n, "figure", "site_user");
	for (size_t i = 0; i < s->n; i++)
		html_figure(c, model_user_depth(m, &m->sites.v[s->v[i]]));
	html_column(c, s->n, "plain", "site_verdict");
	for (size_t i = 0; i < s->n; i++) {
		const char *v = m->sites.v[s->v[i]].verdict;
		html_plain(c, v ? html_string(strings, html_text(p, v)) + 1 : 0);
	}
	html_column(c, s->n, "plain", "site_one_time");
	for (size_t i = 0; i < s->n; i++) {
		const char *v = m->sites.v[s->v[i]].one_time;
		html_plain(c, v ? html_string(strings, html_text(p, v)) + 1 : 0);
	}
	put_figures(m, s, c);
	put_intervals(m, s, c);
	put_spreads(m, s, c);
}

void html_sites_write(struct page *p, const struct html_sites *s, struct table_of_bytes *strings,
		      struct html_columns *c)
{
	struct model *m = p->m;
	struct walk w = walk_nodes(m, s->v, s->n);
	struct table_of_bytes frames = {0};
	uint32_t seen = 0;
	put_sites(p, s, w.row, strings, c);
	html_column(c, w.n, "plain", "node_up");
	for (size_t i = 0; i < w.n; i++)
		html_plain(c, w.up[i]);
	html_column(c, w.n, "new", "node_frame");
	for (size_t i = 0; i < w.n; i++) {
		uint32_t frame = m->nodes.v[w.order[i]].frame;
		put_new(c, &seen, bytes_number(&frames, &frame, sizeof frame, NULL));
	}
	put_frames(p, &frames, strings, c);
	bytes_free(&frames);
	walk_free(&w);
}
