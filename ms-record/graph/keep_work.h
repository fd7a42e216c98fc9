/* SPDX-License-Identifier: MIT
 * Declares what the files of keep_find share.
 *
 *   keep_number    depth first: from here on nodes have numbers; blocks without pointers that one
 *                  block alone points to (leaves) need none
 *   keep_dominate  predecessors; dominators
 *   keep_reach     breadth first: which root is nearest, on which path
 *   keep_share     blocks that no root has alone: sets of roots, observers
 *   keep_cut       pointers that may be stale. If there are any, or new observers, back to
 *                  keep_number, at most 3 times.
 *   keep_span      which part of a variable leads to what is directly below it
 *   keep_sum       blocks, summed up to rows by site below their dominators
 *   keep_tell      rows that are too small left out, the others in their order
 *
 * Numbers are given depth first to the roots of the lowest rank, and what they reach, then to those
 * of the next. An edge that does not count leads to a lower rank, so to a number given before the
 * first of its own rank. What points to each other gets near numbers, so that all that follows
 * reads memory mostly in order; a second numbering goes through the first one's numbers.
 *
 * Arrays by node, 8 B each, of which 4 only while nodes get numbers: pre, heavy. By number, 40 B
 * each: vertex, site, weight, slot, pred, idom, near, and three whose content changes (scratch). By
 * edge: target, and pred_of for numbers with more than one predecessor.
 */
#pragma once

#include "keep.h"

#define ROUNDS_MOST 3u

/* near: a path class, or this. While the search is on its way, the class of the number it was
 * reached from, with NEAR_PENDING and the parity of its distance. */
#define NEAR_NONE UINT32_MAX /* not reached */
#define NEAR_PENDING (UINT32_C(1) << 30)
#define NEAR_PARITY (UINT32_C(1) << 29)
#define NEAR_CLASS (NEAR_PARITY - 1)

/* pre: a number; 0 = none yet; or one of these */
#define PRE_LEAF UINT32_MAX
#define PRE_COUNTED (UINT32_MAX - 1) /* a leaf that is in its row */
#define PRE_SEEN (UINT32_MAX - 2)    /* only while mappings that are roots are looked for */
#define PRE_COVERED (UINT32_MAX - 3) /* likewise */

/* target: a number; with this flag if the edge does not count; PRE_LEAF */
#define TARGET_OTHER (UINT32_C(1) << 30)

/* Maps pairs of numbers to numbers that are not 0. All zero = empty. */
struct keep_map {
	struct keep_slot {
		uint64_t a;
		uint32_t b, value;
	} * v;
	uint32_t count, size;
};

/* Describes the blocks that are reached from one root over the same stacks; those that are equal, or
 * were on the path before, are one step. The first ones, with depth 0, are the roots and lone
 * mappings themselves. */
struct keep_class {
	uint64_t key; /* tells paths apart whatever the order in which they were found */
	uint32_t parent, root, stack, run;
	uint8_t depth;
	bool mapping, cut;
};

enum keep_row_kind { ROW_TOP, ROW_ROOT, ROW_SET, ROW_BLOCKS, ROW_MAPPINGS };

struct keep_tree_row {
	uint32_t parent, key; /* key: inner number of the root, index in `masks`, or stack */
	uint8_t kind;
	bool kept; /* keep_tell: not left out */
	uint32_t offset, depth, from, to;
	uint64_t bytes, blocks, retained_bytes, retained_blocks, mapped_bytes, type;
	/* keep_tell: rows left out below it; most frequent path class; its first row below it in
	 * their order, + 1 */
	uint64_t left_bytes, left_blocks, path_blocks;
	uint32_t path, first;
};

/* Counts the blocks of one row that were reached on one path, below one row. */
struct keep_pair {
	uint32_t row, class;
	uint64_t blocks;
	bool joined;  /* the row is an ancestor's */
	bool repeats; /* leaves, whose stack was on the path before */
};

struct keep_typed {
	uint32_t row;
	uint64_t type, blocks;
};

struct keep {
	const struct keep_input *in;
	enum keep_state state;
	uint64_t used, most; /* bytes allocated */
	struct keep_memory *memory;
	uint32_t none; /* what a map without memory points to */

	uint32_t mappings_at, nodes; /* first mapping; number of blocks and mappings */

	/* Roots by inner number: by rank, `order`, kind, index. */
	uint32_t *outer;      /* the caller's index */
	uint8_t *moves;       /* times that it was found to be an observer; 1 more if not first */
	uint32_t *first_word; /* into word_to, word_offset; one more */
	uint32_t *word_to, *word_offset;
	uint32_t *turns; /* all of them, by rank, observers after the others of their rank */
	bool *lone;      /* of each mapping: it is a root by itself */
	uint32_t *by_size, *place; /* the mappings, largest first; each one's place there */

	uint64_t live_bytes;
	uint32_t *pre;   /* by node: its number, of a leaf the offset of the pointer to it */
	uint32_t *heavy; /* by node: as weight, until there are numbers */
	uint32_t room;   /* what arrays by number can hold */

	uint32_t reached; /* numbers in the queue of keep_reach */
	uint32_t parity;  /* keep_reach: NEAR_PARITY or 0, of the numbers that are being reached */
	struct keep_class *classes;
	uint32_t class_count, class_room;
	struct keep_map class_map;

	uint32_t count;     /* last number; 0 is the top */
	uint32_t rank_from; /* keep_number: first number of the present rank */
	uint32_t *seed_at;  /* numbers of the roots, by their inner numbers; 0 = none */
	/* Arrays by number: node, stack, bytes with those of its leaves (up to 4 GiB), first index in
	 * `target`, first index in `pred_of`, dominator, path class. */
	uint32_t *vertex, *site, *weight, *slot, *pred, *idom, *near;
	uint32_t *scratch[3];
	uint32_t *target, *pred_of; /* numbers */

	/* keep_share */
	uint32_t *group_at; /* the numbers whose dominator is the top: roots and shared nodes */
	uint64_t *group_bytes, *group_mask; /* mask: the roots that lead to a shared one */
	uint32_t group_count;
	uint32_t bit_group[KEEP_SET_ROOTS]; /* group of the root of each bit of a mask */
	uint32_t bits;

	/* keep_span: by number, of those below a variable; KEEP_NONE = not known */
	uint32_t *from, *to;

	/* keep_sum */
	struct keep_tree_row *rows;
	uint32_t row_count, row_room;
	struct keep_map row_map, pair_map, type_map, mask_map;
	uint64_t *masks;
	uint32_t mask_count, mask_room;
	struct keep_pair *pairs;
	uint32_t pair_count, pair_room;
	uint64_t
		last_key; /* the pair found last, as in pair_map; last_pair: 1 + its index, 0 = none */
	uint32_t last_stack, last_pair;
	struct keep_typed *typed;
	uint32_t typed_count, typed_room;
};

/* Holds the edges between groups, by their sources. */
struct keep_links {
	uint32_t *first, *to;
};

/* ---- keep_memory.c ---- */

/* Returns zeroed memory; NULL with k->state set if that is more than keep_find may have. It is freed
 * with keep_drop, or at last with all. */
void *keep_take(struct keep *k, uint64_t count, size_t size);
void keep_drop(struct keep *k, void *p);
void keep_drop_all(struct keep *k);
/* Returns the array `v` with room for `count` elements more than the *room that it has, doubled at
 * least. On failure returns `v` as it was, with k->state set. */
void *keep_grow(struct keep *k, void *v, uint32_t *room, uint32_t need, size_t size);
/* Returns where the value of (a, b) is, 0 if it is new; valid until the next call. */
uint32_t *keep_map_at(struct keep *k, struct keep_map *m, uint64_t a, uint32_t b);
void keep_map_clear(struct keep *k, struct keep_map *m);
/* Tells whether to give up, because of memory or the deadline. */
bool keep_over(struct keep *k);
/* Tells the same, but looks at the clock only now and then. */
static inline bool keep_over_at(struct keep *k, uint32_t i)
{
	return !(i & 0x3fff) && keep_over(k);
}

/* ---- nodes ---- */

static inline bool keep_is_root(const struct keep *k, uint32_t node)
{
	return node >= k->nodes;
}
static inline uint32_t keep_stack(const struct keep *k, uint32_t node)
{
	const struct keep_input *in = k->in;
	if (node < k->mappings_at)
		return in->blocks[node].stack;
	return in->mapping_stacks ? in->mapping_stacks[node - k->mappings_at] : 0;
}

/* Returns the rank of a root, by its inner number. */
static inline uint32_t keep_rank(const struct keep *k, uint32_t root)
{
	uint32_t rank = k->in->roots[k->outer[root]].rank;
	return rank ?: 1;
}
/* Tells whether the roots of two turns own at the same time. */
static inline bool keep_same_rank(const struct keep *k, uint32_t a, uint32_t b)
{
	uint32_t x = k->turns[a], y = k->turns[b];
	return keep_rank(k, x) == keep_rank(k, y) && k->moves[x] == k->moves[y];
}
/* Returns the inner number of a node that is a root; of a mapping that is one behind those of the
 * caller's roots. */
static inline uint32_t keep_root_of(const struct keep *k, uint32_t node)
{
	return keep_is_root(k, node) ? node - k->nodes
				     : k->place[node - k->mappings_at] + k->in->root_count;
}
/* Tells whether a node whose dominator is the top is a root. */
static inline bool keep_is_seed(const struct keep *k, uint32_t node)
{
	return keep_is_root(k, node) || (node >= k->mappings_at && k->lone[node - k->mappings_at]);
}

static inline bool keep_is_shared(const struct keep *k, uint32_t group)
{
	return !keep_is_seed(k, k->vertex[k->group_at[group]]);
}
/* Returns the inner number of the root that a bit of a mask stands for. */
static inline uint32_t keep_root_of_bit(const struct keep *k, uint32_t bit)
{
	return keep_root_of(k, k->vertex[k->group_at[k->bit_group[bit]]]);
}

/* Gives numbers to all nodes that roots lead to, for the first time, or again. */
void keep_number(struct keep *k);
void keep_number_again(struct keep *k);
void keep_dominate(struct keep *k);
void keep_reach(struct keep *k);
/* Returns the class of a node with that stack which is reached from a node of class `from`. */
uint32_t keep_class_below(struct keep *k, uint32_t from, uint32_t stack, bool mapping);
/* Tells whether class `a` goes before `b`: its root does, or else its key is lower. */
bool keep_class_before(const struct keep *k, uint32_t a, uint32_t b);
/* Returns whether there are new observers, or pointers that no longer count. */
bool keep_share(struct keep *k, bool observers);
/* Makes pointers that may be stale not count, if each block that they lead to is still led to by a
 * root. `owner`: bit of the root to which each group belongs. Returns whether there are any. */
bool keep_cut(struct keep *k, const struct keep_links *l, const uint8_t *owner);
void keep_span(struct keep *k);
void keep_sum(struct keep *k);
void keep_tell(struct keep *k, struct keep_result *out);
