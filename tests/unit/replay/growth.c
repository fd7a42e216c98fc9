/* SPDX-License-Identifier: MIT
 * Samples of live bytes over time, where teardown begins, and which of a growing site's blocks stay:
 * a block of 1000 bytes each 100 ms, for 100 s; a tick is a millisecond.
 */
#include "libcommon/replay/replay_growth.h"

#include "tests/unit/held.h"
#include "tests/unit/equal.h"

#define BLOCKS 1000u
#define EVERY 100u  /* ticks */
#define ENOUGH 200u /* of the first ones a tenth goes after 20 s */

static struct ms_replay r;

static void event(uint64_t tick, uint8_t kind, uint64_t number)
{
	ms_replay_events(&r,
			 &(struct ms_event){.kind = kind,
					    .time_ticks = tick,
					    .number = number,
					    .freed = number,
					    .size = 1000,
					    .stack = 1},
			 1);
}

static bool goes(uint64_t i)
{
	return i < ENOUGH && i % 10 == 0;
}

static void grow(bool exits)
{
	ms_replay_init(&r);
	ms_replay_tick(&r, 1000000);
	ms_replay_nodes(&r, 2);
	r.growth->exits = exits;
	for (uint64_t i = 0; i < BLOCKS; i++) {
		if (i >= 200 && goes(i - 200))
			event(i * EVERY, MS_EV_FREE, i - 200);
		event(i * EVERY, MS_EV_ALLOC, i);
		if (i == 0) /* a site that never has a block */
			ms_replay_events(&r, &(struct ms_event){.kind = MS_EV_FAILED}, 1);
	}
}

static void test_samples(void)
{
	grow(false);
	ms_growth_end(&r, BLOCKS * EVERY);
	struct ms_growth *g = r.growth;
	float room[MS_GROWTH_SAMPLES];
	const float *v = ms_growth_samples(g, 0, room);
	EQUAL(g->first, 1000, "a second");
	EQUAL(g->every, 800, "doubled three times");
	EQUAL(g->next, 1000 + 124 * 800, "-");
	EQUAL(g->count, 124, "1.0 to 99.4 s");
	for (uint64_t k = 0; v && k < g->count; k++) {
		uint64_t blocks = 10 + 8 * k, gone = blocks > 200 ? (blocks - 201) / 10 + 1 : 0;
		gone = gone < ENOUGH / 10 ? gone : ENOUGH / 10;
		EQUAL((uint64_t)v[k], (blocks - gone) * 1000, "sample %llu", (unsigned long long)k);
		EQUAL((uint64_t)g->total[k], (blocks - gone) * 1000, "sample %llu",
		      (unsigned long long)k);
	}
	EQUAL(r.site_count, 2, "-");
	EQUAL(ms_growth_samples(g, 1, room) == NULL, true, "nothing was live there");
	EQUAL(ms_growth_samples(g, 2, room) == NULL, true, "no such site");
	EQUAL(ms_growth_samples(g, UINT32_MAX, room) == g->total, true, "the whole heap");
	EQUAL(ms_growth_trend(g, 1).kind, MS_TREND_SHORT, "nothing was live there");
	EQUAL(ms_growth_trend(g, 0).kind, MS_TREND_GROWING, "-");
	ms_replay_free(&r);
}

/* Half of what is live is older than 10 s, but not than 60 s. */
static void test_survival(void)
{
	grow(false);
	ms_replay_finish(&r, BLOCKS * EVERY);
	const struct ms_growth *g = r.growth;
	EQUAL(g->teardown == 0, true, "the process goes on");
	EQUAL(g->grown_count, 2, "the heap, and the site");
	EQUAL(g->row_count, 0, "samples are kept no more");
	EQUAL(g->grown[0].site, UINT32_MAX, "the heap");
	EQUAL(g->grown[0].trend.kind, MS_TREND_GROWING, "-");
	EQUAL(g->grown[1].site, 0, "the site");
	EQUAL(g->grown[1].survival_ns, UINT64_C(10000000000), "10 s");
	EQUAL(g->grown[1].survivors, 901 - 20, "of those made up to 90 s");
	EQUAL(g->grown[1].victims, 20, "after 20 s each");
	ms_replay_free(&r);
	grow(false);
	ms_replay_finish(&r, 110900); /* now those made up to 50.9 s are just half of the 980 */
	g = r.growth;
	EQUAL(g->grown_count, 2, "it grows still");
	EQUAL(g->grown[1].survival_ns, UINT64_C(60000000000), "60 s");
	EQUAL(g->grown[1].survivors, 490, "half");
	EQUAL(g->grown[1].victims, 0, "none was freed after so long");
	ms_replay_free(&r);
}

/* All is freed within a tick at the end: it begins where most was live, in the span of which the
 * timeline says so. */
static void test_teardown(void)
{
	for (int exits = 0; exits < 2; exits++) {
		grow(exits);
		for (uint64_t i = 0; i < BLOCKS; i++)
			if (!goes(i))
				event(BLOCKS * EVERY - 50, MS_EV_FREE, i);
		ms_replay_finish(&r, BLOCKS * EVERY);
		EQUAL((uint64_t)(r.growth->teardown * 1000 + 0.5), exits ? 99900 : 0, "ms");
		EQUAL(r.growth->grown[0].trend.kind,
		      exits ? MS_TREND_GROWING : r.growth->grown[0].trend.kind, "-");
		ms_replay_free(&r);
	}
}

/* Most is live in the first span, and nothing of it goes: there is none. */
static void test_none(void)
{
	ms_replay_init(&r);
	ms_replay_tick(&r, 1000000);
	ms_replay_nodes(&r, 2);
	r.growth->exits = true;
	event(1, MS_EV_ALLOC, 0);
	ms_replay_finish(&r, BLOCKS * EVERY);
	EQUAL(r.peak_tick, 1, "-");
	EQUAL(r.growth->teardown == 0, true, "no teardown");
	ms_replay_free(&r);
}

/* All is freed in two spans of the timeline, the second of which is not over: no teardown where for
 * each block another one is made, however small. */
static void test_renewed(void)
{
	for (int renewed = 0; renewed < 2; renewed++) {
		uint64_t next = BLOCKS;
		grow(true);
		uint64_t at = BLOCKS * EVERY, then = (at / r.span_ticks + 1) * r.span_ticks;
		for (uint64_t i = 0; i < BLOCKS; i++)
			if (!goes(i) && i % 2)
				event(at, MS_EV_FREE, i);
		for (uint64_t i = 0; i < BLOCKS; i++) {
			if (goes(i) || i % 2)
				continue;
			event(then, MS_EV_FREE, i);
			for (int k = 0; k < renewed; k++, next++)
				ms_replay_events(&r,
						 &(struct ms_event){.kind = MS_EV_ALLOC,
								    .time_ticks = then,
								    .number = next,
								    .size = 1,
								    .stack = 1},
						 1);
		}
		ms_growth_end(&r, then + 1);
		EQUAL(r.growth->teardown > 0, !renewed, "as it goes on");
		ms_replay_finish(&r, then + 1);
		EQUAL(r.growth->teardown > 0, !renewed, "at the end");
		ms_replay_free(&r);
	}
}

/* Counted from a moment on, samples begin a second after it. */
static void test_begin(void)
{
	grow(false);
	ms_growth_begin(&r, 50000);
	EQUAL(r.growth->count, 0, "-");
	EQUAL(r.growth->every, 100, "-");
	EQUAL(ms_growth_due(&r, 50999), 51000, "not yet");
	EQUAL(r.growth->count, 0, "-");
	EQUAL(ms_growth_due(&r, 51000), 51100, "the first one");
	EQUAL(ms_growth_due(&r, 51000 + 12600), 51000 + 12700, "the last of its step");
	EQUAL(r.growth->count, 127, "-");
	EQUAL(ms_growth_due(&r, 51000 + 12700), 51000 + 12800, "every other one goes");
	EQUAL(r.growth->count, 64, "-");
	EQUAL(r.growth->every, 200, "-");
	float room[MS_GROWTH_SAMPLES];
	const float *v = ms_growth_samples(r.growth, 0, room);
	EQUAL(v && v[63] > 0 && v[64] == 0, true, "room for those to come");
	ms_replay_free(&r);
}

/* Compares rows of changes with all samples of all sites, also of sites that come late, are empty
 * again, or change between two samples only. */
static void test_changes(void)
{
	enum { SITES = 40, MOST = 128 };
	static float want[SITES][MOST];
	static struct {
		uint64_t number, stack;
	} live[1000];
	uint64_t state = 7, number = 0, now = 0, next = 1000, every = 100, bytes[SITES] = {0};
	size_t count = 0, held = 0;
	ms_replay_init(&r);
	ms_replay_tick(&r, 1000000);
	ms_replay_nodes(&r, SITES);
	for (unsigned i = 0; i < 20000; i++) {
		state = state * UINT64_C(6364136223846793005) + 1;
		uint64_t x = state >> 40, stack = x % (1 + i / 500);
		now += x % 7 ? x % 3 : x % 150;
		for (; next <= now; next += every) {
			for (size_t s = 0; s < SITES; s++)
				want[s][count] = (float)bytes[s];
			if (++count < MOST)
				continue;
			count = MOST / 2;
			every *= 2;
			for (size_t s = 0; s < SITES; s++)
				for (size_t k = 0; k < MOST; k++)
					want[s][k] = k < count ? want[s][2 * k] : 0;
			next = 1000 + (count - 1) * every;
		}
		struct ms_event ev = {.time_ticks = now, .size = 10, .stack = (uint32_t)stack};
		if (held && (x % 2 || held == 1000)) {
			ev.kind = MS_EV_FREE;
			ev.freed = live[x % held].number;
			bytes[live[x % held].stack] -= 10;
			live[x % held] = live[held - 1];
			held--;
		} else {
			ev.kind = MS_EV_ALLOC;
			ev.number = number;
			live[held].number = number++;
			live[held++].stack = stack;
			bytes[stack] += 10;
		}
		ms_replay_events(&r, &ev, 1);
	}
	EQUAL(r.growth->count, count, "-");
	for (uint32_t n = 0; n < SITES; n++) {
		float room[MS_GROWTH_SAMPLES];
		uint32_t site = r.site_of_node[n];
		const float *v = site ? ms_growth_samples(r.growth, site - 1, room) : NULL;
		for (size_t k = 0; k < count; k++)
			EQUAL((v ? v[k] : 0) == want[n][k], true, "site %u, sample %zu", n, k);
	}
	ms_replay_free(&r);
}

/* The longest time that there is. */
static void test_longest(void)
{
	ms_replay_init(&r);
	ms_replay_nodes(&r, 2);
	r.tick_limit = INT64_MAX;
	event(0, MS_EV_ALLOC, 0);
	event(INT64_MAX, MS_EV_ALLOC, 1);
	ms_replay_finish(&r, INT64_MAX);
	EQUAL(r.growth->every, UINT64_C(100000000) << 30, "of 64 to 127 samples");
	EQUAL(r.growth->count, 86, "-");
	EQUAL(r.growth->next > INT64_MAX, true, "-");
	EQUAL(r.peak_bytes, 2000, "-");
	ms_replay_free(&r);
}

int main(void)
{
	test_samples();
	test_survival();
	test_teardown();
	test_none();
	test_renewed();
	test_begin();
	test_longest();
	test_changes();
	EQUAL(held_blocks, 0, "all is given back");
	EQUAL(held_bytes, 0, "all is given back");
	printf("%u failures\n", failures);
	return failures != 0;
}
