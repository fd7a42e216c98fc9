/* SPDX-License-Identifier: MIT
 * Graphs for keep_find, made by adding blocks, pointers and roots in any order.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "ms-record/graph/keep.h"

struct made_link {
	uint32_t from, to, offset;
};

struct made {
	MS_ARRAY(struct graph_block) blocks;
	MS_ARRAY(uint64_t) mapping_bytes;
	MS_ARRAY(uint32_t) mapping_stacks;
	MS_ARRAY(struct keep_root) roots;
	MS_ARRAY(struct made_link) links;
	MS_ARRAY(struct keep_word) words;
	MS_ARRAY(uint64_t) types;
	uint32_t *first_edge, *edges, *offsets;
	struct keep_input in; /* its limits may be set before made_find */
	struct keep_result out;
};

static inline uint32_t made_block(struct made *m, uint64_t bytes, uint32_t stack)
{
	*MS_PUSH(&m->blocks) = (struct graph_block){.size = bytes, .stack = stack};
	return (uint32_t)m->blocks.n - 1;
}

/* All blocks stand before the first mapping. */
static inline uint32_t made_mapping(struct made *m, uint64_t bytes, uint32_t stack)
{
	*MS_PUSH(&m->mapping_bytes) = bytes;
	*MS_PUSH(&m->mapping_stacks) = stack;
	return (uint32_t)(m->blocks.n + m->mapping_bytes.n - 1);
}

static inline uint32_t made_root(struct made *m, enum keep_kind kind, uint32_t rank)
{
	uint32_t n = (uint32_t)m->roots.n;
	*MS_PUSH(&m->roots) = (struct keep_root){.kind = kind, .rank = rank, .order = n};
	return n;
}

static inline void made_link(struct made *m, uint32_t from, uint32_t to, uint32_t offset)
{
	*MS_PUSH(&m->links) = (struct made_link){from, to, offset};
}

static inline void made_word(struct made *m, uint32_t root, uint32_t to, uint32_t offset)
{
	*MS_PUSH(&m->words) = (struct keep_word){root, to, offset};
}

/* Adds `count` blocks, each of which points to the next one. Returns the first. */
static inline uint32_t made_list(struct made *m, uint32_t count, uint64_t bytes, uint32_t stack)
{
	uint32_t first = (uint32_t)m->blocks.n;
	for (uint32_t i = 0; i < count; i++) {
		made_block(m, bytes, stack);
		if (i)
			made_link(m, first + i - 1, first + i, 8);
	}
	return first;
}

/* Sorts the links by their sources, those of one in the order in which they were made. */
static inline void made_edges(struct made *m, uint32_t nodes)
{
	m->first_edge = ms_xcalloc((size_t)nodes + 2, sizeof *m->first_edge);
	m->edges = ms_xcalloc(m->links.n + 1, sizeof *m->edges);
	m->offsets = ms_xcalloc(m->links.n + 1, sizeof *m->offsets);
	uint32_t *next = m->first_edge + 1;
	for (size_t i = 0; i < m->links.n; i++)
		next[m->links.v[i].from + 1]++;
	for (uint32_t i = 0; i < nodes; i++)
		next[i + 1] += next[i];
	for (size_t i = 0; i < m->links.n; i++) {
		const struct made_link *l = &m->links.v[i];
		m->edges[next[l->from]] = l->to;
		m->offsets[next[l->from]++] = l->offset;
	}
}

/* Fills in m->in but for its limits. */
static inline void made_input(struct made *m)
{
	made_edges(m, (uint32_t)(m->blocks.n + m->mapping_bytes.n));
	struct keep_input *in = &m->in;
	in->blocks = m->blocks.v;
	in->block_count = (uint32_t)m->blocks.n;
	in->mapping_bytes = m->mapping_bytes.v;
	in->mapping_stacks = m->mapping_stacks.v;
	in->mapping_count = (uint32_t)m->mapping_bytes.n;
	in->first_edge = m->first_edge;
	in->edges = m->edges;
	in->offsets = m->offsets;
	in->words = m->words.v;
	in->word_count = m->words.n;
	in->roots = m->roots.v;
	in->root_count = (uint32_t)m->roots.n;
	in->types = m->types.v;
	in->memory_max = in->memory_max ? in->memory_max : UINT64_C(1) << 32;
	in->rows_most = in->rows_most ? in->rows_most : KEEP_ROWS_MOST;
}

static inline void made_find(struct made *m)
{
	made_input(m);
	keep_find(&m->in, &m->out);
}

static inline void made_free(struct made *m)
{
	keep_result_free(&m->out);
	MS_FREE(m->blocks.v, m->mapping_bytes.v, m->mapping_stacks.v, m->roots.v, m->links.v,
		m->words.v, m->types.v, m->first_edge, m->edges, m->offsets);
	*m = (struct made){0};
}
