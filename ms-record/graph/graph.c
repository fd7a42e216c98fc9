/* SPDX-License-Identifier: MIT
 * Finds to which blocks words point, and records that. graph_solve.c finds from it which are
 * reachable.
 */
#include "graph.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "graph_work.h"

#define LEAF_BITS 30u
#define GRAIN_BITS 10u
#define LEAVES (1u << (48 - LEAF_BITS))
#define HIGHEST (((uint64_t)LEAVES << LEAF_BITS) - 1)
#define LEAF_SLOTS ((size_t)1 << (LEAF_BITS - GRAIN_BITS))
#define SIFTED 32u
#define MAPPED_FROM ((size_t)65536) /* bytes from which memory is mapped, not malloc'ed */
#ifndef INDEXED_FROM
#define INDEXED_FROM 256u /* number of blocks from which an index pays for itself */
#endif

/* ---- sorting ---- */

static uint64_t key_of(const struct graph_block *b)
{
	return b->address | (uint64_t)b->user << 63;
}

static void insert_all(struct graph_block *v, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++) {
		struct graph_block b = v[i];
		uint32_t at = i;
		for (; at && key_of(&v[at - 1]) > key_of(&b); at--)
			v[at] = v[at - 1];
		v[at] = b;
	}
}

/* Sorts by the key's byte at bit `shift`, then each part by the lower bytes. Sorts in place,
 * which is nearly as fast, because the table of a large heap leaves no memory for a second copy. */
static void sort(struct graph_block *v, uint32_t n, unsigned shift)
{
	if (n < 32) {
		insert_all(v, n);
		return;
	}
	uint32_t at[256], end[256], sum = 0, count[256] = {0};
	for (uint32_t i = 0; i < n; i++)
		count[key_of(&v[i]) >> shift & 255]++;
	if (count[key_of(v) >> shift & 255] == n) {
		if (shift)
			sort(v, n, shift - 8);
		return;
	}
	for (unsigned d = 0; d < 256; d++) {
		at[d] = sum;
		end[d] = sum += count[d];
	}
	for (unsigned d = 0; d < 256; d++)
		while (at[d] < end[d]) {
			unsigned to = key_of(&v[at[d]]) >> shift & 255;
			struct graph_block b = v[at[to]];
			v[at[to]++] = v[at[d]];
			if (to != d)
				v[at[d]] = b;
		}
	for (unsigned d = 0; d < 256 && shift; d++)
		if (count[d] > 1)
			sort(v + end[d] - count[d], count[d], shift - 8);
}

/* ---- the index ---- */

void *graph_zeroed(size_t bytes)
{
	if (bytes < MAPPED_FROM)
		return ms_xcalloc(bytes ? bytes : 1, 1);
	void *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return m == MAP_FAILED ? ms_xrealloc(NULL, SIZE_MAX, 2) : m;
}

void graph_release(void *m, size_t bytes)
{
	if (bytes < MAPPED_FROM)
		free(m);
	else
		munmap(m, bytes);
}

/* Tells whether a leaf lies wholly in one block. Its pointer is then no address, but twice the
 * block's slot value, plus 1. */
static inline bool is_whole(const uint32_t *leaf)
{
	return (uintptr_t)leaf & 1;
}

static void index_block(struct graph_kind *k, uint32_t i, uint64_t first, uint64_t last)
{
	for (uint64_t g = first >> GRAIN_BITS; g <= last >> GRAIN_BITS; g++) {
		uint64_t leaf = g >> (LEAF_BITS - GRAIN_BITS);
		if (leaf >= LEAVES)
			return;
		bool all = !(g & (LEAF_SLOTS - 1)) && (last >> GRAIN_BITS) - g >= LEAF_SLOTS - 1;
		if (!k->leaves[leaf] && all)
			k->leaves[leaf] = (uint32_t *)((uintptr_t)(i + 1) << 1 | 1);
		else if (!k->leaves[leaf])
			*MS_PUSH(&k->made) = k->leaves[leaf] =
				graph_zeroed(LEAF_SLOTS * sizeof(uint32_t));
		if (is_whole(k->leaves[leaf])) {
			g |= LEAF_SLOTS - 1;
			continue;
		}
		uint32_t *slot = &k->leaves[leaf][g & (LEAF_SLOTS - 1)];
		if (!*slot)
			*slot = i + 1;
	}
}

static void index_kind(struct graph_kind *k, const struct graph_block *v, uint32_t first,
		       uint32_t count)
{
	*k = (struct graph_kind){.first = first, .count = count, .low = 1};
	if (!count)
		return;
	k->start = graph_zeroed((size_t)count * sizeof *k->start);
	bool indexed = count >= INDEXED_FROM;
	if (indexed)
		k->leaves = graph_zeroed(LEAVES * sizeof(uint32_t *));
	for (uint32_t i = 0; i < count; i++) {
		const struct graph_block *b = &v[first + i];
		uint64_t end = b->address + b->size;
		k->start[i] = b->address;
		k->high = end > k->high ? end : k->high;
		if (indexed)
			index_block(k, i, b->address, end);
	}
	k->low = k->start[0];
	k->high = k->high < HIGHEST ? k->high : HIGHEST; /* the index ends at HIGHEST */
}

/* Sets g->outer if any block of ms_alloc begins in another one. */
static void find_outer(struct graph *g)
{
	uint32_t around = 0; /* 1 + the index of the enclosing block; 0 = none */
	for (uint32_t i = g->heap; i < g->count; i++) {
		while (around &&
		       g->v[around - 1].address + g->v[around - 1].size <= g->v[i].address)
			around = g->outer ? g->outer[around - 1 - g->heap] : 0;
		if (around && !g->outer)
			g->outer = graph_zeroed((size_t)(g->count - g->heap) * sizeof *g->outer);
		if (g->outer)
			g->outer[i - g->heap] = around;
		around = i + 1;
	}
}

void graph_init(struct graph *g, struct graph_block *v, uint32_t count, size_t edge_max)
{
	memset(g, 0, sizeof *g);
	sort(v, count, 56);
	g->v = v;
	g->count = count;
	while (g->heap < count && !v[g->heap].user)
		g->heap++;
	index_kind(&g->kinds[0], v, 0, g->heap);
	index_kind(&g->kinds[1], v, g->heap, count - g->heap);
	const struct graph_kind *heap = &g->kinds[0], *user = &g->kinds[1];
	g->low = !heap->count || (user->count && user->low < heap->low) ? user->low : heap->low;
	g->span = (user->high > heap->high ? user->high : heap->high) - g->low;
	find_outer(g);
	g->marked = graph_zeroed(count);
	g->todo = graph_zeroed((size_t)count * sizeof *g->todo);
	g->first_edge = graph_zeroed(((size_t)count + 1) * sizeof *g->first_edge);
	g->edge_max = edge_max;
	g->align = 8;
}

void graph_drop_index(struct graph_kind *k)
{
	if (!k->start)
		return;
	for (size_t i = 0; i < k->made.n; i++)
		graph_release(k->made.v[i], LEAF_SLOTS * sizeof(uint32_t));
	free(k->made.v);
	if (k->leaves)
		graph_release(k->leaves, LEAVES * sizeof(uint32_t *));
	graph_release(k->start, (size_t)k->count * sizeof *k->start);
	k->leaves = NULL;
	k->start = NULL;
}

void graph_free(struct graph *g)
{
	if (!g->marked)
		return;
	graph_drop_index(&g->kinds[0]);
	graph_drop_index(&g->kinds[1]);
	graph_release(g->marked, g->count);
	graph_release(g->todo, (size_t)g->count * sizeof *g->todo);
	graph_release(g->first_edge, ((size_t)g->count + 1) * sizeof *g->first_edge);
	if (g->outer)
		graph_release(g->outer, (size_t)(g->count - g->heap) * sizeof *g->outer);
	free(g->edges);
	g->marked = NULL;
}

/* Returns the last block of a kind that begins at or before the address, or NOBODY. */
static uint32_t last_from(const struct graph_kind *k, uint64_t address)
{
	uint32_t lo = 0, hi = k->count;
	while (lo < hi) {
		uint32_t m = lo + (hi - lo) / 2;
		if (k->start[m] <= address)
			lo = m + 1;
		else
			hi = m;
	}
	return lo ? k->first + lo - 1 : NOBODY;
}

/* Returns the innermost block of ms_alloc in which block `i` begins, or NOBODY. */
static inline uint32_t outer_of(const struct graph *g, uint32_t i)
{
	return g->outer ? g->outer[i - g->heap] - 1 : NOBODY;
}

/* Returns the outermost block that holds the address, when blocks are nested; if there is none, the
 * next block. */
static uint32_t find_outermost(const struct graph *g, uint64_t address)
{
	const struct graph_kind *k = &g->kinds[1];
	uint32_t last = last_from(k, address), found = last == NOBODY ? k->first : last + 1;
	for (uint32_t i = last; i != NOBODY; i = outer_of(g, i))
		if (address - g->v[i].address < g->v[i].size || address == g->v[i].address)
			found = i;
	return found;
}

uint32_t graph_find(const struct graph *g, uint64_t address, bool user)
{
	const struct graph_kind *k = &g->kinds[user];
	uint32_t lo = k->first, hi = k->first + k->count;
	if (user && g->outer)
		return find_outermost(g, address);
	while (lo < hi) {
		uint32_t m = lo + (hi - lo) / 2;
		if (g->v[m].address + g->v[m].size <= address && g->v[m].address < address)
			lo = m + 1;
		else
			hi = m;
	}
	return lo;
}

/* Returns the slot of the index for the KiB of addresses that includes `value`. The slot holds the
 * first block of kind `k` in that KiB. Returns NULL if there is no block within a GiB. */
static inline const uint32_t *slot_of(const struct graph_kind *k, uint64_t value)
{
	if (value < k->low || value > k->high)
		return NULL;
	const uint32_t *leaf = k->leaves[value >> LEAF_BITS];
	if (!leaf || is_whole(leaf))
		return leaf;
	return &leaf[(value >> GRAIN_BITS) & (LEAF_SLOTS - 1)];
}

/* Returns the number of the block in an index slot, plus 1; 0 = none. */
static inline uint32_t first_near(const uint32_t *slot)
{
	return !slot ? 0 : is_whole(slot) ? (uint32_t)((uintptr_t)slot >> 1) : *slot;
}

/* Returns the result of `target` for a kind that has no index. */
static uint32_t target_of_few(const struct graph *g, const struct graph_kind *k, uint64_t value)
{
	uint32_t i = value <= HIGHEST ? last_from(k, value) : NOBODY;
	return i != NOBODY && value - g->v[i].address <= g->v[i].size ? i : NOBODY;
}

/* Returns the block of kind `k` to which the value points, or NOBODY. */
static inline uint32_t target(const struct graph *g, const struct graph_kind *k, uint64_t value)
{
	if (!k->leaves)
		return target_of_few(g, k, value);
	uint32_t i = first_near(slot_of(k, value));
	if (!i || k->start[i - 1] > value)
		return NOBODY;
	for (i--; i + 1 < k->count && k->start[i + 1] <= value;)
		i++;
	i += k->first;
	return value - g->v[i].address <= g->v[i].size ? i : NOBODY;
}

/* ---- words ---- */

/* Returns the innermost block of ms_alloc to which the value may point, or NOBODY; outer_of returns
 * the blocks around it. */
static inline uint32_t innermost(const struct graph *g, uint64_t value)
{
	const struct graph_kind *k = &g->kinds[1];
	if (!g->outer)
		return k->count ? target(g, k, value) : NOBODY;
	return value < k->low || value > k->high ? NOBODY : last_from(k, value);
}

static inline bool holds(const struct graph_block *b, uint64_t value)
{
	return value - b->address <= b->size;
}

/* Describes a stretch of memory. The words before `at` have been processed. */
struct stretch {
	const uint8_t *at, *end;
};

/* Copies the aligned words that may be addresses to `v`; most words are not. */
static size_t take_words(const struct graph *g, struct stretch *m, uint64_t *v)
{
	const uint64_t *at = (const void *)m->at, *end = at + (m->end - m->at) / 8;
	size_t n = 0;
	for (; at < end && n < SIFTED; at++) {
		v[n] = *at;
		n += *at - g->low <= g->span;
	}
	m->at = (const uint8_t *)at;
	return n;
}

/* Copies the words that may be addresses to `v`, at any alignment, with the bits in `cleared` set
 * to 0. */
static size_t take_odd_words(const struct graph *g, struct stretch *m, uint64_t *v)
{
	size_t n = 0;
	for (; m->end - m->at >= 8 && n < SIFTED; m->at += g->align) {
		memcpy(&v[n], m->at, 8);
		v[n] &= ~g->cleared;
		n += v[n] - g->low <= g->span;
	}
	return n;
}

/* Copies the words that may be addresses to `v`, as take_odd_words does, and their places in the
 * stretch to `at`. */
static size_t take_words_and_places(const struct graph *g, struct stretch *m, uint64_t *v,
				    const uint8_t **at)
{
	size_t n = 0;
	for (; m->end - m->at >= 8 && n < SIFTED; m->at += g->align) {
		memcpy(&v[n], m->at, 8);
		v[n] &= ~g->cleared;
		at[n] = m->at;
		n += v[n] - g->low <= g->span;
	}
	return n;
}

/* Copies the words that may be addresses to `v` and prefetches their index entries and blocks all
 * at once: one after the other would take several times as long. Returns 0 when the stretch is
 * finished. `at` receives the places of the words if g->kept is set. */
static size_t sift(const struct graph *g, struct stretch *m, uint64_t *v, const uint8_t **at)
{
	const struct graph_kind *heap = &g->kinds[0];
	bool plain = g->align == 8 && !g->cleared;
	size_t n = g->kept ? take_words_and_places(g, m, v, at)
		   : plain ? take_words(g, m, v)
			   : take_odd_words(g, m, v);
	for (size_t i = 0; heap->leaves && i < n; i++) {
		const uint32_t *slot = slot_of(heap, v[i]);
		if (!is_whole(slot))
			__builtin_prefetch(slot);
	}
	for (size_t i = 0; heap->leaves && i < n; i++) {
		uint32_t near = first_near(slot_of(heap, v[i]));
		if (!near)
			continue;
		__builtin_prefetch(&heap->start[near - 1]);
		__builtin_prefetch(&g->v[near - 1]);
	}
	return n;
}

/* ---- words of roots and blocks ---- */

/* Marks the blocks to which a word in root memory at `address` points. */
static void take_root(struct graph *g, uint64_t address, uint64_t value)
{
	uint32_t block = target(g, &g->kinds[0], value);
	bool any = block != NOBODY;
	graph_mark(g, block);
	if (g->kept)
		graph_keep_word(g, address, block);
	for (uint32_t k = innermost(g, value); k != NOBODY; k = outer_of(g, k)) {
		if (!holds(&g->v[k], value))
			continue;
		any = true;
		graph_mark(g, k);
		if (g->kept)
			graph_keep_word(g, address, k);
	}
	if (g->kept && !any)
		graph_keep_word(g, address, graph_range_of(g, value));
}

void graph_roots(struct graph *g, uint64_t address, const void *bytes, size_t size)
{
	uint64_t v[SIFTED];
	const uint8_t *at[SIFTED];
	struct stretch m = {bytes, (const uint8_t *)bytes + size};
	for (size_t found; (found = sift(g, &m, v, at));)
		for (size_t i = 0; i < found; i++)
			take_root(g,
				  g->kept ? address + (size_t)(at[i] - (const uint8_t *)bytes) : 0,
				  v[i]);
}

static bool ignore(struct graph *g, uint32_t i, uint64_t address, uint64_t next)
{
	struct graph_block *b = &g->v[i];
	bool inside = address - b->address < b->size || address == b->address;
	if (!inside || b->number >= next || b->ignored)
		return false;
	graph_mark(g, i);
	return b->ignored = true;
}

uint32_t graph_ignore(struct graph *g, uint64_t address, uint64_t next)
{
	uint32_t i = target(g, &g->kinds[0], address);
	uint32_t n = i != NOBODY && ignore(g, i, address, next);
	for (i = innermost(g, address); i != NOBODY; i = outer_of(g, i))
		n += ignore(g, i, address, next);
	return n;
}

static void add_edge(struct graph *g, uint32_t to, uint64_t offset)
{
	if (to == NOBODY || to == g->from || to == g->last)
		return;
	if (g->edge_count == g->edge_room) {
		if (g->edge_count >= g->edge_max) {
			g->overflow = true;
			return;
		}
		g->edge_room = g->edge_room ? g->edge_room * 2 : 1024;
		g->edges = ms_xrealloc(g->edges, g->edge_room, sizeof *g->edges);
		if (g->kept)
			g->kept->offsets = ms_xrealloc(g->kept->offsets, g->edge_room,
						       sizeof *g->kept->offsets);
	}
	if (g->kept)
		g->kept->offsets[g->edge_count] =
			offset < UINT32_MAX ? (uint32_t)offset : UINT32_MAX;
	g->edges[g->edge_count++] = g->last = to;
}

/* Adds the pointers of a word that lies `offset` bytes behind the start of block g->from. */
static void take_word(struct graph *g, uint64_t offset, uint64_t value)
{
	uint32_t block = target(g, &g->kinds[0], value);
	bool any = block != NOBODY;
	add_edge(g, block, offset);
	for (uint32_t k = innermost(g, value); k != NOBODY; k = outer_of(g, k)) {
		if (!holds(&g->v[k], value))
			continue;
		any = true;
		add_edge(g, k, offset);
	}
	uint32_t range = g->kept && !any ? graph_range_of(g, value) : NOBODY;
	if (range != NOBODY)
		*MS_PUSH(&g->kept->links) = (struct graph_link){
			g->from, range, offset < UINT32_MAX ? (uint32_t)offset : UINT32_MAX};
}

void graph_words(struct graph *g, uint32_t from, uint64_t address, const void *bytes, size_t size)
{
	uint64_t v[SIFTED];
	const uint8_t *at[SIFTED];
	struct stretch m = {bytes, (const uint8_t *)bytes + size};
	while (g->from < from)
		g->first_edge[++g->from] = (uint32_t)g->edge_count;
	if (g->from != from)
		return;
	g->last = NOBODY;
	uint64_t behind = address - g->v[from].address;
	if (g->kept && g->kept->type_of && !behind)
		graph_keep_type(g, from, bytes, size);
	for (size_t found; (found = sift(g, &m, v, at));)
		for (size_t i = 0; i < found; i++)
			take_word(g,
				  g->kept ? behind + (size_t)(at[i] - (const uint8_t *)bytes) : 0,
				  v[i]);
}
