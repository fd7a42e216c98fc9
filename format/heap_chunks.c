/* SPDX-License-Identifier: MIT
 * Free chunks of the model of the heap: their lists, and the buckets that find them.
 */
#include "heap_chunks.h"

/* Bounds of walks, whatever the bytes say. */
#define CHAIN_MAX 16
#define WALK_SORT 64

unsigned ms_chunk_bin(uint32_t granules)
{
	uint64_t size = (uint64_t)granules << 4;
	if (granules < LARGE)
		return granules;
	if (size >> 6 <= 48)
		return 48 + (unsigned)(size >> 6);
	if (size >> 9 <= 20)
		return 91 + (unsigned)(size >> 9);
	if (size >> 12 <= 10)
		return 110 + (unsigned)(size >> 12);
	if (size >> 15 <= 4)
		return 119 + (unsigned)(size >> 15);
	return size >> 18 <= 2 ? 124 + (unsigned)(size >> 18) : LIST_LAST;
}

/* ---- lists ---- */

void ms_chunk_unlink(struct ms_heap *h, uint32_t i)
{
	struct ms_heap_node *n = &h->nodes[i];
	struct ms_heap_arena *a = &h->arenas[n->arena];
	*(n->previous ? &h->nodes[n->previous].next : &a->head[n->list]) = n->next;
	*(n->next ? &h->nodes[n->next].previous : &a->tail[n->list]) = n->previous;
	if (n->list >= LIST_FAST)
		a->fast--;
	else if (!a->head[n->list])
		a->map[n->list >> 6] &= ~(UINT64_C(1) << (n->list & 63));
}

/* Puts the node into a list behind `after`, 0 = at its head. */
static void link_node(struct ms_heap *h, uint32_t i, unsigned arena, unsigned list, uint32_t after)
{
	struct ms_heap_node *n = &h->nodes[i];
	struct ms_heap_arena *a = &h->arenas[arena];
	n->list = (uint8_t)list;
	n->arena = (uint8_t)arena;
	n->previous = after;
	n->next = after ? h->nodes[after].next : a->head[list];
	*(after ? &h->nodes[after].next : &a->head[list]) = i;
	*(n->next ? &h->nodes[n->next].previous : &a->tail[list]) = i;
	if (list >= LIST_FAST)
		a->fast++;
	else
		a->map[list >> 6] |= UINT64_C(1) << (list & 63);
}

uint32_t ms_chunk_first_equal(const struct ms_heap *h, uint32_t i)
{
	for (unsigned k = 0; k < WALK_SORT; k++) {
		uint32_t p = h->nodes[i].previous;
		if (!p || h->nodes[p].granules != h->nodes[i].granules)
			break;
		i = p;
	}
	return i;
}

void ms_chunk_sort_in(struct ms_heap *h, uint32_t i, unsigned arena)
{
	uint32_t granules = h->nodes[i].granules, at = 0;
	unsigned bin = ms_chunk_bin(granules);
	if (bin >= LIST_LARGE) {
		at = h->arenas[arena].tail[bin];
		for (unsigned k = 0; k <= WALK_SORT && at && h->nodes[at].granules < granules; k++)
			at = h->nodes[at].previous;
		if (at && h->nodes[at].granules == granules)
			at = ms_chunk_first_equal(h, at);
	}
	link_node(h, i, arena, bin, at);
}

/* Buckets are chains of at most CHAIN_MAX nodes. False: it is full. */
static bool enter_begin(struct ms_heap *h, uint32_t i)
{
	uint32_t b = bucket_of(h->nodes[i].address), first = h->begins[b];
	unsigned k = 0;
	for (uint32_t n = first; n; n = h->nodes[n].begin)
		if (++k == CHAIN_MAX)
			return false;
	h->nodes[i].begin = first;
	h->begins[b] = i;
	return true;
}
static bool enter_end(struct ms_heap *h, uint32_t i)
{
	uint32_t b = bucket_of(end_of(&h->nodes[i])), first = h->ends[b];
	unsigned k = 0;
	for (uint32_t n = first; n; n = h->nodes[n].end)
		if (++k == CHAIN_MAX)
			return false;
	h->nodes[i].end = first;
	h->ends[b] = i;
	return true;
}
static void leave_begin(struct ms_heap *h, uint32_t i)
{
	uint32_t b = bucket_of(h->nodes[i].address), *at = &h->begins[b];
	while (*at != i)
		at = &h->nodes[*at].begin;
	*at = h->nodes[i].begin;
}
static void leave_end(struct ms_heap *h, uint32_t i)
{
	uint32_t b = bucket_of(end_of(&h->nodes[i])), *at = &h->ends[b];
	while (*at != i)
		at = &h->nodes[*at].end;
	*at = h->nodes[i].end;
}

/* ---- nodes ---- */

static void discard(struct ms_heap *h, uint32_t i)
{
	h->nodes[i].next = h->unused;
	h->unused = i;
}

void ms_chunk_drop(struct ms_heap *h, uint32_t i)
{
	ms_chunk_unlink(h, i);
	if (h->nodes[i].list < LIST_FAST) {
		leave_begin(h, i);
		leave_end(h, i);
	}
	discard(h, i);
}

void ms_chunk_add(struct ms_heap *h, uint64_t address, uint32_t granules, unsigned arena,
		  unsigned list)
{
	uint32_t i = h->unused;
	if (i)
		h->unused = h->nodes[i].next;
	else if (h->used + 1 < MS_HEAP_NODES)
		i = ++h->used;
	else
		return;
	h->nodes[i].address = address;
	h->nodes[i].granules = granules;
	if (list < LIST_FAST) {
		bool begun = enter_begin(h, i);
		if (!begun || !enter_end(h, i)) {
			if (begun)
				leave_begin(h, i);
			discard(h, i);
			return;
		}
	}
	link_node(h, i, arena, list, 0);
}

void ms_chunk_grow(struct ms_heap *h, uint32_t i, uint64_t address, uint32_t granules)
{
	struct ms_heap_node *n = &h->nodes[i];
	bool up = n->address == address, kept;
	/* Of frees in a row, the chunk that grows is the one that grew before. */
	bool stays = n->list == LIST_UNSORTED && !n->previous;
	if (!stays)
		ms_chunk_unlink(h, i);
	if (up)
		leave_end(h, i);
	else
		leave_begin(h, i);
	n->address = address;
	n->granules = granules;
	kept = up ? enter_end(h, i) : enter_begin(h, i);
	if (kept) {
		if (!stays)
			link_node(h, i, n->arena, LIST_UNSORTED, 0);
		return;
	}
	if (stays)
		ms_chunk_unlink(h, i);
	if (up)
		leave_begin(h, i);
	else
		leave_end(h, i);
	discard(h, i);
}
