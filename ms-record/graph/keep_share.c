/* SPDX-License-Identifier: MIT
 * Finds which roots share blocks, and which of these only observe.
 *
 * A group is what one number dominates whose own dominator is the top: a root, or a node that
 * several roots reach on separate ways. An edge from one group to another leads to that number of
 * the other: were it another one, it would be a second way into the group.
 */
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/order.h"
#include "keep_work.h"

#define OTHERS (UINT64_C(1) << KEEP_SET_ROOTS)

/* Finds the groups. Puts each number's group into scratch[2]. Returns how many are no roots. */
static uint32_t find_groups(struct keep *k)
{
	uint32_t *group = k->scratch[2], shared = 0;
	k->group_count = 0;
	for (uint32_t i = 1; i <= k->count; i++)
		group[i] = k->idom[i] ? group[k->idom[i]] : k->group_count++;
	keep_drop(k, k->group_at);
	keep_drop(k, k->group_bytes);
	keep_drop(k, k->group_mask);
	k->group_at = keep_take(k, k->group_count, sizeof *k->group_at);
	k->group_bytes = keep_take(k, k->group_count, sizeof *k->group_bytes);
	k->group_mask = keep_take(k, k->group_count, sizeof *k->group_mask);
	if (k->state != KEEP_DONE)
		return 0;
	for (uint32_t i = 1; i <= k->count; i++) {
		if (!k->idom[i]) {
			k->group_at[group[i]] = i;
			shared += !keep_is_seed(k, k->vertex[i]);
		}
		k->group_bytes[group[i]] += k->weight[i];
	}
	return shared;
}

/* ---- sets of roots ---- */

struct sharer {
	uint64_t bytes; /* of shared groups to which the root leads directly, and 1 for each */
	uint32_t root, group;
};

static int by_bytes(const void *a, const void *b)
{
	const struct sharer *x = a, *y = b;
	return MS_ORDER(y->bytes, x->bytes) ?: MS_ORDER(x->root, y->root);
}

/* Sums up for each root the shared groups to which it leads directly. */
static void weigh_sharers(struct keep *k, uint64_t *bytes)
{
	uint32_t *seen = keep_take(k, k->group_count, sizeof *seen); /* last group counted, + 1 */
	for (uint32_t g = 0; g < k->group_count && !keep_over_at(k, g); g++) {
		uint32_t i = k->group_at[g], end = keep_is_shared(k, g) ? k->pred[i + 1] : 0;
		for (uint32_t p = k->pred[i]; p < end; p++) {
			uint32_t from = k->scratch[2][k->pred_of[p]];
			if (seen[from] == g + 1 || keep_is_shared(k, from))
				continue;
			seen[from] = g + 1;
			bytes[from] += k->group_bytes[g] + 1;
		}
	}
	keep_drop(k, seen);
}

/* Gives bits to the roots that have most to do with shared blocks; all others have the last bit. */
static void choose_bits(struct keep *k)
{
	weigh_sharers(k, k->group_mask);
	uint32_t n = 0, room = k->in->root_count + k->in->mapping_count;
	struct sharer *v = keep_take(k, room, sizeof *v);
	for (uint32_t g = 0; g < k->group_count && v; g++)
		if (k->group_mask[g])
			v[n++] = (struct sharer){k->group_mask[g],
						 keep_root_of(k, k->vertex[k->group_at[g]]), g};
	if (n)
		qsort(v, n, sizeof *v, by_bytes);
	memset(k->group_mask, 0, k->group_count * sizeof *k->group_mask);
	k->bits = n < KEEP_SET_ROOTS ? n : KEEP_SET_ROOTS;
	for (uint32_t i = 0; i < n; i++) {
		if (i < KEEP_SET_ROOTS)
			k->bit_group[i] = v[i].group;
		k->group_mask[v[i].group] = i < KEEP_SET_ROOTS ? UINT64_C(1) << i : OTHERS;
	}
	keep_drop(k, v);
}

/* Goes through the edges between groups: counts them in `first`, or puts them before their ends. */
static void each_link(struct keep *k, struct keep_links *l, bool put)
{
	for (uint32_t g = 0; g < k->group_count && !keep_over_at(k, g); g++) {
		uint32_t i = k->group_at[g], end = keep_is_shared(k, g) ? k->pred[i + 1] : 0;
		for (uint32_t p = k->pred[i]; p < end; p++) {
			uint32_t from = k->scratch[2][k->pred_of[p]];
			if (from == g)
				continue;
			if (put)
				l->to[--l->first[from]] = g;
			else
				l->first[from]++;
		}
	}
}

static void find_links(struct keep *k, struct keep_links *l)
{
	l->first = keep_take(k, (uint64_t)k->group_count + 1, sizeof *l->first);
	if (l->first)
		each_link(k, l, false);
	for (uint32_t g = 0; g < k->group_count && l->first; g++)
		l->first[g + 1] += l->first[g];
	l->to = l->first ? keep_take(k, l->first[k->group_count], sizeof *l->to) : NULL;
	if (l->to)
		each_link(k, l, true);
}

/* Gives each shared group the roots of the groups that lead to it, until nothing changes. */
static void spread(struct keep *k, const struct keep_links *l)
{
	uint32_t n = k->group_count, from = 0, queued = 0;
	uint32_t *queue = keep_take(k, n, sizeof *queue); /* a ring: each group once at most */
	bool *waits = keep_take(k, n, sizeof *waits);
	for (uint32_t g = 0; g < n && k->state == KEEP_DONE; g++)
		if (k->group_mask[g]) {
			queue[queued++] = g;
			waits[g] = true;
		}
	for (uint32_t steps = 1; queued && !keep_over_at(k, steps); steps++) {
		uint32_t g = queue[from];
		from = from + 1 == n ? 0 : from + 1;
		queued--;
		waits[g] = false;
		for (uint32_t e = l->first[g]; e < l->first[g + 1]; e++) {
			uint32_t to = l->to[e];
			if (!(k->group_mask[g] & ~k->group_mask[to]))
				continue;
			k->group_mask[to] |= k->group_mask[g];
			if (!waits[to])
				queue[(from + (uint64_t)queued++) % n] = to;
			waits[to] = true;
		}
	}
	keep_drop(k, queue);
	keep_drop(k, waits);
}

/* ---- observers ---- */

/* Holds what the roots with bits reach, in bytes. */
struct reaches {
	uint64_t all[KEEP_SET_ROOTS];
	uint64_t both[KEEP_SET_ROOTS][KEEP_SET_ROOTS];
	/* of what both reach, what has the first one as its nearest root */
	uint64_t nearer[KEEP_SET_ROOTS][KEEP_SET_ROOTS];
};

/* Finds the bit of each group's nearest root; KEEP_SET_ROOTS = it has none. All that a group's first
 * number dominates is reached by way of it, so it has the same nearest root. */
static uint8_t *find_nearest(struct keep *k)
{
	uint8_t *nearest = keep_take(k, k->group_count, sizeof *nearest);
	for (uint32_t g = 0; g < k->group_count && nearest; g++) {
		uint32_t root = k->classes[k->near[k->group_at[g]]].root;
		uint64_t mask = k->group_mask[k->scratch[2][k->seed_at[root]]];
		nearest[g] = mask ? (uint8_t)__builtin_ctzll(mask) : KEEP_SET_ROOTS;
	}
	return nearest;
}

/* Returns the bit of the root that is the nearest one of most of a group's neighbours, or of the
 * group itself, if that are as many. Memory that has been used before may hold a thousand pointers
 * to what was there then, of which each makes the wrong root a little nearer to a block; the other
 * blocks that it points to, and that point to it, are still nearer to the right one. The root is one
 * of those nearest to the blocks that point to it: else it would not lead there over its own. */
static uint32_t nearest_of(const struct keep *k, const struct keep_links *l, const uint8_t *nearest,
			   uint32_t group)
{
	uint32_t votes[KEEP_SET_ROOTS + 1] = {0}, i = k->group_at[group], best = nearest[group];
	uint64_t leads = 0;
	for (uint32_t p = k->pred[i]; p < k->pred[i + 1]; p++) {
		uint8_t bit = nearest[k->scratch[2][k->pred_of[p]]];
		votes[bit]++;
		leads |= UINT64_C(1) << bit;
	}
	for (uint32_t e = l->first[group]; e < l->first[group + 1]; e++)
		votes[nearest[l->to[e]]]++;
	for (uint32_t bit = 0; bit < k->bits; bit++)
		best = leads >> bit & 1 && votes[bit] > votes[best] ? bit : best;
	return best;
}

static void add_reach(const struct keep *k, struct reaches *r, uint32_t group, uint32_t nearest)
{
	uint64_t mask = k->group_mask[group] & ~OTHERS, bytes = k->group_bytes[group];
	for (uint64_t m = mask; m; m &= m - 1) {
		uint32_t i = (uint32_t)__builtin_ctzll(m);
		r->all[i] += bytes;
		for (uint64_t other = mask; other; other &= other - 1) {
			uint32_t j = (uint32_t)__builtin_ctzll(other);
			r->both[i][j] += bytes;
			r->nearer[i][j] += i == nearest ? bytes : 0;
		}
	}
}

/* Finds the bit of the root to which each group belongs: of a shared one, the nearest. */
static uint8_t *find_owners(struct keep *k, const struct keep_links *l)
{
	uint8_t *nearest = find_nearest(k), *owner = keep_take(k, k->group_count, sizeof *owner);
	for (uint32_t g = 0; g < k->group_count && nearest && owner && !keep_over_at(k, g); g++)
		owner[g] =
			keep_is_shared(k, g) ? (uint8_t)nearest_of(k, l, nearest, g) : nearest[g];
	keep_drop(k, nearest);
	return owner;
}

static void find_reaches(struct keep *k, const uint8_t *owner, struct reaches *r)
{
	for (uint32_t i = 0; i < k->bits; i++)
		r->all[i] = k->group_bytes[k->bit_group[i]];
	for (uint32_t g = 0; g < k->group_count && !keep_over_at(k, g); g++)
		if (keep_is_shared(k, g))
			add_reach(k, r, g, owner[g]);
}

/* Tells whether hardly anything of what the root of bit `x` reaches is out of the reach of `y`, or
 * nearer to `x`. */
static bool is_observer(const struct reaches *r, uint32_t x, uint32_t y)
{
	return r->nearer[x][y] <= r->both[x][y] / 20 && r->all[x] - r->both[x][y] <= r->all[x] / 20;
}

/* Returns the bit of the root that the one of bit `x` observes: the one with the largest reach;
 * KEEP_NONE = none. */
static uint32_t observed_by(const struct keep *k, const struct reaches *r, uint32_t x)
{
	uint32_t best = KEEP_NONE, root = keep_root_of_bit(k, x);
	if (root >= k->in->root_count || keep_rank(k, root) > 1)
		return KEEP_NONE;
	for (uint32_t y = 0; y < k->bits; y++) {
		uint32_t other = keep_root_of_bit(k, y);
		if (y == x || other >= k->in->root_count || keep_rank(k, other) > 1 ||
		    k->moves[other] != k->moves[root] || !r->both[x][y] || !is_observer(r, x, y))
			continue;
		bool less = r->all[x] < r->all[y] || (r->all[x] == r->all[y] && root > other);
		if (!less && is_observer(r, y, x))
			continue;
		if (best == KEEP_NONE || r->all[y] > r->all[best] ||
		    (r->all[y] == r->all[best] && other < keep_root_of_bit(k, best)))
			best = y;
	}
	return best;
}

/* Notes whom the observers observe. Of one that is observed and observes itself, it is the one that
 * that one observes. Returns whether there are any. */
static bool note_observers(struct keep *k, const uint32_t *of)
{
	bool any = false;
	for (uint32_t i = 0; i < k->bits; i++) {
		uint32_t other = of[i], root = keep_root_of_bit(k, i);
		for (uint32_t n = 0; other != KEEP_NONE && of[other] != KEEP_NONE && n < k->bits;
		     n++)
			other = of[other];
		if (other == KEEP_NONE)
			continue;
		other = other == i ? of[i] : other; /* they go round */
		k->in->roots[k->outer[root]].observes = 1 + k->outer[keep_root_of_bit(k, other)];
		k->moves[root]++;
		any = true;
	}
	return any;
}

static bool find_observers(struct keep *k, const uint8_t *owner)
{
	struct reaches *r = keep_take(k, 1, sizeof *r);
	uint32_t of[KEEP_SET_ROOTS] = {0};
	if (!r)
		return false;
	find_reaches(k, owner, r);
	uint64_t shared = 0; /* with those that they observe */
	for (uint32_t i = 0; i < k->bits; i++) {
		of[i] = observed_by(k, r, i);
		shared += of[i] == KEEP_NONE ? 0 : r->both[i][of[i]];
	}
	keep_drop(k, r);
	/* Another round takes as long as the first. It is not worth that if all that could change
	 * hands is less than a row. */
	bool enough = shared && (double)shared >= k->in->least * (double)k->live_bytes;
	return !keep_over(k) && enough && note_observers(k, of);
}

bool keep_share(struct keep *k, bool observers)
{
	uint32_t shared = find_groups(k);
	k->bits = 0;
	if (!shared || k->state != KEEP_DONE)
		return false;
	choose_bits(k);
	struct keep_links l;
	find_links(k, &l);
	bool more = false;
	if (l.first && l.to && !keep_over(k)) {
		spread(k, &l);
		uint8_t *owner = observers && !keep_over(k) ? find_owners(k, &l) : NULL;
		if (owner && !keep_over(k))
			more = find_observers(k, owner) || keep_cut(k, &l, owner);
		keep_drop(k, owner);
	}
	keep_drop(k, l.first);
	keep_drop(k, l.to);
	return more;
}
