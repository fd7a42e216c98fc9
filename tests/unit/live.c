/* SPDX-License-Identifier: MIT
 * The table of live blocks against a plain array: random changes, every answer compared, also while
 * it grows.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ms-record/live.c" /* it belongs to a tool, of which there is no library */

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
	return UINT64_C(0x7f0000000000) + i * 16;
}

static void check(bool good, const char *what, size_t i)
{
	if (!good && failures++ < 10)
		printf("address %zu: %s\n", i, what);
}

static void add(struct live *l, size_t i, uint64_t number)
{
	bool made;
	struct live_block *b = live_make(l, address_of(i), &made);
	check(made == !numbers[i], "made or not", i);
	if (!made)
		check(b->number == numbers[i] - 1, "another block was there", i);
	b->number = number;
	b->size = i;
	numbers[i] = number + 1;
}

static void lose(struct live *l, size_t i)
{
	struct live_block b;
	bool there = live_take(l, address_of(i), &b);
	check(there == (numbers[i] != 0), "there or not", i);
	if (there)
		check(b.number == numbers[i] - 1 && b.size == i && b.address == address_of(i),
		      "another block was taken", i);
	numbers[i] = 0;
}

static void compare(const struct live *l)
{
	size_t n = 0;
	for (size_t i = 0; i < ADDRESSES; i++) {
		const struct live_block *b = live_find(l, address_of(i));
		check((b != NULL) == (numbers[i] != 0), "found or not", i);
		if (b)
			check(b->number == numbers[i] - 1, "another block was found", i);
		n += b != NULL;
	}
	check(n == l->count, "count", n);
}

int main(void)
{
	struct live l;
	unsigned growing = 0;
	live_init(&l);
	for (uint64_t step = 0; step < 1000000; step++) {
		size_t i = random_number() % ADDRESSES;
		if (random_number() % 100 < (step < 400000 ? 70 : 45))
			add(&l, i, step);
		else
			lose(&l, i);
		growing += l.old.slots != NULL;
		if (step % 100003 == 0 || (l.old.slots && l.left % 4099 < 16))
			compare(&l);
	}
	check(growing > 1000, "was it never growing?", growing);
	struct live copy;
	live_copy(&copy, &l);
	compare(&copy);
	live_settle(&l);
	check(!l.old.slots, "not settled", 0);
	compare(&l);
	live_free(&l);
	live_free(&copy);
	return failures != 0;
}
