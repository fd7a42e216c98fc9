/* SPDX-License-Identifier: MIT
 * Cohorts against a naive model that keeps every block: allocated and live bytes of each part at each
 * end, by time and by mark, with few parts and with so many that neighbours are merged.
 */
#include "libcommon/replay/replay_cohorts.h"

#include "tests/unit/equal.h"

#include <stdlib.h>
#include <string.h>

#define BLOCKS 20000u
#define MARKS 300u

static struct {
	uint64_t size, born, died; /* numbers of events; UINT64_MAX = live */
	uint64_t tick, end_tick;
} blocks[BLOCKS];
static uint64_t live[BLOCKS], seed, events, marks[MARKS];
static size_t n, live_count, mark_count;

static uint64_t draw(uint64_t below)
{
	seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (seed >> 33) % below;
}

static void one(struct ms_replay *r, uint64_t tick)
{
	struct ms_event ev = {.time_ticks = tick, .kind = MS_EV_FREE};
	if (live_count && draw(5) < 2) {
		size_t i = draw(3) ? live_count - 1 : draw(live_count);
		ev.freed = live[i];
		blocks[ev.freed].died = events;
		blocks[ev.freed].end_tick = tick;
		live[i] = live[--live_count];
	} else {
		ev = (struct ms_event){.time_ticks = tick, .kind = MS_EV_ALLOC};
		ev.number = live[live_count++] = n;
		ev.size = blocks[n].size = draw(1000);
		blocks[n].born = events;
		blocks[n].tick = tick;
		blocks[n].died = blocks[n].end_tick = UINT64_MAX;
		n++;
	}
	events++;
	ms_replay_events(r, &ev, 1);
}

/* Compares a cohort of the blocks that were allocated in [from, to) at the end `at`. */
static void compare(const struct ms_cohorts *c, size_t part, size_t end, bool time, uint64_t from,
		    uint64_t to, uint64_t at)
{
	struct ms_cohort_sum all = {0}, left = {0};
	for (size_t i = 0; i < n; i++) {
		uint64_t born = time ? blocks[i].tick : blocks[i].born,
			 died = time ? blocks[i].end_tick : blocks[i].died;
		if (born < from || born >= to)
			continue;
		all.bytes += blocks[i].size;
		all.blocks++;
		left.bytes += died >= at ? blocks[i].size : 0;
		left.blocks += died >= at;
	}
	EQUAL(c->parts[part].allocated.bytes, all.bytes, "part %zu", part);
	EQUAL(c->parts[part].allocated.blocks, all.blocks, "part %zu", part);
	EQUAL(ms_cohort_live(c, part, end)->bytes, left.bytes, "part %zu at %zu", part, end);
	EQUAL(ms_cohort_live(c, part, end)->blocks, left.blocks, "part %zu at %zu", part, end);
}

static void compare_all(const struct ms_replay *r, bool time)
{
	const struct ms_cohorts *c =
		&r->cohorts->of[time ? MS_COHORTS_BY_TIME : MS_COHORTS_BY_MARK];
	uint64_t begins[MS_COHORT_PARTS + 2];
	for (size_t i = 1; i <= c->current; i++)
		begins[i] = time             ? c->parts[i].tick
			    : c->parts[i].at ? marks[c->parts[i].at - 1]
					     : 0;
	begins[c->current + 1] = UINT64_MAX;
	for (size_t i = 1; i <= c->current; i++)
		for (size_t end = i; end <= c->current; end++)
			compare(c, i, end, time, begins[i], begins[i + 1], begins[end + 1]);
}

/* Replays `count` events, `step` ticks apart on average, with `wanted` marks. */
static void scene(size_t count, uint64_t step, size_t wanted, uint64_t tick_ns)
{
	struct ms_replay r;
	uint64_t tick = 0;
	n = live_count = mark_count = 0;
	events = 0;
	seed = count;
	ms_replay_init(&r);
	ms_replay_tick(&r, tick_ns);
	for (size_t i = 0; i < count; i++) {
		if (mark_count < wanted && i == (mark_count + 1) * count / (wanted + 1)) {
			marks[mark_count++] = i;
			ms_cohorts_mark(&r, i, tick);
		}
		tick += draw(2 * step);
		if (i == count / 2)
			tick += count * step / 3; /* several parts without events */
		one(&r, tick);
	}
	ms_replay_finish(&r, tick);
	const struct ms_cohorts *time = &r.cohorts->of[MS_COHORTS_BY_TIME],
				*mark = &r.cohorts->of[MS_COHORTS_BY_MARK];
	EQUAL(time->current <= MS_COHORT_PARTS && time->current >= 9, 1, "%zu parts",
	      time->current);
	EQUAL(mark->current, wanted < MS_COHORT_PARTS ? wanted + 1 : wanted / mark->unit + 1, "-");
	EQUAL(time->parts[2].tick % time->unit, 0, "round");
	compare_all(&r, true);
	compare_all(&r, false);
	ms_replay_free(&r);
}

/* Counts from the middle: what is live then is part 0, and of it and of later blocks all is known. */
static void test_begin(void)
{
	struct ms_replay r;
	n = live_count = events = 0;
	seed = 1;
	ms_replay_init(&r);
	size_t at = ms_replay_moment(&r, MS_NEVER, 1000);
	ms_replay_count_from(&r, at);
	for (uint64_t i = 0; i < 3000; i++)
		one(&r, i * 1000);
	ms_replay_finish(&r, 3000000);
	const struct ms_cohorts *c = &r.cohorts->of[MS_COHORTS_BY_TIME];
	uint64_t before = 0, then = 0;
	for (size_t i = 0; i < n; i++)
		if (blocks[i].born < 1000 && blocks[i].died >= 1000) {
			then += blocks[i].size;
			before += blocks[i].died == UINT64_MAX ? blocks[i].size : 0;
		}
	EQUAL(ms_cohort_live(c, 0, c->current)->bytes, before, "of %llu", (unsigned long long)then);
	uint64_t sum = 0, allocated = 0;
	for (size_t i = 0; i <= c->current; i++) {
		sum += ms_cohort_live(c, i, c->current)->bytes;
		allocated += c->parts[i].allocated.bytes;
	}
	EQUAL(sum, r.live_bytes, "all that is live");
	EQUAL(allocated, r.bytes, "all that was allocated");
	ms_replay_free(&r);
}

/* Restores a checkpoint over lost events: blocks stay in their cohorts, by their numbers. */
static void test_restored(void)
{
	struct ms_replay r;
	n = live_count = events = 0;
	seed = 2;
	ms_replay_init(&r);
	for (uint64_t i = 0; i < 2000; i++)
		one(&r, i * 1000);
	struct ms_checkpoint_head h = {.tick = r.last_tick,
				       .number = r.next_number,
				       .event = r.position,
				       .live_bytes = r.live_bytes,
				       .live_blocks = r.live_blocks};
	EQUAL(ms_replay_restore(&r, &h, false), 1, "-");
	for (size_t i = 0; i < n; i++)
		if (blocks[i].died == UINT64_MAX)
			ms_replay_restore_block(
				&r, &(struct ms_checkpoint_block){.number = i,
								  .size = blocks[i].size,
								  .tick = blocks[i].tick});
	EQUAL(ms_replay_restored(&r, &h, false), 1, "-");
	for (uint64_t i = 2000; i < 3000; i++)
		one(&r, i * 1000);
	ms_replay_finish(&r, 3000000);
	compare_all(&r, true);
	ms_replay_free(&r);
}

int main(void)
{
	scene(200, 1, 3, 1000000);
	scene(5000, 7, 47, 1);
	scene(5000, 100, MARKS, 1);
	scene(20000, 1000000, 100, 1);
	scene(3000, UINT64_C(1) << 40, 48, 1);
	scene(3000, 3, 1, 7);
	test_begin();
	test_restored();
	return failures != 0;
}
