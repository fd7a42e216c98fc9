/* SPDX-License-Identifier: MIT
 * A model of glibc's malloc: which address comes next.
 */
#include "heap.h"

#include <stddef.h>
#include <string.h>

/* Lists of an arena. */
#define LIST_UNSORTED 1u
#define LIST_LARGE 64u
#define LIST_LAST 126u
#define LIST_FAST 128u /* + granules */

#define FAST_LAST 8u  /* granules of the largest chunk of the fast lists */
#define LARGE 64u     /* and of the smallest one of the large bins */
#define MAPPED 8192u  /* and of the smallest that may be a mapping of its own */
#define MAPPED_AT 16u /* where in its page that begins */
#define PAGE UINT64_C(4096)
#define TOP_PAD UINT64_C(0x20000)
#define CHUNK_MIN 32u
#define MERGED_BIG 65536u /* bytes of a free chunk at which the fast lists are emptied */
#define MAP_MAX (UINT64_C(32) << 20)
#define FIRST_HEAP UINT64_C(0x21000)      /* bytes of a new heap */
#define HEAP_SIZE (UINT64_C(1) << 26)     /* heaps of further arenas are aligned so */
#define MAIN_BELOW (UINT64_C(0x70) << 40) /* the first arena's addresses */
#define GRANULES_MAX (UINT32_MAX / 2)
#define TOP_JUMP (UINT64_C(1) << 20)

/* Bounds of walks, whatever the bytes say. */
#define CHAIN_MAX 16
#define WALK_SORT 64
#define WALK_FIT 256
#define WALK_FIND 64

/* Neighbours have places near each other, and what is far away is strewn. */
static inline uint64_t place_of(uint64_t address, unsigned shift)
{
	return (address >> shift) + (address >> 22) * 40503;
}
static inline uint32_t *bucket(uint32_t *table, uint64_t address)
{
	return &table[place_of(address, 5) % MS_HEAP_BUCKETS];
}

static inline uint64_t end_of(const struct ms_heap_node *n)
{
	return n->address + UINT64_C(16) * n->granules;
}

static inline uint64_t behind(uint64_t address, uint32_t granules)
{
	return address + UINT64_C(16) * granules;
}

static inline unsigned arena_at(uint64_t address)
{
	return address < MAIN_BELOW ? 0
				    : 1 + (uint32_t)(address / HEAP_SIZE) % (MS_HEAP_ARENAS - 1);
}

static unsigned bin_of(uint32_t granules)
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

/* ---- odd chunks: larger than their block needs ---- */

#define ODD_WAYS 4u

static inline struct ms_heap_odd *odd_set(struct ms_heap *h, uint64_t address)
{
	return &h->odd[place_of(address, 7) % (MS_HEAP_ODD / ODD_WAYS) * ODD_WAYS];
}

static struct ms_heap_odd *odd_find(struct ms_heap *h, uint64_t address)
{
	struct ms_heap_odd *o = odd_set(h, address);
	for (unsigned i = 0; i < ODD_WAYS; i++)
		if (o[i].address == address)
			return &o[i];
	return NULL;
}

static uint32_t clamp(uint64_t granules)
{
	return granules > GRANULES_MAX ? GRANULES_MAX : (uint32_t)granules;
}

static uint32_t chunk_of(struct ms_heap *h, uint64_t address, uint64_t size)
{
	const struct ms_heap_odd *o = odd_find(h, address);
	return o ? (uint32_t)o->granules : clamp(ms_granules(size));
}

/* The block needs `granules` and its chunk has `have`. */
static void note_chunk(struct ms_heap *h, uint64_t address, uint32_t granules, uint32_t have)
{
	struct ms_heap_odd *o = odd_find(h, address);
	if (have == granules) {
		if (o)
			o->address = 0;
		return;
	}
	if (!o) {
		o = odd_set(h, address);
		for (unsigned i = 0; i + 1 < ODD_WAYS && o->address; i++)
			o++;
	}
	*o = (struct ms_heap_odd){address, have};
}

/* ---- lists ---- */

static void unlink_node(struct ms_heap *h, uint32_t i)
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

/* The first in its list of those as large as `i`, which is one of them. */
static uint32_t first_equal(const struct ms_heap *h, uint32_t i)
{
	for (unsigned k = 0; k < WALK_SORT; k++) {
		uint32_t p = h->nodes[i].previous;
		if (!p || h->nodes[p].granules != h->nodes[i].granules)
			break;
		i = p;
	}
	return i;
}

/* Into its bin: the large ones largest first, a further one of a size as the second of that. */
static void link_sorted(struct ms_heap *h, uint32_t i, unsigned arena)
{
	uint32_t granules = h->nodes[i].granules, at = 0;
	unsigned bin = bin_of(granules);
	if (bin >= LIST_LARGE) {
		at = h->arenas[arena].tail[bin];
		for (unsigned k = 0; k <= WALK_SORT && at && h->nodes[at].granules < granules; k++)
			at = h->nodes[at].previous;
		if (at && h->nodes[at].granules == granules)
			at = first_equal(h, at);
	}
	link_node(h, i, arena, bin, at);
}

/* Buckets are chains of at most CHAIN_MAX nodes. False: it is full. */
static bool enter_begin(struct ms_heap *h, uint32_t i)
{
	uint32_t *b = bucket(h->begins, h->nodes[i].address);
	unsigned k = 0;
	for (uint32_t n = *b; n; n = h->nodes[n].begin)
		if (++k == CHAIN_MAX)
			return false;
	h->nodes[i].begin = *b;
	*b = i;
	return true;
}
static bool enter_end(struct ms_heap *h, uint32_t i)
{
	uint32_t *b = bucket(h->ends, end_of(&h->nodes[i]));
	unsigned k = 0;
	for (uint32_t n = *b; n; n = h->nodes[n].end)
		if (++k == CHAIN_MAX)
			return false;
	h->nodes[i].end = *b;
	*b = i;
	return true;
}
static void leave_begin(struct ms_heap *h, uint32_t i)
{
	uint32_t *at = bucket(h->begins, h->nodes[i].address);
	while (*at != i)
		at = &h->nodes[*at].begin;
	*at = h->nodes[i].begin;
}
static void leave_end(struct ms_heap *h, uint32_t i)
{
	uint32_t *at = bucket(h->ends, end_of(&h->nodes[i]));
	while (*at != i)
		at = &h->nodes[*at].end;
	*at = h->nodes[i].end;
}

/* The free chunk that begins there, or ends there, but for those of the fast lists; 0 = none. */
static uint32_t begins_at(const struct ms_heap *h, uint64_t address)
{
	uint32_t i = h->begins[place_of(address, 5) % MS_HEAP_BUCKETS];
	while (i && h->nodes[i].address != address)
		i = h->nodes[i].begin;
	return i;
}
static uint32_t ends_at(const struct ms_heap *h, uint64_t address)
{
	uint32_t i = h->ends[place_of(address, 5) % MS_HEAP_BUCKETS];
	while (i && end_of(&h->nodes[i]) != address)
		i = h->nodes[i].end;
	return i;
}

static void discard(struct ms_heap *h, uint32_t i)
{
	h->nodes[i].next = h->unused;
	h->unused = i;
}

static void drop(struct ms_heap *h, uint32_t i)
{
	unlink_node(h, i);
	if (h->nodes[i].list < LIST_FAST) {
		leave_begin(h, i);
		leave_end(h, i);
	}
	discard(h, i);
}

/* A chunk at the head of a list. Without a node or a place in the buckets, it is forgotten. */
static void add(struct ms_heap *h, uint64_t address, uint32_t granules, unsigned arena,
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

/* A chunk grows up or down, to the head of the unsorted ones. */
static void grow(struct ms_heap *h, uint32_t i, uint64_t address, uint32_t granules)
{
	struct ms_heap_node *n = &h->nodes[i];
	bool up = n->address == address, kept;
	unlink_node(h, i);
	if (up)
		leave_end(h, i);
	else
		leave_begin(h, i);
	n->address = address;
	n->granules = granules;
	kept = up ? enter_end(h, i) : enter_begin(h, i);
	if (kept) {
		link_node(h, i, n->arena, LIST_UNSORTED, 0);
		return;
	}
	if (up)
		leave_begin(h, i);
	else
		leave_end(h, i);
	discard(h, i);
}

/* ---- release ---- */

/* Bytes from the top to the end, with the word in front. */
static inline uint64_t top_bytes(const struct ms_heap_arena *a)
{
	return a->end - a->top + 16;
}

/* Whether free chunk `i`, 0 = none, can be merged with so many granules in that arena. */
static bool joins(const struct ms_heap *h, uint32_t i, unsigned arena, uint32_t granules)
{
	return i && h->nodes[i].arena == arena &&
	       (uint64_t)granules + h->nodes[i].granules <= GRANULES_MAX;
}

/* Merges a chunk with what is free beside it. Returns how many bytes that gave. */
static uint64_t merge(struct ms_heap *h, unsigned arena, uint64_t address, uint32_t granules)
{
	struct ms_heap_arena *a = &h->arenas[arena];
	uint32_t low = ends_at(h, address), high;
	if (joins(h, low, arena, granules)) {
		address = h->nodes[low].address;
		granules += h->nodes[low].granules;
	} else {
		low = 0;
	}
	if (behind(address, granules) == a->top) {
		if (low)
			drop(h, low);
		a->top = address;
		return top_bytes(a);
	}
	high = begins_at(h, behind(address, granules));
	if (joins(h, high, arena, granules)) {
		granules += h->nodes[high].granules;
		if (low)
			drop(h, high);
		else
			low = high;
	}
	if (low)
		grow(h, low, address, granules);
	else
		add(h, address, granules, arena, LIST_UNSORTED);
	return UINT64_C(16) * granules;
}

static void empty_fast(struct ms_heap *h, unsigned arena)
{
	for (unsigned g = 2; g <= FAST_LAST; g++) {
		uint32_t i;
		while ((i = h->arenas[arena].head[LIST_FAST + g])) {
			uint64_t address = h->nodes[i].address;
			drop(h, i);
			merge(h, arena, address, g);
		}
	}
}

/* What is more than enough at the top goes back to the system. */
static void trim(const struct ms_heap *h, struct ms_heap_arena *a)
{
	uint64_t bytes = top_bytes(a);
	if (a->end > a->top && bytes >= h->trim_from && bytes > TOP_PAD + CHUNK_MIN + 1)
		a->end -= (bytes - CHUNK_MIN - 1 - TOP_PAD) & ~(PAGE - 1);
}

static bool is_mapped(uint64_t address, uint32_t granules)
{
	return granules >= MAPPED && address % PAGE == MAPPED_AT && address >= MAIN_BELOW;
}

static void cache(struct ms_heap *h, uint32_t t, uint32_t granules, uint64_t address)
{
	h->cache[t][granules][h->cached[t][granules]++] = address;
}
static inline bool can_cache(const struct ms_heap *h, uint32_t t, uint32_t granules)
{
	return granules < MS_HEAP_CACHED && h->cached[t][granules] < MS_HEAP_CACHE;
}

static void release_chunk(struct ms_heap *h, uint32_t t, uint64_t address, uint32_t granules)
{
	unsigned arena = arena_at(address);
	if (can_cache(h, t, granules)) {
		cache(h, t, granules, address);
	} else if (granules <= FAST_LAST) {
		add(h, address, granules, arena, LIST_FAST + granules);
	} else {
		uint32_t stale = h->told ? begins_at(h, address) : 0;
		if (stale)
			drop(h, stale);
		if (merge(h, arena, address, granules) >= MERGED_BIG) {
			if (h->arenas[arena].fast)
				empty_fast(h, arena);
			trim(h, &h->arenas[arena]);
		}
	}
}

void ms_heap_release(struct ms_heap *h, uint32_t thread, uint64_t address, uint64_t size,
		     bool moved)
{
	struct ms_heap_odd *o = odd_find(h, address);
	uint32_t granules = o ? (uint32_t)o->granules : clamp(ms_granules(size));
	if (o)
		o->address = 0;
	if (!is_mapped(address, granules)) {
		release_chunk(h, thread % MS_EVENT_THREAD_SLOTS, address, granules);
		return;
	}
	uint64_t bytes = (UINT64_C(16) * granules + 16 + PAGE - 1) & ~(PAGE - 1);
	if (!moved && bytes > h->map_from && bytes <= MAP_MAX) {
		h->map_from = bytes;
		h->trim_from = 2 * bytes;
	}
}

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
			drop(h, i);
			continue;
		}
		unlink_node(h, i);
		link_sorted(h, i, arena);
	}
	if (cached)
		*out = (struct answer){h->cache[t][g][h->cached[t][g] - 1], 0, true};
	return cached;
}

/* The smallest large chunk of the bin that fits, the second of equal ones. 0 = none. */
static uint32_t fit_large(const struct ms_heap *h, const struct ms_heap_arena *a, uint32_t g)
{
	uint32_t i = a->tail[bin_of(g)];
	for (unsigned k = 0; k <= WALK_FIT && i && h->nodes[i].granules < g; k++)
		i = h->nodes[i].previous;
	if (!i || h->nodes[i].granules < g)
		return 0;
	i = first_equal(h, i);
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
		empty_fast(h, arena);
	for (bool emptied = false;; emptied = true) {
		if (sort(h, t, g, arena, &out))
			return out;
		uint32_t i = g >= LARGE ? fit_large(h, a, g) : 0;
		if (!i)
			i = next_bin(a, bin_of(g) + 1);
		if (i)
			return give(h, i);
		if (emptied || !a->fast || top_bytes(a) >= UINT64_C(16) * g + CHUNK_MIN)
			return (struct answer){a->top, 0, false};
		empty_fast(h, arena);
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
		drop(h, i);
	}
}

/* Takes a chunk, of which the rest stays. Returns its granules. */
static uint32_t take_node(struct ms_heap *h, uint32_t t, uint32_t g, uint32_t i, bool fill)
{
	const struct ms_heap_node n = h->nodes[i];
	struct ms_heap_arena *a = &h->arenas[n.arena];
	drop(h, i);
	if (n.granules == g && (n.list >= LIST_FAST || (n.list > LIST_UNSORTED && g < LARGE))) {
		if (fill)
			fill_cache(h, t, g, a, n.list);
		return g;
	}
	if (n.granules < g + 2)
		return n.granules;
	uint64_t rest = behind(n.address, g);
	add(h, rest, n.granules - g, n.arena, LIST_UNSORTED);
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
		h->cached[c->thread][c->granules]--;
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
			drop(h, i);
		}
	}
	if (have < g)
		have = g;
	if (have >= g + 2) {
		release_chunk(h, c->thread, behind(c->old, g), have - g);
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
		h->cached[c->thread][c->granules]--;
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
	uint8_t *n = &h->cached[c->thread][c->granules];
	uint64_t *at = &h->cache[c->thread][c->granules][*n - 1 - place];
	memmove(at, at + 1, place * sizeof *at);
	--*n;
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
		add(h, a->top, (uint32_t)(gap >> 4), arena, LIST_UNSORTED);
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
			drop(h, wrong);
	}
	if (address == h->arenas[arena].top) {
		take_top(&h->arenas[arena], g, arena == 0);
	} else if (i && h->nodes[i].granules >= g) {
		have = take_node(h, c->thread, g, i, false);
	} else if (i) {
		drop(h, i);
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
	c->past_cache = &h->past_cache[ev->stack * UINT32_C(0x9e3779b1) >> 16];
	c->cached = c->granules < MS_HEAP_CACHED && h->cached[c->thread][c->granules];
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
	uint32_t t = c->thread, g = c->granules;
	return g < MS_HEAP_CACHED && place < h->cached[t][g]
		       ? h->cache[t][g][h->cached[t][g] - 1 - place]
		       : 0;
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
	return *fast ? a->head[LIST_FAST + c->granules] : a->tail[bin_of(c->granules)];
}

int ms_heap_list_find(const struct ms_heap *h, const struct ms_heap_call *c, uint64_t address)
{
	bool fast;
	uint32_t i = first_in_list(h, c, &fast);
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
