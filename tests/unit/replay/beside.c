/* SPDX-License-Identifier: MIT
 * What is recorded beside the heap, worked out by hand: where blocks were freed, backing of heaps of
 * the program's own, address space that moves.
 */
#include "libcommon/replay/replay_mapped.h"

#include "format/trace.h"
#include "tests/unit/held.h"
#include "tests/unit/equal.h"

static struct ms_replay r;

static void begin(uint64_t options)
{
	ms_replay_init(&r);
	ms_replay_nodes(&r, 20);
	ms_beside_start(&r, options);
}

static void event(struct ms_event e)
{
	ms_replay_events(&r, &e, 1);
}

/* ---- where blocks were freed ---- */

static void freed(size_t i, uint32_t site_stack, uint32_t stack, uint64_t frees, uint64_t bytes)
{
	const struct ms_beside_free *f = &r.beside->frees.v[i];
	EQUAL(r.sites[f->site].node, site_stack, "pair %zu", i);
	EQUAL(f->stack, stack, "pair %zu", i);
	EQUAL(f->frees, frees, "pair %zu", i);
	EQUAL(f->bytes, bytes, "pair %zu", i);
}

static void test_free_stacks(void)
{
	begin(MS_OPTION_FREE_STACKS);
	for (uint64_t i = 0; i < 6; i++)
		event((struct ms_event){
			.kind = MS_EV_ALLOC, .number = i, .size = 10 + i, .stack = i < 4 ? 1 : 2});
	event((struct ms_event){.kind = MS_EV_FREE, .freed = 0, .stack = 7});
	event((struct ms_event){.kind = MS_EV_FREE, .freed = 4, .stack = 7});
	event((struct ms_event){.kind = MS_EV_FREE, .freed = 1, .stack = 7});
	event((struct ms_event){.kind = MS_EV_FREE, .freed = 2, .stack = 20}); /* no such node */
	event((struct ms_event){.kind = MS_EV_FREE, .freed = 2, .stack = 7});  /* it is gone */
	event((struct ms_event){.kind = MS_EV_FREE_INFERRED, .freed = 3});
	event((struct ms_event){.kind = MS_EV_REALLOC, .freed = 5, .number = 6, .size = 1});
	ms_replay_finish(&r, 0);
	EQUAL(r.beside->frees.n, 4, "pairs");
	freed(0, 1, 7, 2, 10 + 11);
	freed(1, 2, 7, 1, 14);
	freed(2, 1, 0, 1, 12);
	freed(3, 2, 0, 1, 15);
	ms_replay_free(&r);
}

/* ---- backing ---- */

static void backing(uint8_t ext, uint32_t marker, uint64_t size)
{
	event((struct ms_event){.kind = MS_EV_EXT, .ext = ext, .stack = marker, .size = size});
}

static void is_backing(size_t i, uint32_t node, uint64_t bytes, uint64_t blocks, uint64_t most,
		       uint64_t taken)
{
	const struct ms_backing *b = &r.backing.v[i];
	EQUAL(b->node, node, "heap %zu", i);
	EQUAL(b->bytes, bytes, "heap %zu", i);
	EQUAL(b->blocks, blocks, "heap %zu", i);
	EQUAL(b->most_bytes, most, "heap %zu", i);
	EQUAL(b->taken, taken, "heap %zu", i);
}

static void test_backing(void)
{
	begin(0);
	backing(MS_EXT_BACKING, 3, 100);
	backing(MS_EXT_BACKING, 4, 1000);
	backing(MS_EXT_BACKING, 3, 50);
	backing(MS_EXT_UNBACKING, 3, 100);
	backing(MS_EXT_BACKING, 3, 20);
	backing(MS_EXT_UNBACKING, 4, 1001); /* more than there is */
	backing(MS_EXT_UNBACKING, 4, 1);
	backing(MS_EXT_BACKING, 20, 5); /* no such node */
	ms_replay_finish(&r, 0);
	EQUAL(r.backing.n, 3, "heaps");
	is_backing(0, 3, 70, 2, 150, 3);
	is_backing(1, 4, 0, 0, 1000, 1);
	is_backing(2, 0, 5, 1, 5, 1);
	EQUAL(r.live_bytes + r.allocations, 0, "no figure of the heap");
	ms_replay_free(&r);
}

/* ---- address space ---- */

static void map(uint8_t ext, uint32_t thread, uint64_t address, uint64_t size, uint64_t how)
{
	event((struct ms_event){.kind = MS_EV_EXT,
				.ext = ext,
				.thread = thread,
				.address = address,
				.size = size,
				.freed = how,
				.stack = thread + 1,
				.time_ticks = r.events});
}

/* Checks that what an mremap takes away stays counted until its thread's other half comes. */
static void test_moved(void)
{
	begin(MS_OPTION_MMAP);
	map(MS_EXT_MAP, 0, 0x10000, 0x3000, 0);
	map(MS_EXT_UNMAP, 0, 0x11000, 0x1000, 0);
	EQUAL(r.beside->mapped_bytes, 0x2000, "-");
	map(MS_EXT_UNMAP, 0, 0x10000, 0x1000, MS_MAP_REMAP);
	EQUAL(r.beside->mapped_bytes, 0x2000, "held");
	map(MS_EXT_MAP, 1, 0x50000, 0x1000, 0);
	EQUAL(r.beside->mapped_bytes, 0x3000, "another thread's");
	map(MS_EXT_MAP, 0, 0x20000, 0x4000, MS_MAP_REMAP);
	EQUAL(r.beside->mapped_bytes, 0x6000, "moved, and grown");
	EQUAL(r.beside->held.n, 0, "-");
	map(MS_EXT_UNMAP, 1, 0x20000, 0x1000, MS_MAP_REMAP);
	ms_replay_finish(&r, 10);
	EQUAL(r.beside->mapped_bytes, 0x5000, "the other half never came");
	EQUAL(r.beside->most_bytes, 0x6000, "-");
	EQUAL(r.beside->most_tick, 4, "-");
	EQUAL(r.beside->maps, 3, "calls");
	EQUAL(r.beside->unmaps, 3, "calls");
	EQUAL(r.beside->taken_bytes, 0x3000 + 0x1000 + 0x4000, "-");
	const struct ms_beside_site *s = ms_beside_site(r.beside, 0);
	EQUAL(s->mapped.bytes, 0x4000, "what thread 0 took");
	s = ms_beside_site(r.beside, 1);
	EQUAL(s->mapped.bytes, 0x1000, "what thread 1 took");
	EQUAL(ms_beside_site(r.beside, 99)->mapped.bytes, 0, "no such site");
	ms_replay_free(&r);
}

/* Checks that counts from before the moment are forgotten, but not what is there. */
static void test_count_from(void)
{
	begin(MS_OPTION_FREE_STACKS | MS_OPTION_MMAP);
	ms_replay_count_from(&r, ms_replay_moment(&r, 10, MS_NEVER));
	event((struct ms_event){.kind = MS_EV_ALLOC, .number = 0, .size = 10, .stack = 1});
	event((struct ms_event){.kind = MS_EV_ALLOC, .number = 1, .size = 20, .stack = 1});
	event((struct ms_event){.kind = MS_EV_FREE, .freed = 0, .stack = 7});
	map(MS_EXT_MAP, 0, 0x10000, 0x3000, 0);
	map(MS_EXT_UNMAP, 0, 0x11000, 0x1000, 0);
	event((struct ms_event){.kind = MS_EV_FREE, .freed = 1, .stack = 8, .time_ticks = 12});
	ms_replay_finish(&r, 20);
	EQUAL(r.beside->frees.n, 1, "pairs");
	freed(0, 1, 8, 1, 20);
	EQUAL(r.beside->maps, 0, "calls");
	EQUAL(r.beside->unmaps, 0, "calls");
	EQUAL(r.beside->taken_bytes, 0, "-");
	EQUAL(r.beside->mapped_bytes, 0x2000, "-");
	EQUAL(r.beside->most_bytes, 0x2000, "-");
	EQUAL(r.beside->most_tick, 9, "the end of the tick before");
	EQUAL(r.beside->peak_mapped_bytes, 0x2000, "-");
	EQUAL(ms_beside_site(r.beside, 0)->maps, 0, "calls");
	EQUAL(ms_beside_site(r.beside, 0)->mapped_bytes, 0, "in all");
	EQUAL(ms_beside_site(r.beside, 0)->mapped.bytes, 0x2000, "now");
	ms_replay_free(&r);
}

/* Checks what is there at a moment, at the sites that have any. */
static void test_moment(void)
{
	begin(MS_OPTION_USABLE | MS_OPTION_MMAP);
	size_t moment = ms_replay_moment(&r, 10, MS_NEVER);
	event((struct ms_event){
		.kind = MS_EV_ALLOC, .number = 0, .size = 10, .slack = 7, .stack = 3});
	event((struct ms_event){
		.kind = MS_EV_ALLOC, .number = 1, .size = 20, .slack = 5, .stack = 4});
	event((struct ms_event){.kind = MS_EV_FREE, .freed = 0});
	map(MS_EXT_MAP, 0, 0x10000, 0x3000, 0);
	map(MS_EXT_UNMAP, 0, 0x11000, 0x1000, 0);
	event((struct ms_event){
		.kind = MS_EV_FREE, .freed = 1, .time_ticks = 12}); /* later than it */
	map(MS_EXT_MAP, 0, 0x50000, 0x1000, 0);
	ms_replay_finish(&r, 20);
	const struct ms_beside_moment *m = &r.moments[moment].beside;
	EQUAL(m->slack_bytes, 4, "-");
	EQUAL(m->mapped_bytes, 0x2000, "-");
	EQUAL(m->count, 2, "sites");
	for (size_t i = 0; i < 2 && i < m->count; i++) {
		EQUAL(r.sites[m->figures[i].site].node, i ? 1 : 4, "site %zu", i);
		EQUAL(m->figures[i].slack_bytes, i ? 0 : 4, "site %zu", i);
		EQUAL(m->figures[i].mapped_bytes, i ? 0x2000 : 0, "site %zu", i);
	}
	ms_replay_free(&r);
}

int main(void)
{
	test_free_stacks();
	test_backing();
	test_moved();
	test_count_from();
	test_moment();
	EQUAL(held_blocks, 0, "all is given back");
	EQUAL(held_bytes, 0, "all is given back");
	printf("%u failures\n", failures);
	return failures != 0;
}
