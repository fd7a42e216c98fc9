/* SPDX-License-Identifier: MIT
 * Finds which blocks are reachable, and which ones retain the others.
 */
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/order.h"
#include "graph_work.h"

/* ---- verdicts ---- */

/* Holds the strongly connected components of the unmarked blocks, found by Tarjan's algorithm with
 * an explicit stack: a component gets its number after all those that it leads to. */
struct components {
	uint32_t *of; /* component of each block, from 0; NOBODY = marked */
	uint32_t count;
	uint8_t *inner;   /* for each component: 1 = another component leads to it */
	uint32_t *oldest; /* for each component: its oldest block */
	uint32_t *order, *low, *path, *calls; /* used only during the search */
	uint32_t *edge;                       /* for each block: its next edge to follow */
	uint32_t seen, path_count, call_count;
};

static void enter(const struct graph *g, struct components *c, uint32_t i)
{
	c->order[i] = c->low[i] = ++c->seen;
	c->edge[i] = g->first_edge[i];
	c->path[c->path_count++] = i;
	c->calls[c->call_count++] = i;
}

/* Leaves block `i` after all its edges were followed; completes a component if `i` was its first
 * block. */
static void leave(struct components *c, uint32_t i)
{
	if (c->low[i] == c->order[i]) {
		uint32_t member;
		do {
			member = c->path[--c->path_count];
			c->of[member] = c->count;
		} while (member != i);
		c->count++;
	}
	if (--c->call_count) {
		uint32_t caller = c->calls[c->call_count - 1];
		c->low[caller] = c->low[i] < c->low[caller] ? c->low[i] : c->low[caller];
	}
}

static void search(const struct graph *g, struct components *c, uint32_t first)
{
	enter(g, c, first);
	while (c->call_count) {
		uint32_t i = c->calls[c->call_count - 1];
		if (!g->edges || c->edge[i] == g->first_edge[i + 1]) {
			leave(c, i);
			continue;
		}
		uint32_t to = g->edges[c->edge[i]++];
		if (g->marked[to])
			continue;
		if (!c->order[to])
			enter(g, c, to);
		else if (c->of[to] == NOBODY && c->order[to] < c->low[i])
			c->low[i] = c->order[to];
	}
}

static void find_components(const struct graph *g, struct components *c)
{
	size_t n = (size_t)g->count + 1;
	*c = (struct components){.of = ms_xrealloc(NULL, n, sizeof(uint32_t)),
				 .order = graph_zeroed(n * sizeof(uint32_t)),
				 .low = graph_zeroed(n * sizeof(uint32_t)),
				 .path = graph_zeroed(n * sizeof(uint32_t)),
				 .calls = graph_zeroed(n * sizeof(uint32_t)),
				 .edge = graph_zeroed(n * sizeof(uint32_t))};
	memset(c->of, 0xff, n * sizeof *c->of);
	for (uint32_t i = 0; i < g->count; i++)
		if (!g->marked[i] && !c->order[i])
			search(g, c, i);
	uint32_t *const rooms[] = {c->order, c->low, c->path, c->calls, c->edge};
	for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
		graph_release(rooms[i], n * sizeof(uint32_t));
	c->inner = ms_xcalloc((size_t)c->count + 1, 1);
	c->oldest = ms_xrealloc(NULL, (size_t)c->count + 1, sizeof *c->oldest);
	memset(c->oldest, 0xff, c->count * sizeof *c->oldest);
	for (uint32_t i = 0; i < g->count; i++) {
		if (g->marked[i])
			continue;
		uint32_t *oldest = &c->oldest[c->of[i]];
		if (*oldest == NOBODY || g->v[i].number < g->v[*oldest].number)
			*oldest = i;
		for (uint32_t e = g->first_edge[i]; e < g->first_edge[i + 1]; e++)
			if (!g->marked[g->edges[e]] && c->of[g->edges[e]] != c->of[i])
				c->inner[c->of[g->edges[e]]] = 1;
	}
}

static void follow(struct graph *g)
{
	while (g->from < g->count)
		g->first_edge[++g->from] = (uint32_t)g->edge_count;
	while (g->todo_count) {
		uint32_t i = g->todo[--g->todo_count];
		for (uint32_t e = g->first_edge[i]; e < g->first_edge[i + 1]; e++)
			graph_mark(g, g->edges[e]);
	}
}

void graph_solve(struct graph *g, bool complete)
{
	graph_drop_index(&g->kinds[0]); /* no more words will be looked up */
	graph_drop_index(&g->kinds[1]);
	follow(g);
	for (uint32_t i = 0; i < g->count; i++)
		g->v[i].verdict = g->marked[i] ? MS_VERDICT_IS_REACHABLE : MS_VERDICT_IS_UNKNOWN;
	if (!complete || g->overflow)
		return;
	struct components c;
	find_components(g, &c);
	for (uint32_t i = 0; i < g->count; i++) {
		if (g->marked[i])
			continue;
		bool direct = !c.inner[c.of[i]] && c.oldest[c.of[i]] == i;
		g->v[i].verdict = direct ? MS_VERDICT_IS_DIRECT : MS_VERDICT_IS_INDIRECT;
	}
	MS_FREE(c.of, c.inner, c.oldest);
}

/* ---- retained blocks ---- */

struct aged {
	uint64_t number; /* must be the first member: the sort key */
	uint32_t block;
};

static bool retains_others(const struct graph *g, uint32_t i)
{
	for (uint32_t e = g->first_edge[i]; e < g->first_edge[i + 1]; e++)
		if (g->v[g->edges[e]].verdict == MS_VERDICT_IS_INDIRECT)
			return true;
	return false;
}

void graph_retained(struct graph *g, void (*f)(void *arg, uint32_t direct, uint32_t block),
		    void *arg)
{
	MS_ARRAY(struct aged) roots = {0};
	for (uint32_t i = 0; i < g->count; i++) {
		if (g->v[i].verdict != MS_VERDICT_IS_DIRECT)
			continue;
		if (retains_others(g, i))
			*MS_PUSH(&roots) = (struct aged){g->v[i].number, i};
		else
			f(arg, i, i);
	}
	if (roots.n)
		qsort(roots.v, roots.n, sizeof *roots.v, ms_by_first_number);
	for (size_t k = 0; k < roots.n; k++) {
		uint32_t root = roots.v[k].block;
		graph_mark(g, root);
		while (g->todo_count) {
			uint32_t i = g->todo[--g->todo_count];
			f(arg, root, i);
			for (uint32_t e = g->first_edge[i]; e < g->first_edge[i + 1]; e++)
				if (g->v[g->edges[e]].verdict == MS_VERDICT_IS_INDIRECT)
					graph_mark(g, g->edges[e]);
		}
	}
	free(roots.v);
}
