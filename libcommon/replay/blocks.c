/* SPDX-License-Identifier: MIT
 * The live blocks of a replay: how blocks leave the window, and the old groups.
 */
#include "blocks.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/ready.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS (MS_BLOCKS_WINDOW / 64)

_Static_assert(sizeof(struct ms_block_group) * 2 == MS_BLOCK_LINE, "two groups a line");

/* ---- room for the slots of groups ---- */

/* Sizes of groups in slots. Millions of groups of a few sizes are allocated and freed, so each size
 * has a free list, whose latest slots are reused first. They are cut from chunks. */
static const uint8_t room_slots[MS_BLOCK_ROOMS] = {1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};
#define CHUNK_BYTES ((size_t)64 << 10)
/* From so many bytes on, chunks are large enough for huge pages. */
#define MANY_BYTES ((size_t)4 << 20)

struct ms_block_chunk {
	struct ms_block_chunk *next;
	uint64_t bytes[];
};

/* Index in room_slots of the smallest size that holds this number of slots. */
static const uint8_t room_by_slots[65] = {
	0,  0,  1,  2,  3,  4,  4,  5,  5,  6,  6,  6,  6,  7,  7,  7,  7,  8,  8,  8,  8,  8,
	8,  8,  8,  9,  9,  9,  9,  9,  9,  9,  9,  10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10,
	10, 10, 10, 10, 10, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11,
};

_Static_assert(sizeof(struct ms_block_slot) >= sizeof(void *), "free slots are linked");

static struct ms_block_slot *get_room(struct ms_blocks *b, unsigned slots)
{
	unsigned room = room_by_slots[slots];
	struct ms_block_slot *s = b->rooms[room];
	if (s) {
		memcpy(&b->rooms[room], (void *)s, sizeof b->rooms[room]);
		return s;
	}
	size_t bytes = room_slots[room] * sizeof *s;
	if (b->chunk_left < bytes) {
		size_t room_bytes = b->chunk_bytes < MANY_BYTES ? CHUNK_BYTES : READY_HUGE_FROM;
		struct ms_block_chunk *c = ms_xrealloc(NULL, 1, sizeof *c + room_bytes);
		ready_huge(c, sizeof *c + room_bytes);
		c->next = b->chunks;
		b->chunks = c;
		b->chunk_left = room_bytes;
		b->chunk_bytes += room_bytes;
	}
	b->chunk_left -= bytes;
	return (struct ms_block_slot *)(void *)((char *)b->chunks->bytes + b->chunk_left);
}

static void give_room(struct ms_blocks *b, struct ms_block_slot *s, unsigned slots)
{
	unsigned room = room_by_slots[slots];
	memcpy((void *)s, &b->rooms[room], sizeof b->rooms[room]);
	b->rooms[room] = s;
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

/* Allocates a table of `places` free places. */
static void get_table(struct ms_blocks *b, size_t places)
{
	b->memory = ms_xcalloc(places / 2 + 1, MS_BLOCK_LINE);
	uintptr_t start = (uintptr_t)b->memory + MS_BLOCK_LINE - 1;
	b->old = (struct ms_block_group *)(void *)(start - start % MS_BLOCK_LINE);
	b->old_mask = places - 1;
	ready_huge(b->old, places * sizeof *b->old);
}

void ms_blocks_init(struct ms_blocks *b)
{
	*b = (struct ms_blocks){0};
	b->window = ms_xrealloc(NULL, MS_BLOCKS_WINDOW, sizeof *b->window);
	b->bits = memset(ms_xrealloc(NULL, GROUPS, 8), 0, GROUPS * 8);
	get_table(b, 64);
}

void ms_blocks_free(struct ms_blocks *b)
{
	while (b->chunks) {
		struct ms_block_chunk *next = b->chunks->next;
		free(b->chunks);
		b->chunks = next;
	}
	MS_FREE(b->wide.v, b->memory, b->bits, b->window);
	*b = (struct ms_blocks){0};
}

void ms_blocks_clear(struct ms_blocks *b)
{
	ms_blocks_free(b);
	ms_blocks_init(b);
}

static struct ms_block_group *place(struct ms_blocks *b, uint64_t key)
{
	size_t i = ms_blocks_home(b, key);
	while (b->old[i].live)
		i = (i + 1) & b->old_mask;
	return &b->old[i];
}

static void grow(struct ms_blocks *b)
{
	size_t size = b->old_mask + 1;
	struct ms_block_group *old = b->old;
	void *memory = b->memory;
	get_table(b, size * 2);
	for (size_t i = 0; i < size; i++)
		if (old[i].live)
			*place(b, old[i].key) = old[i];
	free(memory);
}

/* Moves the live slots of the first group in the window to a group in the hash table of old
 * groups. */
static void retire(struct ms_blocks *b, size_t group)
{
	uint64_t live = b->bits[group];
	b->bits[group] = 0;
	if (++b->old_count * 3 > (b->old_mask + 1) * 2)
		grow(b);
	struct ms_block_group *g = place(b, b->base >> 6);
	*g = (struct ms_block_group){b->base >> 6, live, live, get_room(b, ms_blocks_ones(live))};
	const struct ms_block_slot *from = &b->window[group * 64];
	struct ms_block_slot *to = g->slots;
	for (uint64_t rest = live; rest; rest &= rest - 1)
		*to++ = from[__builtin_ctzll(rest)];
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
	b->old_count--;
	for (size_t j = i;;) {
		b->old[i].live = 0;
		size_t home;
		do {
			j = (j + 1) & b->old_mask;
			if (!b->old[j].live)
				return;
			home = ms_blocks_home(b, b->old[j].key);
		} while (((j - home) & b->old_mask) < ((j - i) & b->old_mask));
		b->old[i] = b->old[j];
		i = j;
	}
}

/* Frees the slots of freed blocks when only a quarter of the slots is live, which limits memory to
 * 4 slots per live block. */
static void shrink(struct ms_blocks *b, struct ms_block_group *g, unsigned had, unsigned live)
{
	struct ms_block_slot *slots = get_room(b, live), *to = slots;
	for (uint64_t rest = g->live; rest; rest &= rest - 1)
		*to++ = g->slots[ms_blocks_place(g, rest & -rest)];
	give_room(b, g->slots, had);
	g->slots = slots;
	g->had = g->live;
}

bool ms_blocks_take_old(struct ms_blocks *b, uint64_t number, struct ms_block_slot *out)
{
	uint64_t bit = UINT64_C(1) << (number & 63);
	struct ms_block_group *g = ms_blocks_group(b, number >> 6);
	if (!(g->live & bit))
		return false;
	*out = g->slots[ms_blocks_place(g, bit)];
	g->live &= ~bit;
	unsigned had = ms_blocks_ones(g->had), live = ms_blocks_ones(g->live);
	if (!live) {
		give_room(b, g->slots, had);
		drop(b, (size_t)(g - b->old));
	} else if (live * 4 <= had) {
		shrink(b, g, had, live);
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
		const struct ms_block_group *g = &b->old[i];
		for (uint64_t rest = g->live; rest; rest &= rest - 1) {
			struct ms_live_block l =
				block_of(b, &g->slots[ms_blocks_place(g, rest & -rest)]);
			f(arg, g->key * 64 + (uint64_t)__builtin_ctzll(rest), &l);
		}
	}
}
