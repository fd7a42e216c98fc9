/* SPDX-License-Identifier: MIT
 * Blocks by size class and by lifetime against a naive model that keeps every block that ever was.
 */
#include "libcommon/replay/replay_cells.h"

#include "tests/unit/held.h"
#include "tests/unit/equal.h"
#include "tests/unit/stream.h"

#include <stdio.h>

#define SITES 600
#define EVENTS 60000

/* Describes a block: when it came and went, counted in events. */
struct block {
	uint64_t size, tick, born, died, lived, between;
	uint32_t site;
	bool temporary, freed; /* died of a free, not of an inferred one */
};

static struct block blocks[EVENTS];
static uint64_t block_count;
static struct ms_replay_size want[SITES][MS_SIZE_CLASSES];
static struct ms_replay_ages ages[SITES];

static void release(const struct ms_event *ev, uint64_t at)
{
	struct block *b = &blocks[ev->freed];
	if (ev->freed >= block_count || b->died != UINT64_MAX)
		return;
	b->died = at;
	b->freed = ev->kind != MS_EV_FREE_INFERRED;
	b->lived = ev->time_ticks - b->tick;
	b->between = block_count - ev->freed - 1;
}

static void note(const struct ms_event *ev, uint64_t at, uint64_t *last)
{
	if (ev->kind == MS_EV_FREE || ev->kind == MS_EV_REALLOC ||
	    ev->kind == MS_EV_FREE_INFERRED) {
		release(ev, at);
		if (blocks[ev->freed].died == at && last[ev->thread] == ev->freed + 1)
			blocks[ev->freed].temporary = blocks[ev->freed].freed;
	}
	if (ev->kind == MS_EV_ALLOC || ev->kind == MS_EV_REALLOC ||
	    ev->kind == MS_EV_REALLOC_UNKNOWN) {
		blocks[block_count] = (struct block){.size = ev->size,
						     .tick = ev->time_ticks,
						     .born = at,
						     .died = UINT64_MAX,
						     .site = ev->stack};
		last[ev->thread] = ++block_count;
	}
}

/* 0, 1 to 10, and so on: where `v` belongs among `low`. */
static unsigned age_class(const uint64_t *low, uint64_t v)
{
	unsigned i = MS_AGES - 1;
	while (v < low[i])
		i--;
	return i;
}

static unsigned bits(uint64_t size)
{
	unsigned n = 0;
	for (; size; size >>= 1)
		n++;
	return n;
}

static void sum_up(uint64_t peak_event, uint64_t tick_ns)
{
	memset(want, 0, sizeof want);
	memset(ages, 0, sizeof ages);
	for (uint64_t i = 0; i < block_count; i++) {
		const struct block *b = &blocks[i];
		struct ms_replay_size *c = &want[b->site][bits(b->size)];
		c->allocations++;
		c->bytes += b->size;
		c->temporary += b->temporary;
		if (b->died == UINT64_MAX) {
			c->live.bytes += b->size;
			c->live.blocks++;
		}
		if (b->born <= peak_event && b->died > peak_event) {
			c->live.at_peak_bytes += b->size;
			c->live.at_peak_blocks++;
		}
		if (b->freed) {
			ages[b->site].time[age_class(ms_age_ns, b->lived * tick_ns)]++;
			ages[b->site].allocations[age_class(ms_age_allocations, b->between)]++;
		}
	}
}

struct at {
	const struct ms_replay *r;
	uint32_t node;
	unsigned classes;
};

static void compare_class(void *arg, unsigned class, const struct ms_replay_size *c)
{
	struct at *at = arg;
	const struct ms_replay_size *w = &want[at->node][class];
	uint64_t bytes, n;
	ms_replay_at_peak(at->r, &c->live, &bytes, &n);
	EQUAL(c->allocations, w->allocations, "site %u class %u", at->node, class);
	EQUAL(c->bytes, w->bytes, "site %u class %u", at->node, class);
	EQUAL(c->temporary, w->temporary, "site %u class %u", at->node, class);
	EQUAL(c->live.bytes, w->live.bytes, "site %u class %u", at->node, class);
	EQUAL(c->live.blocks, w->live.blocks, "site %u class %u", at->node, class);
	EQUAL(bytes, w->live.at_peak_bytes, "site %u class %u", at->node, class);
	EQUAL(n, w->live.at_peak_blocks, "site %u class %u", at->node, class);
	at->classes++;
}

static void compare(const struct ms_replay *r)
{
	for (size_t i = 0; i < r->site_count; i++) {
		const struct ms_replay_site *s = &r->sites[i];
		struct at at = {r, s->node, 0};
		unsigned classes = 0;
		ms_replay_each_class(r, i, compare_class, &at);
		for (unsigned k = 0; k < MS_SIZE_CLASSES; k++)
			classes += want[s->node][k].allocations != 0;
		EQUAL(at.classes, classes, "site %u", s->node);
		const struct ms_replay_ages a = ms_replay_ages_of(r, s);
		for (unsigned k = 0; k < MS_AGES; k++) {
			EQUAL(a.time[k], ages[s->node].time[k], "site %u age %u", s->node, k);
			EQUAL(a.allocations[k], ages[s->node].allocations[k], "site %u age %u",
			      s->node, k);
		}
	}
	for (unsigned k = 0; k < MS_SIZE_CLASSES; k++) {
		uint64_t allocations = 0, at_peak = 0, bytes, n;
		for (size_t i = 0; i < SITES; i++) {
			allocations += want[i][k].allocations;
			at_peak += want[i][k].live.at_peak_blocks;
		}
		ms_replay_at_peak(r, &r->sizes[k].live, &bytes, &n);
		EQUAL(r->sizes[k].allocations, allocations, "class %u", k);
		EQUAL(n, at_peak, "class %u at the peak", k);
	}
}

/* Time goes by in steps of all lengths, so that every class of lifetime is met. */
static void test(uint64_t seed, uint64_t tick_ns)
{
	struct stream st = {.seed = seed, .threads = 3};
	struct ms_replay r;
	uint64_t last[64] = {0}, peak = 0, peak_event = 0, time = 0;
	ms_replay_init(&r);
	ms_replay_tick(&r, tick_ns);
	ms_replay_nodes(&r, SITES);
	block_count = 0;
	for (uint64_t i = 0; i < EVENTS; i++) {
		struct ms_event ev;
		stream_next(&st, &ev);
		ev.stack %= SITES;
		if (stream_random(&st) % 16 == 0)
			ev.size = stream_extreme(&st) >> 20; /* many classes in one site */
		if (stream_random(&st) % 8 == 0)
			time += (stream_extreme(&st) >> 23) / tick_ns;
		ev.time_ticks = time;
		note(&ev, i, last);
		ms_replay_events(&r, &ev, 1);
		if (r.peak_bytes > peak) {
			peak = r.peak_bytes;
			peak_event = i;
		}
	}
	ms_replay_finish(&r, time);
	sum_up(peak_event, tick_ns);
	compare(&r);
	ms_replay_free(&r);
	stream_end(&st);
}

int main(void)
{
	for (uint64_t seed = 1; seed <= 6; seed++)
		test(seed, seed % 2 ? 1 : 100000);
	EQUAL(held_blocks, 0, "all is given back");
	EQUAL(held_bytes, 0, "all is given back");
	printf("%d failures\n", failures);
	return failures != 0;
}
