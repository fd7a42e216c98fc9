/* SPDX-License-Identifier: MIT
 * The live blocks of a replay: the window's edge and the old groups.
 */
#include "blocks.h"

#include "arena.h"

#include <stdlib.h>
#include <string.h>

#define GROUPS (MS_BLOCKS_WINDOW / 64)

struct ms_block_group {
	uint64_t key; /* number / 64 */
	uint64_t had, live;
	struct ms_live_block slots[];
};

void ms_blocks_init(struct ms_blocks *b)
{
	*b = (struct ms_blocks){.old_mask = 63};
	b->window = ms_xrealloc(NULL, MS_BLOCKS_WINDOW, sizeof *b->window);
	b->bits = memset(ms_xrealloc(NULL, GROUPS, 8), 0, GROUPS * 8);
	b->old = memset(ms_xrealloc(NULL, 64, sizeof *b->old), 0, 64 * sizeof *b->old);
}

void ms_blocks_free(struct ms_blocks *b)
{
	free(b->filling);
	for (size_t i = 0; b->old && i <= b->old_mask; i++)
		free(b->old[i]);
	free(b->old);
	free(b->bits);
	free(b->window);
	*b = (struct ms_blocks){0};
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

static void add_old(struct ms_blocks *b, struct ms_block_group *g)
{
	if (++b->old_count * 2 > b->old_mask)
		grow(b);
	place(b, g);
}

/* Packs the live slots of the window's first group into an old group. */
static void retire(struct ms_blocks *b, size_t group)
{
	uint64_t live = b->bits[group];
	b->bits[group] = 0;
	struct ms_block_group *g = NULL;
	g = ms_xrealloc(NULL, 1, sizeof *g + (size_t)__builtin_popcountll(live) * sizeof *g->slots);
	*g = (struct ms_block_group){.key = b->base >> 6, .had = live, .live = live};
	const struct ms_live_block *from = &b->window[group * 64];
	struct ms_live_block *to = g->slots;
	for (uint64_t rest = live; rest; rest &= rest - 1)
		*to++ = from[__builtin_ctzll(rest)];
	add_old(b, g);
}

void ms_blocks_advance(struct ms_blocks *b, uint64_t number)
{
	/* A jump over more than a window (numbers lost in damage) empties it once and lands
	 * anywhere. */
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

/* Takes the entry at `i` out of the table and closes the gap, so that every other one is still
 * found from its home. */
static void drop(struct ms_blocks *b, size_t i)
{
	free(b->old[i]);
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

/* Gives back the slots of freed blocks once only a quarter is live, which bounds memory by 4 slots
 * a live block. */
static struct ms_block_group *shrink(struct ms_block_group *g)
{
	struct ms_live_block *to = g->slots;
	size_t n = 0;
	for (uint64_t rest = g->live; rest; rest &= rest - 1)
		to[n++] = g->slots[__builtin_popcountll(g->had & ((rest & -rest) - 1))];
	g->had = g->live;
	return ms_xrealloc(g, 1, sizeof *g + n * sizeof *g->slots);
}

bool ms_blocks_take_old(struct ms_blocks *b, uint64_t number, struct ms_live_block *out)
{
	uint64_t key = number >> 6, bit = UINT64_C(1) << (number & 63);
	size_t i = home_of(b, key);
	while (b->old[i] && b->old[i]->key != key)
		i = (i + 1) & b->old_mask;
	struct ms_block_group *g = b->old[i];
	if (!g || !(g->live & bit))
		return false;
	*out = g->slots[__builtin_popcountll(g->had & (bit - 1))];
	g->live &= ~bit;
	if (!g->live)
		drop(b, i);
	else if (__builtin_popcountll(g->live) * 4 <= __builtin_popcountll(g->had))
		b->old[i] = shrink(g);
	return true;
}

/* ---- from a checkpoint ---- */

void ms_blocks_clear(struct ms_blocks *b, uint64_t next)
{
	ms_blocks_free(b);
	ms_blocks_init(b);
	b->base = next & ~UINT64_C(63); /* whatever is older goes into old groups at once */
}

void ms_blocks_all_back(struct ms_blocks *b)
{
	struct ms_block_group *g = b->filling;
	if (!g)
		return;
	size_t n = (size_t)__builtin_popcountll(g->had);
	add_old(b, ms_xrealloc(g, 1, sizeof *g + n * sizeof *g->slots));
	b->filling = NULL;
}

struct ms_live_block *ms_blocks_put_back(struct ms_blocks *b, uint64_t number)
{
	if (number >= b->base)
		return ms_blocks_add(b, number);
	struct ms_block_group *g = b->filling;
	if (!g || g->key != number >> 6) {
		ms_blocks_all_back(b);
		g = ms_xrealloc(NULL, 1, sizeof *g + 64 * sizeof *g->slots);
		*g = (struct ms_block_group){.key = number >> 6};
		b->filling = g;
	}
	g->had |= UINT64_C(1) << (number & 63);
	g->live = g->had;
	return &g->slots[__builtin_popcountll(g->had) - 1];
}

void ms_blocks_each_number(const struct ms_blocks *b,
			   void (*f)(void *arg, uint64_t number, const struct ms_live_block *),
			   void *arg)
{
	for (uint64_t first = b->base; first < b->base + MS_BLOCKS_WINDOW; first += 64) {
		size_t slot = (size_t)(first & (MS_BLOCKS_WINDOW - 1));
		for (uint64_t rest = b->bits[slot >> 6]; rest; rest &= rest - 1) {
			size_t n = (size_t)__builtin_ctzll(rest);
			f(arg, first + n, &b->window[slot + n]);
		}
	}
	for (size_t i = 0; i <= b->old_mask; i++) {
		const struct ms_block_group *g = b->old[i];
		for (uint64_t rest = g ? g->live : 0; rest; rest &= rest - 1)
			f(arg, g->key * 64 + (uint64_t)__builtin_ctzll(rest),
			  &g->slots[__builtin_popcountll(g->had & ((rest & -rest) - 1))]);
	}
}

struct each {
	void (*f)(void *arg, const struct ms_live_block *);
	void *arg;
};

static void without_number(void *arg, uint64_t number, const struct ms_live_block *b)
{
	const struct each *e = arg;
	(void)number;
	e->f(e->arg, b);
}

void ms_blocks_each(const struct ms_blocks *b, void (*f)(void *arg, const struct ms_live_block *),
		    void *arg)
{
	ms_blocks_each_number(b, without_number, &(struct each){f, arg});
}
