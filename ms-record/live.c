/* SPDX-License-Identifier: MIT
 * The table of live blocks.
 *
 * A table that is half full makes way for one of twice its size, a few slots with each change, so
 * that no single allocation of the target pays for all:
 *
 *   old  [moved, all empty .....|at  clusters not yet moved ............|e]
 *
 * Whole clusters move (runs without an empty slot): `at` stands behind an empty slot always, so
 * what is left can be probed and removed from as before, and an address whose cluster has moved
 * meets an empty slot there. Nothing is added to the old table. MOVE slots a change are enough: the
 * new table has room for half as many blocks again as the old one held, and all has moved after a
 * quarter of that.
 */
#include "live.h"

#include <string.h>
#include <sys/mman.h>

#include "libcommon/arena.h"

#define FIRST_BITS 12u
#define SMALL ((size_t)1 << 14) /* slots */
#define MOVE 16u

/* Fresh pages are zero; large ones, if there are, spare most of the misses of a large table. */
static struct live_table make(unsigned bits)
{
	size_t n = (size_t)1 << bits;
	struct live_table t = {.mask = n - 1, .shift = 64 - bits};
	t.slots = mmap(NULL, n * sizeof *t.slots, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t.slots == MAP_FAILED)
		t.slots = ms_xrealloc(NULL, SIZE_MAX, sizeof *t.slots); /* does not return */
	madvise(t.slots, n * sizeof *t.slots, MADV_HUGEPAGE);
	return t;
}

static void drop(struct live_table *t)
{
	if (t->slots)
		munmap(t->slots, (t->mask + 1) * sizeof *t->slots);
	t->slots = NULL;
}

static size_t room_in(const struct live_table *t)
{
	return t->mask < SMALL ? t->mask / 4 : t->mask / 2;
}

void live_init(struct live *l)
{
	*l = (struct live){.now = make(FIRST_BITS)};
	l->room = room_in(&l->now);
}

void live_free(struct live *l)
{
	drop(&l->now);
	drop(&l->old);
}

static struct live_block *find(const struct live_table *t, uint64_t address)
{
	for (size_t i = live_slot(t, address);; i++) {
		struct live_block *b = &t->slots[i & t->mask];
		if (b->address == address)
			return b;
		if (!b->address)
			return NULL;
	}
}

static struct live_block *put(struct live_table *t, uint64_t address)
{
	size_t i = live_slot(t, address);
	while (t->slots[i & t->mask].address)
		i++;
	t->slots[i & t->mask].address = address;
	return &t->slots[i & t->mask];
}

static void take(struct live_table *t, struct live_block *b)
{
	size_t hole = (size_t)(b - t->slots);
	for (size_t i = hole + 1;; i++) {
		struct live_block *next = &t->slots[i & t->mask];
		if (!next->address)
			break;
		/* A block may fill the hole unless its own place lies after the hole. */
		size_t home = live_slot(t, next->address);
		if (((i - home) & t->mask) >= ((i - hole) & t->mask)) {
			t->slots[hole & t->mask] = *next;
			hole = i;
		}
	}
	t->slots[hole & t->mask].address = 0;
}

/* ---- growing ---- */

static void begin_growing(struct live *l)
{
	l->old = l->now;
	l->now = make(64 - l->old.shift + 1);
	l->at = 0;
	while (l->old.slots[l->at].address)
		l->at++;
	l->at++;
	l->left = l->old.mask + 1;
	l->room = 0;
}

/* Moves at least `n` slots, up to the end of a cluster. */
static void move(struct live *l, size_t n)
{
	bool inside = true;
	for (size_t i = 0; l->left && (i < n || inside); i++, l->at++, l->left--) {
		struct live_block *b = &l->old.slots[l->at & l->old.mask];
		inside = b->address != 0;
		if (!inside)
			continue;
		*put(&l->now, b->address) = *b;
		b->address = 0;
	}
	if (l->left)
		return;
	drop(&l->old);
	l->room = room_in(&l->now);
}

void live_settle(struct live *l)
{
	if (l->old.slots)
		move(l, l->left);
}

void live_copy(struct live *to, const struct live *from)
{
	*to = (struct live){.now = make(64 - from->now.shift), .count = from->count};
	to->room = room_in(&to->now);
	memcpy(to->now.slots, from->now.slots, (from->now.mask + 1) * sizeof *to->now.slots);
	for (size_t i = 0; from->old.slots && i <= from->old.mask; i++)
		if (from->old.slots[i].address)
			*put(&to->now, from->old.slots[i].address) = from->old.slots[i];
}

/* ---- what others call ---- */

struct live_block *live_find(const struct live *l, uint64_t address)
{
	struct live_block *b = find(&l->now, address);
	return b || !l->old.slots ? b : find(&l->old, address);
}

struct live_block *live_make_slow(struct live *l, uint64_t address, bool *made)
{
	if (l->old.slots)
		move(l, MOVE);
	else if (l->count >= l->room)
		begin_growing(l);
	struct live_block *b = live_find(l, address);
	*made = !b;
	if (b)
		return b;
	l->count++;
	return put(&l->now, address);
}

bool live_take_slow(struct live *l, uint64_t address, struct live_block *out)
{
	if (l->old.slots)
		move(l, MOVE);
	struct live_table *t = &l->now;
	struct live_block *b = find(t, address);
	if (!b && l->old.slots)
		b = find(t = &l->old, address);
	if (!b)
		return false;
	*out = *b;
	l->count--;
	take(t, b);
	return true;
}
