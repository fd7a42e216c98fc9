/* SPDX-License-Identifier: MIT
 * The table of live blocks.
 */
#include "live.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "libcommon/base/arena.h"

#define FIRST_BITS 10u
#define SMALL ((size_t)1 << 13) /* buckets */
/* A huge page is cleared as a whole when its first bucket is written: dear while a table still
 * doubles. */
#define HUGE_FROM ((size_t)32 << 20) /* bytes */
/* Every page of a table that grows is written soon: all at once costs a fraction of a fault each.
 */
#define READY_FROM ((size_t)64 << 10) /* bytes */
#define MOVE 4u
#define OTHERS_FIRST 64u

/* Fresh pages are zero; large ones, if there are, spare most of the misses of a large table. */
static struct live_table make(unsigned bits)
{
	size_t n = (size_t)1 << bits, bytes = n * sizeof(struct live_bucket);
	int ready = bytes >= READY_FROM && bytes < HUGE_FROM ? MAP_POPULATE : 0;
	struct live_table t = {.count = n, .shift = 64 - bits};
	t.buckets = mmap(NULL, n * sizeof *t.buckets, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | ready, -1, 0);
	if (t.buckets == MAP_FAILED)
		t.buckets = ms_xrealloc(NULL, SIZE_MAX, sizeof *t.buckets); /* does not return */
	if (bytes >= HUGE_FROM)
		madvise(t.buckets, bytes, MADV_HUGEPAGE);
	return t;
}

static void drop(struct live_table *t)
{
	if (t->buckets)
		munmap(t->buckets, t->count * sizeof *t->buckets);
	t->buckets = NULL;
}

static size_t room_in(const struct live_table *t)
{
	return t->count < SMALL ? t->count : t->count * 2;
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
	free(l->others.slots);
	l->others.slots = NULL;
}

/* ---- the others ---- */

static size_t slot_of(const struct live_others *o, uint64_t address)
{
	uint64_t hash = (address >> 4) * UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(hash >> 32) & o->mask;
}

static struct live_block *others_find(const struct live_others *o, uint64_t address)
{
	if (!o->count)
		return NULL;
	for (size_t i = slot_of(o, address); o->slots[i].address; i = (i + 1) & o->mask)
		if (o->slots[i].address == address)
			return &o->slots[i];
	return NULL;
}

static void others_put(struct live_others *o, const struct live_block *b)
{
	size_t i = slot_of(o, b->address);
	while (o->slots[i].address)
		i = (i + 1) & o->mask;
	o->slots[i] = *b;
}

static void others_grow(struct live_others *o)
{
	struct live_others more = {.mask = o->slots ? o->mask * 2 + 1 : OTHERS_FIRST - 1,
				   .count = o->count};
	more.slots = ms_xcalloc(more.mask + 1, sizeof *more.slots);
	for (size_t i = 0; o->slots && i <= o->mask; i++)
		if (o->slots[i].address)
			others_put(&more, &o->slots[i]);
	free(o->slots);
	*o = more;
}

static void others_add(struct live_others *o, const struct live_block *b)
{
	if (!o->slots || o->count > o->mask / 2)
		others_grow(o);
	others_put(o, b);
	o->count++;
}

/* What follows is shifted back, so there are no tombstones. */
static void others_remove(struct live_others *o, const struct live_block *b)
{
	size_t hole = (size_t)(b - o->slots);
	for (size_t i = hole + 1;; i++) {
		struct live_block *next = &o->slots[i & o->mask];
		if (!next->address)
			break;
		/* A block may fill the hole unless its own place lies after the hole. */
		size_t home = slot_of(o, next->address);
		if (((i - home) & o->mask) >= ((i - hole) & o->mask)) {
			o->slots[hole & o->mask] = *next;
			hole = i;
		}
	}
	o->slots[hole & o->mask].address = 0;
	o->count--;
}

/* ---- growing ---- */

static void move_bucket(struct live *l, const struct live_bucket *from)
{
	for (unsigned i = 0; i < 4; i++) {
		if (!from->key[i])
			continue;
		struct live_block b = live_unpack(from, i);
		struct live_bucket *to = live_bucket(l, b.address);
		unsigned slot = 0;
		while (to->key[slot]) /* there is room: both were empty */
			slot++;
		live_pack(to, slot, &b);
	}
}

/* Moves some buckets; `l->moved` says that they are in the new table already. */
static void move(struct live *l, size_t n)
{
	for (; n && l->moved < l->old.count; n--) {
		size_t i = l->moved++;
		const struct live_bucket *from = &l->old.buckets[i];
		move_bucket(l, from);
		if (!(from->rest[0] & LIVE_SPILLED))
			continue;
		for (size_t to = 2 * i; to <= 2 * i + 1; to++) /* in which of them, nobody knows */
			l->now.buckets[to].rest[0] |= LIVE_SPILLED;
	}
	if (l->moved < l->old.count)
		return;
	drop(&l->old);
	l->room = room_in(&l->now);
}

static void grow(struct live *l)
{
	if (!l->old.buckets) {
		l->old = l->now;
		l->now = make(64 - l->old.shift + 1);
		l->moved = 0;
		l->room = 0;
	}
	move(l, MOVE);
}

/* ---- what others call ---- */

bool live_add_slow(struct live *l, const struct live_block *b)
{
	struct live_block there;
	if (live_find(l, b->address, &there))
		return false;
	if (l->packed >= l->room)
		grow(l);
	l->count++;
	struct live_bucket *at = live_bucket(l, b->address);
	if (!live_fits(b->address)) {
		others_add(&l->others, b);
		return true;
	}
	unsigned slot = 0;
	while (slot < 4 && at->key[slot])
		slot++;
	if (slot < 4 && b->number <= LIVE_NUMBER && b->size <= LIVE_SIZE) {
		live_pack(at, slot, b);
		l->packed++;
		return true;
	}
	others_add(&l->others, b);
	if ((at->rest[0] & LIVE_SPILLED) < LIVE_SPILLED)
		at->rest[0]++;
	return true;
}

bool live_take_slow(struct live *l, uint64_t address, struct live_block *out)
{
	struct live_bucket *at = live_bucket(l, address);
	bool fits = live_fits(address);
	if (fits && !(at->rest[0] & LIVE_SPILLED))
		return false;
	const struct live_block *b = others_find(&l->others, address);
	if (!b)
		return false;
	*out = *b;
	others_remove(&l->others, b);
	l->count--;
	if (fits && (at->rest[0] & LIVE_SPILLED) < LIVE_SPILLED)
		at->rest[0]--;
	return true;
}

bool live_find(const struct live *l, uint64_t address, struct live_block *out)
{
	const struct live_bucket *at = live_bucket(l, address);
	unsigned match = live_fits(address) ? live_match(at, live_key(address)) : 0;
	const struct live_block *b = match ? NULL : others_find(&l->others, address);
	if (match)
		*out = live_unpack(at, (unsigned)__builtin_ctz(match));
	else if (b)
		*out = *b;
	return match || b;
}

static void each_of(const struct live_bucket *from, const struct live_bucket *end,
		    void (*f)(void *arg, const struct live_block *), void *arg)
{
	for (const struct live_bucket *at = from; at < end; at++)
		for (unsigned i = 0; i < 4; i++) {
			struct live_block b = live_unpack(at, i);
			if (at->key[i])
				f(arg, &b);
		}
}

void live_each(const struct live *l, void (*f)(void *arg, const struct live_block *), void *arg)
{
	each_of(l->now.buckets, l->now.buckets + l->now.count, f, arg);
	if (l->old.buckets)
		each_of(l->old.buckets + l->moved, l->old.buckets + l->old.count, f, arg);
	for (size_t i = 0; l->others.slots && i <= l->others.mask; i++)
		if (l->others.slots[i].address)
			f(arg, &l->others.slots[i]);
}

static void copy_one(void *arg, const struct live_block *b)
{
	live_add(arg, b);
}

void live_copy(struct live *to, const struct live *from)
{
	*to = (struct live){.now = make(64 - from->now.shift)};
	to->room = room_in(&to->now);
	live_each(from, copy_one, to);
}
