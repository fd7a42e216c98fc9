/* SPDX-License-Identifier: MIT
 * Declares what the files of the graph share.
 */
#pragma once

#include "graph.h"

#define NOBODY UINT32_MAX

/* ---- graph.c ---- */

/* Returns zeroed memory; pages of large memory use none until they are touched. */
void *graph_zeroed(size_t bytes);
/* Frees memory of graph_zeroed. */
void graph_release(void *m, size_t bytes);
/* Frees the index of a kind: no more words will be looked up. */
void graph_drop_index(struct graph_kind *k);
static inline void graph_mark(struct graph *g, uint32_t i)
{
	if (i == NOBODY || g->marked[i])
		return;
	g->marked[i] = 1;
	g->todo[g->todo_count++] = i;
}

/* ---- graph_kept.c ---- */

/* Returns the node of the range that holds the address, or NOBODY. */
uint32_t graph_range_of(const struct graph *g, uint64_t address);
/* Finds the type of a block among its first words. */
void graph_keep_type(struct graph *g, uint32_t block, const void *bytes, size_t size);
/* Records a pointer in root memory at `address` to a node; NOBODY = there is none. */
void graph_keep_word(struct graph *g, uint64_t address, uint32_t to);
