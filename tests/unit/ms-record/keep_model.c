/* SPDX-License-Identifier: MIT
 * What keeps blocks alive, in random graphs, against the definitions: a node retains what cannot be
 * reached without it. Each block has a stack of its own, so that rows are blocks. Then random graphs
 * of few stacks, with observers, against the same ones in another order, and against those in which
 * the observers have ranks of their own from the start.
 */
#include <stdio.h>

#include "tests/unit/check.h"
#include "tests/unit/ms-record/keeping.h"

#define GRAPHS 100000u
#define NODES_MOST 40u
#define FAR 1000u

static uint64_t seed = 45;

static uint32_t below(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return n ? (uint32_t)(seed >> 33) % n : 0;
}

/* Describes a graph as the definitions see it. Nodes: blocks, mappings, roots. */
struct model {
	const struct made *m;
	uint32_t blocks, mappings, roots, nodes;
	bool edge[NODES_MOST][NODES_MOST];
	bool start[NODES_MOST];    /* roots, and mappings that are roots */
	uint32_t rank[NODES_MOST]; /* 0 = not reached; of mappings that are roots the last one */
	uint64_t size[NODES_MOST];
	uint32_t distance[NODES_MOST][NODES_MOST]; /* from a start, over nodes of equal rank */
	uint64_t leads[NODES_MOST];        /* bits of the nodes of its rank to which it points */
	bool lost[NODES_MOST][NODES_MOST]; /* the second cannot be reached without the first */
	uint32_t lost_nodes[NODES_MOST];
};

/* Marks what `from` leads to, itself too, over nodes that have no rank yet. */
static void mark(const struct model *g, uint32_t from, bool *seen)
{
	uint32_t todo[NODES_MOST], n = 0;
	if (seen[from])
		return;
	seen[from] = true;
	for (todo[n++] = from; n;) {
		uint32_t u = todo[--n];
		for (uint32_t v = 0; v < g->nodes; v++)
			if (g->edge[u][v] && !seen[v] && !g->rank[v]) {
				seen[v] = true;
				todo[n++] = v;
			}
	}
}

static void set_rank(struct model *g, uint32_t start, uint32_t rank)
{
	bool seen[NODES_MOST] = {0};
	mark(g, start, seen);
	for (uint32_t v = 0; v < g->nodes; v++)
		if (seen[v] && !g->rank[v])
			g->rank[v] = rank;
}

/* Tells whether mapping `a` stands before `b`, if each leads to the other. */
static bool goes_first(const struct model *g, uint32_t a, uint32_t b)
{
	const uint64_t *bytes = g->m->mapping_bytes.v - g->blocks;
	return bytes[a] != bytes[b] ? bytes[a] > bytes[b] : a < b;
}

/* A mapping without a rank is a root unless another one leads to it, and it not to that one. */
static void start_mappings(struct model *g)
{
	bool leads[NODES_MOST][NODES_MOST] = {0};
	uint32_t end = g->blocks + g->mappings;
	for (uint32_t a = g->blocks; a < end; a++)
		if (!g->rank[a])
			mark(g, a, leads[a]);
	for (uint32_t a = g->blocks; a < end; a++) {
		g->start[a] = !g->rank[a];
		for (uint32_t b = g->blocks; b < end; b++)
			if (a != b && leads[b][a] && (!leads[a][b] || goes_first(g, b, a)))
				g->start[a] = false;
	}
	for (uint32_t a = g->blocks; a < end; a++)
		if (g->start[a])
			set_rank(g, a, 100);
}

static void find_distances(struct model *g, uint32_t start)
{
	uint32_t queue[NODES_MOST], n = 0, *d = g->distance[start];
	for (uint32_t v = 0; v < g->nodes; v++)
		d[v] = FAR;
	d[start] = 0;
	queue[n++] = start;
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t v = 0; v < g->nodes; v++)
			if (g->edge[queue[i]][v] && g->rank[v] == g->rank[start] && d[v] == FAR) {
				d[v] = d[queue[i]] + 1;
				queue[n++] = v;
			}
}

static void make_model(struct model *g, const struct made *m)
{
	*g = (struct model){.m = m,
			    .blocks = (uint32_t)m->blocks.n,
			    .mappings = (uint32_t)m->mapping_bytes.n,
			    .roots = (uint32_t)m->roots.n};
	uint32_t first = g->blocks + g->mappings;
	g->nodes = first + g->roots;
	for (size_t i = 0; i < m->links.n; i++)
		g->edge[m->links.v[i].from][m->links.v[i].to] = true;
	for (size_t i = 0; i < m->words.n; i++)
		g->edge[first + m->words.v[i].root][m->words.v[i].node] = true;
	for (uint32_t i = 0; i < g->blocks; i++)
		g->size[i] = m->blocks.v[i].size;
	for (uint32_t rank = 1; rank < 10; rank++)
		for (uint32_t r = 0; r < g->roots; r++)
			if (m->roots.v[r].rank == rank)
				set_rank(g, first + r, rank);
	for (uint32_t r = 0; r < g->roots; r++)
		g->start[first + r] = true;
	start_mappings(g);
	for (uint32_t v = 0; v < g->nodes; v++)
		if (g->start[v])
			find_distances(g, v);
	for (uint32_t u = 0; u < g->nodes; u++)
		for (uint32_t v = 0; v < g->nodes; v++)
			g->leads[u] |= (uint64_t)(g->edge[u][v] && g->rank[u] == g->rank[v]) << v;
}

/* Finds what cannot be reached without node `dead`, of its rank. */
static void find_lost(struct model *g, uint32_t dead)
{
	uint32_t queue[NODES_MOST], n = 0;
	bool seen[NODES_MOST] = {0};
	for (uint32_t v = 0; v < g->nodes; v++)
		if (g->start[v] && v != dead && g->rank[v] == g->rank[dead]) {
			seen[v] = true;
			queue[n++] = v;
		}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t v = 0; v < g->nodes; v++)
			if (g->edge[queue[i]][v] && v != dead && !seen[v] &&
			    g->rank[v] == g->rank[dead]) {
				seen[v] = true;
				queue[n++] = v;
			}
	for (uint32_t v = 0; v < g->nodes; v++) {
		g->lost[dead][v] = g->rank[v] == g->rank[dead] && !seen[v];
		g->lost_nodes[dead] += g->lost[dead][v];
	}
}

/* ---- the rows, each compared ---- */

/* Returns the node of a row below the top, by its stack, or of a root at the top. */
static uint32_t node_of(const struct model *g, const struct keep_row *r)
{
	if (r->parent || !r->root)
		return r->stack - 1;
	uint32_t root = r->root - 1;
	return root < g->roots ? g->blocks + g->mappings + root : g->blocks + root - g->roots;
}

/* Returns the index of the row of a node, or KEEP_NONE. */
static uint32_t row_of(const struct model *g, const struct keep_result *out, uint32_t node)
{
	for (uint32_t i = 0; i < out->row_count; i++)
		if (!out->rows[i].set && node_of(g, &out->rows[i]) == node)
			return i;
	return KEEP_NONE;
}

/* Returns the least offset of a pointer in `from` to `to`; KEEP_NONE = there is none. */
static uint32_t offset_of(const struct model *g, uint32_t from, uint32_t to)
{
	const struct made *m = g->m;
	uint32_t least = KEEP_NONE, first = g->blocks + g->mappings;
	for (size_t i = 0; i < m->links.n; i++) {
		const struct made_link *l = &m->links.v[i];
		if (l->from == from && l->to == to && l->offset < least)
			least = l->offset;
	}
	for (size_t i = 0; i < m->words.n; i++) {
		const struct keep_word *w = &m->words.v[i];
		if (first + w->root == from && w->node == to && w->offset < least)
			least = w->offset;
	}
	return least;
}

/* Checks the least and the greatest offset of the pointers in a row's root that lead to its node. */
static void check_span(const struct model *g, const struct keep_row *r, uint32_t root,
		       uint32_t node, uint32_t t)
{
	const struct made *m = g->m;
	uint32_t from = KEEP_NONE, to = 0;
	for (size_t i = 0; i < m->words.n; i++) {
		const struct keep_word *w = &m->words.v[i];
		uint64_t seen = 0, next = UINT64_C(1) << w->node;
		if (w->root != root || g->rank[w->node] != g->rank[node])
			continue;
		while (next & ~seen) {
			uint32_t u = (uint32_t)__builtin_ctzll(next & ~seen);
			seen |= UINT64_C(1) << u;
			next |= g->leads[u];
		}
		if (!(seen >> node & 1))
			continue;
		from = w->offset < from ? w->offset : from;
		to = w->offset > to ? w->offset : to;
	}
	CHECK(r->from == from && r->to == to, "graph %u, node %u: %u to %u for %u to %u", t, node,
	      r->from, r->to, from, to);
}

static void check_path(const struct model *g, const struct keep_row *r, uint32_t node, uint32_t t)
{
	if (node >= g->blocks)
		return;
	CHECK(r->path != KEEP_NONE, "graph %u, node %u", t, node);
	const struct keep_path *p = &g->m->out.paths[r->path];
	uint32_t root = p->root - 1, nearest = FAR, distance = p->count;
	root = root < g->roots ? g->blocks + g->mappings + root : g->blocks + root - g->roots;
	for (uint32_t v = 0; v < g->nodes; v++)
		if (g->start[v] && g->rank[v] == g->rank[node] && g->distance[v][node] < nearest)
			nearest = g->distance[v][node];
	distance = p->cut ? nearest : distance;
	CHECK(p->cut == (nearest > KEEP_PATH_STEPS), "graph %u, node %u", t, node);
	CHECK(nearest == distance && g->distance[root][node] == nearest, "graph %u, node %u", t,
	      node);
	uint32_t u = root;
	for (uint32_t i = 0; i < p->count; u = p->steps[i++].stack - 1)
		CHECK(g->edge[u][p->steps[i].stack - 1] && p->steps[i].count == 1,
		      "graph %u, node %u, step %u", t, node, i);
	CHECK(p->cut || u == node, "graph %u, node %u", t, node);
}

/* Checks a row's parent: it is the dominator, that is, of all nodes without which this one is lost
 * the one that is lost with all others. */
static void check_parent(const struct model *g, const struct keep_row *r, uint32_t node, uint32_t t)
{
	uint32_t parent = KEEP_NONE;
	for (uint32_t v = 0; v < g->nodes; v++)
		if (v != node && g->lost[v][node] &&
		    (parent == KEEP_NONE || g->lost_nodes[v] < g->lost_nodes[parent]))
			parent = v;
	const struct keep_row *up = &g->m->out.rows[r->parent - 1];
	if (parent == KEEP_NONE) {
		CHECK(r->parent && up->set, "graph %u, node %u", t, node);
		return;
	}
	CHECK(r->parent && !up->set && node_of(g, up) == parent, "graph %u, node %u", t, node);
	uint32_t offset = node < g->blocks ? offset_of(g, parent, node) : KEEP_NONE;
	CHECK(r->offset == offset, "graph %u, node %u: %u for %u", t, node, r->offset, offset);
	if (parent >= g->blocks + g->mappings)
		check_span(g, r, parent - g->blocks - g->mappings, node, t);
	else
		CHECK(r->from == KEEP_NONE, "graph %u, node %u", t, node);
}

static void check_node(const struct model *g, uint32_t node, uint32_t t)
{
	uint64_t blocks = 0, bytes = 0;
	for (uint32_t v = 0; v < g->blocks; v++) {
		bytes += g->lost[node][v] ? g->size[v] : 0;
		blocks += g->lost[node][v];
	}
	uint32_t i = row_of(g, &g->m->out, node);
	CHECK((i == KEEP_NONE) == !blocks, "graph %u, node %u", t, node);
	if (i == KEEP_NONE)
		return;
	const struct keep_row *r = &g->m->out.rows[i];
	CHECK(r->retained_bytes == bytes && r->retained_blocks == blocks,
	      "graph %u, node %u: %lu B", t, node, (unsigned long)r->retained_bytes);
	CHECK(r->mapping == (node >= g->blocks && node < g->blocks + g->mappings), "graph %u", t);
	if (g->start[node]) {
		CHECK(!r->parent, "graph %u, node %u", t, node);
		return;
	}
	check_parent(g, r, node, t);
	check_path(g, r, node, t);
}

/* Checks the set of roots of a row below it, in which all starts that lead to the node have to be. */
static void check_sets(const struct model *g, uint32_t t)
{
	const struct keep_result *out = &g->m->out;
	for (uint32_t i = 0; i < out->row_count; i++) {
		if (!out->rows[i].parent || !out->rows[out->rows[i].parent - 1].set)
			continue;
		const struct keep_set *s = &out->sets[out->rows[out->rows[i].parent - 1].set - 1];
		uint32_t node = out->rows[i].stack - 1, n = 0;
		for (uint32_t v = 0; v < g->nodes; v++)
			n += g->start[v] && g->rank[v] == g->rank[node] &&
			     g->distance[v][node] < FAR;
		CHECK(n == s->count && !s->others, "graph %u, node %u: %u roots", t, node,
		      s->count);
		for (uint32_t k = 0; k < s->count; k++) {
			struct keep_row r = {.root = s->roots[k]};
			CHECK(g->distance[node_of(g, &r)][node] < FAR, "graph %u", t);
		}
	}
}

static void check_sums(const struct model *g, uint32_t t)
{
	const struct keep_result *out = &g->m->out;
	uint64_t kept = 0, blocks = 0, top = 0, live = 0;
	for (uint32_t v = 0; v < g->blocks; v++) {
		live += g->size[v];
		kept += g->rank[v] ? g->size[v] : 0;
		blocks += g->rank[v] != 0;
	}
	for (uint32_t i = 0; i < out->row_count; i++)
		top += out->rows[i].parent ? 0 : out->rows[i].retained_bytes;
	CHECK(out->state == KEEP_DONE, "graph %u", t);
	CHECK(out->live_bytes == live && out->kept_bytes == kept && top == kept &&
		      out->kept_blocks == blocks,
	      "graph %u: %lu kept, %lu at the top, of %lu", t, (unsigned long)out->kept_bytes,
	      (unsigned long)top, (unsigned long)kept);
}

/* Makes a random graph. Its roots have rank 2 or more: they never observe. */
static void make_random(struct made *m)
{
	uint32_t nodes = 2 + below(NODES_MOST - 1), roots = 1 + below(nodes < 6 ? nodes - 1 : 5);
	uint32_t mappings = below(4) ? 0 : below(1 + (nodes - roots) / 4);
	uint32_t most = nodes - roots, ranks = 1 + below(3);
	for (uint32_t i = 0; i < most - mappings; i++)
		made_block(m, below(8) ? 1 + below(1000) : 0, i + 1);
	for (uint32_t i = most - mappings; i < most; i++)
		made_mapping(m, 1 + below(3), i + 1);
	for (uint32_t i = 0; i < roots; i++)
		made_root(m, KEEP_VARIABLE, 2 + below(ranks));
	for (uint32_t n = below(3 * nodes) + 1; n; n--)
		made_link(m, below(most), below(most), 8 * below(5));
	for (uint32_t n = below(2 * roots + 1); n; n--)
		made_word(m, below(roots), below(most), 8 * below(5));
}

static void check_definitions(uint32_t t)
{
	static struct model g;
	struct made m = {0};
	make_random(&m);
	made_find(&m);
	make_model(&g, &m);
	for (uint32_t v = 0; v < g.nodes; v++)
		if (g.rank[v])
			find_lost(&g, v);
	for (uint32_t v = 0; v < g.nodes; v++)
		check_node(&g, v, t);
	check_sets(&g, t);
	check_sums(&g, t);
	made_free(&m);
}

/* ---- another order ---- */

/* Makes a random graph with much that is equal: few stacks and sizes, roots that observe. Pointers
 * lead to near blocks mostly, so that some are behind others. */
static void make_alike(struct made *m)
{
	uint32_t blocks = 1 + below(60), roots = 1 + below(6), mappings = below(3);
	uint32_t stacks = 1 + below(6), sizes = 1 + below(3), ranks = 1 + below(2);
	for (uint32_t i = 0; i < blocks; i++) {
		made_block(m, 10 * below(sizes), 1 + below(stacks));
		*MS_PUSH(&m->types) = below(8) ? 0 : 1 + below(2);
	}
	for (uint32_t i = 0; i < mappings; i++) {
		made_mapping(m, 1 + i, 1 + below(2));
		*MS_PUSH(&m->types) = 0;
	}
	for (uint32_t i = 0; i < roots; i++)
		made_root(m, (enum keep_kind)below(2), 1 + below(ranks));
	for (uint32_t n = below(2 * blocks) + 1; n; n--) {
		uint32_t from = below(blocks + mappings), to = from + 1 + below(3);
		to = below(4) && to < blocks ? to : below(blocks + mappings);
		made_link(m, from, to, 8 * below(3));
	}
	for (uint32_t n = below(2 * roots + 1); n; n--)
		made_word(m, below(roots), below(blocks + mappings), 8 * below(3));
	m->in.least = below(2) ? 0 : 0.05;
	m->in.rows_most = 1 + below(40);
}

/* Makes `to` a random order of 0 .. n - 1. */
static void shuffle(uint32_t *to, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = below(i + 1);
		if (j < i)
			to[i] = to[j];
		to[j] = i;
	}
}

/* Makes `b` the same graph as `a` in another order. `root`: where the roots of `a` and its mappings
 * are. */
static void reorder(const struct made *a, struct made *b, uint32_t *root)
{
	uint32_t blocks = (uint32_t)a->blocks.n, mappings = (uint32_t)a->mapping_bytes.n,
		 roots = (uint32_t)a->roots.n, node[100] = {0}, link[200] = {0};
	shuffle(node, blocks);
	shuffle(root, roots);
	shuffle(node + blocks, mappings);
	for (uint32_t i = 0; i < mappings; i++) {
		root[roots + i] = roots + node[blocks + i];
		node[blocks + i] += blocks;
	}
	for (uint32_t i = 0; i < blocks; i++)
		made_block(b, 0, 0);
	for (uint32_t i = 0; i < blocks + mappings; i++)
		*MS_PUSH(&b->types) = 0;
	for (uint32_t i = 0; i < mappings; i++)
		made_mapping(b, 0, 0);
	for (uint32_t i = 0; i < roots; i++)
		made_root(b, KEEP_OTHER, 0);
	for (uint32_t i = 0; i < blocks; i++)
		b->blocks.v[node[i]] = a->blocks.v[i];
	for (uint32_t i = 0; i < blocks + mappings; i++)
		b->types.v[node[i]] = a->types.v[i];
	for (uint32_t i = 0; i < mappings; i++) {
		b->mapping_bytes.v[node[blocks + i] - blocks] = a->mapping_bytes.v[i];
		b->mapping_stacks.v[node[blocks + i] - blocks] = a->mapping_stacks.v[i];
	}
	for (uint32_t i = 0; i < roots; i++)
		b->roots.v[root[i]] = a->roots.v[i];
	shuffle(link, (uint32_t)a->links.n);
	for (size_t i = 0; i < a->links.n; i++) {
		const struct made_link *l = &a->links.v[link[i]];
		made_link(b, node[l->from], node[l->to], l->offset);
	}
	shuffle(link, (uint32_t)a->words.n);
	for (size_t i = 0; i < a->words.n; i++) {
		const struct keep_word *w = &a->words.v[link[i]];
		made_word(b, root[w->root], node[w->node], w->offset);
	}
	b->in.least = a->in.least;
	b->in.rows_most = a->in.rows_most;
}

static bool same_root(uint32_t a, uint32_t b, const uint32_t *root)
{
	return a ? b == root[a - 1] + 1 : !b;
}

static bool same_row(const struct keep_row *x, const struct keep_row *y, const uint32_t *root)
{
	return same_root(x->root, y->root, root) && x->parent == y->parent && x->set == y->set &&
	       x->stack == y->stack && x->mapping == y->mapping && x->rest == y->rest &&
	       x->bytes == y->bytes && x->blocks == y->blocks &&
	       x->retained_bytes == y->retained_bytes && x->retained_blocks == y->retained_blocks &&
	       x->mapped_bytes == y->mapped_bytes && x->offset == y->offset && x->from == y->from &&
	       x->to == y->to && x->depth == y->depth && x->type == y->type && x->path == y->path &&
	       x->path_blocks == y->path_blocks;
}

static bool same_path(const struct keep_path *x, const struct keep_path *y, const uint32_t *root)
{
	bool same = same_root(x->root, y->root, root) && x->count == y->count && x->cut == y->cut;
	for (uint32_t i = 0; i < x->count && same; i++)
		same = x->steps[i].stack == y->steps[i].stack &&
		       x->steps[i].count == y->steps[i].count &&
		       x->steps[i].mapping == y->steps[i].mapping;
	return same;
}

static uint64_t mix(uint64_t h, uint64_t more)
{
	h = (h ^ more) * UINT64_C(0x9e3779b97f4a7c15);
	return h ^ h >> 29;
}

static uint64_t row_hash(const struct keep_result *out, const struct keep_row *r)
{
	uint64_t h = r->parent ? row_hash(out, &out->rows[r->parent - 1]) : 1;
	const uint64_t all[] = {r->root,         r->set != 0,       r->stack,
				r->mapping,      r->rest,           r->bytes,
				r->blocks,       r->retained_bytes, r->retained_blocks,
				r->mapped_bytes, r->offset,         r->depth,
				r->type,         r->path_blocks,    r->path != KEEP_NONE};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		h = mix(h, all[i]);
	return h;
}

/* Returns what is the same for the same rows in any order. */
static uint64_t rows_hash(const struct keep_result *out)
{
	uint64_t sum = out->row_count;
	for (uint32_t i = 0; i < out->row_count; i++)
		sum += row_hash(out, &out->rows[i]);
	return sum;
}

/* Finds ranks for the observers, up to 3 behind the first, with which the rows are the same without
 * any observer. */
static void check_observers(struct made *m, uint32_t t)
{
	uint64_t want = rows_hash(&m->out);
	uint32_t observers[6], n = 0, tries = 1;
	for (uint32_t i = 0; i < m->roots.n; i++) {
		if (m->roots.v[i].observes) {
			observers[n++] = i;
			tries *= 3;
		}
		m->roots.v[i].rank *= 10;
	}
	bool same = !n;
	for (uint32_t k = 0; k < tries && !same; k++) {
		for (uint32_t i = 0, rest = k; i < n; i++, rest /= 3)
			m->roots.v[observers[i]].rank = 11 + rest % 3;
		keep_result_free(&m->out);
		keep_find(&m->in, &m->out);
		same = rows_hash(&m->out) == want;
	}
	CHECK(same, "graph %u, %u observers", t, n);
}

static void check_order(uint32_t t)
{
	struct made a = {0}, b = {0};
	uint32_t root[20] = {0};
	make_alike(&a);
	reorder(&a, &b, root);
	made_find(&a);
	made_find(&b);
	for (uint32_t i = 0; i < a.roots.n; i++)
		CHECK(same_root(a.roots.v[i].observes, b.roots.v[root[i]].observes, root),
		      "graph %u, root %u", t, i);
	CHECK(a.out.row_count == b.out.row_count && a.out.set_count == b.out.set_count &&
		      a.out.kept_bytes == b.out.kept_bytes && a.out.row_count <= a.in.rows_most,
	      "graph %u", t);
	for (uint32_t i = 0; i < a.out.row_count && !failures; i++)
		CHECK(same_row(&a.out.rows[i], &b.out.rows[i], root), "graph %u, row %u of %u", t,
		      i, a.out.row_count);
	for (uint32_t i = 0; i < a.out.path_count && !failures; i++)
		CHECK(same_path(&a.out.paths[i], &b.out.paths[i], root), "graph %u, path %u", t, i);
	for (uint32_t i = 0; i < a.out.set_count && !failures; i++) {
		const struct keep_set *x = &a.out.sets[i], *y = &b.out.sets[i];
		CHECK(x->count == y->count && x->others == y->others, "graph %u", t);
		for (uint32_t k = 0; k < x->count; k++)
			CHECK(same_root(x->roots[k], y->roots[k], root), "graph %u", t);
	}
	check_observers(&a, t);
	made_free(&a);
	made_free(&b);
}

int main(void)
{
	for (uint32_t t = 0; t < GRAPHS && failures < 10; t++)
		check_definitions(t);
	for (uint32_t t = 0; t < GRAPHS && failures < 10; t++)
		check_order(t);
	return failures != 0;
}
