/* SPDX-License-Identifier: MIT
 * The table of live blocks against a plain array: random changes, numbers that jump, every answer
 * compared; and what its header promises of its groups and of the room that they take.
 */
#include "libcommon/replay/blocks.c" /* what is promised cannot be seen from outside */

#include "tests/unit/held.h"
#include "tests/unit/equal.h"
#include "tests/unit/stream.h"

#define STEPS 150000u

static struct naive {
	uint64_t number, size, tick;
	uint32_t owner;
	bool live;
} naive[STEPS]; /* in order of number */
static size_t made;
static struct ms_blocks b;

static void add(struct stream *s, uint64_t number)
{
	bool wide = stream_random(s) % 20 == 0, late = stream_random(s) % 20 == 0;
	struct naive *n = &naive[made++];
	*n = (struct naive){.number = number,
			    .size = stream_random(s) >> (wide ? 20 : 40),
			    .tick = stream_random(s) >> (late ? 20 : 40),
			    .owner = (uint32_t)made,
			    .live = true};
	ms_blocks_add(&b, number, n->size, n->tick, n->owner);
}

static void take(struct naive *n, uint64_t number)
{
	struct ms_live_block got = {0};
	bool live = n && n->live;
	ms_blocks_expect(&b, number);
	const struct ms_block_slot *found = ms_blocks_find(&b, number);
	EQUAL(found != NULL, live, "block %llu is found", (unsigned long long)number);
	EQUAL(!live || found->owner == MS_BLOCK_WIDE || found->owner == n->owner, true,
	      "block %llu is found", (unsigned long long)number);
	EQUAL(ms_blocks_take(&b, number, &got), live, "block %llu", (unsigned long long)number);
	if (!live)
		return;
	n->live = false;
	EQUAL(got.size, n->size, "block %llu", (unsigned long long)number);
	EQUAL(got.tick, n->tick, "block %llu", (unsigned long long)number);
	EQUAL(got.owner, n->owner, "block %llu", (unsigned long long)number);
}

/* ---- what is promised ---- */

static void check_group(const struct ms_block_group *g, size_t at)
{
	unsigned had = (unsigned)__builtin_popcountll(g->had);
	size_t i = ms_blocks_home(&b, g->key);
	while (i != at && b.old[i].live)
		i = (i + 1) & b.old_mask;
	EQUAL(i, at, "it is found from its home");
	EQUAL(!(g->live & ~g->had), true, "it has live ones, of those it had");
	EQUAL(ms_blocks_ones(g->had), had, "slots");
	EQUAL((unsigned)__builtin_popcountll(g->live) * 4 > had, true,
	      "no more than four slots a block");
	EQUAL(g->key * 64 < b.base, true, "it is not in the window");
	EQUAL(room_slots[room_by_slots[had]] >= had, true, "room");
}

static void check_promises(void)
{
	size_t groups = 0, wide = 0, unused = 0;
	for (size_t i = 0; i <= b.old_mask; i++)
		if (b.old[i].live) {
			check_group(&b.old[i], i);
			groups++;
		}
	for (size_t i = 0; i < made; i++)
		wide += naive[i].live && (naive[i].size | naive[i].tick) > UINT32_MAX;
	for (uint32_t i = b.free_wide; i; i = b.wide.v[i - 1].owner)
		unused++;
	EQUAL(b.old_count, groups, "groups");
	EQUAL(b.old_count * 3 <= (b.old_mask + 1) * 2, true, "a third of the places is free");
	EQUAL((uintptr_t)b.old % MS_BLOCK_LINE, 0, "no place is in two lines of the cache");
	EQUAL(b.base % 64, 0, "the window begins with a group");
	EQUAL(b.wide.n, wide + unused, "wide blocks, and free ones");
}

static uint64_t seen;

static void look(void *arg, uint64_t number, const struct ms_live_block *l)
{
	size_t low = 0, high = made;
	(void)arg;
	while (high - low > 1) {
		size_t m = (low + high) / 2;
		*(naive[m].number <= number ? &low : &high) = m;
	}
	const struct naive *n = &naive[low];
	EQUAL(n->number, number, "it was made");
	EQUAL(n->live && n->size == l->size && n->tick == l->tick && n->owner == l->owner, true,
	      "block %llu", (unsigned long long)number);
	seen++;
}

static void compare(void)
{
	uint64_t live = 0;
	seen = 0;
	ms_blocks_each(&b, look, NULL);
	for (size_t i = 0; i < made; i++)
		live += naive[i].live;
	EQUAL(seen, live, "blocks");
	check_promises();
}

/* Numbers go up by 1, or leave groups, windows or more of them out; `young`: of 8 that go, those
 * that came lately. */
static void random_changes(uint64_t seed, uint64_t jumps, uint64_t young)
{
	struct stream s = {.seed = seed};
	uint64_t number = stream_random(&s) % 1000;
	made = 0;
	ms_blocks_init(&b);
	for (unsigned step = 0; step < STEPS; step++) {
		uint64_t r = stream_random(&s);
		bool recent = stream_random(&s) % 8 < young && made > 50;
		if (r % 100 < 52 || !made) {
			add(&s, number);
			number +=
				stream_random(&s) % jumps
					? 1
					: 1 + (stream_random(&s) >> (40 + stream_random(&s) % 24));
		} else if (r % 100 < 98) {
			size_t i = recent ? made - 1 - (r >> 8) % 50 : (r >> 8) % made;
			take(&naive[i], naive[i].number);
		} else if (r % 100 == 98) {
			take(NULL, number + (r >> 8) % (3 * MS_BLOCKS_WINDOW));
		}
		if (step % 14983 == 0)
			compare();
	}
	compare();
	for (size_t i = 0; i < made; i++)
		if (i % 7)
			take(&naive[i], naive[i].number);
	compare();
	for (size_t i = made; i-- > 0;)
		take(&naive[i], naive[i].number);
	compare();
	EQUAL(b.old_count, 0, "no group is left");
	add(&s, number);
	ms_blocks_clear(&b);
	made = 0;
	compare();
	ms_blocks_free(&b);
}

int main(void)
{
	random_changes(1, UINT64_MAX, 6);
	random_changes(2, 100, 0);
	random_changes(3, 3000, 4);
	random_changes(4, 20, 7);
	EQUAL(held_blocks, 0, "all is given back");
	EQUAL(held_bytes, 0, "all is given back");
	printf("%d failures\n", failures);
	return failures != 0;
}
