/* SPDX-License-Identifier: MIT
 * Which blocks are reachable: blocks, the pointers found in roots and in blocks, and verdicts.
 *
 * Nothing here knows where the words come from. Blocks of the heap do not overlap; blocks of
 * ms_alloc (`user`) may lie in these, and in each other where a pool is cut from another one. A
 * word points to all blocks in which its value lies; the value right behind a block points to that
 * one if it lies in no other of its kind. So a block of 0 bytes is pointed to by its address.
 *
 *   blocks   [ heap, by address ............ | user, by address ... ]
 *   index    1 GiB of addresses -> leaf; 1 KiB -> the first block that touches it, + 1
 *   edges    [ of block 0 | of block 1 | ...]  in the order in which blocks were looked through
 *
 * Memory comes as stretches of bytes, whose words lie at the multiples of `align`, counted from the
 * start of each; a rest that is shorter than a word is passed over.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/verdict.h"
#include "libcommon/base/arena.h"

struct graph_block {
	uint64_t address, size, number;
	uint32_t stack;
	uint8_t verdict;    /* enum ms_verdict, after graph_solve */
	bool user, ignored; /* ignored: see graph_ignore */
};

struct graph_kind {
	uint64_t *start; /* addresses of its blocks */
	uint32_t first, count;
	uint64_t low, high;        /* all that can be memory lie in [low, high] */
	uint32_t **leaves;         /* NULL: nothing there */
	MS_ARRAY(uint32_t *) made; /* leaves that have memory */
};

struct graph {
	struct graph_block *v; /* borrowed; sorted by graph_init */
	uint32_t count, heap;  /* heap: of them */
	/* For each block of ms_alloc the nearest one that it begins in, + 1. NULL: none does. */
	uint32_t *outer;
	struct graph_kind kinds[2];
	uint64_t low, span; /* of both together: no address is further above `low` */
	uint64_t cleared;   /* bits of words that are no part of an address */
	unsigned align;     /* 1, 4 or 8 */
	uint8_t *marked;
	uint32_t *todo; /* marked, and not followed yet */
	size_t todo_count;
	uint32_t *first_edge; /* of each block; count + 1 of them */
	uint32_t *edges;
	size_t edge_count, edge_room, edge_max;
	uint32_t from, last; /* block being looked through; its latest edge */
	bool overflow;       /* there were more than edge_max */
};

/* Sorts the blocks (fewer than 2^31, kept by the caller) and makes the index. Of pointers between
 * blocks at most `edge_max` are kept, fewer than 2^32. Words are 8 aligned and whole, unless `align`
 * and `cleared` are set before any is given. */
void graph_init(struct graph *g, struct graph_block *v, uint32_t count, size_t edge_max);
void graph_free(struct graph *g);
/* Does the block, of ms_alloc, begin in no other one? */
static inline bool graph_is_alone(const struct graph *g, uint32_t i)
{
	return !g->outer || !g->outer[i - g->heap];
}
/* Does the block, of ms_alloc, lie in another one wholly? Then the words of that one are enough. */
static inline bool graph_is_inside(const struct graph *g, uint32_t i)
{
	uint32_t o = g->outer ? g->outer[i - g->heap] : 0;
	return o && g->v[o - 1].address + g->v[o - 1].size >= g->v[i].address + g->v[i].size;
}
/* The first block of the heap (user: false), or of ms_alloc, that ends after `address`; or the
 * number of the one after the last. */
uint32_t graph_find(const struct graph *g, uint64_t address, bool user);
/* Memory of roots. */
void graph_roots(struct graph *g, const void *bytes, size_t size);
/* Makes the blocks in which the address lies reachable, if they were allocated before the one of
 * number `next`, as a pointer among the roots would. Returns how many of these were not before. */
uint32_t graph_ignore(struct graph *g, uint64_t address, uint64_t next);
/* Memory of block `from`: blocks are looked through in order, each once, in any number of calls. */
void graph_words(struct graph *g, uint32_t from, const void *bytes, size_t size);
/* All words were seen: sets the verdicts. `complete`: of all roots and blocks; else what is not
 * reachable is unknown. */
void graph_solve(struct graph *g, bool complete);
/* After graph_solve, once: calls f for every unreachable block with the direct one that retains it:
 * the oldest from which it can be reached, or itself. A direct block comes before what it retains. */
void graph_retained(struct graph *g, void (*f)(void *arg, uint32_t direct, uint32_t block),
		    void *arg);
