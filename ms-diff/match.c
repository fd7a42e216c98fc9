/* SPDX-License-Identifier: MIT
 * Matches spots with the same chain on both sides. Several calls in one function can have the same
 * chain.
 *
 * Lines distinguish these calls, but lines shift. The first rule that applies to a chain is used:
 * (1) If both sides have the same build or the same lines, equal lines are the same call; also if
 * runs are sampled, which miss calls, and half of the lines are equal. (2) Equal numbers of calls
 * are matched in the order of their lines. (3) If the sums of figures are equal, compilers merged
 * or duplicated calls, and all are taken together. (4) If one side's lines are all among those of
 * the other, equal lines are the same call. (5) If each call of the smaller side has one with equal
 * figures on the other, in order, those are matched. (6) All calls are taken together, because it
 * is not known which is which.
 */
#include "match.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/order.h"

const char *const matched_names[MATCHED_COUNT] = {NULL,     "exact",   "lines", "chain",  "module",
						  "frames", "renamed", "moved", "figures"};

void match_row(struct matching *m, enum matched how, const char *evidence, const uint32_t *spots,
	       size_t n)
{
	struct row r = {.matched = how, .evidence = evidence};
	for (size_t i = 0; i < n; i++) {
		struct spot *p = &m->s->all.v[spots[i]];
		p->row = (uint32_t)m->rows.n;
		r.weak |= p->weak && !p->same_build;
	}
	*MS_PUSH(&m->rows) = r;
}

/* ---- the spots of one chain ---- */

/* Describes a call in the source: all spots (places that allocate, see spots.h) of a side whose
 * chains have the same lines. The spots differ in the runs that have them, or in the runtime
 * functions inside the call. */
struct call {
	const uint64_t *lines;
	size_t n;
	uint32_t number; /* number of the call's lines in spots.lines */
	size_t first, count;
	double allocations, bytes;
};

struct group {
	struct matching *m;
	enum matched how;
	const char *evidence;
	uint32_t *spots[2]; /* spots by side, sorted by lines */
	size_t n[2];
	struct call *calls[2];
	size_t call_count[2];
};

static int by_lines(const void *a, const void *b, void *spots)
{
	const struct spots *s = spots;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct spot *p = &s->all.v[x], *q = &s->all.v[y];
	const struct interned *i = interned(&s->lines, p->lines),
			      *k = interned(&s->lines, q->lines);
	const uint64_t *u = i->bytes, *v = k->bytes;
	size_t n = i->size / sizeof *u, o = k->size / sizeof *v;
	for (size_t at = 0; at < n && at < o; at++)
		if (u[at] != v[at])
			return u[at] < v[at] ? -1 : 1;
	return MS_ORDER(n, o) ?: MS_ORDER(p->whole, q->whole) ?: MS_ORDER(x, y);
}

static void find_calls(struct group *g, int side)
{
	const struct spots *s = g->m->s;
	qsort_r(g->spots[side], g->n[side], sizeof *g->spots[side], by_lines, g->m->s);
	g->calls[side] = ms_xrealloc(NULL, g->n[side] + 1, sizeof *g->calls[side]);
	g->call_count[side] = 0;
	for (size_t i = 0; i < g->n[side]; i++) {
		const struct spot *p = &s->all.v[g->spots[side][i]];
		struct call *last =
			g->call_count[side] ? &g->calls[side][g->call_count[side] - 1] : NULL;
		if (!last || last->number != p->lines) {
			last = &g->calls[side][g->call_count[side]++];
			*last = (struct call){.number = p->lines, .first = i};
		}
		last->count++;
		last->allocations += p->allocations;
		last->bytes += p->bytes;
	}
}

/* Adds one row for all of these old and new calls. */
static void pair_calls(struct group *g, enum matched how, const struct call *o, size_t olds,
		       const struct call *n, size_t news)
{
	uint32_t *v = ms_xrealloc(NULL, g->n[OLD] + g->n[NEW] + 1, sizeof *v);
	size_t count = 0;
	for (size_t i = 0; i < olds; i++)
		for (size_t k = 0; k < o[i].count; k++)
			v[count++] = g->spots[OLD][o[i].first + k];
	for (size_t i = 0; i < news; i++)
		for (size_t k = 0; k < n[i].count; k++)
			v[count++] = g->spots[NEW][n[i].first + k];
	match_row(g->m, g->how > how ? g->how : how, g->evidence, v, count);
	free(v);
}

static int by_inner(const void *a, const void *b, void *spots)
{
	const struct spot *v = ((const struct spots *)spots)->all.v;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return MS_ORDER(v[x].inner, v[y].inner) ?: MS_ORDER(x, y);
}

/* Returns how many spots at the beginning of `v` have the same runtime functions as the first
 * one. */
static size_t same_inner(const struct group *g, const uint32_t *v, size_t n)
{
	size_t k = 0;
	while (k < n && g->m->s->all.v[v[k]].inner == g->m->s->all.v[v[0]].inner)
		k++;
	return k;
}

/* Pairs two calls. One line can allocate through several runtime functions: inserting into a map of
 * strings allocates a node and a string. If both sides have the same runtime functions, there is a
 * row for each function. */
static void pair_call(struct group *g, enum matched how, const struct call *o, const struct call *n)
{
	uint32_t *a = g->spots[OLD] + o->first, *b = g->spots[NEW] + n->first;
	size_t ways = 0, i = 0, k = 0;
	const struct spot *v = g->m->s->all.v;
	qsort_r(a, o->count, sizeof *a, by_inner, g->m->s);
	qsort_r(b, n->count, sizeof *b, by_inner, g->m->s);
	for (; i < o->count && k < n->count; ways++) {
		if (v[a[i]].inner != v[b[k]].inner)
			break;
		i += same_inner(g, a + i, o->count - i);
		k += same_inner(g, b + k, n->count - k);
	}
	if (i < o->count || k < n->count || ways < 2) {
		pair_calls(g, how, o, 1, n, 1);
		return;
	}
	for (i = k = 0; i < o->count;) {
		struct call x = *o, y = *n;
		x.first += i;
		y.first += k;
		x.count = same_inner(g, a + i, o->count - i);
		y.count = same_inner(g, b + k, n->count - k);
		pair_calls(g, how, &x, 1, &y, 1);
		i += x.count;
		k += y.count;
	}
}

static const struct call *call_at(const struct group *g, int side, uint32_t lines)
{
	for (size_t i = 0; i < g->call_count[side]; i++)
		if (g->calls[side][i].number == lines)
			return &g->calls[side][i];
	return NULL;
}

/* Pairs calls at equal lines, and no others. */
static void pair_equal_lines(struct group *g)
{
	for (size_t i = 0; i < g->call_count[OLD]; i++) {
		const struct call *o = &g->calls[OLD][i], *n = call_at(g, NEW, o->number);
		if (n)
			pair_call(g, MATCHED_EXACT, o, n);
	}
}

static size_t equal_lines(const struct group *g)
{
	size_t n = 0;
	for (size_t i = 0; i < g->call_count[OLD]; i++)
		n += call_at(g, NEW, g->calls[OLD][i].number) != NULL;
	return n;
}

static bool same_figures(const struct call *a, const struct call *b)
{
	return a->allocations == b->allocations && a->bytes == b->bytes;
}

/* Pairs each call of the side with fewer calls with a call of the other side that has equal
 * figures, in order. Returns false if some call has no such partner. */
static bool pair_equal_figures(struct group *g)
{
	int few = g->call_count[OLD] < g->call_count[NEW] ? OLD : NEW, many = !few;
	size_t *at = ms_xrealloc(NULL, g->call_count[few] + 1, sizeof *at), k = 0, i;
	for (i = 0; i < g->call_count[few]; i++, k++) {
		while (k < g->call_count[many] &&
		       !same_figures(&g->calls[few][i], &g->calls[many][k]))
			k++;
		if (k == g->call_count[many])
			break;
		at[i] = k;
	}
	bool found = i == g->call_count[few];
	for (i = 0; found && i < g->call_count[few]; i++) {
		const struct call *a = &g->calls[few][i], *b = &g->calls[many][at[i]];
		pair_call(g, MATCHED_LINES, few == OLD ? a : b, few == OLD ? b : a);
	}
	free(at);
	return found;
}

/* Pairs spots with the same frames, including the lines. */
static void pair_whole(struct group *g)
{
	for (size_t i = 0; i < g->n[OLD]; i++)
		for (size_t k = 0; k < g->n[NEW]; k++) {
			uint32_t pair[2] = {g->spots[OLD][i], g->spots[NEW][k]};
			const struct spot *o = &g->m->s->all.v[pair[0]],
					  *n = &g->m->s->all.v[pair[1]];
			if (o->whole == n->whole && o->row == NONE && n->row == NONE)
				match_row(g->m, g->how, g->evidence, pair, 2);
		}
}

static bool all_same_build(const struct group *g)
{
	for (int side = OLD; side <= NEW; side++)
		for (size_t i = 0; i < g->n[side]; i++)
			if (!g->m->s->all.v[g->spots[side][i]].same_build)
				return false;
	return true;
}

static bool all_whole(const struct group *g)
{
	size_t same = 0;
	for (size_t i = 0; i < g->n[OLD]; i++)
		for (size_t k = 0; k < g->n[NEW]; k++)
			same += g->m->s->all.v[g->spots[OLD][i]].whole ==
				g->m->s->all.v[g->spots[NEW][k]].whole;
	return same == g->n[OLD] && same == g->n[NEW];
}

/* Tells whether the sums of both sides are equal, although the numbers of calls differ: compilers
 * merge calls that are followed by equal code, and duplicate calls. */
static bool equal_sums(const struct group *g)
{
	struct call sum[2] = {{0}, {0}};
	for (int side = OLD; side <= NEW; side++)
		for (size_t i = 0; i < g->call_count[side]; i++) {
			sum[side].allocations += g->calls[side][i].allocations;
			sum[side].bytes += g->calls[side][i].bytes;
		}
	return same_figures(&sum[OLD], &sum[NEW]);
}

static bool any_sampled(const struct group *g)
{
	for (size_t i = 0; i < g->m->s->every.n; i++)
		if (g->m->s->every.v[i]->sampled_bytes)
			return true;
	return false;
}

static void match_group(struct group *g)
{
	enum { MANY = 2000 }; /* calls above which comparing all pairs takes too long */
	size_t olds, news, same;
	bool many = g->n[OLD] > MANY || g->n[NEW] > MANY;
	if (!many && all_whole(g)) {
		pair_whole(g);
		return;
	}
	find_calls(g, OLD);
	find_calls(g, NEW);
	olds = g->call_count[OLD];
	news = g->call_count[NEW];
	same = many ? 0 : equal_lines(g);
	if (!many && all_same_build(g))
		pair_equal_lines(g); /* with equal builds, calls at different lines are different
					calls */
	else if (same == olds && same == news)
		pair_equal_lines(g);
	else if (any_sampled(g) && same && 2 * same >= (olds < news ? olds : news))
		pair_equal_lines(g);
	else if (olds == news)
		for (size_t i = 0; i < olds; i++)
			pair_call(g, MATCHED_LINES, &g->calls[OLD][i], &g->calls[NEW][i]);
	else if (equal_sums(g))
		pair_calls(g, MATCHED_CHAIN, g->calls[OLD], olds, g->calls[NEW], news);
	else if (same && (same == olds || same == news))
		pair_equal_lines(g);
	else if (many || !pair_equal_figures(g))
		pair_calls(g, MATCHED_CHAIN, g->calls[OLD], olds, g->calls[NEW], news);
	MS_FREE(g->calls[OLD], g->calls[NEW]);
}

/* ---- all chains ---- */

/* Sorts spots by key, then by number: the old side has the lower numbers. */
static int by_key(const void *a, const void *b, void *arg)
{
	const uint32_t *keys = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return MS_ORDER(keys[x], keys[y]) ?: MS_ORDER(x, y);
}

void match_groups(struct matching *m, const uint32_t *keys, match_take *take, void *arg)
{
	uint32_t *v = ms_xrealloc(NULL, m->s->all.n + 1, sizeof *v);
	size_t n = 0, old;
	for (uint32_t i = 0; i < m->s->all.n; i++)
		if (keys[i] != NONE)
			v[n++] = i;
	qsort_r(v, n, sizeof *v, by_key, (void *)keys);
	for (size_t i = 0, k; i < n; i = k) {
		for (k = i, old = 0; k < n && keys[v[k]] == keys[v[i]]; k++)
			old += m->s->all.v[v[k]].side == OLD;
		take(m, arg, v + i, old, k - i);
	}
	free(v);
}

static void take_group(struct matching *m, void *arg, uint32_t *spots, size_t old, size_t n)
{
	struct group g = *(const struct group *)arg;
	g.spots[OLD] = spots;
	g.spots[NEW] = spots + old;
	g.n[OLD] = old;
	g.n[NEW] = n - old;
	if (old && old < n)
		match_group(&g);
	(void)m;
}

void match_by(struct matching *m, match_key *key, void *context, enum matched how,
	      const char *evidence)
{
	const struct spots *s = m->s;
	uint32_t *keys = ms_xrealloc(NULL, s->all.n + 1, sizeof *keys);
	for (size_t i = 0; i < s->all.n; i++)
		keys[i] = s->all.v[i].row == NONE ? key(context, &s->all.v[i]) : NONE;
	match_groups(m, keys, take_group,
		     &(struct group){.m = m, .how = how, .evidence = evidence});
	free(keys);
}

static uint32_t own_key(void *context, const struct spot *p)
{
	(void)context;
	return p->key;
}

uint32_t match_functions_key(void *context, const struct spot *p)
{
	struct match_functions *f = context;
	const struct interned *x = interned(&f->s->chains, p->key);
	size_t n = x->size / sizeof(struct link);
	struct link *key = memcpy(ms_xrealloc(NULL, n, sizeof *key), x->bytes, x->size);
	for (size_t i = 0; i < n; i++) {
		if (link_is_named(f->s, &key[i]))
			key[i].module = NONE;
		if (f->to && i && p->side == OLD)
			key[i].function = f->to[key[i].function];
	}
	uint32_t number = intern(&f->keys, key, n * sizeof *key);
	free(key);
	return number;
}

/* Matches spots with different chains. */
static void match_by_names(struct matching *m)
{
	struct match_functions f = {.s = m->s};
	match_by(m, match_functions_key, &f, MATCHED_MODULE,
		 "the same functions, in a module with another name");
	intern_free(&f.keys);
	nameless_find(m);
	nameless_match(m);
	match_left_over(m);
}

void match(struct matching *m)
{
	match_by(m, own_key, NULL, MATCHED_EXACT, NULL);
	if (!m->s->by_key)
		match_by_names(m);
	for (uint32_t i = 0; i < m->s->all.n; i++) {
		if (m->s->all.v[i].row != NONE)
			continue;
		bool hidden = nameless_hides(m, &m->s->all.v[i]);
		match_row(m, MATCHED_NONE,
			  hidden ? "the old or the new run has no symbols for these frames" : NULL,
			  &i, 1);
		m->rows.v[m->rows.n - 1].hidden = hidden;
	}
	if (!m->s->by_key)
		match_balance(m);
}

void match_free(struct matching *m)
{
	MS_FREE(m->rows.v, m->names.v);
	ms_arena_free(&m->arena);
}
