/* SPDX-License-Identifier: MIT
 * Which roots share blocks, in random graphs of more roots than a set can name: against the roots
 * that reach each block, one by one. Each block has a stack of its own, so that rows are blocks.
 */
#include <stdio.h>

#include "libcommon/base/order.h"
#include "tests/unit/check.h"
#include "tests/unit/ms-record/keeping.h"

#define GRAPHS 1500u
#define BLOCKS_MOST 80u
#define ROOTS_MOST 200u

static uint64_t seed = 63;

static uint32_t below(uint32_t n)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return n ? (uint32_t)(seed >> 33) % n : 0;
}

/* Describes a graph as the definitions see it. */
struct model {
	const struct made *m;
	uint32_t blocks, roots;
	uint32_t rank[BLOCKS_MOST];            /* 0 = not reached */
	bool reached[BLOCKS_MOST][ROOTS_MOST]; /* over blocks of the root's rank */
	uint32_t sharers[BLOCKS_MOST];         /* roots that reach it */
	uint64_t weight[ROOTS_MOST];           /* of what the root shares with others */
	bool named[ROOTS_MOST];
	uint32_t named_count, sharing_count;
};

/* Marks what the roots with `use` reach over blocks that are of `rank`, or without one, if not over
 * block `dead`. */
static void reach(const struct model *g, const bool *use, uint32_t rank, uint32_t dead, bool *seen)
{
	const struct made *m = g->m;
	memset(seen, 0, BLOCKS_MOST * sizeof *seen);
	for (size_t i = 0; i < m->words.n; i++) {
		uint32_t to = m->words.v[i].node;
		seen[to] |= use[m->words.v[i].root] && (!g->rank[to] || g->rank[to] == rank) &&
			    to != dead;
	}
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < m->links.n; i++) {
			const struct made_link *l = &m->links.v[i];
			bool open = !g->rank[l->to] || g->rank[l->to] == rank;
			if (!seen[l->from] || seen[l->to] || !open || l->to == dead)
				continue;
			seen[l->to] = more = true;
		}
	}
}

static void find_ranks(struct model *g)
{
	bool use[ROOTS_MOST], seen[BLOCKS_MOST];
	for (uint32_t rank = 1; rank < 10; rank++) {
		for (uint32_t r = 0; r < g->roots; r++)
			use[r] = g->m->roots.v[r].rank == rank;
		reach(g, use, rank, BLOCKS_MOST, seen);
		for (uint32_t b = 0; b < g->blocks; b++)
			g->rank[b] = seen[b] && !g->rank[b] ? rank : g->rank[b];
	}
	for (uint32_t r = 0; r < g->roots; r++) {
		memset(use, 0, sizeof use);
		use[r] = true;
		reach(g, use, g->m->roots.v[r].rank, BLOCKS_MOST, seen);
		for (uint32_t b = 0; b < g->blocks; b++) {
			bool is = seen[b] && g->rank[b] == g->m->roots.v[r].rank;
			g->reached[b][r] = is;
			g->sharers[b] += is;
		}
	}
}

/* Returns the bytes that cannot be reached without a block, itself too. */
static uint64_t lost_bytes(const struct model *g, uint32_t block)
{
	bool use[ROOTS_MOST], seen[BLOCKS_MOST];
	uint64_t bytes = 0;
	for (uint32_t r = 0; r < g->roots; r++)
		use[r] = g->m->roots.v[r].rank == g->rank[block];
	reach(g, use, g->rank[block], block, seen);
	for (uint32_t b = 0; b < g->blocks; b++)
		if (g->rank[b] == g->rank[block] && !seen[b])
			bytes += g->m->blocks.v[b].size;
	return bytes;
}

/* Tells whether a root leads to a shared block by itself or by a block that it alone reaches. */
static bool leads(const struct model *g, uint32_t root, uint32_t block)
{
	for (size_t i = 0; i < g->m->words.n; i++)
		if (g->m->words.v[i].root == root && g->m->words.v[i].node == block)
			return g->reached[block][root];
	for (size_t i = 0; i < g->m->links.n; i++) {
		uint32_t from = g->m->links.v[i].from;
		if (g->m->links.v[i].to == block && g->sharers[from] == 1 &&
		    g->reached[from][root] && g->reached[block][root])
			return true;
	}
	return false;
}

static int by_weight(const void *a, const void *b, void *arg)
{
	const struct model *g = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return MS_ORDER(g->weight[y], g->weight[x]) ?: MS_ORDER(g->m->roots.v[x].rank, g->m->roots.v[y].rank)
						    ?: MS_ORDER(x, y);
}

/* Finds the roots that sets can name. */
static void find_named(struct model *g)
{
	uint32_t v[ROOTS_MOST];
	for (uint32_t b = 0; b < g->blocks; b++) {
		uint64_t bytes = g->sharers[b] > 1 ? lost_bytes(g, b) + 1 : 0;
		for (uint32_t r = 0; r < g->roots && bytes; r++)
			g->weight[r] += leads(g, r, b) ? bytes : 0;
	}
	for (uint32_t r = 0; r < g->roots; r++)
		v[r] = r;
	qsort_r(v, g->roots, sizeof *v, by_weight, g);
	for (uint32_t r = 0; r < g->roots; r++) {
		g->sharing_count += g->weight[v[r]] != 0;
		g->named[v[r]] = r < KEEP_SET_ROOTS && g->weight[v[r]];
		g->named_count += g->named[v[r]];
	}
}

static void make_model(struct model *g, const struct made *m)
{
	*g = (struct model){.m = m, .blocks = (uint32_t)m->blocks.n, .roots = (uint32_t)m->roots.n};
	find_ranks(g);
	find_named(g);
}

/* Makes a random graph. Some blocks have many roots, most have few. */
static void make_random(struct made *m, uint32_t first_rank)
{
	uint32_t blocks = 2 + below(BLOCKS_MOST - 1), roots = 1 + below(ROOTS_MOST);
	uint32_t ranks = below(3) ? 1 : 1 + below(3), links = below(2 * blocks);
	uint32_t words = below(4) ? below(3 * roots) : below(12 * roots);
	for (uint32_t i = 0; i < blocks; i++)
		made_block(m, below(8) ? 1 + below(1000) : 0, i + 1);
	for (uint32_t i = 0; i < roots; i++)
		made_root(m, KEEP_VARIABLE, first_rank + below(ranks));
	for (; links; links--)
		made_link(m, below(blocks), below(blocks), 8 * below(5));
	for (; words; words--)
		made_word(m, below(roots), below(3) ? below(blocks) : below(1 + blocks / 8), 0);
}

static const struct keep_row *top_of(const struct keep_result *out, uint32_t block)
{
	const struct keep_row *r = NULL;
	for (uint32_t i = 0; i < out->row_count && !r; i++)
		if (out->rows[i].parent && out->rows[i].stack == block + 1)
			r = &out->rows[i];
	while (r && r->parent)
		r = &out->rows[r->parent - 1];
	return r;
}

/* Checks what a block is below: the only root that reaches it, or a set of those that do, without
 * those that sets cannot name. */
static void check_block(const struct model *g, uint32_t b, uint32_t t)
{
	const struct keep_result *out = &g->m->out;
	const struct keep_row *top = top_of(out, b);
	uint32_t count = 0, others = 0;
	CHECK((top != NULL) == (g->sharers[b] != 0), "graph %u, block %u", t, b);
	if (!top)
		return;
	CHECK((top->set != 0) == (g->sharers[b] > 1), "graph %u, block %u of %u roots", t, b,
	      g->sharers[b]);
	if (!top->set) {
		CHECK(g->reached[b][top->root - 1], "graph %u, block %u", t, b);
		return;
	}
	const struct keep_set *set = &out->sets[top->set - 1];
	for (uint32_t r = 0; r < g->roots; r++) {
		count += g->reached[b][r] && g->named[r];
		others += g->reached[b][r] && !g->named[r];
	}
	CHECK(set->count == count && set->others == (others != 0),
	      "graph %u, block %u: %u roots%s, not %u and %u others", t, b, set->count,
	      set->others ? " and others" : "", count, others);
	for (uint32_t i = 0; i < set->count; i++)
		CHECK(g->reached[b][set->roots[i] - 1] && g->named[set->roots[i] - 1],
		      "graph %u, block %u: root %u", t, b, set->roots[i]);
}

static void check_sums(const struct model *g, uint32_t t)
{
	const struct keep_result *out = &g->m->out;
	uint64_t kept = 0, top = 0;
	for (uint32_t b = 0; b < g->blocks; b++)
		kept += g->rank[b] ? g->m->blocks.v[b].size : 0;
	for (uint32_t i = 0; i < out->row_count; i++) {
		top += out->rows[i].parent ? 0 : out->rows[i].retained_bytes;
		for (uint32_t k = 0; k < i && out->rows[i].set; k++)
			CHECK(out->rows[k].set != out->rows[i].set, "graph %u: a set twice", t);
	}
	CHECK(out->state == KEEP_DONE && out->kept_bytes == kept && top == kept,
	      "graph %u: %lu kept, %lu at the top, of %lu", t, (unsigned long)out->kept_bytes,
	      (unsigned long)top, (unsigned long)kept);
}

/* Checks what holds with observers, too: what keeps a block reaches it, and an observer has at most a
 * twentieth out of the reach of the root that it observes. */
static void check_observed(const struct model *g, uint32_t t)
{
	const struct keep_result *out = &g->m->out;
	for (uint32_t b = 0; b < g->blocks; b++) {
		const struct keep_row *top = top_of(out, b);
		const struct keep_set *set = top && top->set ? &out->sets[top->set - 1] : NULL;
		CHECK((top != NULL) == (g->sharers[b] != 0), "graph %u, block %u", t, b);
		if (top && !set)
			CHECK(g->reached[b][top->root - 1], "graph %u, block %u", t, b);
		for (uint32_t i = 0; set && i < set->count; i++)
			CHECK(g->reached[b][set->roots[i] - 1], "graph %u, block %u", t, b);
	}
	for (uint32_t r = 0; r < g->roots; r++)
		CHECK(g->m->roots.v[r].observes <= g->roots && g->m->roots.v[r].observes != r + 1,
		      "graph %u, root %u", t, r);
}

int main(void)
{
	static struct model g;
	uint32_t over = 0;
	for (uint32_t t = 0; t < GRAPHS && failures < 10; t++) {
		struct made m = {0};
		bool observers = t % 3 == 0; /* of rank 1 there may be some */
		make_random(&m, observers ? 1 : 2);
		made_find(&m);
		make_model(&g, &m);
		over += g.sharing_count > KEEP_SET_ROOTS;
		check_sums(&g, t);
		if (observers)
			check_observed(&g, t);
		for (uint32_t b = 0; b < g.blocks && !observers; b++)
			check_block(&g, b, t);
		made_free(&m);
	}
	CHECK(over > GRAPHS / 4, "%u graphs of so many roots", over);
	return failures != 0;
}
