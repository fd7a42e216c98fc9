/* SPDX-License-Identifier: MIT
 * The merge: items of a few rings, and the events and figures that they are to become. A stamp is a
 * nanosecond.
 */
#include <stdlib.h>
#include <string.h>

#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "ms-record/heap/preexisting.c" /* it belongs to a tool, of which there is no library */

#include "ms-record/heap/forks.h"
#include "ms-record/heap/heaps.h"
#include "ms-record/heap/merge.h"
#include "ms-record/heap/sampled.h"
#include "ms-record/session/hook_spec.h"
#include "ms-record/session/info.h"
#include "ms-record/session/session.h"
#include "ms-record/session/session_options.h"
#include "tests/unit/check.h"

#define RINGS 3u
#define ITEMS 64u
#define TICK MS_TRACE_TICK_NS
#define A 0x1000u /* addresses of blocks */
#define B 0x2000u
#define C 0x3000u
#define P 0x9000u /* of a pool */

static struct session_options opt;
static struct hooks hooks;
static struct session *s;
static struct writer writer; /* it has no thread: what is handed over stays in its queue */

static void begin(void)
{
	opt = (struct session_options){.depth = 512};
	s = ms_xcalloc(1, sizeof *s);
	s->opt = &opt;
	s->hooks = &hooks;
	s->tsc_hz = 1000000000;
	clock_start(&s->clock, NULL);
	s->clock.pairs[0] = (struct clock_pair){0, 0};
	s->clock.pairs[1] = (struct clock_pair){UINT32_MAX, UINT32_MAX};
	s->clock.count = 2;
	s->clock.newest = 1;
	writer = (struct writer){.last = &writer.first};
	s->writer = &writer;
	session_batch(s);
	stacks_init(&s->stacks);
	s->who = identity_new();
	merge_begin(s, 1);
	s->readers = ms_xcalloc(RINGS, sizeof *s->readers);
	for (uint32_t i = 0; i < RINGS; i++) {
		struct reader *r = *MS_PUSH(&s->taken) = &s->readers[i];
		r->items = ms_xcalloc(ITEMS + ITEMS_AHEAD, sizeof *r->items);
		r->thread = i;
		*MS_PUSH(&s->threads) = (struct thread){.last_number = UINT64_MAX};
	}
}

static void end(void)
{
	for (uint32_t i = 0; i < RINGS; i++)
		free(s->readers[i].items);
	for (size_t i = 0; i < s->modules.all.n; i++)
		free(s->modules.all.v[i].path);
	merge_end(s);
	identity_unref(s->who);
	stacks_free(&s->stacks);
	batch_free(s->batch);
	while (writer.first) {
		struct batch *b = writer.first;
		writer.first = b->next;
		batch_free(b);
	}
	MS_FREE(s->readers, s->taken.v, s->threads.v, s->modules.all.v, s);
}

static struct item *put(unsigned ring, enum item_kind kind, uint64_t stamp, uint64_t address,
			uint64_t size)
{
	struct reader *r = &s->readers[ring];
	bool takes = kind != ITEM_FREE && kind != ITEM_RELEASE && kind != ITEM_FREE_UNSURE &&
		     kind != ITEM_UNMAP;
	struct item *it = &r->items[r->count++];
	*it = (struct item){
		.key = stamp << 1 | takes, .address = address, .size = size, .kind = (uint8_t)kind};
	return it;
}

/* Its two halves: the old block, and the new one. */
static void put_realloc(unsigned ring, uint64_t stamp, uint64_t old, uint64_t new, uint64_t size)
{
	uint8_t link = (uint8_t)(s->readers[ring].releases++ % RELEASED);
	put(ring, ITEM_RELEASE, stamp, old, 0)->link = link;
	put(ring, ITEM_REALLOC, stamp + 1, new, size)->link = link;
}

/* A block of the heap with that number, and of the pool at that address. */
static struct item *put_heap(unsigned ring, enum item_kind kind, uint64_t stamp, uint64_t address,
			     uint64_t size, uint64_t heap, uint64_t pool)
{
	struct item *it = put(ring, kind, stamp, address | LIVE_USER, size);
	it->extra = heaps_add_detail(s, heap, pool, NULL);
	return it;
}

static void put_pool(unsigned ring, uint64_t stamp, uint64_t address, uint64_t step,
		     const char *name)
{
	put(ring, ITEM_POOL, stamp, address, 0)->extra =
		heaps_add_detail(s, step, 0, name ? ms_xstrdup(name) : NULL);
}

static uint32_t frame(uint32_t parent, uint64_t address)
{
	return stacks_node(&s->stacks, parent, &(struct ms_frame){.address = address});
}

/* Its frames, innermost first; of a heap its name. */
static void add_stack(char *to, uint32_t node)
{
	for (; node; node = s->stacks.nodes.v[node - 1].parent) {
		const struct ms_frame *f =
			&s->stacks.frames.v[s->stacks.nodes.v[node - 1].frame - 1];
		if (f->flags & MS_FRAME_HEAP)
			sprintf(to + strlen(to), "/%s", s->modules.all.v[f->module - 1].path);
		else
			sprintf(to + strlen(to), "/%lx", (long)f->address);
	}
}

/* Merges below a stamp, and compares the events since: thread, what, the block that goes, the one
 * that comes = its size. */
static void merged(uint64_t limit, const char *what, const char *want)
{
	static const char *const kinds[] = {[MS_EV_ALLOC] = "alloc",
					    [MS_EV_FREE] = "free",
					    [MS_EV_REALLOC] = "realloc",
					    [MS_EV_FREE_UNKNOWN] = "free?",
					    [MS_EV_REALLOC_UNKNOWN] = "realloc?",
					    [MS_EV_FAILED] = "failed",
					    [MS_EV_FREE_INFERRED] = "inferred",
					    [MS_EV_EXT] = "ext"};
	char got[1024] = "";
	s->batch->events.n = s->batch_left = 0;
	merge_until(s, limit);
	for (size_t i = 0; i < s->batch->events.n; i++) {
		const struct ms_event *e = &s->batch->events.v[i];
		char *to = got + strlen(got);
		to += sprintf(to, "%s%u %s", i ? ", " : "", e->thread, kinds[e->kind]);
		if (e->kind == MS_EV_EXT)
			to += sprintf(to, "%u", e->ext);
		if (ms_event_releases(e->kind) || (e->kind == MS_EV_EXT && e->freed))
			to += sprintf(to, " %lu", (long)e->freed);
		if (ms_event_allocates(e->kind))
			to += sprintf(to, " %lu=%lu", (long)e->number, (long)e->size);
		else if (e->size)
			to += sprintf(to, " =%lu", (long)e->size);
		if (e->address)
			to += sprintf(to, " @%lx", (long)e->address);
		add_stack(to, e->stack);
	}
	CHECK(!strcmp(got, want), "%s: '%s', not '%s'", what, got, want);
}

static void is(const char *what, uint64_t got, uint64_t want)
{
	CHECK(got == want, "%s: %lu, not %lu", what, (long)got, (long)want);
}

/* ---- order, and figures ---- */

static void check_order(void)
{
	begin();
	put(0, ITEM_ALLOC, 100, A, 10)->extra = 7;
	put(0, ITEM_FREE, 400, A, 0);
	put(0, ITEM_FREE, 5 * TICK, B, 0)->stack = frame(0, 0x71);
	put(1, ITEM_ALLOC, 200, B, 20)->stack = frame(frame(0, 0x70), 0x71);
	put(1, ITEM_ALLOC, 300, C, 30);
	put(2, ITEM_ALLOC, 400, A, 40);
	put(2, ITEM_FAILED, 500, 0, 99)->stack = frame(0, 0x70);
	put(2, ITEM_FREE, 600, A, 0);
	put(2, ITEM_DONE, 601, C, 0);
	merged(300, "below a stamp", "0 alloc 0=10, 1 alloc 1=20/71/70");
	is("slack", s->batch->events.v[0].slack, 7);
	is("live bytes", s->stats.live_bytes, 30);
	merged(601, "what is freed first at a stamp",
	       "1 alloc 2=30, 0 free 0, 2 alloc 3=40, 2 failed =99/70, 2 free 3");
	merged(UINT64_MAX, "the rest", "0 free 1/71");
	is("its tick", s->batch->events.v[0].time_ticks, 5);
	is("events", s->stats.events, 8);
	is("allocations", s->stats.allocations, 4);
	is("allocated bytes", s->stats.allocated_bytes, 100);
	is("frees", s->stats.frees, 3);
	is("failed", s->stats.failed, 1);
	is("temporary", s->stats.temporary, 2);
	is("live bytes", s->stats.live_bytes, 30);
	is("live blocks", s->stats.live_blocks, 1);
	is("peak bytes", s->stats.peak_bytes, 90);
	is("peak blocks", s->stats.peak_blocks, 3);
	is("blocks in the table", s->heap->live.count, 1);
	is("repairs", s->stats.repairs + s->stats.violations, 0);
	is("how far ahead", merge_lookahead(s), 50000);
	end();
	begin(); /* three rings, one item each in turn */
	opt.addresses = true;
	for (unsigned i = 0; i < 30; i++)
		put(i * 2 % RINGS, ITEM_ALLOC, 2 * TICK + i, A + i * 16, 1);
	merged(2 * TICK + 4, "in turn",
	       "0 alloc 0=1 @1000, 2 alloc 1=1 @1010, 1 alloc 2=1 @1020, 0 alloc 3=1 @1030");
	is("its time", s->stats.peak_ns, 2 * TICK);
	merge_until(s, UINT64_MAX);
	for (size_t i = 0; i < s->batch->events.n; i++)
		is("order", s->batch->events.v[i].address, A + i * 16);
	end();
}

static void check_reallocs(void)
{
	begin();
	put(0, ITEM_ALLOC, 100, A, 10);
	put_realloc(0, 200, A, B, 50);
	put_realloc(0, 300, B, B, 5);
	put_realloc(0, 400, C, A, 7); /* nobody knows the old one */
	put(1, ITEM_ALLOC, 350, A + 8, 1);
	put_realloc(1, 500, B, C, 9); /* of another thread */
	merged(UINT64_MAX, "reallocs",
	       "0 alloc 0=10, 0 realloc 0 1=50, 0 realloc 1 2=5, 1 alloc 3=1, 0 realloc? 4=7, "
	       "1 realloc 2 5=9");
	is("reallocations", s->stats.reallocs, 4);
	is("frees", s->stats.frees, 3);
	is("unknown frees", s->stats.unknown_frees, 1);
	is("temporary", s->stats.temporary, 2);
	is("live bytes", s->stats.live_bytes, 17);
	is("live blocks", s->stats.live_blocks, 3);
	end();
}

/* ---- stamps that are a little wrong ---- */

/* A block's address is taken again at 1000, and given back by another ring only so much later. */
static void late_free(uint64_t late, const char *want, unsigned repairs, unsigned violations)
{
	begin();
	put(0, ITEM_ALLOC, 100, A, 10);
	put(0, ITEM_ALLOC, 1000, A, 20);
	put(1, ITEM_ALLOC, 1001, B, 1);
	put(1, ITEM_FREE, 1000 + late, A, 0);
	merged(UINT64_MAX, "a late free", want);
	is("repairs", s->stats.repairs, repairs);
	is("violations", s->stats.violations, violations);
	is("inferred frees", s->stats.inferred_frees, !repairs && !violations);
	is("live bytes", s->stats.live_bytes, repairs || violations ? 21 : 1);
	is("live blocks", s->stats.live_blocks, repairs || violations ? 2 : 1);
	end();
}

/* It is given back at 1000, and taken by another ring only so much later. */
static void early_free(uint64_t late, const char *want, unsigned repairs, unsigned violations)
{
	begin();
	put(0, ITEM_FREE, 1000, A, 0);
	put(1, ITEM_ALLOC, 1000 + late, A, 10);
	merged(UINT64_MAX, "an early free", want);
	is("repairs", s->stats.repairs, repairs);
	is("violations", s->stats.violations, violations);
	is("unknown frees", s->stats.unknown_frees, !repairs && !violations);
	is("live blocks", s->stats.live_blocks, !repairs && !violations);
	end();
}

static void check_repairs(void)
{
	static const char *const freed = "0 alloc 0=10, 1 free 0, 0 alloc 1=20, 1 alloc 2=1";
	late_free(500, freed, 1, 0);
	late_free(2000, freed, 1, 0);
	late_free(2001, freed, 0, 1);
	late_free(50000, freed, 0, 1);
	late_free(50001, "0 alloc 0=10, 0 inferred 0, 0 alloc 1=20, 1 alloc 2=1, 1 free 1", 0, 0);
	early_free(500, "1 alloc 0=10, 0 free 0", 1, 0);
	early_free(1999, "1 alloc 0=10, 0 free 0", 1, 0);
	early_free(2001, "1 alloc 0=10, 0 free 0", 0, 1);
	early_free(49999, "1 alloc 0=10, 0 free 0", 0, 1);
	early_free(50001, "0 free?, 1 alloc 0=10", 0, 0);

	begin(); /* nor where stamps are counted */
	s->clock.counted = 0;
	put(0, ITEM_ALLOC, 100, A, 10);
	put(0, ITEM_ALLOC, 1000, A, 20);
	put(1, ITEM_FREE, 1001, A, 0);
	put(1, ITEM_FREE, 2000, B, 0);
	put(0, ITEM_ALLOC, 2000, B, 30);
	merged(UINT64_MAX, "counted",
	       "0 alloc 0=10, 0 inferred 0, 0 alloc 1=20, 1 free 1, 1 free?, 0 alloc 2=30");
	end();
	begin(); /* in its own ring nothing is late */
	put(0, ITEM_ALLOC, 50, C, 5);
	put(0, ITEM_ALLOC, 100, A, 10);
	put(0, ITEM_ALLOC, 1000, A, 20);
	put(0, ITEM_FREE, 1001, A, 0);
	put(0, ITEM_FREE, 1002, A, 0);
	put(0, ITEM_ALLOC, 1003, A, 30);
	merged(UINT64_MAX, "one ring",
	       "0 alloc 0=5, 0 alloc 1=10, 0 inferred 1, 0 alloc 2=20, 0 free 2, 0 free?, "
	       "0 alloc 3=30");
	end();

	begin(); /* of two the earlier one, and only when it is the first of its ring there */
	put(0, ITEM_ALLOC, 100, A, 10);
	put(0, ITEM_ALLOC, 1000, A, 20);
	put(1, ITEM_FREE, 1300, A, 0);
	put(2, ITEM_FREE, 1200, A, 0);
	merged(1250, "two late frees", "0 alloc 0=10, 2 free 0, 0 alloc 1=20");
	merged(UINT64_MAX, "the other one", "1 free 1");
	end();
	begin();
	put(0, ITEM_FREE, 1000, A, 0);
	put(1, ITEM_FREE, 1100, A, 0);
	put(1, ITEM_ALLOC, 1200, A, 10);
	merged(UINT64_MAX, "freed there before", "0 free?, 1 free?, 1 alloc 0=10");
	end();
	begin(); /* one block waits for one free */
	put(0, ITEM_FREE, 1000, A, 0);
	put(2, ITEM_FREE, 1001, A, 0);
	put(1, ITEM_ALLOC, 1100, A, 10);
	merged(UINT64_MAX, "two early frees", "2 free?, 1 alloc 0=10, 0 free 0");
	end();
}

/* The old block of a realloc is made, or given back, a little late. */
static void check_repaired_reallocs(void)
{
	begin();
	put(0, ITEM_RELEASE, 1000, A, 0)->link = 3;
	put(0, ITEM_REALLOC, 1500, B, 20)->link = 3;
	put(1, ITEM_ALLOC, 1100, A, 10);
	merged(UINT64_MAX, "its old block is made late", "1 alloc 0=10, 0 realloc 0 1=20");
	is("repairs", s->stats.repairs, 1);
	is("live bytes", s->stats.live_bytes, 20);
	end();
	begin();
	put(0, ITEM_ALLOC, 100, A, 10);
	put(1, ITEM_ALLOC, 1000, A, 20);
	put(2, ITEM_RELEASE, 1100, A, 0)->link = 5;
	put(2, ITEM_REALLOC, 1200, B, 30)->link = 5;
	merged(UINT64_MAX, "its old block goes late",
	       "0 alloc 0=10, 1 alloc 1=20, 2 realloc 0 2=30");
	is("repairs", s->stats.repairs, 1);
	is("live bytes", s->stats.live_bytes, 50);
	end();
}

/* ---- marks ---- */

/* A mark ends the event block. */
static void check_marks(void)
{
	begin();
	opt.leak_mark = "mark:second";
	put(1, ITEM_ALLOC, 100, A, 10);
	put(1, ITEM_MARK, 200, 0, (uintptr_t)ms_xstrdup("first"));
	put(1, ITEM_ALLOC, 300, B, 10);
	put(1, ITEM_ALLOC, 400, C, 10);
	put(1, ITEM_MARK, 500, 0, (uintptr_t)ms_xstrdup("second"));
	put(1, ITEM_ALLOC, 600, A, 10);
	merge_until(s, 500);
	is("due", s->leak_mark_due, false);
	merge_until(s, UINT64_MAX);
	is("due", s->leak_mark_due, true);
	is("blocks", writer.pushed, 2);
	is("events behind them", s->batch->events.n, 2); /* an inferred free */
	const struct batch *b = writer.first;
	for (unsigned i = 0; i < 2 && b; i++, b = b->next) {
		struct ms_record_reader r = {b->marks.data, b->marks.data + b->marks.size};
		struct ms_record record = {0};
		struct ms_field f;
		char got[100] = "";
		ms_record_next(&r, &record);
		while (ms_record_field(&record, &f) == MS_FMT_OK)
			if (f.is_bytes)
				sprintf(got + strlen(got), "%u=%.*s ", f.id, (int)f.size,
					(const char *)f.data);
			else
				sprintf(got + strlen(got), "%u=%lu ", f.id, (long)f.value);
		is("it ends there", b->ends, true);
		CHECK(!strcmp(got, i ? "1=500 2=second 3=3 4=2 " : "1=200 2=first 3=1 4=2 "), "%s",
		      got);
	}
	end();
	begin();
	put(0, ITEM_MARK, 200, 0, (uintptr_t)ms_xstrdup("first"));
	merge_until(s, UINT64_MAX);
	is("no mark is due", s->leak_mark_due, false);
	end();
}

/* ---- heaps of the program's own ---- */

static void check_heaps(void)
{
	begin();
	opt.addresses = true;
	*MS_PUSH(&hooks.heaps) = "own";
	put_heap(0, ITEM_HEAP_ALLOC, 100, A, 10, 1, 0)->stack = frame(frame(0, 0x70), 0x71);
	put_heap(0, ITEM_HEAP_ALLOC, 200, B, 20, 2, 0)->stack = frame(0, 0x70);
	put_heap(0, ITEM_HEAP_FAILED, 300, 0, 99, 1, 0)->stack = frame(frame(0, 0x70), 0x72);
	put(0, ITEM_ALLOC, 400, A, 1); /* of malloc, at the same address */
	put(0, ITEM_RELEASE, 500, A | LIVE_USER, 0);
	put_heap(0, ITEM_HEAP_REALLOC, 501, C, 30, 1, 0);
	put(0, ITEM_FREE, 600, B | LIVE_USER, 0);
	merged(UINT64_MAX, "a heap",
	       "0 alloc 0=10 @1000/71/70/own, 0 alloc 1=20 @2000/70, 0 failed =99/72/70/own, "
	       "0 alloc 2=1 @1000, 0 realloc 0 3=30 @3000/own, 0 free 1");
	is("live bytes", s->stats.live_bytes, 31);
	end();
}

static void check_pools(void)
{
	begin();
	put_pool(0, 50, P, MG_POOL_MADE, "pool");
	put_heap(0, ITEM_HEAP_ALLOC, 100, A, 10, 0, P);
	put_heap(0, ITEM_HEAP_ALLOC, 101, B, 20, 0, P);
	put_heap(0, ITEM_HEAP_ALLOC, 102, C, 30, 0, P + 8); /* of another one, which has no name */
	put(0, ITEM_RELEASE, 200, A | LIVE_USER, 0);
	put_heap(0, ITEM_HEAP_REALLOC, 201, A + 64, 40, 0, P);
	put(0, ITEM_FREE, 202, B | LIVE_USER, 0);
	put_heap(0, ITEM_HEAP_ALLOC, 203, B, 50, 0, 0); /* what is there now is no block of it */
	put_pool(1, 300, P, MG_POOL_RESET, NULL);
	put_heap(1, ITEM_HEAP_ALLOC, 400, A, 60, 0, P);
	put_heap(1, ITEM_HEAP_ALLOC, 401, A + 32, 70, 0, P);
	put_pool(1, 500, P, MG_POOL_GONE, NULL);
	put_heap(1, ITEM_HEAP_ALLOC, 600, A, 80, 0, P);
	merged(300, "a pool",
	       "0 alloc 0=10/pool, 0 alloc 1=20/pool, 0 alloc 2=30, 0 realloc 0 3=40/pool, "
	       "0 free 1, 0 alloc 4=50");
	merged(400, "is emptied", "1 free 3");
	merged(UINT64_MAX, "and gone",
	       "1 alloc 5=60/pool, 1 alloc 6=70/pool, 1 free 6, 1 free 5, 1 alloc 7=80");
	is("live bytes", s->stats.live_bytes, 160);
	end();
}

static void check_backing(void)
{
	begin();
	opt.addresses = true;
	put(0, ITEM_ALLOC, 50, A, 5);
	put(0, ITEM_BACKING, 100, A, 100)->extra = 1 << 1;
	put(0, ITEM_BACKING, 200, B, 200)->extra = 1 << 1 | 1;
	put_heap(0, ITEM_HEAP_ALLOC, 300, A, 10, 1, 0);
	put(0, ITEM_FREE, 400, A, 0);
	put(0, ITEM_FREE, 500, B, 0);
	put(0, ITEM_FREE, 600, B, 0);
	put(0, ITEM_BACKING, 700, A, 100)->extra = 1 << 1;
	put_realloc(0, 800, A, C, 30);
	put(0, ITEM_FREE_UNSURE, 900, B, 0);
	put(0, ITEM_FREE_UNSURE, 901, C, 0);
	put(0, ITEM_BACKING, 902, B, 200)->extra = 1 << 1;
	put_heap(0, ITEM_HEAP_ALLOC, 903, B, 40, 1, 0);
	put(0, ITEM_FREE_UNSURE, 904, B, 0); /* what is cut from it may not be gone */
	merged(UINT64_MAX, "backing",
	       "0 alloc 0=5 @1000, 0 inferred 0, 0 ext4 =100 @1000/own, 0 alloc 1=10 @1000/own, "
	       "0 ext5 =100 @1000/own, 0 free 1, 0 free? @2000, 0 ext4 =100 @1000/own, "
	       "0 ext5 =100 @1000/own, 0 alloc 2=30 @3000, 0 free 2, 0 ext4 =200 @2000/own, "
	       "0 alloc 3=40 @2000/own, 0 ext5 =200 @2000/own");
	is("reallocations", s->stats.reallocs, 0);
	is("unknown frees", s->stats.unknown_frees, 1);
	end();
}

/* ---- blocks from before ---- */

/* Of a parent, and of its parent. */
static void check_inherited(void)
{
	begin();
	opt.addresses = true;
	struct inherited_heap *h = s->heap->inherited_heap;
	const uint64_t up = UINT64_C(1) << FORKS_UP_SHIFT;
	s->forked = true;
	live_init(&h->inherited);
	live_add(&h->inherited, &(struct live_block){A, up | 5, 10});
	live_add(&h->inherited, &(struct live_block){B, 2 * up | 6, 20});
	live_add(&h->inherited, &(struct live_block){P, up | 7, 30});
	h->blocks = 3;
	h->bytes = 60;
	put(0, ITEM_FREE, 100, A, 0)->stack = frame(0, 0x70);
	put(0, ITEM_FREE, 101, A, 0);
	put(0, ITEM_FORK, 200, 0, 0);
	put_realloc(0, 300, B, C, 7);
	put(0, ITEM_FREE, 400, C, 0);
	put(0, ITEM_FREE_UNSURE, 500, B, 0);
	put(0, ITEM_FREE_UNSURE, 600, P, 0);
	merged(UINT64_MAX, "inherited",
	       "0 ext1 72057594037927941 =10 @1000, 0 free? @1000/70, 0 free? @1000, "
	       "0 ext1 144115188075855878 =20 @2000, 0 realloc? 0=7 @3000, 0 free 0, "
	       "0 ext1 72057594037927943 =30 @9000, 0 free? @9000");
	is("inherited frees", s->stats.inherited_frees, 3);
	is("unknown frees", s->stats.unknown_frees, 1);
	is("blocks of the parent's", h->blocks, 0);
	is("bytes of the parent's", h->bytes, 0);
	/* As of the fork, and what came since. */
	is("points", h->points.n, 1);
	is("its stamp", h->points.v[0].stamp, 200);
	is("its place", h->points.v[0].at, 0);
	is("events before it", h->points.v[0].events, 3);
	is("blocks live then", h->points.v[0].blocks, 2);
	is("bytes live then", h->points.v[0].bytes, 50);
	static const struct {
		uint64_t address;
		uint8_t what;
	} log[] = {{B, FORK_TAKEN_INHERITED},
		   {C, FORK_MADE},
		   {C, FORK_TAKEN},
		   {P, FORK_TAKEN_INHERITED}};
	is("changes", h->log.n, 4);
	for (size_t i = 0; i < 4 && i < h->log.n; i++) {
		is("what", h->log.v[i].what, log[i].what);
		is("where", h->log.v[i].block.address, log[i].address);
	}
	end();
}

/* What explains an event is in the same event block. */
static void check_same_block(void)
{
	begin();
	s->forked = true;
	s->block_events = BLOCK_EVENTS - 1;
	live_init(&s->heap->inherited_heap->inherited);
	live_add(&s->heap->inherited_heap->inherited, &(struct live_block){A, 5, 10});
	put(0, ITEM_FREE, 100, A, 0);
	merge_until(s, UINT64_MAX);
	is("the block before it", writer.pushed, 1);
	is("both", s->batch->events.n, 2);
	end();
}

/* Of an attached process: blocks that nobody saw made. */
static void check_preexisting(void)
{
	begin();
	preexisting_begin(s, &(struct hijack){.proc = -1}, false, (uint64_t[1]){0}, 0);
	struct preexisting *b = s->heap->preexisting;
	for (uint64_t i = 0; i < 4; i++)
		live_add(&b->blocks, &(struct live_block){.address = A + i * 256, .size = 10 + i});
	put(0, ITEM_FREE, 100, A, 0);
	put(1, ITEM_ALLOC, 101, A, 1); /* no late one: nothing was made there before */
	put(0, ITEM_FREE, 102, A, 0);
	put_realloc(0, 200, A + 256, B, 2);
	put(0, ITEM_ALLOC, 300, A + 512, 3); /* the free of what was there was lost */
	put(0, ITEM_FREE, 400, A + 512, 0);
	put(0, ITEM_FREE, 500, C, 0);
	put(0, ITEM_ALLOC, 600, C, 4);
	put(0, ITEM_FREE, 700, C, 0);
	put(0, ITEM_FREE, 10000, C, 0);
	put(1, ITEM_ALLOC, 12001, C, 5); /* further off than a stamp can be wrong */
	put(0, ITEM_FREE, 20000, C, 0);
	put(0, ITEM_FREE, 30000, C, 0);
	put(1, ITEM_ALLOC, 31000, C, 6);
	merged(UINT64_MAX, "preexisting",
	       "0 ext6 =10, 0 free?, 1 alloc 0=1, 0 free 0, 0 ext6 =11, 0 realloc? 1=2, "
	       "0 alloc 2=3, 0 free 2, 0 free?, 0 alloc 3=4, 0 free 3, 0 free?, 1 alloc 4=5, "
	       "0 free 4, 1 alloc 5=6, 0 free 5");
	is("frees of blocks from before", s->stats.preexisting_frees, 2);
	is("with those that were lost", b->counts.frees, 3);
	is("their bytes", b->counts.freed_bytes, 33);
	is("unknown frees", s->stats.unknown_frees, 2);
	is("repairs", s->stats.repairs, 1);
	is("violations", s->stats.violations, 0);
	end();
}

/* ---- address space ---- */

static void put_map(enum item_kind kind, uint64_t stamp, uint64_t address, uint64_t size,
		    uint32_t extra)
{
	put(0, kind, stamp, address, size)->extra = extra;
}

static void check_mapped(void)
{
	begin();
	put_map(ITEM_MAP, 3 * TICK, 0x10000, 0x3000, 0);
	put_map(ITEM_UNMAP, 3 * TICK + 1, 0x20000, 0x1000, 0); /* a file's */
	put_map(ITEM_UNMAP, 3 * TICK + 2, 0x11000, 0x1000, 0);
	put_map(ITEM_MAP, 3 * TICK + 3, 0x30000, 0x1000, MG_MAP_BRK);
	put_map(ITEM_UNMAP, 3 * TICK + 4, 0x10000, 0x1000, MG_MAP_REMAP); /* moved */
	put_map(ITEM_MAP, 3 * TICK + 5, 0x40000, 0x800, MG_MAP_REMAP);
	put_map(ITEM_UNMAP, 3 * TICK + 6, 0x20000, 0x1000, MG_MAP_REMAP); /* a file's, moved */
	put_map(ITEM_MAP, 3 * TICK + 7, 0x30000, 0x1000, MG_MAP_REMAP);
	put_map(ITEM_LOOK, 3 * TICK + 8, 0x12fff, 0, 0);
	put_map(ITEM_MAP, 3 * TICK + 9, 0x50000, 0x1000, MAP_SECOND);
	put_map(ITEM_LOOK, 3 * TICK + 10, 0x11fff, 0, 0);
	put_map(ITEM_MAP, 3 * TICK + 11, 0x60000, 0x1000, MAP_SECOND);
	merged(UINT64_MAX, "address space",
	       "0 ext2 =12288 @10000, 0 ext3 =4096 @11000, 0 ext2 1 =4096 @30000, "
	       "0 ext3 2 =4096 @10000, 0 ext2 2 =2048 @40000, 0 ext3 2 =4096 @30000, "
	       "0 ext2 =4096 @50000");
	is("maps", s->stats.maps, 4);
	is("mapped", s->stats.mapped_bytes, 0x2800);
	is("its peak", s->stats.mapped_peak_bytes, 0x3000);
	is("when", s->stats.mapped_peak_ns, 3 * TICK);
	end();
}

/* ---- samples ---- */

/* Of 1000 bytes, when one in 1000 is sampled, 0.632 blocks are recorded: each stands for 1582 bytes,
 * with a variance of (1000 / 0.632)^2 * 0.368. */
static void check_sampled(void)
{
	struct stats t = {0};
	char room[128];
	sampled_made(&t, 1, 5, 300); /* such a one is recorded for sure */
	is("allocated", t.allocated_bytes, 300);
	is("live blocks", t.live_blocks, 1);
	CHECK(t.variance == 0, "%g", t.variance);
	CHECK(!strcmp(sampled_words(room, &t, 1, false), "300 B (300 B to 304 B)"), "%s", room);
	sampled_freed(&t, 1, 5, 300);
	is("live bytes", t.live_bytes, 0);
	for (uint64_t i = 0; i < 100; i++)
		sampled_made(&t, 1000, i, 1000);
	is("allocated", t.allocated_bytes, 300 + 158200);
	is("live bytes", t.live_bytes, 158200);
	is("seen", t.seen_bytes, 100000);
	CHECK(t.live_blocks > 140 && t.live_blocks < 176, "%lu blocks", (long)t.live_blocks);
	CHECK(t.variance > 91.9e6 && t.variance < 92.2e6, "%g", t.variance);
	sampled_peak(&t);
	t.peak_bytes = t.live_bytes;
	for (uint64_t i = 0; i < 99; i++)
		sampled_freed(&t, 1000, i, 1000);
	is("live bytes", t.live_bytes, 1582);
	is("seen", t.seen_bytes, 1000);
	CHECK(t.live_blocks == 1 || t.live_blocks == 2, "%lu blocks", (long)t.live_blocks);
	CHECK(t.variance > 0.919e6 && t.variance < 0.922e6, "%g", t.variance);
	CHECK(!strcmp(sampled_words(room, &t, 1000, false), "1.5 KiB (1000 B to 6.1 KiB)"), "%s",
	      room);
	CHECK(!strcmp(sampled_words(room, &t, 1000, true), "154.5 KiB (137.6 KiB to 175.3 KiB)"),
	      "%s", room);
	t.variance += 1; /* what rounding left of it goes with the last one */
	sampled_freed(&t, 1000, 99, 1000);
	CHECK(!t.live_bytes && !t.live_blocks && !t.seen_bytes && t.variance == 0, "%g",
	      t.variance);

	begin(); /* and so in the merge */
	opt.sample_bytes = 1000;
	put(0, ITEM_ALLOC, 100, A, 1000);
	put(0, ITEM_ALLOC, 200, B, 1000);
	put(0, ITEM_FREE, 300, A, 0);
	put(0, ITEM_FREE_UNSURE, 301, A, 0);
	merged(UINT64_MAX, "sampled", "0 alloc 0=1000, 0 alloc 1=1000, 0 free 0");
	is("allocated", s->stats.allocated_bytes, 2 * 1582);
	is("live", s->stats.live_bytes, 1582);
	is("peak", s->stats.peak_bytes, 2 * 1582);
	is("peak, seen", s->stats.peak_seen_bytes, 2000);
	end();
}

int main(void)
{
	check_order();
	check_reallocs();
	check_repairs();
	check_repaired_reallocs();
	check_marks();
	check_heaps();
	check_pools();
	check_backing();
	check_inherited();
	check_same_block();
	check_preexisting();
	check_mapped();
	check_sampled();
	free(hooks.heaps.v);
	return failures != 0;
}
