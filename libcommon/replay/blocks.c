/* SPDX-License-Identifier: MIT
 * The live blocks of a replay: how blocks leave the window, and the old groups.
 */
#include "blocks.h"

#include "libcommon/base/arena.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS (MS_BLOCKS_WINDOW / 64)

struct ms_block_group {
	uint64_t key; /* block number / 64 */
	uint64_t had, live;
	uint8_t had_count, live_count; /* numbers of set bits in `had` and in `live` */
	struct ms_block_slot slots[];
};

/* ---- room for groups ---- */

/* Sizes of groups in slots. Millions of groups of a few sizes are allocated and freed, so each size
 * has a free list, whose latest group is reused first. Groups are cut from chunks. */
static const uint8_t room_slots[MS_BLOCK_ROOMS] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
#define CHUNK_BYTES ((size_t)64 << 10)

struct ms_block_chunk {
	struct ms_block_chunk *next;
	uint64_t bytes[];
};

static unsigned ones(uint64_t v)
{
	v -= v >> 1 & UINT64_C(0x5555555555555555);
	v = (v & UINT64_C(0x3333333333333333)) + (v >> 2 & UINT64_C(0x3333333333333333));
	v = (v + (v >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (unsigned)((v * UINT64_C(0x0101010101010101)) >> 56);
}

/* Index in room_slots of the smallest size that holds this number of slots. */
static const uint8_t room_by_slots[65] = {
	0,  0,  1,  2,  3,  4,  4,  5,  5,  6,  6,  6,  6,  7,  7,  7,  7,  8,  8,  8,  8,  8,
	8,  8,  8,  9,  9,  9,  9,  9,  9,  9,  9,  10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
	10, 10, 10, 10, 10, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11,
};

static struct ms_block_group *next_of(struct ms_block_group *g)
{
	struct ms_block_group *next;
	memcpy(&next, g, sizeof next);
	return next;
}

static struct ms_block_group *get_room(struct ms_blocks *b, unsigned slots)
{
	unsigned room = room_by_slots[slots];
	struct ms_block_group *g = b->rooms[room];
	if (g) {
		b->rooms[room] = next_of(g);
		return g;
	}
	size_t bytes = sizeof *g + room_slots[room] * sizeof *g->slots;
	bytes = (bytes + 7) & ~(size_t)7;
	if (b->chunk_left < bytes) {
		struct ms_block_chunk *c = ms_xrealloc(NULL, 1, sizeof *c + CHUNK_BYTES);
		c->next = b->chunks;
		b->chunks = c;
		b->chunk_left = CHUNK_BYTES;
	}
	b->chunk_left -= bytes;
	return (struct ms_block_group *)(void *)((char *)b->chunks->bytes + b->chunk_left);
}

static void give_room(struct ms_blocks *b, struct ms_block_group *g, unsigned slots)
{
	unsigned room = room_by_slots[slots];
	memcpy(g, &b->rooms[room], sizeof b->rooms[room]);
	b->rooms[room] = g;
}

/* ---- wide blocks ---- */

struct ms_block_slot ms_blocks_widen(struct ms_blocks *b, uint64_t size, uint64_t tick,
				     uint32_t owner)
{
	uint32_t i = b->free_wide;
	if (i) {
		b->free_wide = b->wide.v[i - 1].owner;
	} else {
		MS_PUSH(&b->wide);
		i = (uint32_t)b->wide.n;
	}
	b->wide.v[i - 1] = (struct ms_live_block){size, tick, owner};
	return (struct ms_block_slot){i - 1, 0, MS_BLOCK_WIDE};
}

struct ms_live_block ms_blocks_narrow(struct ms_blocks *b, struct ms_block_slot slot)
{
	struct ms_live_block w = b->wide.v[slot.size];
	b->wide.v[slot.size].owner = b->free_wide;
	b->free_wide = slot.size + 1;
	return w;
}

/* ---- the table ---- */

void ms_blocks_init(struct ms_blocks *b)
{
	*b = (struct ms_blocks){.old_mask = 63};
	b->window = ms_xrealloc(NULL, MS_BLOCKS_WINDOW, sizeof *b->window);
	b->bits = memset(ms_xrealloc(NULL, GROUPS, 8), 0, GROUPS * 8);
	b->old = memset(ms_xrealloc(NULL, 64, sizeof *b->old), 0, 64 * sizeof *b->old);
}

void ms_blocks_free(struct ms_blocks *b)
{
	while (b->chunks) {
		struct ms_block_chunk *next = b->chunks->next;
		free(b->chunks);
		b->chunks = next;
	}
	MS_FREE(b->wide.v, b->old, b->bits, b->window);
	*b = (struct ms_blocks){0};
}

void ms_blocks_clear(struct ms_blocks *b)
{
	ms_blocks_free(b);
	ms_blocks_init(b);
}

static size_t home_of(const struct ms_blocks *b, uint64_t key)
{
	return (size_t)((key * UINT64_C(0x9e3779b97f4a7c15)) >> 20) & b->old_mask;
}

static void place(struct ms_blocks *b, struct ms_block_group *g)
{
	size_t i = home_of(b, g->key);
	while (b->old[i])
		i = (i + 1) & b->old_mask;
	b->old[i] = g;
}

static void grow(struct ms_blocks *b)
{
	size_t old_size = b->old_mask + 1, size = old_size * 2;
	struct ms_block_group **old = b->old;
	b->old = memset(ms_xrealloc(NULL, size, sizeof *b->old), 0, size * sizeof *b->old);
	b->old_mask = size - 1;
	for (size_t i = 0; i < old_size; i++)
		if (old[i])
			place(b, old[i]);
	free(old);
}

void ms_blocks_expect_old(const struct ms_blocks *b, uint64_t number)
{
	__builtin_prefetch(&b->old[home_of(b, number >> 6)]);
}

static void add_old(struct ms_blocks *b, struct ms_block_group *g)
{
	if (++b->old_count * 2 > b->old_mask)
		grow(b);
	place(b, g);
}

/* Moves the live slots of the first group in the window to a group in the hash table of old
 * groups. */
static void retire(struct ms_blocks *b, size_t group)
{
	uint64_t live = b->bits[group];
	b->bits[group] = 0;
	uint8_t n = (uint8_t)ones(live);
	struct ms_block_group *g = get_room(b, n);
	*g = (struct ms_block_group){b->base >> 6, live, live, n, n};
	const struct ms_block_slot *from = &b->window[group * 64];
	struct ms_block_slot *to = g->slots;
	for (uint64_t rest = live; rest; rest &= rest - 1)
		*to++ = from[__builtin_ctzll(rest)];
	add_old(b, g);
}

void ms_blocks_advance(struct ms_blocks *b, uint64_t number)
{
	/* If numbers jump by more than a window, as after damage, the window is emptied once and
	 * its base is set. */
	for (uint64_t steps = 0; number - b->base >= MS_BLOCKS_WINDOW; steps++) {
		if (steps == GROUPS) {
			b->base = (number & ~UINT64_C(63)) - (MS_BLOCKS_WINDOW - 64);
			return;
		}
		size_t group = (size_t)(b->base & (MS_BLOCKS_WINDOW - 1)) >> 6;
		if (b->bits[group])
			retire(b, group);
		b->base += 64;
	}
}

/* Removes entry `i` of the hash table and closes the gap, so that linear probing still finds all
 * other entries. */
static void drop(struct ms_blocks *b, size_t i)
{
	for (size_t j = i;;) {
		b->old[i] = NULL;
		size_t home;
		do {
			j = (j + 1) & b->old_mask;
			if (!b->old[j]) {
				b->old_count--;
				return;
			}
			home = home_of(b, b->old[j]->key);
		} while (((j - home) & b->old_mask) < ((j - i) & b->old_mask));
		b->old[i] = b->old[j];
		i = j;
	}
}

/* Returns the index of the slot of the block whose bit in the group is `bit`. */
static inline unsigned place_of(const struct ms_block_group *g, uint64_t bit)
{
	return ones(g->had & (bit - 1));
}

/* Frees the slots of freed blocks when only a quarter of the slots is live, which limits memory to
 * 4 slots per live block. */
static struct ms_block_group *shrink(struct ms_blocks *b, struct ms_block_group *g)
{
	struct ms_block_group *smaller = get_room(b, g->live_count);
	size_t n = 0;
	*smaller = (struct ms_block_group){g->key, g->live, g->live, g->live_count, g->live_count};
	for (uint64_t rest = g->live; rest; rest &= rest - 1)
		smaller->slots[n++] = g->slots[place_of(g, rest & -rest)];
	give_room(b, g, g->had_count);
	return smaller;
}

bool ms_blocks_take_old(struct ms_blocks *b, uint64_t number, struct ms_block_slot *out)
{
	uint64_t key = number >> 6, bit = UINT64_C(1) << (number & 63);
	size_t i = home_of(b, key);
	while (b->old[i] && b->old[i]->key != key)
		i = (i + 1) & b->old_mask;
	struct ms_block_group *g = b->old[i];
	if (!g || !(g->live & bit))
		return false;
	*out = g->slots[place_of(g, bit)];
	g->live &= ~bit;
	g->live_count--;
	if (!g->live) {
		drop(b, i);
		give_room(b, g, g->had_count);
	} else if (g->live_count * 4u <= g->had_count) {
		b->old[i] = shrink(b, g);
	}
	return true;
}

/* ---- all of them ---- */

static struct ms_live_block block_of(const struct ms_blocks *b, const struct ms_block_slot *s)
{
	return s->owner == MS_BLOCK_WIDE ? b->wide.v[s->size]
					 : (struct ms_live_block){s->size, s->tick, s->owner};
}

void ms_blocks_each(const struct ms_blocks *b,
		    void (*f)(void *arg, uint64_t number, const struct ms_live_block *), void *arg)
{
	for (uint64_t first = b->base; first < b->base + MS_BLOCKS_WINDOW; first += 64) {
		size_t slot = (size_t)(first & (MS_BLOCKS_WINDOW - 1));
		for (uint64_t rest = b->bits[slot >> 6]; rest; rest &= rest - 1) {
			size_t n = (size_t)__builtin_ctzll(rest);
			struct ms_live_block l = block_of(b, &b->window[slot + n]);
			f(arg, first + n, &l);
		}
	}
	for (size_t i = 0; i <= b->old_mask; i++) {
		const struct ms_block_group *g = b->old[i];
		for (uint64_t rest = g ? g->live : 0; rest; rest &= rest - 1) {
			struct ms_live_block l = block_of(b, &g->slots[place_of(g, rest & -rest)]);
			f(arg, g->key * 64 + (uint64_t)__builtin_ctzll(rest), &l);
		}
	}
}
