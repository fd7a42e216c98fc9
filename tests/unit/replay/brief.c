/* SPDX-License-Identifier: MIT
 * A brief replay has the same figures as a full one of the same events, as far as it keeps them.
 */
#include "libcommon/replay/replay.h"
#include "libcommon/replay/replay_cells.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS = 60000, LIVE = 400, NODES = 50, THREADS = 4 };

static uint64_t state = 1;
static uint64_t draw(uint64_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (state >> 33) % n;
}

/* Holds the live blocks, from which events and checkpoints are made. */
static struct ms_checkpoint_block live[LIVE];
static size_t live_count;
static uint64_t number, tick;

static struct ms_event next_event(void)
{
	struct ms_event e = {.time_ticks = tick += draw(3), .thread = (uint32_t)draw(THREADS)};
	if (live_count == LIVE || (live_count && draw(2))) {
		size_t i = draw(4) ? live_count - 1 : (size_t)draw(live_count);
		e.kind = draw(50) ? MS_EV_FREE : MS_EV_FREE_INFERRED;
		e.freed = live[i].number;
		memmove(&live[i], &live[i + 1], (--live_count - i) * sizeof *live);
		return e;
	}
	e.kind = draw(40) ? MS_EV_ALLOC : MS_EV_FAILED;
	e.stack = (uint32_t)draw(NODES);
	/* half of the stacks have a thread of their own */
	e.thread = e.stack % 2 ? e.stack % THREADS : e.thread;
	e.size = draw(100) ? draw(5000) : UINT64_C(5) << 32;
	if (e.kind == MS_EV_FAILED)
		return e;
	e.number = number++;
	live[live_count++] = (struct ms_checkpoint_block){.number = e.number,
							  .size = e.size,
							  .tick = e.time_ticks,
							  .stack = e.stack,
							  .thread = e.thread};
	return e;
}

/* Continues with other live blocks, as after damage: some are gone, others are new. */
static void restore(struct ms_replay *r, size_t n)
{
	for (size_t i = 0; i < live_count; i++)
		if (draw(2))
			live[i].thread = (uint32_t)draw(THREADS);
	struct ms_checkpoint_head h = {.event = r[0].position + 10, .tick = tick, .number = number};
	h.live_blocks = live_count;
	for (size_t i = 0; i < live_count; i++)
		h.live_bytes += live[i].size;
	for (size_t k = 0; k < n; k++) {
		assert(ms_replay_restore(&r[k], &h, false));
		for (size_t i = 0; i < live_count; i++)
			assert(ms_replay_restore_block(&r[k], &live[i]));
		assert(ms_replay_restored(&r[k], &h, false));
	}
}

static uint64_t soon_of(const struct ms_replay *r, const struct ms_replay_site *s)
{
	uint64_t soon = 0;
	const struct ms_replay_ages ages = ms_replay_ages_of(r, s);
	for (size_t i = 0; ms_age_allocations[i] < MS_FREED_SOON; i++)
		soon += ages.allocations[i];
	return soon;
}

/* Returns the only thread with a record at the site, UINT32_MAX = several or none. */
static uint32_t thread_of(const struct ms_replay *r, uint32_t site)
{
	uint32_t thread = UINT32_MAX;
	size_t n = 0;
	for (size_t i = 0; i < r->record_count; i++)
		if (r->records[i].site == site) {
			thread = r->records[i].thread;
			n++;
		}
	return n == 1 ? thread : UINT32_MAX;
}

static void compare(const struct ms_replay *full, const struct ms_replay *brief)
{
	assert(full->site_count == brief->site_count && brief->cell_count == 0);
	assert(memcmp(&full->totals, &brief->totals, sizeof full->totals) == 0);
	assert(full->peak_bytes == brief->peak_bytes && full->peak_tick == brief->peak_tick);
	for (uint32_t i = 0; i < full->site_count; i++) {
		const struct ms_replay_site *a = &full->sites[i], *b = &brief->sites[i];
		uint64_t peak[4];
		ms_replay_at_peak(full, &a->live, &peak[0], &peak[1]);
		ms_replay_at_peak(brief, &b->live, &peak[2], &peak[3]);
		assert(peak[0] == peak[2] && peak[1] == peak[3]);
		assert(a->live.bytes == b->live.bytes && a->live.blocks == b->live.blocks);
		assert(a->max_live_bytes == b->max_live_bytes);
		assert(a->max_live_blocks == b->max_live_blocks);
		assert(a->min_size == b->min_size && a->max_size == b->max_size);
		assert(a->first_tick == b->first_tick && a->last_tick == b->last_tick);
		assert(a->allocations == b->allocations && a->bytes == b->bytes);
		assert(a->temporary == b->temporary);
		assert(soon_of(full, a) == b->soon && full->oldest[i] == brief->oldest[i]);
		assert(thread_of(full, i) == ms_replay_thread_of(b));
	}
	for (size_t i = 0; i < MS_SIZE_CLASSES; i++)
		assert(full->sizes[i].allocations == brief->sizes[i].allocations);
}

static void run(bool damaged)
{
	struct ms_replay r[2];
	live_count = 0;
	number = tick = 0;
	for (size_t k = 0; k < 2; k++) {
		ms_replay_init(&r[k]);
		ms_replay_nodes(&r[k], NODES);
	}
	ms_replay_brief(&r[1]);
	assert(r[1].brief);
	for (size_t i = 0; i < EVENTS; i++) {
		struct ms_event e = next_event();
		for (size_t k = 0; k < 2; k++)
			ms_replay_events(&r[k], &e, 1);
		if (damaged && i == EVENTS - 300)
			restore(r, 2);
	}
	for (size_t k = 0; k < 2; k++)
		ms_replay_finish(&r[k], tick);
	compare(&r[0], &r[1]);
	for (size_t k = 0; k < 2; k++)
		ms_replay_free(&r[k]);
}

int main(void)
{
	run(false);
	run(true);
	struct ms_replay r;
	ms_replay_init(&r);
	ms_replay_brief(&r);
	ms_replay_count_from(&r, ms_replay_moment(&r, 5, MS_NEVER));
	assert(!r.brief);
	ms_replay_free(&r);
	return 0;
}
