/* SPDX-License-Identifier: MIT
 * What the writer keeps of live blocks against a plain array: random allocations and frees, old and
 * young, with gaps in everything that is kept as a difference.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "ms-record/write/packed.c" /* they belong to a tool, of which there is no library */
#include "ms-record/write/checkpoint.c"

#define NUMBERS 400000u

static struct ms_event made[NUMBERS]; /* by number */
static bool is_live[NUMBERS];
static uint64_t seed = 1;
static unsigned failures;

static uint64_t random_number(void)
{
	seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
	return seed >> 33;
}

static void check(bool good, const char *what, uint64_t i)
{
	if (!good && failures++ < 10)
		printf("number %llu: %s\n", (unsigned long long)i, what);
}

/* Small as a rule, of any length at times. */
static uint64_t any(unsigned bits)
{
	uint64_t v = random_number() << 31 ^ random_number();
	unsigned most = random_number() % 4 ? 7 : (unsigned)(random_number() % bits) + 1;
	return v & (UINT64_MAX >> (64 - most));
}

static void allocate(struct live_list *l, uint64_t number)
{
	struct ms_event *e = &made[number];
	uint64_t before = number ? made[number - 1].time_ticks : 0;
	*e = (struct ms_event){.kind = MS_EV_ALLOC,
			       .number = number,
			       .size = any(62),
			       .address = any(63),
			       .time_ticks = before + any(16),
			       .stack = (uint32_t)any(32),
			       .thread = (uint32_t)any(22),
			       .slack = (uint32_t)any(32)};
	is_live[number] = true;
	live_list_event(l, e);
}

static void release_one(struct live_list *l, uint64_t number)
{
	struct ms_event e = {.kind = MS_EV_FREE, .freed = number};
	is_live[number] = false;
	live_list_event(l, &e);
}

static void compare(struct live_list *l)
{
	uint64_t blocks = 0, bytes = 0, i = 0;
	retire_all(l);
	for (struct packed_cursor c = packed_begin(&l->old); packed_next(&c); i++) {
		const struct ms_checkpoint_block *b = &c.block;
		while (i < l->next_number && !is_live[i])
			i++;
		check(b->number == i, "another block is there", i);
		if (b->number != i)
			return;
		const struct ms_event *e = &made[i];
		check(b->size == e->size && b->tick == e->time_ticks && b->stack == e->stack &&
			      b->thread == e->thread && b->slack == e->slack &&
			      b->address == (l->addresses ? e->address : 0),
		      "is not what it was", i);
		blocks++;
		bytes += b->size;
	}
	while (i < l->next_number && !is_live[i])
		i++;
	check(i == l->next_number, "is missing", i);
	check(blocks == l->blocks && blocks == l->old.blocks, "blocks", blocks);
	check(bytes == l->old.bytes, "bytes", bytes);
}

/* Most are freed young; of the old ones many in a row. */
static void run(bool addresses, unsigned share)
{
	struct live_list *l = live_list_new(addresses);
	for (uint64_t number = 0; number < NUMBERS; number++) {
		allocate(l, number);
		uint64_t young = random_number() % 1000, i = random_number() % (number + 1);
		if (young <= number && random_number() % 100 < share && is_live[number - young])
			release_one(l, number - young);
		for (uint64_t row = random_number() % 8; row && i < number; row--, i++)
			if (is_live[i] && random_number() % 100 < share)
				release_one(l, i);
		if (number % 50021 == 0)
			compare(l);
	}
	check(l->old.blocks > 1000, "were few old?", l->old.blocks);
	compare(l);
	for (uint64_t i = 0; i < NUMBERS; i++)
		if (is_live[i])
			release_one(l, i);
	compare(l);
	check(!l->blocks && !l->old.first, "something stayed", l->blocks);
	live_list_free(l);
}

/* Frees of what is not live are no loss to the count. */
static void run_unknown(void)
{
	struct live_list *l = live_list_new(false);
	for (uint64_t number = 0; number < 100000; number++)
		allocate(l, number);
	compare(l);
	release_one(l, 7);
	release_one(l, 7);
	compare(l);
	live_list_free(l);
}

int main(void)
{
	run(true, 30);
	run(false, 90);
	run_unknown();
	return failures != 0;
}
