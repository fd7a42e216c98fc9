/* SPDX-License-Identifier: MIT
 * The table of live blocks against a plain array: random changes, every answer compared, also while
 * it grows.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ms-record/heap/live.c" /* it belongs to a tool, of which there is no library */

#include "tests/unit/held.h"

#define ADDRESSES 200000u /* of which up to half are live: several tables long */

static uint64_t seed = 1;
static uint64_t numbers[ADDRESSES]; /* by address: number + 1, 0 = not live */
static unsigned failures;

static uint64_t random_number(void)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return seed >> 33;
}

/* Crowded on purpose: neighbours in memory are neighbours in clusters or far apart. */
static uint64_t address_of(size_t i)
{
	uint64_t user = i % 23 ? 0 : UINT64_C(1) << 63, far = i % 29 ? 0 : UINT64_C(1) << 50;
	return (UINT64_C(0x7f0000000000) + i * 16) | user | far;
}

static void check(bool good, const char *what, size_t i)
{
	if (!good && failures++ < 10)
		printf("address %zu: %s\n", i, what);
}

/* Every so often a size or a number that does not fit the packed form. */
static struct live_block block(size_t i, uint64_t number)
{
	uint64_t size = i % 17 ? i : i << 30;
	return (struct live_block){address_of(i), i % 19 ? number : number | UINT64_C(1) << 56,
				   size};
}

static bool same(const struct live_block *a, const struct live_block *b)
{
	return a->address == b->address && a->number == b->number && a->size == b->size;
}

static void add(struct live_table *l, size_t i, uint64_t number)
{
	struct live_block b = block(i, number), there;
	bool added = live_add(l, &b);
	check(added == !numbers[i], "added or not", i);
	if (!added) {
		struct live_block was = block(i, numbers[i] - 1);
		check(live_take(l, b.address, &there) && same(&there, &was), "another was there",
		      i);
		check(live_add(l, &b), "added after all", i);
	}
	numbers[i] = number + 1;
}

static void lose(struct live_table *l, size_t i)
{
	struct live_block b, want = block(i, numbers[i] - 1);
	bool there = live_take(l, address_of(i), &b);
	check(there == (numbers[i] != 0), "there or not", i);
	if (there)
		check(same(&b, &want), "another block was taken", i);
	numbers[i] = 0;
}

struct sums {
	size_t blocks;
	uint64_t numbers;
};

static void sum(void *arg, const struct live_block *b)
{
	struct sums *s = arg;
	s->blocks++;
	s->numbers += b->number;
}

static unsigned in_bucket(const struct live_bucket *b)
{
	return (unsigned)__builtin_popcount(b->state & ((1u << LIVE_SLOTS) - 1));
}

static void compare(const struct live_table *l)
{
	struct sums have = {0}, want = {0};
	for (size_t i = 0; i < ADDRESSES; i++) {
		struct live_block b, is = block(i, numbers[i] - 1);
		bool found = live_find(l, address_of(i), &b);
		check(found == (numbers[i] != 0), "found or not", i);
		if (found)
			check(same(&b, &is), "another block was found", i);
		if (numbers[i])
			sum(&want, &is);
	}
	uint64_t spilled = 0, others = 0, packed = 0;
	for (size_t i = 0; i < l->now.count; i++) {
		spilled += l->now.buckets[i].state / LIVE_SPILLED;
		packed += in_bucket(&l->now.buckets[i]);
	}
	for (size_t i = l->moved; l->old.buckets && i < l->old.count; i++)
		packed += in_bucket(&l->old.buckets[i]);
	check(packed == l->packed, "packed", packed);
	for (size_t i = 0; l->overflow.slots && i <= l->overflow.mask; i++)
		others += l->overflow.slots[i].address && live_fits(l->overflow.slots[i].address);
	check(l->old.buckets || spilled == others, "spilled", spilled);
	live_each(l, sum, &have);
	check(want.blocks == l->count, "count", want.blocks);
	check(have.blocks == want.blocks && have.numbers == want.numbers, "each", have.blocks);
}

/* Blocks at equal distances, so many as fill a table, fill its buckets as others do. */
static void check_strides(void)
{
	static uint8_t blocks[1024];
	const struct live_buckets t = {.count = 1024, .scale = 4, .shift = FIRST_SHIFT};
	for (uint64_t stride = 16; stride <= 4096 * 16; stride += 16) {
		size_t seventh = 0;
		memset(blocks, 0, sizeof blocks);
		for (uint64_t i = 0; i < t.count * 4; i++) {
			uint64_t hash = live_hash(UINT64_C(0x7f1234560010) + i * stride);
			seventh += ++blocks[hash * t.scale >> t.shift] > LIVE_SLOTS;
		}
		check(seventh * 10 < t.count * 4, "does not fit at this distance", stride);
	}
}

/* Blocks of one bucket whose high halves may be the same. */
static void check_neighbours(void)
{
	struct live_table l;
	struct live_block b;
	live_init(&l);
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t hash = i << 32 | 4;
		b = (struct live_block){address_of_hash(hash), i, 2};
		check(live_add(&l, &b), "first added", i);
		b = (struct live_block){address_of_hash(hash + 1), i + 1000, 3};
		check(live_add(&l, &b), "second added", i);
		check(live_find(&l, b.address, &b) && b.number == i + 1000, "second found", i);
		check(live_take(&l, address_of_hash(hash), &b) && b.size == 2, "first taken", i);
		check(!live_take(&l, address_of_hash(hash), &b), "first taken again", i);
		check(live_take(&l, address_of_hash(hash + 1), &b) && b.size == 3, "second taken",
		      i);
	}
	live_free(&l);
}

/* Blocks that cannot be packed: their table doubles when one more than three quarters are there. */
static void check_overflow(void)
{
	struct live_table l;
	live_init(&l);
	for (size_t i = 1; i <= 190; i++) {
		live_add(&l, &(struct live_block){.address = UINT64_C(1) << 50 | i << 4});
		check(l.overflow.mask == (i > 94 ? 255 : i > 46 ? 127 : 63), "room for others", i);
	}
	live_free(&l);
}

/* Checks many blocks: a table of 131,072 buckets grows, and gives back what was moved meanwhile. */
static void check_many(void)
{
	const uint64_t n = 700000;
	struct live_table l;
	struct live_block b;
	live_init(&l);
	for (uint64_t i = 1; i <= n; i++)
		live_add(&l, &(struct live_block){i * 48, i, i & 255});
	for (uint64_t i = 1; i <= n; i++)
		check(live_take(&l, i * 48, &b) && b.number == i && b.size == (i & 255), "of many",
		      i);
	check(l.count == 0, "all are taken", l.count);
	live_free(&l);
}

int main(void)
{
	struct live_table l;
	check_many();
	check_strides();
	check_neighbours();
	check_overflow();
	unsigned growing = 0, spilled = 0, scaled = 0;
	live_init(&l);
	for (uint64_t step = 0; step < 1000000; step++) {
		size_t i = random_number() % ADDRESSES;
		if (random_number() % 100 < (step < 400000 ? 70 : 45))
			add(&l, i, step);
		else
			lose(&l, i);
		growing += l.old.buckets != NULL;
		scaled += l.now.scale == 6 && !l.old.buckets;
		spilled += l.overflow.count != 0;
		if (step % 100003 == 0 || (l.old.buckets && l.moved % 1021 < 4))
			compare(&l);
	}
	check(growing > 1000, "was it never growing?", growing);
	check(scaled > 1000, "was it never half larger?", scaled);
	check(spilled > 1000, "did all fit?", spilled);
	struct live_table copy;
	live_copy(&copy, &l);
	compare(&copy);
	live_free(&l);
	live_free(&copy);
	check(held_blocks == 0, "all is given back", 0);
	check(held_bytes == 0, "all is unmapped", 0);
	return failures != 0;
}
