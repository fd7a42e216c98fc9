/* SPDX-License-Identifier: MIT
 * The live-heap model against a naive one: random streams of events, every figure compared.
 *
 * The naive model keeps every block in an array by allocation number and looks at all of them
 * whenever it needs a figure.
 */
#include "libcommon/replay/replay.h"
#include "libcommon/replay/replay_prefetch.h"
#include "libcommon/replay/replay_sampled.h"

#include "tests/unit/held.h"
#include "tests/unit/equal.h"
#include "tests/unit/stream.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SITES 600
#define THREADS 64

struct naive_block {
	uint64_t size, tick;
	uint32_t stack, thread;
	bool live;
};

struct naive_site {
	uint64_t allocations, bytes, frees, temporary, live_bytes, live_blocks, peak_bytes,
		peak_blocks, max_bytes, max_blocks;
	uint64_t failed, reallocations, lifetime, between;
};

struct naive {
	struct naive_block *blocks;
	uint64_t n, allocations, frees, reallocations, failed, bytes, temporary, unknown, inferred,
		live_bytes, live_blocks;
	uint64_t peak_bytes, peak_blocks, peak_tick;
	uint64_t last[THREADS];
	struct naive_site sites[SITES];
	uint64_t site_thread[SITES][THREADS], thread_bytes[THREADS], thread_frees[THREADS];
};

static void naive_free(struct naive *m, const struct ms_event *ev)
{
	struct naive_block *b = &m->blocks[ev->freed];
	if (!b->live) {
		m->unknown += ev->kind != MS_EV_FREE_INFERRED;
		return;
	}
	struct naive_site *s = &m->sites[b->stack];
	b->live = false;
	m->live_bytes -= b->size;
	m->live_blocks--;
	s->live_bytes -= b->size;
	s->live_blocks--;
	if (ev->kind == MS_EV_FREE_INFERRED) {
		m->inferred++;
		return;
	}
	m->frees++;
	s->frees++;
	s->lifetime += ev->time_ticks - b->tick;
	s->between += m->n - ev->freed - 1;
	m->thread_frees[ev->thread]++;
	if (m->last[ev->thread] == ev->freed + 1) {
		m->temporary++;
		s->temporary++;
	}
}

static void naive_allocate(struct naive *m, const struct ms_event *ev)
{
	struct naive_site *s = &m->sites[ev->stack];
	m->blocks[m->n++] =
		(struct naive_block){ev->size, ev->time_ticks, ev->stack, ev->thread, true};
	m->last[ev->thread] = m->n;
	m->allocations++;
	m->bytes += ev->size;
	m->live_bytes += ev->size;
	m->live_blocks++;
	s->allocations++;
	s->bytes += ev->size;
	s->live_bytes += ev->size;
	s->live_blocks++;
	s->max_bytes = s->live_bytes > s->max_bytes ? s->live_bytes : s->max_bytes;
	s->max_blocks = s->live_blocks > s->max_blocks ? s->live_blocks : s->max_blocks;
	m->site_thread[ev->stack][ev->thread]++;
	m->thread_bytes[ev->thread] += ev->size;
	if (ev->kind != MS_EV_ALLOC) {
		m->reallocations++;
		s->reallocations++;
	}
}

static void naive_event(struct naive *m, const struct ms_event *ev)
{
	if (ev->kind == MS_EV_FREE || ev->kind == MS_EV_REALLOC || ev->kind == MS_EV_FREE_INFERRED)
		naive_free(m, ev);
	if (ev->kind == MS_EV_FREE_UNKNOWN || ev->kind == MS_EV_REALLOC_UNKNOWN)
		m->unknown++;
	if (ev->kind == MS_EV_ALLOC || ev->kind == MS_EV_REALLOC ||
	    ev->kind == MS_EV_REALLOC_UNKNOWN)
		naive_allocate(m, ev);
	if (ev->kind == MS_EV_FAILED) {
		m->failed++;
		m->sites[ev->stack].failed++;
	}
	if (m->live_bytes <= m->peak_bytes)
		return;
	m->peak_bytes = m->live_bytes;
	m->peak_blocks = m->live_blocks;
	m->peak_tick = ev->time_ticks;
	for (size_t i = 0; i < SITES; i++) {
		m->sites[i].peak_bytes = m->sites[i].live_bytes;
		m->sites[i].peak_blocks = m->sites[i].live_blocks;
	}
}

/* The naive model's whole state at a moment, to compare a kept moment with. */
struct state {
	uint64_t bytes, blocks, site_bytes[SITES], site_blocks[SITES];
};

static void remember(struct state *s, const struct naive *m)
{
	s->bytes = m->live_bytes;
	s->blocks = m->live_blocks;
	for (size_t i = 0; i < SITES; i++) {
		s->site_bytes[i] = m->sites[i].live_bytes;
		s->site_blocks[i] = m->sites[i].live_blocks;
	}
}

static void compare_moment(const struct ms_replay *r, size_t i, const struct state *want,
			   const char *what)
{
	const struct ms_replay_moment *got = &r->moments[i];
	size_t sites = 0;
	EQUAL(got->taken, 1, "%s", what);
	EQUAL(got->live_bytes, want->bytes, "%s", what);
	EQUAL(got->live_blocks, want->blocks, "%s", what);
	for (size_t k = 0; k < got->figure_count; k++) {
		uint32_t node = r->sites[got->figures[k].site].node;
		EQUAL(got->figures[k].live_bytes, want->site_bytes[node], "%s site %u", what, node);
		EQUAL(got->figures[k].live_blocks, want->site_blocks[node], "%s site %u", what,
		      node);
	}
	for (size_t k = 0; k < SITES; k++)
		sites += want->site_blocks[k] != 0;
	EQUAL(got->figure_count, sites, "%s", what);
}

static void compare_sites(const struct ms_replay *r, const struct naive *m)
{
	for (size_t i = 0; i < r->site_count; i++) {
		const struct ms_replay_site *g = &r->sites[i];
		const struct ms_replay_rare *rare = ms_replay_rare_of(r, g);
		const struct ms_replay_lifetimes *lived = ms_replay_lifetimes_of(r, g);
		const struct naive_site *w = &m->sites[g->node];
		uint64_t bytes, blocks;
		ms_replay_at_peak(r, &g->live, &bytes, &blocks);
		EQUAL(bytes, w->peak_bytes, "site %u", g->node);
		EQUAL(blocks, w->peak_blocks, "site %u", g->node);
		EQUAL(g->live.bytes, w->live_bytes, "site %u", g->node);
		EQUAL(g->live.blocks, w->live_blocks, "site %u", g->node);
		EQUAL(g->max_live_bytes, w->max_bytes, "site %u", g->node);
		EQUAL(g->max_live_blocks, w->max_blocks, "site %u", g->node);
		EQUAL(rare->frees, w->frees, "site %u", g->node);
		EQUAL(g->temporary, w->temporary, "site %u", g->node);
		EQUAL(rare->failed, w->failed, "site %u", g->node);
		EQUAL(rare->reallocations, w->reallocations, "site %u", g->node);
		EQUAL(lived->ticks, w->lifetime, "site %u", g->node);
		EQUAL(lived->allocations, w->between, "site %u", g->node);
	}
}

static void compare_records(const struct ms_replay *r, const struct naive *m, unsigned long long s)
{
	uint64_t record_allocations = 0, record_live = 0, record_bytes = 0;
	for (size_t i = 0; i < r->record_count; i++) {
		const struct ms_replay_site_thread *g = &r->records[i];
		EQUAL(g->allocations, m->site_thread[r->sites[g->site].node][g->thread],
		      "site %u thread %u", g->site, g->thread);
		record_allocations += g->allocations;
		record_live += g->live_bytes;
		record_bytes += g->bytes;
	}
	EQUAL(record_allocations, m->allocations, "seed %llu", s);
	EQUAL(record_live, m->live_bytes, "seed %llu", s);
	EQUAL(record_bytes, m->bytes, "seed %llu", s);
}

static void compare_threads(const struct ms_replay *r, const struct naive *m, unsigned long long s)
{
	uint64_t thread_live = 0, thread_peak = 0;
	for (size_t i = 0; i < r->thread_count && i < THREADS; i++) {
		EQUAL(r->threads[i].bytes, m->thread_bytes[i], "thread %zu", i);
		EQUAL(r->threads[i].frees, m->thread_frees[i], "thread %zu", i);
		uint64_t bytes, blocks;
		thread_live += r->threads[i].live.bytes;
		ms_replay_at_peak(r, &r->threads[i].live, &bytes, &blocks);
		thread_peak += bytes;
	}
	EQUAL(thread_live, m->live_bytes, "seed %llu", s);
	EQUAL(thread_peak, m->peak_bytes, "seed %llu", s);
}

static void compare(const struct ms_replay *r, const struct naive *m, uint64_t seed)
{
	unsigned long long s = seed;
	EQUAL(r->allocations, m->allocations, "seed %llu", s);
	EQUAL(r->frees, m->frees, "seed %llu", s);
	EQUAL(r->reallocations, m->reallocations, "seed %llu", s);
	EQUAL(r->failed, m->failed, "seed %llu", s);
	EQUAL(r->bytes, m->bytes, "seed %llu", s);
	EQUAL(r->temporary, m->temporary, "seed %llu", s);
	EQUAL(r->unknown_frees, m->unknown, "seed %llu", s);
	EQUAL(r->inferred_frees, m->inferred, "seed %llu", s);
	EQUAL(r->live_bytes, m->live_bytes, "seed %llu", s);
	EQUAL(r->live_blocks, m->live_blocks, "seed %llu", s);
	EQUAL(r->peak_bytes, m->peak_bytes, "seed %llu", s);
	EQUAL(r->peak_blocks, m->peak_blocks, "seed %llu", s);
	EQUAL(r->peak_tick, m->peak_tick, "seed %llu", s);
	EQUAL(r->allocations, r->frees + r->inferred_frees + r->live_blocks, "seed %llu: the books",
	      s);
	compare_sites(r, m);
	compare_records(r, m, s);
	compare_threads(r, m, s);
	uint64_t size_peak = 0;
	for (size_t i = 0; i < MS_SIZE_CLASSES; i++) {
		uint64_t bytes, blocks;
		ms_replay_at_peak(r, &r->sizes[i].live, &bytes, &blocks);
		size_peak += bytes;
	}
	EQUAL(size_peak, m->peak_bytes, "seed %llu", s);
}

/* The timeline against the curve that the naive model drew: minimum and maximum over each span. */
static void compare_timeline(const struct ms_replay *r, const uint64_t *tick, const uint64_t *live,
			     size_t n, uint64_t end)
{
	uint64_t allocations = 0, frees = 0, bytes = 0, carried = 0;
	size_t i = 0;
	EQUAL(end / r->span_ticks, r->span, "last span");
	for (size_t s = 0; s <= r->span; s++) {
		uint64_t low = carried, high = carried;
		for (; i < n && tick[i] / r->span_ticks == s; i++) {
			low = live[i] < low ? live[i] : low;
			high = live[i] > high ? live[i] : high;
			carried = live[i];
		}
		EQUAL(r->spans[s].live_min, low, "span %zu of %llu ticks", s,
		      (unsigned long long)r->span_ticks);
		EQUAL(r->spans[s].live_max, high, "span %zu", s);
		EQUAL(r->spans[s].live_last, carried, "span %zu", s);
		allocations += r->spans[s].allocations;
		frees += r->spans[s].frees;
		bytes += r->spans[s].bytes;
	}
	EQUAL(allocations, r->allocations, "timeline");
	EQUAL(frees, r->frees, "timeline");
	EQUAL(bytes, r->bytes, "timeline");
}

static void test_random(uint64_t seed, size_t events)
{
	static struct naive m;
	static struct state at_event, at_tick;
	struct stream st = {.seed = seed, .threads = 1 + seed % 7};
	struct ms_replay r;
	memset(&m, 0, sizeof m);
	m.blocks = calloc(events + 1, sizeof *m.blocks);
	uint64_t *tick = calloc(events, 8), *live = calloc(events, 8);
	ms_replay_init(&r);
	ms_replay_nodes(&r, SITES);
	uint64_t want_event = events / 3, want_tick = events / 64 * 2;
	size_t by_event = ms_replay_moment(&r, MS_NEVER, want_event),
	       by_tick = ms_replay_moment(&r, want_tick, MS_NEVER);
	bool ticked = false;
	for (size_t i = 0; i < events; i++) {
		struct ms_event ev;
		stream_next(&st, &ev);
		ev.stack %= SITES;
		if (ev.kind == MS_EV_FREE && stream_random(&st) % 50 == 0)
			ev.freed =
				stream_random(&st) % m.n; /* perhaps one that was freed long ago */
		if (i == want_event)
			remember(&at_event, &m);
		if (!ticked && ev.time_ticks >= want_tick) {
			remember(&at_tick, &m);
			ticked = true;
		}
		naive_event(&m, &ev);
		ms_replay_events(&r, &ev, 1);
		tick[i] = ev.time_ticks;
		live[i] = m.live_bytes;
	}
	uint64_t end = st.time + 5;
	ms_replay_finish(&r, end);
	compare(&r, &m, seed);
	compare_moment(&r, by_event, &at_event, "by event");
	if (ticked)
		compare_moment(&r, by_tick, &at_tick, "by tick");
	compare_timeline(&r, tick, live, r.events, end);
	ms_replay_free(&r);
	stream_end(&st);
	free(m.blocks);
	free(tick);
	free(live);
}

/* thread 0: a(100) b(50) free b (temporary), free a (not: b came between); thread 1: c(10),
 * freed by thread 0 (not temporary); d(8) grown to e(200) by realloc (d temporary), a
 * failed one, an unknown free, a block of 0 bytes */
static const struct ms_event ruled[] = {
	{.kind = MS_EV_ALLOC, .number = 0, .size = 100, .stack = 1, .time_ticks = 1},
	{.kind = MS_EV_ALLOC, .number = 1, .size = 50, .stack = 2, .time_ticks = 2},
	{.kind = MS_EV_FREE, .freed = 1, .time_ticks = 3},
	{.kind = MS_EV_FREE, .freed = 0, .time_ticks = 4},
	{.kind = MS_EV_ALLOC, .number = 2, .size = 10, .stack = 1, .thread = 1, .time_ticks = 5},
	{.kind = MS_EV_FREE, .freed = 2, .time_ticks = 6},
	{.kind = MS_EV_ALLOC, .number = 3, .size = 8, .stack = 3, .time_ticks = 7},
	{.kind = MS_EV_REALLOC, .freed = 3, .number = 4, .size = 200, .stack = 3, .time_ticks = 8},
	{.kind = MS_EV_FAILED, .size = UINT64_MAX, .stack = 3, .time_ticks = 9},
	{.kind = MS_EV_FREE_UNKNOWN, .address = 7, .time_ticks = 9},
	{.kind = MS_EV_ALLOC, .number = 5, .size = 0, .stack = 2, .time_ticks = 10},
	{.kind = MS_EV_REALLOC_UNKNOWN, .number = 6, .size = 1, .stack = 2, .time_ticks = 10},
	{.kind = MS_EV_FREE_INFERRED, .freed = 6, .time_ticks = 11},
};

/* Moments in the first tick of all. */
static void test_first_tick(void)
{
	struct ms_replay r;
	struct ms_event ev[4];
	ms_replay_init(&r);
	size_t by_event = ms_replay_moment(&r, MS_NEVER, 2),
	       by_tick = ms_replay_moment(&r, 0, MS_NEVER);
	for (uint64_t i = 0; i < 4; i++)
		ev[i] = (struct ms_event){.kind = MS_EV_ALLOC, .number = i, .size = 10};
	ms_replay_events(&r, ev, 4);
	ms_replay_finish(&r, 0);
	EQUAL(r.moments[by_event].live_blocks, 2, "before the third event");
	EQUAL(r.moments[by_tick].live_blocks, 0, "before the first");
	EQUAL(r.moments[by_tick].taken, true, "before the first");
	ms_replay_free(&r);
}

/* Checks what the rules say about a few events, worked out by hand. */
static void test_rules(void)
{
	struct ms_replay r;
	ms_replay_init(&r);
	ms_replay_nodes(&r, 4);
	for (size_t i = 0; i < sizeof ruled / sizeof *ruled; i++)
		ms_replay_events(&r, &ruled[i], 1);
	ms_replay_finish(&r, 20);
	EQUAL(r.allocations, 7, "calls that made a block");
	EQUAL(r.frees, 4, "b, a, c and d");
	EQUAL(r.reallocations, 2, "one of them of an unknown block");
	EQUAL(r.failed, 1, "-");
	EQUAL(r.bytes, 369, "100 50 10 8 200 0 1");
	EQUAL(r.temporary, 2, "b and d");
	EQUAL(r.unknown_frees, 2, "free and realloc");
	EQUAL(r.inferred_frees, 1, "-");
	EQUAL(r.live_bytes, 200, "e and the block of 0 bytes");
	EQUAL(r.live_blocks, 2, "e and the block of 0 bytes");
	EQUAL(r.peak_bytes, 201, "e and the last one");
	EQUAL(r.peak_blocks, 3, "e, 0 bytes, 1 byte");
	EQUAL(r.peak_tick, 10, "first moment of the peak");
	EQUAL(r.threads[1].frees, 0, "freed by the other thread");
	EQUAL(r.threads[0].frees, 4, "-");
	EQUAL(r.sizes[0].allocations, 1, "size 0");
	EQUAL(r.sizes[1].allocations, 1, "size 1");
	EQUAL(r.sizes[7].bytes, 100, "64 to 127");
	EQUAL(r.rare[r.site_of_node[2] - 1].marked, 1, "an inferred free");
	EQUAL(r.lifetimes.v[r.sites[r.site_of_node[1] - 1].lifetimes - 1].ticks, 4, "a: 3, c: 1");
	EQUAL(r.lifetimes.v[r.sites[r.site_of_node[1] - 1].lifetimes - 1].allocations, 1,
	      "b was made while a lived");
	ms_replay_free(&r);
}

/* A realloc is one step: no dip, and no sum of both. */
static void test_realloc_is_one_step(void)
{
	struct ms_replay r;
	ms_replay_init(&r);
	ms_replay_events(&r, &(struct ms_event){.kind = MS_EV_ALLOC, .size = 1000}, 1);
	ms_replay_events(
		&r,
		&(struct ms_event){.kind = MS_EV_REALLOC, .number = 1, .freed = 0, .size = 1001},
		1);
	ms_replay_finish(&r, 0);
	EQUAL(r.peak_bytes, 1001, "not 2001");
	EQUAL(r.sites[0].max_live_bytes, 1001, "not 2001");
	EQUAL(r.spans[0].live_min, 0, "the start");
	EQUAL(r.spans[0].live_max, 1001, "not 2001");
	ms_replay_free(&r);
}

/* A block from before a fork, or an attachment, that is given back changes no figure but its own
 * two. */
static void test_inherited(void)
{
	static const struct ms_event events[] = {
		{.kind = MS_EV_FREE_UNKNOWN, .address = 16},
		{.kind = MS_EV_EXT, .ext = MS_EXT_INHERITED, .size = 100},
		{.kind = MS_EV_FREE_UNKNOWN, .address = 32},
		{.kind = MS_EV_EXT, .ext = MS_EXT_INHERITED, .size = 30},
		{.kind = MS_EV_REALLOC_UNKNOWN, .number = 0, .size = 7},
		{.kind = MS_EV_EXT, .ext = MS_EXT_INHERITED, .size = UINT64_MAX},
		{.kind = MS_EV_FREE, .freed = 0},
		{.kind = MS_EV_FREE_UNKNOWN, .address = 48},
		{.kind = MS_EV_EXT, .ext = MS_EXT_BEFORE, .size = UINT64_MAX},
		{.kind = MS_EV_FREE_UNKNOWN, .address = 64},
		{.kind = MS_EV_EXT, .ext = MS_EXT_BEFORE, .size = 5},
		{.kind = MS_EV_FREE_UNKNOWN, .address = 80},
	};
	struct ms_replay r;
	ms_replay_init(&r);
	for (size_t i = 0; i < sizeof events / sizeof *events; i++)
		ms_replay_events(&r, &events[i], 1);
	ms_replay_finish(&r, 0);
	EQUAL(r.inherited_frees, 3, "-");
	EQUAL(r.inherited_freed_bytes, 130, "100 and 30");
	EQUAL(r.before_frees, 2, "-");
	EQUAL(r.before_freed_bytes, 5, "no block is of 2^64 bytes");
	EQUAL(r.unknown_frees, 2, "the first and that of 48");
	EQUAL(r.frees, 1, "its own");
	EQUAL(r.reallocations, 1, "of an inherited block");
	EQUAL(r.allocations, 1, "by that");
	EQUAL(r.peak_bytes, 7, "its own");
	EQUAL(r.live_blocks, 0, "-");
	EQUAL(r.events, 12, "-");
	ms_replay_free(&r);
}

/* The last moment that there is, and what comes after it, on either way that events take. */
static void test_tick_limit(void)
{
	static const struct ms_event ev[] = {
		{.kind = MS_EV_ALLOC, .number = 0, .size = 1, .time_ticks = 100000},
		{.kind = MS_EV_ALLOC, .number = 1, .size = 2, .time_ticks = 100000},
		{.kind = MS_EV_ALLOC, .number = 2, .size = 4, .time_ticks = 100001},
		{.kind = MS_EV_ALLOC, .number = 3, .size = 8, .time_ticks = 100002},
		{.kind = MS_EV_FREE, .freed = 2, .time_ticks = UINT64_MAX},
		{.kind = MS_EV_ALLOC, .number = 3, .size = 16, .time_ticks = 100001}};
	for (size_t at_a_time = 1; at_a_time <= 6; at_a_time += 5) {
		struct ms_replay r;
		ms_replay_init(&r);
		r.tick_limit = 100001;
		for (size_t i = 0; i < 6; i += at_a_time)
			ms_replay_events(&r, ev + i, at_a_time);
		EQUAL(r.span_ticks > 4, true, "they are of one span");
		EQUAL(r.bad_events, 2, "%zu at a time", at_a_time);
		EQUAL(r.position, 6, "%zu at a time", at_a_time);
		EQUAL(r.live_bytes, 1 + 2 + 4 + 16, "%zu at a time", at_a_time);
		EQUAL(r.last_tick, 100001, "%zu at a time", at_a_time);
		ms_replay_finish(&r, 0);
		EQUAL(r.peak_tick, 100001, "%zu at a time", at_a_time);
		ms_replay_free(&r);
	}
}

/* Checks that input that no good trace holds is survived: numbers and times that go back, jumps,
 * threads and stacks out of range. */
static void test_hostile(void)
{
	struct ms_replay r;
	ms_replay_init(&r);
	ms_replay_events(&r, &(struct ms_event){.kind = MS_EV_ALLOC, .number = 5, .size = 1}, 1);
	ms_replay_events(&r, &(struct ms_event){.kind = MS_EV_ALLOC, .number = 5, .size = 1}, 1);
	EQUAL(r.bad_events, 1, "a number twice");
	ms_replay_events(&r,
			 &(struct ms_event){.kind = MS_EV_ALLOC,
					    .number = UINT64_C(1) << 62,
					    .size = 2,
					    .stack = 4000000000u},
			 1);
	ms_replay_events(&r, &(struct ms_event){.kind = MS_EV_FREE, .freed = 5}, 1);
	EQUAL(r.live_bytes, 2, "an old block after a jump");
	ms_replay_events(&r,
			 &(struct ms_event){.kind = MS_EV_FREE,
					    .freed = UINT64_C(1) << 62,
					    .time_ticks = UINT64_C(1) << 60},
			 1);
	EQUAL(r.live_bytes, 0, "the new one");
	ms_replay_events(
		&r,
		&(struct ms_event){.kind = MS_EV_ALLOC, .number = UINT64_MAX - 1, .time_ticks = 3},
		1);
	ms_replay_events(&r,
			 &(struct ms_event){.kind = MS_EV_FREE,
					    .freed = 1,
					    .thread = UINT32_MAX,
					    .time_ticks = UINT64_C(1) << 60},
			 1);
	EQUAL(r.bad_events, 3, "time back, thread out of range");
	ms_replay_events(&r,
			 &(struct ms_event){.kind = MS_EV_ALLOC,
					    .number = UINT64_MAX - 1,
					    .size = UINT64_C(1) << 48,
					    .time_ticks = UINT64_C(1) << 60},
			 1);
	EQUAL(r.bad_events, 4, "larger than any process");
	ms_replay_finish(&r, UINT64_C(1) << 61);
	EQUAL(r.site_count, 1, "no stack");
	ms_replay_free(&r);
}

/* Memory follows live blocks: two million short-lived blocks with one in a thousand kept. */
static void test_bounded(void)
{
	struct ms_replay r;
	ms_replay_init(&r);
	for (uint64_t n = 0; n < 2000000; n++) {
		ms_replay_events(
			&r, &(struct ms_event){.kind = MS_EV_ALLOC, .number = n, .size = 1}, 1);
		if (n % 1000)
			ms_replay_events(&r, &(struct ms_event){.kind = MS_EV_FREE, .freed = n}, 1);
	}
	EQUAL(r.live_blocks, 2000, "one in a thousand");
	EQUAL(r.blocks.old_mask < 8192, 1, "table of %zu", r.blocks.old_mask);
	for (uint64_t n = 0; n < 2000000; n += 1000)
		ms_replay_events(&r, &(struct ms_event){.kind = MS_EV_FREE, .freed = n}, 1);
	EQUAL(r.live_blocks, 0, "all freed");
	EQUAL(r.blocks.old_count, 0, "no group left");
	ms_replay_free(&r);
}

static void add_number(void *arg, uint64_t number, const struct ms_live_block *b)
{
	uint64_t *sum = arg;
	sum[0] += number;
	sum[1] += b->size;
}

/* Each live block is seen once, of a few windows. */
static void test_each(void)
{
	const uint64_t n = 5 * MS_BLOCKS_WINDOW;
	uint64_t sum[2] = {0};
	struct ms_blocks b;
	ms_blocks_init(&b);
	for (uint64_t i = 0; i < n; i++)
		ms_blocks_add(&b, i, 3, 0, 0);
	ms_blocks_each(&b, add_number, sum);
	EQUAL(sum[0], n * (n - 1) / 2, "numbers");
	EQUAL(sum[1], n * 3, "bytes");
	EQUAL(b.old[0].live != 0, true, "the first place is in use");
	ms_blocks_free(&b);
}

/* Fills `ev` with allocations of 20,000 sites and two threads, and frees of old and young blocks. */
static void make_many(struct ms_event *ev, size_t n)
{
	enum { LIVE = 100000 };
	uint64_t *live = ms_xcalloc(LIVE, sizeof *live), made = 0, seed = 1;
	for (size_t i = 0; i < n; i++) {
		seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
		uint64_t random = seed >> 33;
		uint64_t *slot = &live[random % 4 ? random % 100 : random % LIVE];
		bool frees = *slot && i % 2, again = *slot && random % 50 == 0;
		ev[i] = (struct ms_event){.kind = again   ? MS_EV_REALLOC
						  : frees ? MS_EV_FREE
							  : MS_EV_ALLOC,
					  .freed = *slot - 1,
					  .number = made,
					  .size = random % 3000,
					  .stack = (uint32_t)(random % 20000),
					  .thread = random % 7 == 0,
					  .time_ticks = i};
		*slot = frees && !again ? 0 : ++made;
	}
	free(live);
}

/* Events that come in batches, which are prefetched, have the same result as single ones. */
static void test_batches(void)
{
	const size_t n = 400000, part = 700;
	struct ms_event *ev = ms_xcalloc(n, sizeof *ev);
	struct ms_replay one, many;
	make_many(ev, n);
	ms_replay_init(&one);
	ms_replay_init(&many);
	ms_replay_nodes(&one, 20000);
	ms_replay_nodes(&many, 20000);
	for (size_t i = 0; i < n; i++)
		ms_replay_events(&one, &ev[i], 1);
	for (size_t i = 0; i < n; i += part)
		ms_replay_events(&many, ev + i, n - i < part ? n - i : part);
	EQUAL(ms_prefetch_pays(&many), true, "cells or old groups beyond the cache");
	EQUAL(many.bad_events + many.unknown_frees, 0, "each event is applied");
	ms_replay_finish(&one, n);
	ms_replay_finish(&many, n);
	EQUAL(memcmp(&one.totals, &many.totals, sizeof one.totals), 0, "totals");
	EQUAL(one.site_count, many.site_count, "sites");
	for (size_t i = 0; i < one.site_count; i++) {
		const struct ms_replay_site *a = &one.sites[i], *b = &many.sites[i];
		EQUAL(memcmp(&a->live, &b->live, sizeof a->live), 0, "site %zu", i);
		EQUAL(a->allocations == b->allocations && a->temporary == b->temporary, true,
		      "site %zu", i);
		EQUAL(ms_replay_rare_of(&one, a)->frees, ms_replay_rare_of(&many, b)->frees,
		      "frees of site %zu", i);
		EQUAL(ms_replay_lifetimes_of(&one, a)->ticks,
		      ms_replay_lifetimes_of(&many, b)->ticks, "lifetimes of site %zu", i);
	}
	ms_replay_free(&one);
	ms_replay_free(&many);
	free(ev);
}

/* Blocks that are live at the end and came after the scan at the end, by site. */
static void test_late(uint64_t judged, bool sampled, bool any, uint64_t bytes, uint64_t blocks)
{
	struct ms_replay r;
	ms_replay_init(&r);
	if (sampled) /* of these none is judged */
		ms_sampled_start(&r, 1000);
	ms_replay_nodes(&r, 3);
	for (uint64_t i = 0; i < 5; i++)
		ms_replay_events(&r,
				 &(struct ms_event){.kind = MS_EV_ALLOC,
						    .number = i,
						    .size = 10 + i,
						    .stack = i == 2 ? 1 : 2},
				 1);
	ms_replay_events(&r, &(struct ms_event){.kind = MS_EV_FREE, .freed = 3}, 1);
	r.judged = judged;
	ms_replay_finish(&r, 0);
	EQUAL(r.late != NULL, any, "judged %llu", (unsigned long long)judged);
	if (r.late) {
		const struct ms_replay_late *late = &r.late[r.site_of_node[2] - 1];
		EQUAL(late->bytes, bytes, "judged %llu", (unsigned long long)judged);
		EQUAL(late->blocks, blocks, "judged %llu", (unsigned long long)judged);
		EQUAL(r.late[r.site_of_node[1] - 1].blocks, judged <= 2, "judged %llu",
		      (unsigned long long)judged);
	}
	ms_replay_free(&r);
}

/* Checks that what is freed gives its room to what comes: 1000 blocks, now of few bytes and now
 * wide ones, take no more memory after a million. */
static void test_room(void)
{
	struct ms_replay r;
	size_t chunks = 0, wide = 0;
	ms_replay_init(&r);
	for (uint64_t i = 0; i < 1000000; i++) {
		struct ms_event made = {.kind = MS_EV_ALLOC, .number = i, .time_ticks = i},
				gone = {.kind = MS_EV_FREE, .freed = i - 1000, .time_ticks = i};
		made.size = i % 3 ? 8 : UINT64_C(1) << 40;
		if (i >= 1000)
			ms_replay_events(&r, &gone, 1);
		ms_replay_events(&r, &made, 1);
		if (i == 100000)
			wide = r.blocks.wide.n;
	}
	for (void *c = r.blocks.chunks; c;
	     memcpy(&c, c, sizeof c)) /* it begins with the next one */
		chunks++;
	EQUAL(chunks <= 2, true, "%zu chunks of memory", chunks);
	EQUAL(r.blocks.wide.n, wide, "wide blocks");
	ms_replay_free(&r);
}

int main(void)
{
	test_first_tick();
	test_rules();
	test_realloc_is_one_step();
	test_inherited();
	test_room();
	test_each();
	test_late(2, true, false, 0, 0);
	test_late(MS_NEVER, false, false, 0, 0);
	test_late(5, false, false, 0, 0);
	test_late(4, false, true, 14, 1);
	test_late(1, false, true, 25, 2);
	test_tick_limit();
	test_hostile();
	test_bounded();
	test_batches();
	for (uint64_t seed = 1; seed <= 24; seed++)
		test_random(seed, 4000);
	test_random(99, 300000);
	EQUAL(held_blocks, 0, "all is given back");
	EQUAL(held_bytes, 0, "all is given back");
	return failures != 0;
}
