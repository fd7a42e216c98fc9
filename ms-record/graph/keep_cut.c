/* SPDX-License-Identifier: MIT
 * Finds pointers that may be stale and lead from what one root has to what another one has.
 *
 * A block that nobody has filled in yet holds what its memory held before. One such word suffices to
 * make a list of a million blocks a shared one. It cannot be told from a pointer for sure; but all
 * that it can point to is older than the block, and it is rare: of the blocks that belong to the one
 * root, hardly any lead to those of the other. And blocks of its site do not usually point to blocks
 * of that other site, as the nodes of a list do to each other.
 */
#include "keep_work.h"

#define RARE 100u /* one block in so many */

/* Describes the pointers from the blocks of one root to those of another. */
struct crossing {
	uint32_t sources, last; /* sources: blocks that hold such pointers; last: the latest one */
	bool certain;           /* one of them cannot be stale */
};

struct crossings {
	uint32_t size[KEEP_SET_ROOTS + 1]; /* numbers that belong to each root */
	bool rare[KEEP_SET_ROOTS + 1];     /* the root has pointers that may not count */
	/* (site, site), 2 * root, or 2 * root + 1 of pointers to another one -> their number */
	struct keep_map usual;
	struct crossing at[KEEP_SET_ROOTS + 1][KEEP_SET_ROOTS + 1];
};

/* Tells whether the pointer in number `from` to `to` may be what was there before the block. */
static bool may_be_stale(const struct keep *k, uint32_t from, uint32_t to)
{
	const struct graph_block *v = k->in->blocks;
	uint32_t x = k->vertex[from], y = k->vertex[to];
	return x < k->mappings_at && y < k->mappings_at && v[y].number < v[x].number;
}

/* Calls `f` for each edge that counts, in slot `s` of number `i` of root `x`, to what is of root `y`. */
static void each_edge(struct keep *k, const uint8_t *owner, struct crossings *c,
		      void (*f)(struct keep *k, struct crossings *c, uint32_t i, uint8_t x,
				uint32_t s, uint8_t y))
{
	const uint32_t *group = k->scratch[2];
	for (uint32_t i = 1; i <= k->count && !keep_over_at(k, i); i++)
		for (uint32_t s = k->slot[i]; s < k->slot[i + 1]; s++) {
			uint32_t to = k->target[s];
			uint8_t x = owner[group[i]];
			if (to < TARGET_OTHER || to == PRE_LEAF)
				f(k, c, i, x, s, to == PRE_LEAF ? x : owner[group[to]]);
		}
}

static void count_source(struct keep *k, struct crossings *c, uint32_t i, uint8_t x, uint32_t s,
			 uint8_t y)
{
	struct crossing *at = &c->at[x][y];
	if (x == y)
		return;
	at->sources += at->last != i;
	at->last = i;
	at->certain |= !may_be_stale(k, i, k->target[s]);
}

/* Tells whether a root of rank 1 has the bit. */
static bool is_first(const struct keep *k, uint32_t bit)
{
	uint32_t root = bit < k->bits ? keep_root_of_bit(k, bit) : UINT32_MAX;
	return root < k->in->root_count && keep_rank(k, root) == 1;
}

/* Tells whether the pointers from the blocks of root `x` to those of `y` are not to count. */
static bool is_cut(const struct keep *k, const struct crossings *c, uint32_t x, uint32_t y)
{
	const struct crossing *to = &c->at[x][y], *back = &c->at[y][x];
	return to->sources && !to->certain && !back->certain && to->sources <= c->size[x] / RARE &&
	       back->sources <= c->size[y] / RARE && is_first(k, x) && is_first(k, y);
}

/* Returns the number of edges like that one: from blocks of its root and site to blocks of its target's
 * site that are of the same root, too, or, if `away`, of another one. */
static uint32_t *count_of(struct keep *k, struct crossings *c, uint32_t i, uint8_t x, uint32_t s,
			  bool away)
{
	const struct keep_input *in = k->in;
	uint32_t to = k->target[s], site = to == PRE_LEAF ? 0 : k->site[to];
	if (to == PRE_LEAF)
		site = keep_stack(k, in->edges[in->first_edge[k->vertex[i]] + s - k->slot[i]]);
	return keep_map_at(k, &c->usual, (uint64_t)k->site[i] << 32 | site, 2U * x + away);
}

static void count_usual(struct keep *k, struct crossings *c, uint32_t i, uint8_t x, uint32_t s,
			uint8_t y)
{
	if (c->rare[x] && (x == y || is_cut(k, c, x, y)))
		++*count_of(k, c, i, x, s, x != y);
}

static void keep_usual(struct keep *k, struct crossings *c, uint32_t i, uint8_t x, uint32_t s,
		       uint8_t y)
{
	if (is_cut(k, c, x, y)) {
		uint32_t inside = *count_of(k, c, i, x, s, false);
		c->at[x][y].certain = inside >= *count_of(k, c, i, x, s, true);
	}
}

/* Tells whether roots lead to all groups over the pointers that count. */
static bool is_whole(struct keep *k, const struct keep_links *l, const uint8_t *owner,
		     const struct crossings *c)
{
	uint32_t *queue = keep_take(k, k->group_count, sizeof *queue), n = 0;
	bool *seen = keep_take(k, k->group_count, sizeof *seen);
	for (uint32_t g = 0; g < k->group_count && k->state == KEEP_DONE; g++)
		if (!keep_is_shared(k, g)) {
			seen[g] = true;
			queue[n++] = g;
		}
	for (uint32_t i = 0; i < n && !keep_over_at(k, i); i++)
		for (uint32_t e = l->first[queue[i]]; e < l->first[queue[i] + 1]; e++) {
			uint32_t to = l->to[e];
			if (seen[to] || is_cut(k, c, owner[queue[i]], owner[to]))
				continue;
			seen[to] = true;
			queue[n++] = to;
		}
	keep_drop(k, queue);
	keep_drop(k, seen);
	return n == k->group_count;
}

/* Makes an edge not count: it leads to its own source from here on. */
static void cut(struct keep *k, struct crossings *c, uint32_t i, uint8_t x, uint32_t s, uint8_t y)
{
	if (is_cut(k, c, x, y))
		k->target[s] = i | TARGET_OTHER;
}

/* Finds the roots that hold pointers which may not count; notes, if `note`, that they observe the
 * others. */
static bool find_rare(struct keep *k, struct crossings *c, bool note)
{
	bool any = false;
	for (uint32_t x = 0; x < k->bits; x++) {
		c->rare[x] = false;
		for (uint32_t y = 0; y < k->bits; y++) {
			if (!is_cut(k, c, x, y))
				continue;
			struct keep_root *r = &k->in->roots[k->outer[keep_root_of_bit(k, x)]];
			if (note && !r->observes)
				r->observes = 1 + k->outer[keep_root_of_bit(k, y)];
			any = c->rare[x] = true;
		}
	}
	return any;
}

bool keep_cut(struct keep *k, const struct keep_links *l, const uint8_t *owner)
{
	struct crossings *c = keep_take(k, 1, sizeof *c);
	uint64_t shared = 0;
	for (uint32_t g = 0; g < k->group_count; g++)
		shared += keep_is_shared(k, g) ? k->group_bytes[g] : 0;
	/* Another round takes as long as the first; see find_observers. */
	bool any = c && (double)shared >= k->in->least * (double)k->live_bytes;
	for (uint32_t i = 1; i <= k->count && any; i++)
		c->size[owner[k->scratch[2][i]]]++;
	if (any)
		each_edge(k, owner, c, count_source);
	if (any && find_rare(k, c, false)) {
		each_edge(k, owner, c, count_usual);
		each_edge(k, owner, c, keep_usual);
	}
	any = any && find_rare(k, c, false) && is_whole(k, l, owner, c) && !keep_over(k) &&
	      find_rare(k, c, true);
	if (any)
		each_edge(k, owner, c, cut);
	if (c)
		keep_map_clear(k, &c->usual);
	keep_drop(k, c);
	return any;
}
