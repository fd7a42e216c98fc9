/* SPDX-License-Identifier: MIT
 * Implements the rarer operations on the table of live blocks.
 */
#include "live.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/ready.h"

#define FIRST_SHIFT (LIVE_HASH_BITS - 8) /* 4 * 2^8 = 1,024 buckets at first */
#define SMALL ((size_t)1 << 13) /* number of buckets below which a table grows when a third full */
#define READY ((size_t)1024)    /* number of buckets whose new pages are prepared in one go */
#define GIVE ((size_t)32768)    /* number of buckets whose old pages are freed in one go */
#define MOVE 4u
#define OTHERS_FIRST 64u
/* minimum shift of a table that grows only because block numbers need more bits */
#define SHIFT_LEAST (LIVE_HASH_BITS - 18)

/* Maps a table of zeroed buckets; huge pages, if available, avoid most TLB misses of a large
 * table. */
static struct live_buckets make(unsigned scale, unsigned shift)
{
	struct live_buckets t = {.scale = scale, .shift = shift};
	t.count = (size_t)scale << (LIVE_HASH_BITS - shift);
	size_t bytes = t.count * sizeof *t.buckets;
	t.buckets = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (t.buckets == MAP_FAILED)
		/* reports that memory is exhausted; does not return */
		t.buckets = ms_xrealloc(NULL, SIZE_MAX, sizeof *t.buckets);
	ready_huge(t.buckets, bytes);
	if (shift == FIRST_SHIFT)
		ready_memory(t.buckets, bytes); /* blocks are spread over all of it */
	return t;
}

static void drop(struct live_buckets *t)
{
	if (t->buckets)
		munmap(t->buckets, t->count * sizeof *t->buckets);
	t->buckets = NULL;
}

static size_t room_in(const struct live_buckets *t)
{
	return t->count < SMALL ? t->count * 2 : t->count * 4;
}

void live_init(struct live_table *l)
{
	*l = (struct live_table){.now = make(4, FIRST_SHIFT)};
	l->room = room_in(&l->now);
}

void live_free(struct live_table *l)
{
	drop(&l->now);
	drop(&l->old);
	free(l->overflow.slots);
	l->overflow.slots = NULL;
}

/* ---- the overflow ---- */

static size_t slot_of(const struct live_overflow *o, uint64_t address)
{
	uint64_t hash = (address >> 4) * UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(hash >> 32) & o->mask;
}

static struct live_block *overflow_find(const struct live_overflow *o, uint64_t address)
{
	if (!o->count)
		return NULL;
	for (size_t i = slot_of(o, address); o->slots[i].address; i = (i + 1) & o->mask)
		if (o->slots[i].address == address)
			return &o->slots[i];
	return NULL;
}

static void overflow_put(struct live_overflow *o, const struct live_block *b)
{
	size_t i = slot_of(o, b->address);
	while (o->slots[i].address)
		i = (i + 1) & o->mask;
	o->slots[i] = *b;
}

static void overflow_grow(struct live_overflow *o)
{
	struct live_overflow more = {.mask = o->slots ? o->mask * 2 + 1 : OTHERS_FIRST - 1,
				     .count = o->count};
	more.slots = ms_xcalloc(more.mask + 1, sizeof *more.slots);
	for (size_t i = 0; o->slots && i <= o->mask; i++)
		if (o->slots[i].address)
			overflow_put(&more, &o->slots[i]);
	free(o->slots);
	*o = more;
}

static void overflow_add(struct live_overflow *o, const struct live_block *b)
{
	if (!o->slots || o->count > o->mask / 4 * 3)
		overflow_grow(o);
	overflow_put(o, b);
	o->count++;
}

/* Removes a block and moves later ones back, so that no tombstones are needed. */
static void overflow_remove(struct live_overflow *o, const struct live_block *b)
{
	size_t hole = (size_t)(b - o->slots);
	for (size_t i = hole + 1;; i++) {
		struct live_block *next = &o->slots[i & o->mask];
		if (!next->address)
			break;
		/* A block may fill the hole unless its home slot, which its hash determines, lies
		 * after the hole. */
		size_t home = slot_of(o, next->address);
		if (((i - home) & o->mask) >= ((i - hole) & o->mask)) {
			o->slots[hole & o->mask] = *next;
			hole = i;
		}
	}
	o->slots[hole & o->mask].address = 0;
	o->count--;
}

/* ---- packed blocks ---- */

/* Returns the hash of the block in a slot of a bucket. */
static uint64_t hash_of(const struct live_buckets *t, size_t index, uint64_t word)
{
	uint64_t rest = word >> (66 - t->shift);
	uint64_t least = (uint64_t)index << t->shift | rest << 2;
	return t->scale == 6 ? (least + 5) / 6 : (least + 3) / 4;
}

static uint64_t number_of(const struct live_buckets *t, uint64_t word)
{
	return (word & ((UINT64_C(1) << (66 - t->shift)) - 1)) - 1;
}

static uint64_t address_of_hash(uint64_t hash)
{
	uint64_t half = hash * LIVE_INVERSE & LIVE_HASH;
	uint64_t units = (half ^ half >> 23) * LIVE_INVERSE & LIVE_HASH;
	return (units << 3 & LIVE_ADDRESS) | units >> (CPU_ADDRESS_BITS - 3) << 63;
}

/* ---- growing ---- */

/* Adds a block; there must be none at its address. */
static void put(struct live_table *l, const struct live_block *b)
{
	struct live_place p = live_place(l, b->address);
	unsigned empty = live_empty(p.bucket);
	if (empty && live_packs(&p, b)) {
		live_pack(&p, (unsigned)__builtin_ctz(empty), b->number, b->size);
		l->packed++;
		return;
	}
	overflow_add(&l->overflow, b);
	if (!l->old.buckets && live_fits(b->address))
		p.bucket->state += LIVE_SPILLED;
}

static void move_bucket(struct live_table *l, size_t index)
{
	const struct live_buckets *t = &l->old;
	const struct live_bucket *from = &t->buckets[index];
	for (unsigned i = 0; i < LIVE_SLOTS; i++) {
		if (!(from->state >> i & 1))
			continue;
		uint64_t word = live_word(from, i), hash = hash_of(t, index, word);
		uint64_t number = number_of(t, word);
		struct live_place p = live_place_in(&l->now, hash);
		unsigned empty = live_empty(p.bucket);
		if (empty) {
			live_pack(&p, (unsigned)__builtin_ctz(empty), number, from->size[i]);
			continue;
		}
		l->packed--;
		overflow_add(&l->overflow,
			     &(struct live_block){address_of_hash(hash), number, from->size[i]});
	}
}

/* Moves blocks of the overflow into buckets if they fit now, and counts the rest in `spilled`. */
static void settle_overflow(struct live_table *l)
{
	struct live_overflow were = l->overflow;
	l->overflow = (struct live_overflow){0};
	for (size_t i = 0; were.slots && i <= were.mask; i++)
		if (were.slots[i].address)
			put(l, &were.slots[i]);
	free(were.slots);
}

/* Prepares the next pages of the new table, and frees the pages of the old table that have been
 * moved. */
static void turn_pages(const struct live_table *l)
{
	const struct live_buckets *now = &l->now, *old = &l->old;
	size_t first = l->moved * now->count / old->count, n = READY * now->count / old->count;
	if (l->moved % READY == 0 && old->count > READY && now->count * 64 < READY_HUGE_FROM)
		ready_memory(&now->buckets[first], n * sizeof *now->buckets);
	if (l->moved % GIVE == 0 && l->moved)
		madvise(&old->buckets[l->moved - GIVE], GIVE * sizeof *old->buckets, MADV_DONTNEED);
}

/* Moves the next `n` buckets; l->moved counts a bucket as moved before its blocks are. */
static void move(struct live_table *l, size_t n)
{
	for (; n && l->moved < l->old.count; n--) {
		turn_pages(l);
		move_bucket(l, l->moved++);
	}
	if (l->moved < l->old.count)
		return;
	drop(&l->old);
	l->room = room_in(&l->now);
	settle_overflow(l);
}

static void grow(struct live_table *l)
{
	if (!l->old.buckets) {
		l->old = l->now;
		l->now = l->old.scale == 4 ? make(6, l->old.shift) : make(4, l->old.shift - 1);
		l->moved = 0;
		l->room = 0;
	}
	move(l, MOVE);
}

/* ---- the table's functions ---- */

bool live_add_slow(struct live_table *l, const struct live_block *b)
{
	struct live_block there;
	if (live_find(l, b->address, &there))
		return false;
	bool high = b->number >> (66 - l->now.shift) && l->now.shift > SHIFT_LEAST &&
		    !(b->number >> (66 - SHIFT_LEAST));
	if (l->count >= l->room || high)
		grow(l);
	l->count++;
	put(l, b);
	return true;
}

/* Returns the block at `address` in the overflow, or NULL. */
static const struct live_block *find_other(const struct live_table *l, uint64_t address)
{
	bool none = live_fits(address) && !l->old.buckets &&
		    live_place(l, address).bucket->state < LIVE_SPILLED;
	return none ? NULL : overflow_find(&l->overflow, address);
}

bool live_take_slow(struct live_table *l, uint64_t address, struct live_block *out)
{
	const struct live_block *b = find_other(l, address);
	if (!b)
		return false;
	*out = *b;
	overflow_remove(&l->overflow, b);
	l->count--;
	if (live_fits(address) && !l->old.buckets)
		live_place(l, address).bucket->state -= LIVE_SPILLED;
	return true;
}

bool live_find(const struct live_table *l, uint64_t address, struct live_block *out)
{
	struct live_place p = live_place(l, address);
	unsigned slot = live_fits(address) ? live_slot(&p) : LIVE_SLOTS;
	if (slot < LIVE_SLOTS) {
		*out = live_unpack(&p, slot, address);
		return true;
	}
	const struct live_block *b = find_other(l, address);
	if (b)
		*out = *b;
	return b;
}

static void each_of(const struct live_buckets *t, size_t first,
		    void (*f)(void *arg, const struct live_block *), void *arg)
{
	for (size_t index = first; index < t->count; index++)
		for (unsigned i = 0; i < LIVE_SLOTS; i++) {
			const struct live_bucket *at = &t->buckets[index];
			uint64_t word = live_word(at, i);
			if (at->state >> i & 1)
				f(arg,
				  &(struct live_block){address_of_hash(hash_of(t, index, word)),
						       number_of(t, word), at->size[i]});
		}
}

void live_each(const struct live_table *l, void (*f)(void *arg, const struct live_block *),
	       void *arg)
{
	each_of(&l->now, 0, f, arg);
	if (l->old.buckets)
		each_of(&l->old, l->moved, f, arg);
	for (size_t i = 0; l->overflow.slots && i <= l->overflow.mask; i++)
		if (l->overflow.slots[i].address)
			f(arg, &l->overflow.slots[i]);
}

static void copy_one(void *arg, const struct live_block *b)
{
	live_add(arg, b);
}

void live_copy(struct live_table *to, const struct live_table *from)
{
	*to = (struct live_table){.now = make(from->now.scale, from->now.shift)};
	to->room = room_in(&to->now);
	live_each(from, copy_one, to);
}
