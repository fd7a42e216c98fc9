/* SPDX-License-Identifier: MIT
 * Plays the guest: writes records into rings as the layout says, or garbage, and checks the trace
 * that comes out.
 */
#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <x86intrin.h>

#include "format/event.h"
#include "format/record.h"
#include "format/stacks.h"
#include "format/trace.h"
#include "libcommon/err.h"
#include "libcommon/tracefile.h"
#include "ms-record/drain.h"
#include "ms-record/info.h"
#include "ms-record/options.h"
#include "ms-record/session.h"

#define EVENTS_MAX 400000
#define FRAMES_MAX 70000

static int failures;
static const char *test_name;

#define CHECK(what, got, want)                                                                     \
	do {                                                                                       \
		long long g_ = (long long)(got), w_ = (long long)(want);                           \
		if (g_ != w_) {                                                                    \
			printf("%s:%d: %s: %s is %lld, not %lld\n", __FILE__, __LINE__, test_name, \
			       what, g_, w_);                                                      \
			failures++;                                                                \
		}                                                                                  \
	} while (0)

/* ---- the recorder ---- */

static struct options opt = {
	.level = 1, .depth = 512, .wait_ns = 1000000000, .buffer_bytes = 64u << 20};
static struct writer writer;
static struct drain drain;
static struct session *s;
static uint64_t used;
static uint64_t base; /* stamps count from here */

static void start(const char *name)
{
	struct ms_err err = {0};
	test_name = name;
	int fd = open("trace", O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct output *out = output_new(fd, "trace");
	memset(&writer, 0, sizeof writer);
	if (fd < 0 || writer_start(&writer, -1) || drain_start(&drain, &writer, -1))
		exit(1);
	s = session_new(&opt, &writer, out, getpid(), &used, false, &err);
	if (!s) {
		puts(err.text);
		exit(1);
	}
	info_names(s, NULL);
	s->file = strdup("trace");
	info_write(s);
	base = clock_stamp(&s->clock);
}

static bool never(void *arg)
{
	(void)arg;
	return false;
}

static struct stats stats;
static bool damaged;

static void finish(void)
{
	__atomic_store_n(&s->ending, SESSION_EXITED, __ATOMIC_RELEASE);
	drain_stop(&drain);
	writer_stop(&writer, never, NULL);
	CHECK("finished", s->finished, 1);
	stats = s->stats;
	damaged = s->damaged;
	session_free(s);
	CHECK("shared memory still counted", used, 0);
}

/* ---- the guest ---- */

struct ring {
	struct mg_ring *r;
	uint8_t *window;
	uint64_t offset;
};
static struct ring rings[4];

static uint64_t word0(unsigned kind, unsigned flags, unsigned count, unsigned keep)
{
	return kind | flags << 8 | (uint64_t)count << 16 | (uint64_t)keep << 32;
}

static void put(struct ring *g, const uint64_t *words, size_t n)
{
	if (g->offset + n * 8 + 8 > g->r->size_allowed) {
		*(uint64_t *)(void *)(g->window + g->offset) = word0(MG_WRAP, 0, 0, 0);
		__atomic_add_fetch(&g->r->head, 8, __ATOMIC_RELEASE);
		g->offset = 0;
	}
	memcpy(g->window + g->offset, words, n * 8);
	g->offset += n * 8;
	__atomic_add_fetch(&g->r->head, n * 8, __ATOMIC_RELEASE);
}

/* Takes a ring as the thread `tid`; what it writes is held back by `pending` until let_go. */
static struct ring *take(unsigned i, uint32_t tid)
{
	struct ring *g = &rings[i];
	g->r = &s->mem_rings[i];
	g->window = s->memory + s->data_offset + i * s->window_bytes;
	g->offset = 0;
	g->r->pending = base;
	g->r->tid = tid;
	__atomic_store_n(&g->r->state, MG_RING_TAKEN, __ATOMIC_RELEASE);
	put(g, (uint64_t[]){word0(MG_THREAD, 0, 0, 0), base, tid, 0}, 4);
	return g;
}

static void let_go(struct ring *g)
{
	__atomic_store_n(&g->r->pending, 0, __ATOMIC_RELEASE);
}

static void alloc(struct ring *g, uint64_t at, uint64_t address, uint64_t size)
{
	put(g, (uint64_t[]){word0(MG_ALLOC, MG_F_STACK, 1, 0), base + at, address, size, 0x1000},
	    5);
}

static void release(struct ring *g, uint64_t at, uint64_t address)
{
	put(g, (uint64_t[]){word0(MG_FREE, 0, 0, 0), base + at, address}, 3);
}

#include "recorder_trace.h"

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
	alloc(b, us(210), 0x6000, 4); /* 20 us late: a violation */
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
	CHECK("repairs", end_fields[MS_END_REPAIRS], 3);
	CHECK("violations", end_fields[MS_END_VIOLATIONS], 1);
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

static void test_pending(void)
{
	start("a thread stopped inside the hook");
	struct ring *a = take(0, (uint32_t)getpid()), *b = take(1, (uint32_t)getpid() + 0);
	drain_add(&drain, s);
	let_go(b);
	for (unsigned i = 0; i < 1000; i++) {
		uint64_t now = __rdtsc() - base;
		alloc(b, now, 0x10000 + i * 16, 1);
	}
	usleep(300000);
	CHECK("events written while one is pending", written(0), 0);
	alloc(a, 1, 0x5000, 1);
	let_go(a);
	CHECK("events written afterwards", written(1001), 1001);
	finish();
	read_trace();
	CHECK("first address", events[0].stack != 0 && events[0].thread == 0, 1);
	CHECK("violations", end_fields[MS_END_VIOLATIONS], 0);
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

static void test_depth(void)
{
	uint64_t w[4 + 40] = {0};
	start("deep stacks");
	opt.depth = 8;
	struct ring *a = take(0, (uint32_t)getpid());
	drain_add(&drain, s);
	for (unsigned i = 0; i < 40; i++)
		w[4 + i] = 0x1000 + i; /* outermost first */
	w[0] = word0(MG_ALLOC, MG_F_STACK, 40, 0);
	w[1] = base + 1, w[2] = 0x10, w[3] = 1;
	put(a, w, 44);
	put(a, (uint64_t[]){word0(MG_ALLOC, MG_F_STACK, 1, 39), base + 2, 0x20, 1, 0x9999}, 5);
	put(a, (uint64_t[]){word0(MG_ALLOC, MG_F_STACK | MG_F_TRUNCATED, 0, 3), base + 3, 0x30, 1},
	    4);
	put(a, (uint64_t[]){word0(MG_ALLOC, MG_F_NOT_TAKEN, 0, 0), base + 4, 0x40, 1}, 4);
	put(a,
	    (uint64_t[]){word0(MG_ALLOC, MG_F_STACK, 1, 3), base + 5, 0x50, 1,
			 0x7000 | MG_EXACT_IP},
	    5);
	let_go(a);
	finish();
	opt.depth = 512;
	read_trace();
	struct ms_frame f[64];
	CHECK("stacks cut", end_fields[MS_END_STACKS_CUT], 2);
	CHECK("stacks truncated", end_fields[MS_END_STACKS_TRUNCATED], 1);
	CHECK("stacks not taken", end_fields[MS_END_STACKS_NOT_TAKEN], 1);
	CHECK("frames of the first", stack_of(events[0].stack, f, 64), 9);
	CHECK("innermost", f[0].address, 0x1000 + 39);
	CHECK("leaf part", f[3].address, 0x1000 + 36);
	CHECK("cut", f[4].flags, MS_FRAME_CUT);
	CHECK("root part", f[5].address, 0x1003);
	CHECK("outermost", f[8].address, 0x1000);
	CHECK("frames of the second", stack_of(events[1].stack, f, 64), 9);
	CHECK("its innermost", f[0].address, 0x9999);
	CHECK("its next", f[1].address, 0x1000 + 38);
	CHECK("frames of the third", stack_of(events[2].stack, f, 64), 4);
	CHECK("its end", f[3].flags, MS_FRAME_TRUNCATED);
	CHECK("frames of the fourth", stack_of(events[3].stack, f, 64), 1);
	CHECK("its only", f[0].flags, MS_FRAME_NOT_TAKEN);
	CHECK("frames of the fifth", stack_of(events[4].stack, f, 64), 4);
	CHECK("an exact address", f[0].flags, MS_FRAME_EXACT);
}

static void add_module(uint32_t i, uint64_t start_at, uint32_t epoch)
{
	s->mem_modules[i] = (struct mg_module){.start = start_at,
					       .end = start_at + 0x1000,
					       .bias = start_at,
					       .loaded = base + epoch,
					       .epoch_loaded = epoch};
	snprintf(s->mem_modules[i].path, sizeof s->mem_modules[i].path, "/nowhere/lib%u.so", i);
	__atomic_store_n(&s->mem->module_count, i + 1, __ATOMIC_RELEASE);
}

static void test_epochs(void)
{
	start("a module at a reused address");
	struct ring *a = take(0, (uint32_t)getpid()), *b = take(1, (uint32_t)getpid());
	add_module(0, 0x7000000, 0);
	drain_add(&drain, s);
	put(a, (uint64_t[]){word0(MG_ALLOC, MG_F_STACK, 1, 0), base + 1, 0x10, 1, 0x7000010}, 5);
	usleep(30000);
	__atomic_store_n(&s->mem->epoch, 1, __ATOMIC_RELEASE);
	s->mem_modules[0].epoch_closed = 1;
	__atomic_store_n(&s->mem_modules[0].closed, base + 2, __ATOMIC_RELEASE);
	__atomic_store_n(&s->mem->epoch, 2, __ATOMIC_RELEASE);
	add_module(1, 0x7000000, 2);
	put(a, (uint64_t[]){word0(MG_EPOCH, 0, 0, 0), base + 3, 2}, 3);
	put(a, (uint64_t[]){word0(MG_ALLOC, MG_F_STACK, 1, 0), base + 4, 0x20, 1, 0x7000010}, 5);
	usleep(30000); /* the other thread has not seen the new epoch yet */
	put(b, (uint64_t[]){word0(MG_ALLOC, MG_F_STACK, 1, 0), base + 5, 0x30, 1, 0x7000020}, 5);
	let_go(a);
	let_go(b);
	finish();
	read_trace();
	struct ms_frame f[2];
	CHECK("frames", stack_of(events[0].stack, f, 2), 1);
	CHECK("module before", f[0].module, 1);
	CHECK("frames", stack_of(events[1].stack, f, 2), 1);
	CHECK("module after", f[0].module, 2);
	CHECK("frames", stack_of(events[2].stack, f, 2), 1);
	CHECK("module of a thread that is behind", f[0].module, 1);
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

/* The recorder comes late: at the module's address there is another by now. */
static void test_gone(void)
{
	start("a module that went before it was seen");
	struct ring *a = take(0, (uint32_t)getpid());
	uint64_t here = (uintptr_t)test_gone & ~UINT64_C(4095);
	add_module(0, here, 0);
	s->mem_modules[0].closed = base + 2;
	drain_add(&drain, s);
	alloc(a, 1, 0x10, 1);
	let_go(a);
	finish();
	read_trace();
	CHECK("its name is the guest's", strcmp(module_path, "/nowhere/lib0.so"), 0);
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
			memset(s->memory, (int)seed, s->data_offset);
		drain_add(&drain, s);
		finish();
		read_trace();
		if (seed % 5 == 0)
			CHECK("noticed", damaged, 1);
	}
}

static void test_live(void)
{
	enum { ADDRESSES = 3000 };
	static uint64_t have[ADDRESSES]; /* number + 1 */
	struct live l;
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

/* ---- stacks sent as registers and a copy ---- */

static __attribute__((noinline, no_sanitize("address"))) uint64_t peek(uint64_t address)
{
	return *(volatile const uint64_t *)(uintptr_t)address;
}

static int add_own_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct mg_module m = {.start = UINT64_MAX, .bias = info->dlpi_addr, .loaded = base};
	uint32_t n = s->mem->module_count;
	(void)size, (void)arg;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t low = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD && low < m.start)
			m.start = low & ~UINT64_C(4095);
		if (p->p_type == PT_LOAD && low + p->p_memsz > m.end)
			m.end = low + p->p_memsz;
		if (p->p_type == PT_GNU_EH_FRAME) {
			m.eh_frame_hdr = low;
			m.eh_frame_hdr_bytes = p->p_memsz;
		}
	}
	s->mem_modules[n] = m;
	__atomic_store_n(&s->mem->module_count, n + 1, __ATOMIC_RELEASE);
	return 0;
}

static void *judge[64];
static int judged;

extern void *__libc_stack_end;

/* Sends the stack from here up in parts, as the guest does. */
static __attribute__((noinline)) void send_copy(struct ring *g)
{
	uint64_t w[8 + MG_COPY_REGS + 512], regs[MG_COPY_REGS];
	size_t part = 4096;
	__asm__ volatile("leaq 0f(%%rip), %%rax\n0:\tmovq %%rax, (%0)\n\tmovq %%rsp, 8(%0)\n\tmovq "
			 "%%rbp, 16(%0)\n\t"
			 "movq %%rbx, 24(%0)\n\tmovq %%r12, 32(%0)\n\tmovq %%r13, 40(%0)\n\tmovq "
			 "%%r14, 48(%0)\n\t"
			 "movq %%r15, 56(%0)"
			 :
			 : "r"(regs)
			 : "rax", "memory");
	judged = backtrace(judge, 64);
	uint64_t sp = regs[MG_REG_RSP], end = ((uintptr_t)__libc_stack_end | 4095) + 1;
	for (uint64_t at = 0; sp + at < end; at += part) {
		unsigned n = 4;
		size_t bytes = end - sp - at < part ? end - sp - at : part;
		w[0] = word0(MG_COPY, 0, 0, (unsigned)at);
		w[1] = base + 1, w[2] = sp, w[3] = bytes;
		for (unsigned k = 0; !at && k < MG_COPY_REGS; k++)
			w[n++] = regs[k];
		for (size_t k = 0; k < bytes / 8;
		     k++) /* other frames too: not for the sanitizer to judge */
			w[n++] = peek(sp + at + k * 8);
		put(g, w, n);
	}
	put(g, (uint64_t[]){word0(MG_ALLOC, MG_F_COPIED, 0, 0), base + 2, 0x5000, 9}, 4);
}

static __attribute__((noinline)) void caller(struct ring *g, int depth)
{
	if (depth)
		caller(g, depth - 1);
	else
		send_copy(g);
	__asm__ volatile("");
}

static void test_copy(void)
{
	start("a stack sent as a copy");
	struct ring *a = take(0, (uint32_t)getpid());
	dl_iterate_phdr(add_own_module, NULL);
	drain_add(&drain, s);
	caller(a, 10);
	let_go(a);
	usleep(100000); /* unwound while this process, whose memory it reads, still has it */
	finish();
	read_trace();
	struct ms_frame f[80];
	size_t n = stack_of(events[0].stack, f, 80);
	CHECK("remote unwinds", end_fields[MS_END_REMOTE_UNWINDS], 1);
	/* Where each looked from differs, and a sanitizer puts a frame of its own on top. */
	int from = 0;
	while (from < judged && (uintptr_t)judge[from] != f[1].address)
		from++;
	CHECK("frames as backtrace has them", (long)n - 1, judged - from);
	for (int i = from; i < judged && (size_t)(i - from + 1) < n; i++)
		CHECK("frame", f[i - from + 1].address, (uintptr_t)judge[i]);
	CHECK("frames", n > 12, 1);
	CHECK("a module is known", f[1].module != 0, 1);
	CHECK("stacks without root", end_fields[MS_END_STACKS_TRUNCATED], 0);
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

int main(void)
{
	static void (*const tests[])(void) = {test_kinds, test_repair,  test_pending, test_sequence,
					      test_wrap,  test_depth,   test_epochs,  test_gone,
					      test_live,  test_hostile, test_copy,    test_counts,
					      test_short};
	if (!clock_tsc_usable()) {
		puts("the processor's time stamps are not usable here");
		return 77;
	}
	for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
		tests[i]();
	printf("%s\n", failures ? "FAILED" : "ok");
	return failures != 0;
}
