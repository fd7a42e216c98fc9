/* SPDX-License-Identifier: MIT
 * Room graph: which live blocks are reachable, and what keeps them.
 *   In:  blocks, words of memory and roots, as plain numbers.
 *   Out: verdicts, and rows of what is kept (keep.h).
 *   Used by: scan.
 *
 * Holds blocks and the pointers found in roots and in blocks; finds which blocks are reachable.
 *
 * It does not matter where the words come from. Heap blocks do not overlap each other; blocks of
 * ms_alloc (`user`) may lie in heap blocks, and in each other if a pool is cut from another one. A
 * word points to all blocks in which its value lies; a value right behind a block points to that
 * block if it lies in no other of its kind. So a block of 0 bytes is pointed to by its address.
 *
 *   blocks   [ heap, by address ............ | user, by address ... ]
 *   index    1 GiB of addresses -> leaf; 1 KiB -> the first block that touches it, + 1
 *   edges    [ of block 0 | of block 1 | ...]  in the order in which blocks were searched
 *
 * Memory is passed as stretches of bytes, whose words lie at the multiples of `align`, counted from
 * the start of each stretch; a last part shorter than a word is ignored. `address` is where a
 * stretch lies in the process; only graph_keep needs it.
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
	uint64_t *start; /* start addresses of the blocks of this kind */
	uint32_t first, count;
	uint64_t low, high; /* all blocks of this kind lie in [low, high] */
	/* index, one leaf per GiB of addresses; NULL = no block there; without it there are few blocks */
	uint32_t **leaves;
	MS_ARRAY(uint32_t *) made; /* leaves that were allocated */
};

/* Describes a pointer in root memory. */
struct graph_word {
	uint64_t address; /* of the word, as it was passed */
	uint32_t to;      /* block, or number of blocks + index of the range */
};
/* Describes a pointer from a block to a range. */
struct graph_link {
	uint32_t from, to, offset; /* `to` as in graph_word; offset as in graph_kept */
};
struct graph_range {
	uint64_t start, end;
};
/* Holds where pointers lie, and the pointers to ranges of memory that are no blocks. A pointer to a
 * block is none to the range around it. */
struct graph_kept {
	const struct graph_range *ranges; /* sorted by address, borrowed; they do not overlap */
	size_t range_count;
	/* Sorted and borrowed, too: where the types of blocks may be, such as vtables. */
	const struct graph_range *types;
	size_t type_count;
	/* of each block: the first of its words 0, 1 and 3 that points into `types`, a multiple of
	 * 8, + the word's index; 0 = none. NULL without `types`. */
	uint64_t *type_of;
	size_t type_of_bytes;
	MS_ARRAY(struct graph_word) words; /* in the order in which root memory was passed */
	MS_ARRAY(struct graph_link) links; /* in order of `from` */
	/* of each edge: bytes behind the start of its block; UINT32_MAX: more */
	uint32_t *offsets;
};

struct graph {
	struct graph_block *v; /* borrowed; sorted by graph_init */
	uint32_t count, heap;  /* count: number of blocks; heap: number of heap blocks */
	/* For each block of ms_alloc: 1 + the index of the innermost block in which it begins.
	 * NULL = no block begins in another one. */
	uint32_t *outer;
	struct graph_kind kinds[2];
	uint64_t low, span; /* every block of either kind lies in [low, low + span] */
	uint64_t cleared;   /* bits of a word that are not part of an address */
	unsigned align;     /* 1, 4 or 8 */
	uint8_t *marked;
	uint32_t *todo; /* marked blocks whose pointers were not followed yet */
	size_t todo_count;
	uint32_t *first_edge; /* each block's first index in `edges`; count + 1 entries */
	uint32_t *edges;
	size_t edge_count, edge_room, edge_max;
	uint32_t from, last;     /* from: block being searched; last: target of its latest edge */
	bool overflow;           /* more than edge_max edges were found */
	struct graph_kept *kept; /* NULL = not wanted */
};

/* Sorts the blocks (fewer than 2^31, owned by the caller) and builds the index. Keeps at most
 * `edge_max` pointers between blocks, fewer than 2^32. Words are 8-aligned and used whole, unless
 * `align` and `cleared` are set before the first words are passed. */
void graph_init(struct graph *g, struct graph_block *v, uint32_t count, size_t edge_max);
void graph_free(struct graph *g);
/* Makes later calls fill in `kept`, whose ranges and types are set, else empty. Call before the first words
 * are passed; `kept` is borrowed and freed by graph_kept_free. */
void graph_keep(struct graph *g, struct graph_kept *kept);
void graph_kept_free(struct graph_kept *kept);
/* Tells whether a block of ms_alloc begins in no other block of ms_alloc. */
static inline bool graph_is_alone(const struct graph *g, uint32_t i)
{
	return !g->outer || !g->outer[i - g->heap];
}
/* Tells whether a block of ms_alloc lies wholly in another one, whose words then include its
 * own. */
static inline bool graph_is_inside(const struct graph *g, uint32_t i)
{
	uint32_t o = g->outer ? g->outer[i - g->heap] : 0;
	return o && g->v[o - 1].address + g->v[o - 1].size >= g->v[i].address + g->v[i].size;
}
/* Returns the index of the first heap block (`user`: block of ms_alloc) that ends after `address`;
 * if there is none, one more than the index of the last. */
uint32_t graph_find(const struct graph *g, uint64_t address, bool user);
/* Marks the blocks that words in root memory point to. */
void graph_roots(struct graph *g, uint64_t address, const void *bytes, size_t size);
/* Marks the blocks that hold the address as reachable, as a pointer in a root would, if they were
 * allocated before block number `next`. Returns how many of them were not ignored before. */
uint32_t graph_ignore(struct graph *g, uint64_t address, uint64_t next);
/* Records the pointers in memory of block `from`. Blocks are searched in order, each once, in any
 * number of calls. */
void graph_words(struct graph *g, uint32_t from, uint64_t address, const void *bytes, size_t size);
/* Sets the verdicts, after the last words. `complete`: all roots and blocks were searched; else a
 * block not found reachable is unknown. */
void graph_solve(struct graph *g, bool complete);
/* Calls `f` for every unreachable block with the direct block that retains it: the oldest one that
 * leads to it, or itself. A direct block comes before those that it retains. Call once, after
 * graph_solve. */
void graph_retained(struct graph *g, void (*f)(void *arg, uint32_t direct, uint32_t block),
		    void *arg);
