/* SPDX-License-Identifier: MIT
 * The merge: order, stamps that are a little wrong, marks, and blocks from before.
 */
#include "ms-record/heap/preexisting.c" /* it belongs to a tool, of which there is no library */

#include "tests/unit/held.h"
#include "merging.h"

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
	is("slack", s->open.batch->events.v[0].slack, 7);
	is("live bytes", s->stats.live_bytes, 30);
	merged(400, "nor is a free at the stamp below it", "1 alloc 2=30");
	merged(601, "what is freed first at a stamp",
	       "0 free 0, 2 alloc 3=40, 2 failed =99/70, 2 free 3");
	merged(UINT64_MAX, "the rest", "0 free 1/71");
	is("its tick", s->open.batch->events.v[0].time_ticks, 5);
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
	for (size_t i = 0; i < s->open.batch->events.n; i++)
		is("order", s->open.batch->events.v[i].address, A + i * 16);
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

/* Checks blocks that the program ignores: the next allocation's number tells which block it was. */
static void check_ignored(void)
{
	begin();
	const struct ignored *g = &s->heap->ignored;
	put(0, ITEM_ALLOC, 100, A, 10);
	put(1, ITEM_ALLOC, 150, B, 10);
	put(0, ITEM_IGNORE, 200, A, 0);
	put(1, ITEM_IGNORE, 300, A, 0);
	put(0, ITEM_ALLOC, 250, C, 10);
	put(0, ITEM_IGNORE, 400, B + 3, 0);
	merged(UINT64_MAX, "ignored", "0 alloc 0=10, 1 alloc 1=10, 0 alloc 2=10");
	is("so many", g->n, 3);
	is("the first", g->v[0].address, A);
	is("allocated before it", g->v[0].next, 2);
	is("the later one", g->v[1].next, 3);
	is("inside", g->v[2].address, B + 3);
	is("allocated before that", g->v[2].next, 3);
	is("no events", s->stats.events, 3);
	for (unsigned i = 0; i < 100000; i++)
		ignored_add(&s->heap->ignored, A + i % 100 * 16, 4 + i);
	is("of few addresses few are kept", g->n <= 8192, true);
	struct ignored copy = {0};
	ignored_copy(&copy, g);
	ignored_copy(&copy, g);
	is("a copy", copy.n, g->n);
	uint64_t last = 0;
	for (size_t i = 0; i < copy.n; i++)
		last = copy.v[i].address == A + 16 && copy.v[i].next > last ? copy.v[i].next : last;
	is("the last of an address", last, 4 + 99901);
	ignored_free(&copy);
	end();
}

/* ---- stamps that are a little wrong ---- */

/* A block's address is taken again at 1000, and given back by another ring only so much later. */
static void late_free(uint64_t late, const char *want, bool repaired)
{
	begin();
	put(0, ITEM_ALLOC, 100, A, 10);
	put(0, ITEM_ALLOC, 1000, A, 20);
	put(1, ITEM_ALLOC, 1001, B, 1);
	put(1, ITEM_FREE, 1000 + late, A, 0);
	merged(UINT64_MAX, "a late free", want);
	is("repairs", s->stats.repairs, repaired);
	is("violations", s->stats.violations, 0);
	is("inferred frees", s->stats.inferred_frees, !repaired);
	is("live bytes", s->stats.live_bytes, repaired ? 21 : 1);
	is("live blocks", s->stats.live_blocks, repaired ? 2 : 1);
	end();
}

/* Checks a block that is given back at 1000, and taken by another ring only so much later. */
static void early_free(uint64_t late, const char *want, bool repaired)
{
	begin();
	put(0, ITEM_FREE, 1000, A, 0);
	put(1, ITEM_ALLOC, 1000 + late, A, 10);
	merged(UINT64_MAX, "an early free", want);
	is("repairs", s->stats.repairs, repaired);
	is("violations", s->stats.violations, 0);
	is("unknown frees", s->stats.unknown_frees, !repaired);
	is("live blocks", s->stats.live_blocks, !repaired);
	end();
}

static void check_repairs(void)
{
	static const char *const freed = "0 alloc 0=10, 1 free 0, 0 alloc 1=20, 1 alloc 2=1";
	static const char *const behind = "1 alloc 0=10, 0 free 0";
	for (uint64_t late = 500; late <= 50000; late *= 10) {
		late_free(late, freed, true);
		early_free(late - 1, behind, true);
	}
	late_free(2001, freed, true);
	late_free(50000, freed, true);
	late_free(50001, "0 alloc 0=10, 0 inferred 0, 0 alloc 1=20, 1 alloc 2=1, 1 free 1", false);
	early_free(2001, behind, true);
	early_free(49999, behind, true);
	early_free(50001, "0 free?, 1 alloc 0=10", false);

	begin(); /* nor from where on stamps are counted */
	s->clock.counted = 1000;
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

/* A mark ends the event block, unless another one did less than a millisecond before. */
static void check_marks(void)
{
	begin();
	opt.leak_mark = "second";
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
	is("blocks", writer.pushed, 1);
	is("events behind it", s->open.batch->events.n, 4); /* an inferred free */
	merge_mark(s, "soon", s->marked_ns + 999999, 1);
	is("soon", writer.pushed, 1);
	merge_mark(s, "later", s->marked_ns + 1000000, 1);
	is("later", writer.pushed, 2);
	merge_mark(s, "from outside", s->marked_ns + 1, 0);
	is("from outside", writer.pushed, 3);
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

/* A moment for which the guest holds a thread comes with a mark, but at exit. */
static void check_moments(void)
{
	static struct mg_session mem;
	begin();
	s->mem = &mem;
	put(0, ITEM_MARK, 200, 0, (uintptr_t)ms_xstrdup("here"))->extra = 4;
	merge_until(s, UINT64_MAX);
	is("a moment", s->moment_due, 4);
	is("its name", strcmp(s->moment_name, "here"), 0);
	is("a mark, too", session_batch(s)->marks.size + writer.pushed != 0, true);
	end();
	begin();
	s->mem = &mem;
	put(0, ITEM_MARK, 200, 0, (uintptr_t)ms_xstrdup(""))->extra = 6 | MG_MOMENT_EXIT;
	merge_until(s, UINT64_MAX);
	is("exit", s->moment_due, 6 | MG_MOMENT_EXIT);
	is("no mark", session_batch(s)->marks.size + writer.pushed, 0);
	end();
	for (uint32_t held = 4; held <= 8; held += 2) {
		begin();
		s->mem = &mem;
		mem.moment = held;
		for (uint32_t i = 4; i <= 8; i += 2)
			put(0, ITEM_MARK, 100 * i, 0, (uintptr_t)ms_xstrdup("here"))->extra = i;
		merge_until(s, UINT64_MAX);
		is("that of the thread that is held", s->moment_due, held);
		end();
	}
}

/* ---- blocks from before ---- */

/* Checks frees of blocks of a parent, and of its parent. */
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
	/* A point holds what was true at the fork, and where the log goes on from there. */
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

/* Checks that an event and the one that explains it are in the same event block. */
static void check_same_block(void)
{
	for (unsigned room = 1; room <= 2; room++) {
		begin();
		s->forked = true;
		s->open.events = BLOCK_EVENTS - room;
		live_init(&s->heap->inherited_heap->inherited);
		live_add(&s->heap->inherited_heap->inherited, &(struct live_block){A, 5, 10});
		put(0, ITEM_FREE, 100, A, 0);
		merge_until(s, UINT64_MAX);
		is("the block before it", writer.pushed, room < 2);
		is("both", s->open.batch->events.n, 2);
		end();
	}
}

/* Checks an attached process: blocks that were made before. */
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
	put(1, ITEM_ALLOC, 20001, C, 5); /* further off than a stamp can be wrong */
	put(0, ITEM_FREE, 30000, C, 0);
	put(0, ITEM_FREE, 40000, C, 0);
	put(1, ITEM_ALLOC, 45000, C, 6);
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

int main(void)
{
	check_order();
	check_reallocs();
	check_ignored();
	check_repairs();
	check_repaired_reallocs();
	check_marks();
	check_moments();
	check_inherited();
	check_same_block();
	check_preexisting();
	is("all is given back", (uint64_t)held_blocks, 0);
	is("all is unmapped", (uint64_t)held_bytes, 0);
	return failures != 0;
}
