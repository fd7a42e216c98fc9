/* SPDX-License-Identifier: MIT
 * Plays the guest: writes records into rings as the layout says, or garbage, and checks the events
 * of the trace that comes out. Their stacks: recorder_stacks.c.
 */
#include <fcntl.h>
#include <sys/stat.h>
#include <x86intrin.h>

#include "ms-record/heap/live.h"
#include "recorder_play.h"

static void release(struct ring *g, uint64_t at, uint64_t address)
{
	put(g, (uint64_t[]){word0(MG_FREE, 0, 0, 0), base + at, address}, 3);
}

static void check_event(size_t i, int kind, unsigned thread, uint64_t size, uint64_t freed)
{
	if (i >= event_count) {
		CHECK("number of events", event_count, i + 1);
		return;
	}
	CHECK("kind", events[i].kind, kind);
	CHECK("thread", events[i].thread, thread);
	CHECK("size", events[i].size, size);
	CHECK("freed", events[i].freed, freed);
}

/* The events written so far, waiting for `want` of them: a running recorder is looked at from
 * outside, as readers do. */
static size_t written(size_t want)
{
	for (int i = 0;; i++) {
		struct ms_err err = {0};
		enum ms_trace_state state;
		read_blocks(&state, &err);
		if (event_count >= want || i == 3000)
			return event_count;
		usleep(10000);
	}
}

/* ---- tests ---- */

static void test_kinds(void)
{
	start("every kind of event");
	struct ring *a = take(0, (uint32_t)getpid());
	struct ring *b = take(1, 1u << 30);
	drain_add(&drain, s);
	alloc(a, 10, 0x5000, 100); /* #0 */
	alloc(b, 20, 0x6000, 50);  /* #1 */
	put(a,
	    (uint64_t[]){word0(MG_REALLOC, MG_F_STACK, 2, 1), base + 40, 0x7000, 300, 0x5000,
			 base + 30, 0x2000, 0x3000},
	    8);                  /* #2 */
	alloc(b, 35, 0x5000, 7); /* #3: the old address, in between */
	put(a, (uint64_t[]){word0(MG_FAILED, MG_F_STACK, 0, 3), base + 50, 1u << 30}, 3);
	put(b, (uint64_t[]){word0(MG_MARK, 0, 0, 0), base + 55, 4, 0x6d726177}, 4);
	release(b, 60, 0x7000); /* by the other thread */
	release(a, 70, 0x9990); /* never seen */
	put(a,
	    (uint64_t[]){word0(MG_REALLOC, MG_F_STACK, 0, 3), base + 80, 0x8000, 1, 0x9000,
			 base + 75},
	    6);                 /* #4 */
	release(b, 90, 0x5000); /* its own last: temporary */
	let_go(a);
	let_go(b);
	finish();
	read_trace();
	CHECK("number of events", event_count, 9);
	check_event(0, MS_EV_ALLOC, 0, 100, 0);
	check_event(1, MS_EV_ALLOC, 1, 50, 0);
	check_event(2, MS_EV_ALLOC, 1, 7, 0);
	check_event(3, MS_EV_REALLOC, 0, 300, 0);
	check_event(4, MS_EV_FAILED, 0, 1u << 30, 0);
	check_event(5, MS_EV_FREE, 1, 0, 3);
	check_event(6, MS_EV_FREE_UNKNOWN, 0, 0, 0);
	check_event(7, MS_EV_REALLOC_UNKNOWN, 0, 1, 0);
	check_event(8, MS_EV_FREE, 1, 0, 2);
	CHECK("marks", marks, 1);
	CHECK("events before the mark", mark_event, 5);
	CHECK("temporary", stats.temporary, 2); /* #0 by realloc, #2 at 0x5000 */
	CHECK("live bytes", stats.live_bytes, 51);
	CHECK("peak bytes", stats.peak_bytes, 357);
	CHECK("allocated bytes", stats.allocated_bytes, 458);
	CHECK("allocations", end_fields[MS_END_ALLOCATIONS], 5);
	CHECK("unknown frees", end_fields[MS_END_UNKNOWN_FREES], 2);
	struct ms_frame f[8];
	CHECK("frames", stack_of(events[3].stack, f, 8), 3);
	CHECK("innermost", f[0].address, 0x3000);
	CHECK("outermost", f[2].address, 0x1000);
	CHECK("stack kept", events[4].stack, events[3].stack);
}

static uint64_t us(double n)
{
	return (uint64_t)(n * (double)s->tsc_hz / 1e6);
}

static void test_repair(void)
{
	start("order");
	struct ring *a = take(0, (uint32_t)getpid()), *b = take(1, 1u << 30);
	drain_add(&drain, s);
	alloc(a, 0, 0x5000, 1);
	alloc(b, us(10), 0x5000, 2); /* its free is stamped 1 us late: repaired */
	release(a, us(11), 0x5000);
	alloc(a, us(200), 0x6000, 3);
	alloc(b, us(210), 0x6000, 4); /* 20 us late: repaired as well */
	release(a, us(230), 0x6000);
	alloc(a, us(400), 0x7000, 5);
	alloc(b, us(410), 0x7000, 6); /* its free never comes: inferred */
	release(b, us(499), 0x8000);  /* stamped 1 us before its allocation: done after it */
	alloc(a, us(500), 0x8000, 7);
	put(b,
	    (uint64_t[]){word0(MG_REALLOC, MG_F_STACK, 0, 1), base + us(560), 0xa000, 9, 0xb000,
			 base + us(549)},
	    6);
	alloc(a, us(550), 0xb000, 10); /* its release for that realloc is stamped 1 us early */
	alloc(a, us(600), 0x9000, 8);
	release(a, us(600), 0x9000); /* one thread at one stamp: in program order */
	let_go(a);
	let_go(b);
	finish();
	read_trace();
	CHECK("repairs", end_fields[MS_END_REPAIRS], 4);
	CHECK("violations", end_fields[MS_END_VIOLATIONS], 0);
	CHECK("inferred", end_fields[MS_END_INFERRED_FREES], 1);
	CHECK("unknown", end_fields[MS_END_UNKNOWN_FREES], 0);
	CHECK("live blocks", stats.live_blocks, 4);
	check_event(1, MS_EV_FREE, 0, 0, 0);
	check_event(2, MS_EV_ALLOC, 1, 2, 0);
	check_event(7, MS_EV_FREE_INFERRED, 1, 0, 4);
	check_event(9, MS_EV_ALLOC, 0, 7, 0);
	check_event(10, MS_EV_FREE, 1, 0, 6);
	check_event(11, MS_EV_ALLOC, 0, 10, 0);
	check_event(12, MS_EV_REALLOC, 1, 9, 7);
}

/* False: it took so long on a busy machine that nobody waits for that thread any more. */
static bool pending(void)
{
	const uint64_t until = clock_mono() + UINT64_C(450000000);
	start("a thread stopped inside the hook");
	struct ring *a = take(0, (uint32_t)getpid()), *b = take(1, (uint32_t)getpid() + 0);
	drain_add(&drain, s);
	let_go(b);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t now = __rdtsc() - base;
		alloc(b, now, 0x10000 + i * 16, 1);
	}
	usleep(300000);
	uint64_t early = written(0);
	alloc(a, 1, 0x5000, 1);
	bool in_time = clock_mono() < until;
	let_go(a);
	CHECK("events written afterwards", written(1001), 1001);
	finish();
	read_trace();
	if (!in_time)
		return false;
	CHECK("events written while one is pending", early, 0);
	CHECK("first address", events[0].stack != 0 && events[0].thread == 0, 1);
	CHECK("violations", end_fields[MS_END_VIOLATIONS], 0);
	return true;
}

static void test_pending(void)
{
	unsigned tries = 0;
	while (!pending())
		CHECK("tries", ++tries < 50, 1);
}

/* Checks a hook that a longjmp left: the other's events go on, and what comes late is counted. */
static void test_left(void)
{
	start("a hook that is never left");
	struct ring *a = take(0, (uint32_t)getpid()), *b = take(1, (uint32_t)getpid() + 0);
	drain_add(&drain, s);
	let_go(b);
	for (unsigned i = 0; i < 1000; i++)
		alloc(b, __rdtsc() - base, 0x10000 + i * 16, 1);
	CHECK("events written while one is pending", written(1000), 1000);
	alloc(a, 1, 0x5000, 1);
	CHECK("events written afterwards", written(1001), 1001);
	finish();
	read_trace();
	CHECK("the late one's size", event_count == 1001 ? events[1000].size : 0, 1);
	CHECK("its block is live", stats.live_blocks, 1001);
	CHECK("violations", end_fields[MS_END_VIOLATIONS], 1);
	CHECK("lost", end_fields[MS_END_LOST], 0);
}

static void test_sequence(void)
{
	start("stamps from a shared counter");
	clock_start(&s->clock, &s->mem->sequence);
	s->mem->clock = MG_CLOCK_SEQUENCE;
	base = 1;
	struct ring *a = take(0, (uint32_t)getpid()), *b = take(1, 1u << 30);
	drain_add(&drain, s);
	let_go(a);
	let_go(b);
	for (unsigned i = 0; i < 50; i++) {
		uint64_t n = __atomic_add_fetch(&s->mem->sequence, 2, __ATOMIC_SEQ_CST) - 1 - base;
		alloc(a, n, 0x5000, i);
		release(b, n + 1, 0x5000);
		usleep(2000);
	}
	CHECK("events written", written(99) >= 99, 1);
	finish();
	read_trace();
	CHECK("events", event_count, 100);
	for (unsigned i = 0; i < 50 && i * 2 < event_count; i++)
		check_event(2 * i, MS_EV_ALLOC, 0, i, 0);
	uint64_t ticks = events[99].time_ticks - events[0].time_ticks;
	CHECK("at least a tenth of a second, nearly", ticks > 700, 1);
	CHECK("unknown", end_fields[MS_END_UNKNOWN_FREES], 0);
	CHECK("inferred", end_fields[MS_END_INFERRED_FREES], 0);
}

static void test_wrap(void)
{
	start("many laps");
	struct ring *a = take(0, (uint32_t)getpid());
	drain_add(&drain, s);
	let_go(a);
	for (unsigned i = 0; i < 100000; i++) {
		while (a->r->head - __atomic_load_n(&a->r->tail, __ATOMIC_ACQUIRE) > 30000 &&
		       !s->damaged)
			usleep(50);
		uint64_t now = __rdtsc() - base;
		alloc(a, now, 0x10000, i);
		release(a, now + 1, 0x10000);
	}
	finish();
	read_trace();
	CHECK("events", event_count, 200000);
	CHECK("inferred", stats.inferred_frees, 0);
	CHECK("temporary", stats.temporary, 100000);
	for (unsigned i = 0; i < 100000 && !failures; i++)
		check_event(2 * i, MS_EV_ALLOC, 0, i, 0);
	CHECK("nodes", node_count, 1);
}

/* Allocations and frees in short records, among full ones. */
static void put_short(struct ring *g, unsigned since, unsigned keep, uint64_t address,
		      uint64_t size)
{
	uint64_t w0 = word0(MG_ALLOC_SHORT, 1, 0, 0) | (uint64_t)keep << 16;
	put(g, (uint64_t[]){w0 | (uint64_t)since << 32, address | size << 47, 0x9000 + keep}, 3);
}

static void put_short_free(struct ring *g, uint64_t since, uint64_t address)
{
	put(g, (uint64_t[]){MG_SHORT_FREE | since << 43 | address / 16}, 1);
}

static void test_short(void)
{
	start("short records");
	const uint64_t high = 0x7ffffffffff0, second = 1u << 20;
	struct ring *a = take(0, (uint32_t)getpid()), *b = take(1, 1u << 30);
	drain_add(&drain, s);
	put_short(a, 5, 0, 0x10, 0);               /* #0 at 5 */
	put_short(a, 0x7ffffff0, 1, high, 131071); /* #1, two frames */
	put_short_free(a, second - 1, 0x10);       /* later still */
	release(a, 3, high);                       /* in full: a stamp of the past */
	put_short(a, 4, 2, 0x20, 7);               /* #3 at 7, three frames */
	put(a, (uint64_t[]){word0(MG_PUSH, 0, 1, 1), 0x8000}, 2);
	put(a,
	    (uint64_t[]){word0(MG_ALLOC_SHORT, 0, 0, 0) | 2 << 16 | UINT64_C(1) << 32,
			 0x30 | UINT64_C(9) << 47},
	    2); /* #4 at 8: that stack as it is */
	put(b,
	    (uint64_t[]){word0(MG_ALLOC_SHORT, 0, 0, 0) | UINT64_C(6) << 32, 0x40 | UINT64_C(1)
											     << 47},
	    2);                     /* #2 at 6, without a frame */
	put_short_free(b, 3, 0x30); /* at 9 */
	let_go(a);
	let_go(b);
	finish();
	read_trace();
	CHECK("number of events", event_count, 8);
	check_event(0, MS_EV_FREE_UNKNOWN, 0, 0, 0);
	check_event(1, MS_EV_ALLOC, 0, 0, 0);
	check_event(2, MS_EV_ALLOC, 1, 1, 0);
	check_event(3, MS_EV_ALLOC, 0, 7, 0);
	check_event(4, MS_EV_ALLOC, 0, 9, 0);
	check_event(5, MS_EV_FREE, 1, 0, 3);
	check_event(6, MS_EV_ALLOC, 0, 131071, 0);
	check_event(7, MS_EV_FREE, 0, 0, 0);
	CHECK("live bytes", stats.live_bytes, 1 + 7 + 131071);
	struct ms_frame f[8];
	CHECK("frames", stack_of(events[1].stack, f, 8), 1);
	CHECK("the one", f[0].address, 0x9000);
	CHECK("no frame", stack_of(events[2].stack, f, 8), 0);
	CHECK("frames", stack_of(events[3].stack, f, 8), 3);
	CHECK("innermost", f[0].address, 0x9002);
	CHECK("frames", stack_of(events[4].stack, f, 8), 2);
	CHECK("pushed", f[0].address, 0x8000);
	CHECK("outermost", f[1].address, 0x9000);
	CHECK("frames", stack_of(events[6].stack, f, 8), 2);
}

static uint64_t rng;
static uint64_t next_random(void)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return rng;
}

/* Records whose fields are right, wrong, or noise. */
static void put_garbage(struct ring *g)
{
	uint64_t w[64];
	size_t n = 1 + next_random() % 63;
	for (size_t i = 0; i < n; i++)
		w[i] = next_random() % 4 ? next_random() : next_random() % 4096;
	unsigned kind = (unsigned)(next_random() % 17), count = (unsigned)(next_random() % 64);
	if (next_random() % 3)
		w[0] = word0(kind, (unsigned)next_random() & 63, count,
			     (unsigned)(next_random() % 8 ? next_random() % 64 : next_random()));
	put(g, w, n);
}

static void test_hostile(void)
{
	for (unsigned seed = 1; seed <= 60; seed++) {
		start("garbage");
		rng = seed * UINT64_C(0x9e3779b97f4a7c15);
		struct ring *a = take(0, (uint32_t)getpid()), *b = take(1, 1u << 30);
		let_go(b);
		alloc(a, 1, 0x5000, 1);
		for (unsigned i = 0; i < 50; i++)
			put_garbage(i % 2 ? a : b);
		if (seed % 4 == 0)
			s->mem->module_count = (uint32_t)next_random();
		if (seed % 5 == 0)
			a->r->head = next_random();
		if (seed % 7 == 0)
			memset(s->rings.memory, (int)seed, s->rings.data_offset);
		drain_add(&drain, s);
		finish();
		read_trace();
		if (seed % 5 == 0)
			CHECK("noticed", damaged, 1);
	}
}

/* Each is stamped before all others: after so many, one behind the other, they stay where they are. */
static void test_backwards(void)
{
	enum { FREES = 20000 };
	start("stamps that run backwards");
	struct ring *a = take(0, (uint32_t)getpid());
	drain_add(&drain, s);
	let_go(a);
	for (unsigned i = 0; i < FREES; i++) {
		while (a->r->head - __atomic_load_n(&a->r->tail, __ATOMIC_ACQUIRE) > 4000)
			usleep(50);
		release(a, us(1e9) - i, 0x10000 + i * 16);
	}
	finish();
	read_trace();
	CHECK("events", event_count, FREES);
	CHECK("not moved", stats.violations, FREES - 11586);
}

/* Nobody does so much in the time in which a stamp may be wrong: of what is behind nothing is taken
 * for the other half of an event. */
static void test_crowded(void)
{
	enum { FREES = 8192 };
	start("too much at one stamp");
	struct ring *a = take(0, (uint32_t)getpid()), *b = take(1, 1u << 30);
	drain_add(&drain, s);
	release(b, us(1000), 0x10000);
	for (unsigned i = 1; i < FREES + 1; i++) {
		while (b->r->head - __atomic_load_n(&b->r->tail, __ATOMIC_ACQUIRE) > 6000)
			usleep(50);
		__atomic_store_n(&b->r->pending, base + i, __ATOMIC_RELEASE); /* as just now */
		put_short_free(b, 0, i == FREES - 1 ? 0x5000 : i == FREES ? 0x6000 : 0x10000);
	}
	alloc(a, us(998), 0x5000, 1);
	alloc(a, us(998), 0x6000, 2);
	alloc(a, us(999), 0x5000, 3); /* its free is the last that is looked at */
	alloc(a, us(999), 0x6000, 4);
	let_go(a);
	let_go(b);
	finish();
	read_trace();
	CHECK("repairs", end_fields[MS_END_REPAIRS], 1);
	CHECK("inferred", end_fields[MS_END_INFERRED_FREES], 1);
}

static void test_renamed(void)
{
	start("two threads in one buffer");
	struct ring *a = take(0, (uint32_t)getpid());
	let_go(a);
	alloc(a, 1, 0x5000, 1);
	put(a, (uint64_t[]){word0(MG_THREAD, 0, 0, 0), base, 1u << 30, 0}, 4);
	alloc(a, 2, 0x6000, 1);
	drain_add(&drain, s);
	finish();
	read_trace();
	CHECK("events before", event_count, 1);
	CHECK("noticed", damaged, 1);
}

static void test_live(void)
{
	enum { ADDRESSES = 3000 };
	static uint64_t have[ADDRESSES]; /* number + 1 */
	struct live_table l;
	test_name = "the table of live blocks";
	live_init(&l);
	rng = 1;
	for (uint64_t i = 0; i < 300000; i++) {
		uint64_t k = next_random() % ADDRESSES, address = 0x100000 + k * 16;
		struct live_block b = {0};
		if (next_random() % 2) {
			struct live_block p = {address, i, 0};
			bool added = live_add(&l, &p);
			CHECK("added", added, !have[k]);
			have[k] = added ? i + 1 : have[k];
		} else {
			CHECK("taken", live_take(&l, address, &b), have[k] != 0);
			CHECK("number", b.number + (have[k] != 0), have[k]);
			have[k] = 0;
		}
		if (failures)
			break;
	}
	live_free(&l);
}

static void test_counts(void)
{
	start("what the guest counts");
	struct ring *a = take(0, (uint32_t)getpid());
	drain_add(&drain, s);
	alloc(a, 1, 0x10, 5);
	a->r->lost = 3, a->r->lost_first = base + 1, a->r->lost_last = base + 2;
	a->r->verified = 11, a->r->mismatched = 2;
	s->mem->no_ring_lost = 4;
	s->mem->forks = 6;
	let_go(a);
	finish();
	read_trace();
	CHECK("lost", end_fields[MS_END_LOST], 7);
	CHECK("verified", end_fields[MS_END_VERIFIED], 11);
	CHECK("mismatches", end_fields[MS_END_MISMATCHES], 2);
	CHECK("children", end_fields[MS_END_CHILDREN_NOT_RECORDED], 6);
	CHECK("reason", end_fields[MS_END_REASON], MS_ENDED_EXIT);
}

/* /proc/PID/stat, as it is in a folder of ours. */
static void write_stat(char state, unsigned long vsize, unsigned long addresses)
{
	mkdir("process", 0777);
	FILE *f = fopen("process/stat", "w");
	fprintf(f, "77 (a name) %c 1", state);
	for (int i = 5; i <= 52; i++)
		fprintf(f, " %lu", i == 23 ? vsize : (i >= 26 && i <= 51) ? addresses : 0);
	fprintf(f, "\n");
	fclose(f);
}

/* One whose memory is gone already, as it ends, hides nothing. */
static void test_hidden(void)
{
	write_stat('S', 4096000, 1);
	int process = open("process", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CHECK("hides", process_hidden(process), true);
	write_stat('S', 4096000, 0x5555000);
	CHECK("shows all", process_hidden(process), false);
	write_stat('D', 0, 0);
	CHECK("ends", process_hidden(process), false);
	write_stat('Z', 0, 0);
	CHECK("has ended", process_hidden(process), false);
	close(process);
}

int main(void)
{
	static void (*const tests[])(void) = {
		test_kinds,  test_repair,    test_pending, test_left,   test_sequence,
		test_wrap,   test_live,      test_hostile, test_counts, test_short,
		test_hidden, test_backwards, test_crowded, test_renamed};
	return run_tests(tests, sizeof tests / sizeof *tests);
}
