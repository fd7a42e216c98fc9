/* SPDX-License-Identifier: MIT
 * A model of glibc's malloc: which address comes next.
 */
#include "heap.h"

#include <stddef.h>
#include <string.h>

#include "heap_fast.h"

#define FIRST_HEAP UINT64_C(0x21000) /* bytes of a new heap */
#define TOP_JUMP (UINT64_C(1) << 20)

/* Bounds of walks, whatever the bytes say. */
#define WALK_FIT 256
#define WALK_FIND 64

/* ---- what the arena would give ---- */

struct answer {
	uint64_t address;
	uint32_t node;
	bool from_cache;
};

static struct answer give(const struct ms_heap *h, uint32_t i)
{
	return (struct answer){h->nodes[i].address, i, false};
}

/* Sorts what is unsorted, the oldest first, until a chunk fits. True: *out. */
static bool sort(struct ms_heap *h, uint32_t t, uint32_t g, unsigned arena, struct answer *out)
{
	struct ms_heap_arena *a = &h->arenas[arena];
	bool cached = false;
	uint32_t i;
	while ((i = a->tail[LIST_UNSORTED])) {
		struct ms_heap_node *n = &h->nodes[i];
		if ((g < LARGE && !n->previous && n->address == a->remainder &&
		     n->granules > g + 2) ||
		    (n->granules == g && !can_cache(h, t, g))) {
			*out = give(h, i);
			return true;
		}
		if (n->granules == g) {
			cache(h, t, g, n->address);
			cached = true;
			ms_chunk_drop(h, i);
			continue;
		}
		ms_chunk_unlink(h, i);
		ms_chunk_sort_in(h, i, arena);
	}
	if (cached)
		*out = (struct answer){h->cache[t][g].address[h->cache[t][g].count - 1], 0, true};
	return cached;
}

/* The smallest large chunk of the bin that fits, the second of equal ones. 0 = none. */
static uint32_t fit_large(const struct ms_heap *h, const struct ms_heap_arena *a, uint32_t g)
{
	uint32_t i = a->tail[ms_chunk_bin(g)];
	for (unsigned k = 0; k <= WALK_FIT && i && h->nodes[i].granules < g; k++)
		i = h->nodes[i].previous;
	if (!i || h->nodes[i].granules < g)
		return 0;
	i = ms_chunk_first_equal(h, i);
	uint32_t second = h->nodes[i].next;
	return second && h->nodes[second].granules == h->nodes[i].granules ? second : i;
}

/* The last chunk of the next bin that has any. 0 = none. */
static uint32_t next_bin(const struct ms_heap_arena *a, unsigned bin)
{
	uint64_t map = bin < 64 ? a->map[0] & UINT64_MAX << bin : 0;
	if (map)
		return a->tail[__builtin_ctzll(map)];
	map = bin < 64 ? a->map[1] : a->map[1] & UINT64_MAX << (bin - 64);
	return map ? a->tail[64 + __builtin_ctzll(map)] : 0;
}

static struct answer ask(struct ms_heap *h, uint32_t t, uint32_t g)
{
	unsigned arena = h->arena_of[t];
	struct ms_heap_arena *a = &h->arenas[arena];
	struct answer out;
	if (g <= FAST_LAST && a->head[LIST_FAST + g])
		return give(h, a->head[LIST_FAST + g]);
	if (g < LARGE && a->tail[g])
		return give(h, a->tail[g]);
	if (g >= LARGE && a->fast)
		ms_heap_empty_fast(h, arena);
	for (bool emptied = false;; emptied = true) {
		if (sort(h, t, g, arena, &out))
			return out;
		uint32_t i = g >= LARGE ? fit_large(h, a, g) : 0;
		if (!i)
			i = next_bin(a, ms_chunk_bin(g) + 1);
		if (i)
			return give(h, i);
		if (emptied || !a->fast || top_bytes(a) >= UINT64_C(16) * g + CHUNK_MIN)
			return (struct answer){a->top, 0, false};
		ms_heap_empty_fast(h, arena);
	}
}

uint64_t ms_heap_ask(struct ms_heap *h, struct ms_heap_call *c)
{
	if (!c->asked) {
		struct answer a = ask(h, c->thread, c->granules);
		c->asked = true;
		c->address = a.address;
		c->node = a.node;
		c->from_cache = a.from_cache;
	}
	return c->address;
}

/* ---- taking ---- */

/* Chunks of the list that one was taken from fill the cache. */
static void fill_cache(struct ms_heap *h, uint32_t t, uint32_t g, struct ms_heap_arena *a,
		       unsigned list)
{
	uint32_t i;
	while (can_cache(h, t, g) && (i = list >= LIST_FAST ? a->head[list] : a->tail[list])) {
		cache(h, t, g, h->nodes[i].address);
		ms_chunk_drop(h, i);
	}
}

/* Takes a chunk, of which the rest stays. Returns its granules. */
static uint32_t take_node(struct ms_heap *h, uint32_t t, uint32_t g, uint32_t i, bool fill)
{
	const struct ms_heap_node n = h->nodes[i];
	struct ms_heap_arena *a = &h->arenas[n.arena];
	ms_chunk_drop(h, i);
	if (n.granules == g && (n.list >= LIST_FAST || (n.list > LIST_UNSORTED && g < LARGE))) {
		if (fill)
			fill_cache(h, t, g, a, n.list);
		return g;
	}
	if (n.granules < g + 2)
		return n.granules;
	uint64_t rest = behind(n.address, g);
	ms_chunk_add(h, rest, n.granules - g, n.arena, LIST_UNSORTED);
	if (g < LARGE)
		a->remainder = rest;
	return g;
}

static void take_top(struct ms_heap_arena *a, uint32_t g, bool main)
{
	uint64_t need = UINT64_C(16) * g + CHUNK_MIN;
	if ((int64_t)top_bytes(a) < (int64_t)need)
		a->end += (need + (main ? TOP_PAD : 0) - top_bytes(a) + PAGE - 1) & ~(PAGE - 1);
	a->top = behind(a->top, g);
	if (a->end < a->top)
		a->end = a->top;
}

/* Takes what the arena gave. Returns the chunk's granules. */
static uint32_t take_answer(struct ms_heap *h, const struct ms_heap_call *c)
{
	unsigned arena = h->arena_of[c->thread];
	if (c->from_cache)
		h->cache[c->thread][c->granules].count--;
	else if (c->node)
		return take_node(h, c->thread, c->granules, c->node, true);
	else
		take_top(&h->arenas[arena], c->granules, arena == 0);
	return c->granules;
}

/* A realloc left the block in its place: its chunk takes in what follows, or gives some back. */
static void stay(struct ms_heap *h, const struct ms_heap_call *c)
{
	struct ms_heap_arena *a = &h->arenas[arena_at(c->old)];
	uint32_t g = c->granules, have = c->old_granules;
	uint64_t behind_it = behind(c->old, have);
	if (c->joined) {
		have += take_answer(h, c);
	} else if (have < g && behind_it == a->top) {
		a->top = behind(c->old, g);
		if (a->end < a->top)
			a->end = a->top;
		have = g;
	} else if (have < g) {
		uint32_t i = begins_at(h, behind_it);
		if (i) {
			have += h->nodes[i].granules;
			ms_chunk_drop(h, i);
		}
	}
	if (have < g)
		have = g;
	if (have >= g + 2) {
		ms_heap_release_chunk(h, c->thread, behind(c->old, g), have - g);
		have = g;
	}
	note_chunk(h, c->old, g, have);
}

void ms_heap_take(struct ms_heap *h, const struct ms_heap_call *c, enum ms_heap_way way)
{
	if (way == MS_HEAP_EXPECTED)
		way = c->expected;
	if (way == MS_HEAP_STAYS) {
		stay(h, c);
	} else if (way == MS_HEAP_CACHED_BLOCK) {
		h->cache[c->thread][c->granules].count--;
		if (!c->realloc)
			*c->past_cache = 0;
	} else {
		if (c->cached && !c->realloc)
			*c->past_cache = 1;
		uint64_t address = c->address;
		uint32_t have = take_answer(h, c);
		if (have != c->granules)
			note_chunk(h, address, c->granules, have);
	}
}

void ms_heap_take_cached(struct ms_heap *h, const struct ms_heap_call *c, uint32_t place)
{
	struct ms_heap_cache *cache = &h->cache[c->thread][c->granules];
	uint64_t *at = &cache->address[cache->count - 1 - place];
	memmove(at, at + 1, place * sizeof *at);
	cache->count--;
}

/* Of two chunks, the one with the lower rank would have been taken first. */
static unsigned rank(const struct ms_heap_node *n)
{
	return n->list >= LIST_FAST ? 0 : n->list;
}

/* The node of a chunk at the address, also if it is in the lists of this size. */
static uint32_t chunk_at(const struct ms_heap *h, const struct ms_heap_call *c, uint64_t address)
{
	const struct ms_heap_arena *a = &h->arenas[arena_at(address)];
	uint32_t i = c->granules <= FAST_LAST ? a->head[LIST_FAST + c->granules] : 0;
	for (unsigned k = 0; i && k < WALK_FIND; k++, i = h->nodes[i].next)
		if (h->nodes[i].address == address)
			return i;
	return begins_at(h, address);
}

/* The arena goes on behind the block at `address`, if it is beyond its top. */
static void follow_top(struct ms_heap *h, unsigned arena, uint64_t address, uint32_t granules)
{
	struct ms_heap_arena *a = &h->arenas[arena];
	uint64_t end = behind(address, granules), gap = address - a->top;
	if (end <= a->top || (arena == 0 && a->top && address >= a->end + TOP_JUMP))
		return;
	if (!a->top)
		a->end = arena ? (address & ~(HEAP_SIZE - 1)) + FIRST_HEAP
			       : (address - 16 + FIRST_HEAP) & ~(PAGE - 1);
	else if (address > a->top && gap >= CHUNK_MIN && gap < TOP_JUMP)
		ms_chunk_add(h, a->top, (uint32_t)(gap >> 4), arena, LIST_UNSORTED);
	a->top = end;
	if (end > a->end)
		a->end = (end + PAGE - 1) & ~(PAGE - 1);
}

void ms_heap_take_at(struct ms_heap *h, const struct ms_heap_call *c, uint64_t address)
{
	unsigned arena = arena_at(address);
	uint32_t g = c->granules, have = g, i = chunk_at(h, c, address), wrong = c->node;
	h->told = true;
	/* What should have been taken, and was not, is not there. */
	if (wrong) {
		const struct ms_heap_node *n = &h->nodes[wrong];
		bool overlaps = n->address < behind(address, g) && address < end_of(n);
		if (wrong != i && (overlaps || address == h->arenas[arena].top ||
				   (i && rank(&h->nodes[i]) >= rank(n))))
			ms_chunk_drop(h, wrong);
	}
	if (address == h->arenas[arena].top) {
		take_top(&h->arenas[arena], g, arena == 0);
	} else if (i && h->nodes[i].granules >= g) {
		have = take_node(h, c->thread, g, i, false);
	} else if (i) {
		ms_chunk_drop(h, i);
	}
	note_chunk(h, address, g, have);
	if (is_mapped(address, g))
		return;
	h->arena_of[c->thread] = (uint8_t)arena;
	follow_top(h, arena, address, g);
}

/* ---- beginning ---- */

void ms_heap_reset(struct ms_heap *h)
{
	/* Nodes are written before they are read. */
	if (h->begun)
		memset(h, 0, offsetof(struct ms_heap, nodes));
	h->begun = true;
	h->map_from = h->trim_from = UINT64_C(128) << 10;
}

/* Whether a realloc leaves its block in place. */
static bool stays(struct ms_heap *h, struct ms_heap_call *c)
{
	const struct ms_heap_arena *a = &h->arenas[arena_at(c->old)];
	uint64_t next = behind(c->old, c->old_granules);
	uint32_t more = c->granules - c->old_granules;
	if (c->old_granules >= c->granules)
		return true;
	if (next == a->top) {
		if (top_bytes(a) >= UINT64_C(16) * more + CHUNK_MIN)
			return true;
	} else {
		uint32_t i = begins_at(h, next);
		if (i && h->nodes[i].granules >= more)
			return true;
	}
	c->joined = ms_heap_ask(h, c) == next;
	return c->joined;
}

void ms_heap_begin(struct ms_heap *h, struct ms_heap_call *c, const struct ms_event *ev,
		   uint64_t old_address, uint64_t old_size)
{
	c->thread = ev->thread % MS_EVENT_THREAD_SLOTS;
	c->granules = clamp(ms_granules(ev->size));
	c->realloc = ev->kind == MS_EV_REALLOC;
	c->joined = c->asked = false;
	c->past_cache = ms_heap_past_cache(h, ev);
	c->cached = c->granules < MS_HEAP_CACHED && h->cache[c->thread][c->granules].count;
	c->old = old_address;
	if (c->realloc && old_address) {
		c->old_granules = chunk_of(h, old_address, old_size);
		c->expected = stays(h, c) ? MS_HEAP_STAYS : MS_HEAP_ARENA;
	} else {
		c->expected = c->cached && !c->realloc && !*c->past_cache ? MS_HEAP_CACHED_BLOCK
									  : MS_HEAP_ARENA;
	}
}

uint64_t ms_heap_cache_at(const struct ms_heap *h, const struct ms_heap_call *c, uint32_t place)
{
	if (c->granules >= MS_HEAP_CACHED)
		return 0;
	const struct ms_heap_cache *cache = &h->cache[c->thread][c->granules];
	return place < cache->count ? cache->address[cache->count - 1 - place] : 0;
}

int ms_heap_cache_find(const struct ms_heap *h, const struct ms_heap_call *c, uint64_t address)
{
	for (uint32_t i = 0; i < MS_HEAP_CACHE; i++)
		if (ms_heap_cache_at(h, c, i) == address)
			return (int)i;
	return -1;
}

/* The first list that an arena looks into for a chunk of that size, in its order. */
static uint32_t first_in_list(const struct ms_heap *h, const struct ms_heap_call *c, bool *fast)
{
	const struct ms_heap_arena *a = &h->arenas[h->arena_of[c->thread]];
	*fast = c->granules <= FAST_LAST && a->head[LIST_FAST + c->granules];
	return *fast ? a->head[LIST_FAST + c->granules] : a->tail[ms_chunk_bin(c->granules)];
}

/* Is it in the bin that an arena looks into for that? */
static bool in_bin(const struct ms_heap *h, const struct ms_heap_call *c, uint32_t i)
{
	const struct ms_heap_node *n = &h->nodes[i];
	return n->list == ms_chunk_bin(c->granules) && n->arena == h->arena_of[c->thread];
}

int ms_heap_list_find(const struct ms_heap *h, const struct ms_heap_call *c, uint64_t address)
{
	bool fast;
	uint32_t i = first_in_list(h, c, &fast), known = fast ? i : begins_at(h, address);
	/* Most that are not there need no walk to tell. */
	if (!known || (!fast && !in_bin(h, c, known)))
		return -1;
	for (int place = 0; i && place < WALK_FIND; place++) {
		if (h->nodes[i].address == address)
			return place;
		i = fast ? h->nodes[i].next : h->nodes[i].previous;
	}
	return -1;
}

uint64_t ms_heap_list_at(const struct ms_heap *h, const struct ms_heap_call *c, uint32_t place)
{
	bool fast;
	uint32_t i = first_in_list(h, c, &fast);
	for (uint32_t k = 0; i && k < place; k++)
		i = fast ? h->nodes[i].next : h->nodes[i].previous;
	return i && place < WALK_FIND ? h->nodes[i].address : 0;
}
