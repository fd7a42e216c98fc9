/* SPDX-License-Identifier: MIT
 * The merge: heaps of the program's own, address space, and samples.
 */
#include <stdio.h>

#include "tests/unit/held.h"
#include "merging.h"

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

/* Merges what there is, and makes room for more. */
static void go_on(void)
{
	merge_until(s, UINT64_MAX);
	s->rings.readers[0].first = s->rings.readers[0].count = 0;
}

/* More blocks than a pool's list may keep room for: those that are freed one by one take no place in
 * it, and the others go with it, twice. */
static void check_large_pool(void)
{
	enum { BLOCKS = 5000, EACH = 32 };
	uint64_t stamp = 100;
	begin();
	put_pool(0, stamp, P, MG_POOL_MADE, "pool");
	go_on();
	for (uint64_t round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < BLOCKS; i++, stamp += 10) {
			put_heap(0, ITEM_HEAP_ALLOC, stamp, 0x100000 + i * EACH, 8, 0, P);
			if (i < BLOCKS / 2) /* each at once: 2,500 of which none is live */
				put(0, ITEM_FREE, stamp + 1, (0x100000 + i * EACH) | LIVE_USER, 0);
			go_on();
		}
		is("live blocks", s->stats.live_blocks, BLOCKS / 2);
		is("frees", s->stats.frees, round * BLOCKS + BLOCKS / 2);
		put_pool(0, stamp++, P, round ? MG_POOL_GONE : MG_POOL_RESET, NULL);
		go_on();
		is("live blocks", s->stats.live_blocks, 0);
		is("frees", s->stats.frees, (round + 1) * BLOCKS);
	}
	is("unknown frees", s->stats.unknown_frees, 0);
	end();
}

/* A pool for each of many requests, all called differently; then others of the same names. */
static void check_many_names(void)
{
	enum { NAMES = 60000 };
	char name[32];
	begin();
	for (uint64_t i = 0; i < 2 * (uint64_t)NAMES; i++) {
		snprintf(name, sizeof name, "request-%u", (unsigned)(i % NAMES));
		put_pool(0, 100 + i, P, MG_POOL_MADE, name);
		go_on();
	}
	is("names", s->modules.all.n, NAMES);
	end();
}

/* A function of a heap of the program's own that is given a block of malloc's, or of backing, hands it
 * on to free; what is neither is not known. */
static void check_handed_on(void)
{
	begin();
	opt.addresses = true;
	put_heap(0, ITEM_HEAP_ALLOC, 100, C, 1, 0, 0);
	put(0, ITEM_ALLOC, 200, A, 5);
	put(0, ITEM_FREE, 300, A | LIVE_USER, 0);
	put(0, ITEM_FREE, 301, A, 0);
	put(0, ITEM_BACKING, 400, B, 100)->extra = 1;
	put(0, ITEM_FREE, 500, B | LIVE_USER, 0);
	put(0, ITEM_FREE, 501, B, 0);
	put(0, ITEM_FREE, 600, A | LIVE_USER, 0);
	merged(UINT64_MAX, "handed on",
	       "0 alloc 0=1 @3000, 0 alloc 1=5 @1000, 0 free 1, 0 free? @1000");
	is("unknown frees", s->stats.unknown_frees, 1);
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

/* Checks samples: of blocks of 1000 bytes, one in 1000 sampled, 0.632 are recorded; each stands for
 * 1582 bytes, with a variance of (1000 / 0.632)^2 * 0.368. */
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
	check_heaps();
	check_pools();
	check_large_pool();
	check_many_names();
	check_handed_on();
	check_backing();
	check_mapped();
	check_sampled();
	free(hooks.heaps.v);
	is("all is given back", (uint64_t)held_blocks, 0);
	is("all is unmapped", (uint64_t)held_bytes, 0);
	return failures != 0;
}
