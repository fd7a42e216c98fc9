/* SPDX-License-Identifier: MIT
 * Sites whose stacks differ only in the number of rounds of a recursion, folded into one.
 *
 *   main copy insert copy insert copy new      main copy new
 *   main copy insert copy new                  main copy new
 *
 * Stacks are read from the outermost frame on. If a function in user code occurs again, the frames
 * since its first occurrence are removed, and its inner frame stays. For a function of the runtime,
 * this is done only if no user code is in between, so that a library's recursion hides none of it.
 * The folded stacks are a tree again; sites with the same node in it are folded into one.
 */
#include "recursion.h"

#include "libcommon/base/lookup.h"
#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

/* Holds a node of the folded stacks. Most have few children, which are linked; what a node has beyond
 * LINKED is found by `lookup`. */
struct fold_node {
	uint32_t parent, frame; /* index of a fold_node, or NONE; index of a frame of the model */
	uint32_t child, next;   /* numbers from 1 of a child, and of another child of `parent` */
	uint64_t function : 60, linked : 4; /* linked: number of children that are linked */
};
#define LINKED 8u

struct folding {
	const struct model *m;
	struct fold_node *nodes; /* array with room for all nodes of the model */
	uint32_t node_count;
	struct ms_lookup lookup;
	uint64_t *function; /* by frame: key of its function */
};

/* Returns a key that is equal for frames of the same function; a frame without a name has its
 * own. */
static uint64_t function_of(const struct model *m, uint32_t frame)
{
	const struct frame *f = &m->frames.v[frame];
	if (!f->function || f->note)
		return frame;
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ f->module;
	for (const char *s = f->function; *s; s++)
		h = (h ^ (uint8_t)*s) * UINT64_C(0x100000001b3);
	return h >> 5 | UINT64_C(1) << 59;
}

/* Returns the number from 1 of a node's child; 0 = there is none. */
static uint32_t child_of(const struct folding *d, uint32_t parent, uint32_t frame, uint32_t hash)
{
	const struct fold_node *p = parent == NONE ? NULL : &d->nodes[parent];
	uint32_t n = p ? p->child : 0;
	while (n && d->nodes[n - 1].frame != frame)
		n = d->nodes[n - 1].next;
	if (n || (p && p->linked < LINKED))
		return n;
	for (size_t at = hash; (n = ms_lookup_next(&d->lookup, hash, &at));)
		if (d->nodes[n - 1].parent == parent && d->nodes[n - 1].frame == frame)
			break;
	return n;
}

static uint32_t node_of(struct folding *d, uint32_t parent, uint32_t frame)
{
	uint32_t hash = ms_hash(parent, frame), n = child_of(d, parent, frame, hash);
	if (n)
		return n - 1;
	struct fold_node *p = parent == NONE ? NULL : &d->nodes[parent];
	struct fold_node *x = &d->nodes[d->node_count++];
	*x = (struct fold_node){.parent = parent, .frame = frame, .function = d->function[frame]};
	if (p && p->linked < LINKED) {
		x->next = p->child;
		p->child = d->node_count;
		p->linked++;
	} else {
		ms_lookup_add(&d->lookup, hash, d->node_count);
	}
	return d->node_count - 1;
}

/* Returns the node for `frame` called from `parent`: the function's existing node if it is on the
 * path already (recursion), else a child of `parent`. */
static uint32_t step(struct folding *d, uint32_t parent, uint32_t frame)
{
	const struct frame *f = &d->m->frames.v[frame];
	for (uint32_t k = parent; k != NONE; k = d->nodes[k].parent) {
		const struct fold_node *n = &d->nodes[k];
		if (n->function == d->function[frame])
			return node_of(d, n->parent, frame);
		if (f->runtime && !d->m->frames.v[n->frame].runtime)
			break;
	}
	return node_of(d, parent, frame);
}

/* Numbers each site's stack without its recursion; sites with the same number are folded. NONE =
 * the site is not folded. */
static void number_sites(const struct model *m, uint32_t *number)
{
	struct folding d = {.m = m};
	uint32_t *of = ms_xrealloc(NULL, m->nodes.n + 1, sizeof *of);
	d.nodes = ms_xrealloc(NULL, m->nodes.n + 1, sizeof *d.nodes);
	d.function = ms_xrealloc(NULL, m->frames.n + 1, sizeof *d.function);
	for (uint32_t i = 0; i < m->frames.n; i++)
		d.function[i] = function_of(m, i);
	for (size_t i = 0; i < m->nodes.n; i++) {
		const struct node *n = &m->nodes.v[i];
		of[i] = step(&d, n->parent == NONE ? NONE : of[n->parent], n->frame);
	}
	for (size_t i = 0; i < m->sites.n; i++) {
		const struct site *s = &m->sites.v[i];
		number[i] = s->stack == NONE || s->one_time ? NONE : of[s->stack];
	}
	for (size_t i = 0; i < m->gone.n; i++)
		number[m->sites.n + i] = of[m->gone.v[i].stack - 1];
	MS_FREE(of, d.function, d.nodes, d.lookup.slots);
}

struct numbered {
	uint32_t number, site;
};

/* Holds what the heaviest of several sites has most of. */
struct weight {
	uint64_t leak, peak, allocated;
	int64_t id;
};

static struct weight weight_of(const struct model *m, uint32_t i)
{
	if (i >= m->sites.n) {
		const struct ms_gone_site *g = &m->gone.v[i - m->sites.n];
		return (struct weight){.allocated = g->bytes, .id = g->id};
	}
	const struct site *s = &m->sites.v[i];
	return (struct weight){figure_or_0(s->leak.bytes), figure_or_0(s->peak.bytes),
			       figure_or_0(s->allocated_bytes), s->id};
}

/* Orders by number, and within a number the heaviest site first. */
static int by_number(const void *x, const void *y, void *arg)
{
	const struct model *m = arg;
	const struct numbered *p = x, *q = y;
	if (p->number != q->number)
		return MS_ORDER(p->number, q->number);
	struct weight a = weight_of(m, p->site), b = weight_of(m, q->site);
	return MS_ORDER(b.leak, a.leak) ?: MS_ORDER(b.peak, a.peak)
			?: MS_ORDER(b.allocated, a.allocated)
			?: MS_ORDER(a.id, b.id);
}

static void add_estimates(struct model *m, struct site *to, const struct site *s)
{
	if (!to->est || !s->est)
		return;
	struct estimates *e = ms_arena_alloc(&m->arena, sizeof *e);
	*e = *to->est;
	for (size_t i = 0; i < EST_COUNT; i++)
		ms_spread_add(&e->of[i], &s->est->of[i]);
	to->est = e;
}

/* Ranks a verdict: the higher, the worse. */
static size_t badness(const char *verdict)
{
	static const char *const words[] = {"reachable", "unknown", "growing", "indirect",
					    "unreachable"};
	for (size_t i = 0; verdict && i < sizeof words / sizeof *words; i++)
		if (strcmp(words[i], verdict) == 0)
			return i + 1;
	return 0;
}

static void add_site(struct model *m, struct site *to, const struct site *s)
{
	uint64_t *a = &to->end.bytes;
	const uint64_t *b = &s->end.bytes;
	size_t n = (offsetof(struct site, est) - offsetof(struct site, end)) / sizeof *a;
#define SUM_FLOW(name) to->name = figure_add(to->name, s->name);
#define SUM_LEVEL(name) SUM_FLOW(name)
#define SUM_MIN(name) /* keeps the value of the heaviest site */
#define SUM_MAX(name)
#define SUM_NONE(name)
#define X(name, unit, adds) SUM_##adds(name)
	MS_FIGURES_OF_SITE(X)
#undef X
	for (size_t i = 0; i < n; i++)
		a[i] = figure_add(a[i], b[i]);
	if (badness(s->verdict) > badness(to->verdict))
		to->verdict = s->verdict;
	add_estimates(m, to, s);
	to->folded++;
}

const struct site *recursion_sum(struct model *m, const uint32_t *members, size_t n)
{
	struct site *sum = ms_arena_alloc(&m->arena, sizeof *sum), room;
	*sum = *model_site_at(m, members[0], &room);
	for (size_t i = 1; i < n; i++)
		add_site(m, sum, model_site_at(m, members[i], &room));
	sum->members = members;
	return sum;
}

static const struct site *sum_of(struct model *m, const struct numbered *v, size_t n)
{
	uint32_t *members = ms_arena_alloc(&m->arena, n * sizeof *members);
	for (size_t i = 0; i < n; i++)
		members[i] = v[i].site;
	return recursion_sum(m, members, n);
}

/* Holds sites that are gone and have one number. Such a row is shown only if it has the most
 * allocated bytes, or the most calls. */
struct gone_row {
	const struct numbered *v;
	size_t n;
	uint64_t bytes, calls;
	int64_t id;
};

/* Sums up the `n` sites at `v`. Returns false if not all are gone. */
static bool all_gone(const struct model *m, const struct numbered *v, size_t n,
		     struct gone_row *row)
{
	*row = (struct gone_row){v, n, 0, 0, 0};
	for (size_t i = 0; i < n; i++) {
		if (v[i].site < m->sites.n)
			return false;
		const struct ms_gone_site *g = &m->gone.v[v[i].site - m->sites.n];
		row->id = i ? row->id : g->id;
		row->bytes += g->bytes;
		row->calls += g->allocations;
	}
	return true;
}

static bool is_before(const struct gone_row *x, const struct gone_row *y, bool bytes)
{
	int by_bytes = MS_ORDER(y->bytes, x->bytes), by_calls = MS_ORDER(y->calls, x->calls),
	    by_id = MS_ORDER(x->id, y->id);
	return (bytes ? by_bytes ?: by_calls ?: by_id : by_calls ?: by_bytes ?: by_id) < 0;
}

static const struct site *row_of(struct model *m, const struct numbered *v, size_t n)
{
	if (n > 1)
		return sum_of(m, v, n);
	if (v->site < m->sites.n)
		return &m->sites.v[v->site];
	struct site *s = ms_arena_alloc(&m->arena, sizeof *s), room;
	*s = *model_site_at(m, v->site, &room);
	return s;
}

const struct site *const *recursion_fold(struct model *m, size_t *n)
{
	size_t all = model_site_count(m);
	*n = m->folded_count;
	if (m->folded)
		return m->folded;
	uint32_t *number = ms_xrealloc(NULL, all + 1, sizeof *number);
	struct numbered *v = ms_xrealloc(NULL, all + 1, sizeof *v);
	const struct site **out =
		ms_arena_alloc(&m->arena, (m->sites.n + 3) * sizeof(struct site *));
	struct gone_row row, most[2] = {{0}};
	number_sites(m, number);
	for (uint32_t i = 0; i < all; i++)
		v[i] = (struct numbered){number[i], i};
	qsort_r(v, all, sizeof *v, by_number, m);
	for (size_t i = 0, end; i < all; i = end) {
		for (end = i + 1; end < all && v[i].number != NONE && v[end].number == v[i].number;)
			end++;
		bool gone = all_gone(m, &v[i], end - i, &row);
		for (unsigned k = 0; k < 2 && gone; k++)
			most[k] = !most[k].n || is_before(&row, &most[k], k) ? row : most[k];
		if (!gone)
			out[(*n)++] = row_of(m, &v[i], end - i);
	}
	for (unsigned k = 0; k < 2; k++)
		if (most[k].n && (!k || most[1].v != most[0].v))
			out[(*n)++] = row_of(m, most[k].v, most[k].n);
	MS_FREE(number, v);
	m->folded = out;
	m->folded_count = *n;
	return out;
}

uint32_t recursion_entry(const struct model *m, const struct site *s)
{
	uint32_t entry = s->user != NONE ? s->user : s->stack;
	const struct frame *f = model_frame(m, entry), *g;
	for (uint32_t n = entry; n != NONE; n = m->nodes.v[n].parent) {
		g = model_frame(m, n);
		if (f->function && g->function && f->module == g->module &&
		    strcmp(f->function, g->function) == 0)
			entry = n;
	}
	return entry;
}
