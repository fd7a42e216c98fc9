/* SPDX-License-Identifier: MIT
 * The table of live blocks.
 */
#include "live.h"

#include <string.h>
#include <sys/mman.h>

#include "libcommon/arena.h"

#define FIRST_BITS 12u

/* Fresh pages are zero; large ones, if there are, spare most of the misses of a large table. */
static void make(struct live *l, unsigned bits)
{
	size_t n = (size_t)1 << bits;
	l->slots = mmap(NULL, n * sizeof *l->slots, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (l->slots == MAP_FAILED)
		l->slots = ms_xrealloc(NULL, SIZE_MAX, sizeof *l->slots); /* does not return */
	madvise(l->slots, n * sizeof *l->slots, MADV_HUGEPAGE);
	l->mask = n - 1;
	l->shift = 64 - bits;
	l->count = 0;
}

void live_init(struct live *l)
{
	make(l, FIRST_BITS);
}

void live_free(struct live *l)
{
	if (l->slots)
		munmap(l->slots, (l->mask + 1) * sizeof *l->slots);
	l->slots = NULL;
}

void live_copy(struct live *to, const struct live *from)
{
	make(to, 64 - from->shift);
	memcpy(to->slots, from->slots, (from->mask + 1) * sizeof *to->slots);
	to->count = from->count;
}

struct live_block *live_find(const struct live *l, uint64_t address)
{
	for (size_t i = live_slot(l, address);; i++) {
		struct live_block *b = &l->slots[i & l->mask];
		if (b->address == address)
			return b;
		if (!b->address)
			return NULL;
	}
}

static void grow(struct live *l)
{
	struct live old = *l;
	make(l, 64 - old.shift + 1);
	for (size_t i = 0; i <= old.mask; i++) {
		bool made;
		if (old.slots[i].address)
			*live_make(l, old.slots[i].address, &made) = old.slots[i];
	}
	live_free(&old);
}

struct live_block *live_make(struct live *l, uint64_t address, bool *made)
{
	if (l->count > l->mask / 2)
		grow(l);
	for (size_t i = live_slot(l, address);; i++) {
		struct live_block *b = &l->slots[i & l->mask];
		*made = !b->address;
		if (*made) {
			b->address = address;
			l->count++;
		}
		if (b->address == address)
			return b;
	}
}

bool live_take(struct live *l, uint64_t address, struct live_block *out)
{
	struct live_block *b = live_find(l, address);
	if (!b)
		return false;
	*out = *b;
	l->count--;
	size_t hole = (size_t)(b - l->slots);
	for (size_t i = hole + 1;; i++) {
		struct live_block *next = &l->slots[i & l->mask];
		if (!next->address)
			break;
		/* A block may fill the hole unless its own place lies after the hole. */
		size_t home = live_slot(l, next->address);
		if (((i - home) & l->mask) >= ((i - hole) & l->mask)) {
			l->slots[hole & l->mask] = *next;
			hole = i;
		}
	}
	l->slots[hole & l->mask].address = 0;
	return true;
}
