/* SPDX-License-Identifier: MIT
 * The merge against a naive model: what many threads do, one after the other, is spread over their
 * rings and merged in portions. The events must be those of the steps in their order, field by
 * field, and so must the figures.
 */
#define RINGS 9u
#define ITEMS 4096u
#include "tests/unit/held.h"
#include "tests/unit/stream.h"

#include "merging.h"
#include "ms-record/heap/heap.h"

#define STEPS 20000u
#define PLACES 200u /* where blocks are made; behind them, where none ever is */
#define PAGES 16u
#define FAR 60000u /* ns: further than a stamp can be wrong */

static struct stream random_state;
static uint64_t stamp;
static bool lost; /* a free of what is live again; another one soon after would be taken for it */

static struct naive {
	struct {
		uint64_t number, size;
		bool live;
	} at[PLACES];
	struct {
		uint64_t number, size, place;
		uint8_t link;
		bool open, found;
	} moving[RINGS]; /* a realloc between its halves */
	bool page[PAGES], known[RINGS];
	uint64_t last[RINGS], numbers;
	struct stats stats;
	struct ms_event events[2 * STEPS];
	size_t count, merged;
} m;

static uint64_t any(uint64_t n)
{
	return stream_random(&random_state) % n;
}

static uint64_t address_of(uint64_t place)
{
	return (0x10000 + place * 48) | (place % 7 ? 0 : LIVE_USER);
}

/* ---- what is to come of it ---- */

static struct ms_event *expect(uint8_t kind, unsigned ring, uint64_t address)
{
	m.stats.events++;
	m.events[m.count] = (struct ms_event){.kind = kind,
					      .thread = ring,
					      .time_ticks = stamp / TICK,
					      .address = opt.addresses ? address & ~LIVE_USER : 0};
	return &m.events[m.count++];
}

static void expect_gone(struct ms_event *e, uint64_t number, uint64_t size)
{
	e->freed = number;
	m.stats.live_bytes -= size;
	m.stats.live_blocks--;
	m.stats.frees += e->kind != MS_EV_FREE_INFERRED;
	m.stats.temporary += e->kind != MS_EV_FREE_INFERRED && m.last[e->thread] == number;
}

static void expect_made(struct ms_event *e, uint64_t place, const struct item *it)
{
	struct stats *t = &m.stats;
	e->number = m.numbers++;
	e->size = it->size;
	e->stack = it->stack;
	e->slack = it->extra;
	m.at[place].number = m.last[e->thread] = e->number;
	m.at[place].size = it->size;
	m.at[place].live = true;
	t->allocations++;
	t->allocated_bytes += it->size;
	t->live_bytes += it->size;
	t->live_blocks++;
	if (t->live_bytes <= t->peak_bytes)
		return;
	t->peak_bytes = t->live_bytes;
	t->peak_blocks = t->live_blocks;
	t->peak_ns = e->time_ticks * TICK;
}

/* ---- steps ---- */

static struct item *step(unsigned ring, enum item_kind kind, uint64_t address, uint64_t size)
{
	struct item *it = put(ring, kind, stamp, address, size);
	it->stack = any(5) ? (uint32_t)any(1000) : 0;
	return it;
}

/* Somebody's free of what lies there was lost. */
static void lose(unsigned ring, uint64_t place)
{
	if (!m.at[place].live)
		return;
	lost = true;
	struct ms_event *e = expect(MS_EV_FREE_INFERRED, ring, 0);
	e->address = 0;
	expect_gone(e, m.at[place].number, m.at[place].size);
	m.stats.inferred_frees++;
}

static void make_block(unsigned ring, uint64_t place)
{
	lose(ring, place);
	struct item *it =
		step(ring, ITEM_ALLOC, address_of(place), any(9) ? any(500) : any(1 << 30));
	it->extra = (uint32_t)any(40);
	expect_made(expect(MS_EV_ALLOC, ring, it->address), place, it);
}

static void free_block(unsigned ring, uint64_t place, bool sure)
{
	struct item *it = step(ring, sure ? ITEM_FREE : ITEM_FREE_UNSURE, address_of(place), 0);
	if (place < PLACES && m.at[place].live) {
		struct ms_event *e = expect(MS_EV_FREE, ring, 0);
		expect_gone(e, m.at[place].number, m.at[place].size);
		e->stack = it->stack;
		m.at[place].live = false;
	} else if (sure) {
		expect(MS_EV_FREE_UNKNOWN, ring, it->address)->stack = it->stack;
		m.stats.unknown_frees++;
	}
}

/* The free, or what it frees, is stamped a little late: on another ring it comes first. */
static void stamp_late(unsigned ring, uint64_t place)
{
	unsigned other = (ring + 1 + (unsigned)any(RINGS - 1)) % RINGS;
	uint64_t late = any(2) ? 1 + any(2000) : 2001 + any(FAR - 10001 - 2001);
	bool live = m.at[place].live;
	if (m.moving[other].open)
		return;
	uint64_t early = live ? 0 : late;
	struct item *f = step(ring, ITEM_FREE, address_of(place), 0);
	stamp += early;
	f->key = (live ? stamp + late : stamp - early) << 1;
	struct ms_event freed = {.kind = MS_EV_FREE, .thread = ring, .time_ticks = stamp / TICK};
	if (live) {
		struct ms_event *e = expect(MS_EV_FREE, ring, 0);
		expect_gone(e, m.at[place].number, m.at[place].size);
		e->stack = f->stack;
		m.at[place].live = false;
	}
	make_block(other, place);
	if (!live) {
		struct ms_event *e = expect(MS_EV_FREE, ring, 0);
		*e = freed; /* what was known of it went */
		expect_gone(e, m.at[place].number, m.at[place].size);
		m.at[place].live = false;
	}
	m.stats.repairs++;
	stamp += live ? late : 0;
}

static void begin_move(unsigned ring, uint64_t place)
{
	bool live = place < PLACES && m.at[place].live;
	uint8_t link = (uint8_t)(s->rings.readers[ring].releases++ % RELEASED);
	step(ring, ITEM_RELEASE, address_of(place), 0)->link = link;
	m.moving[ring].link = link;
	m.moving[ring].open = true;
	m.moving[ring].found = live;
	if (!live)
		return;
	m.moving[ring].number = m.at[place].number;
	m.moving[ring].size = m.at[place].size;
	m.at[place].live = false;
}

static void end_move(unsigned ring, uint64_t place)
{
	bool found = m.moving[ring].found;
	lose(ring, place);
	struct item *it = step(ring, ITEM_REALLOC, address_of(place), any(1000));
	it->link = m.moving[ring].link;
	it->extra = (uint32_t)any(40);
	struct ms_event *e =
		expect(found ? MS_EV_REALLOC : MS_EV_REALLOC_UNKNOWN, ring, it->address);
	if (found)
		expect_gone(e, m.moving[ring].number, m.moving[ring].size);
	m.stats.unknown_frees += !found;
	m.stats.reallocs++;
	expect_made(e, place, it);
	m.moving[ring].open = false;
}

static void fail(unsigned ring)
{
	struct item *it = step(ring, ITEM_FAILED, 0, any(1 << 20));
	struct ms_event *e = expect(MS_EV_FAILED, ring, 0);
	e->size = it->size;
	e->stack = it->stack;
	m.stats.failed++;
}

static void expect_mapping(unsigned ring, const struct item *it, uint8_t ext)
{
	struct ms_event *e = expect(MS_EV_EXT, ring, 0);
	e->ext = ext;
	e->address = it->address;
	e->size = it->size;
	e->stack = it->stack;
	e->freed = it->extra & 3;
}

static void map(unsigned ring, enum item_kind kind)
{
	uint64_t page = any(PAGES), n = 1 + any(PAGES - page), mapped = 0;
	struct item *it = step(ring, kind, page * 4096, n * 4096);
	if (kind == ITEM_LOOK) {
		m.known[ring] = m.page[page];
		return;
	}
	it->extra = (uint32_t)any(4) | (kind == ITEM_MAP && !any(3) ? MAP_SECOND : 0);
	bool half = it->extra & (MG_MAP_REMAP | MAP_SECOND), some = false;
	bool takes = kind == ITEM_MAP && (!half || m.known[ring]);
	for (uint64_t i = page; i < page + n; i++) {
		some |= m.page[i];
		m.page[i] = takes;
	}
	if (kind == ITEM_UNMAP && half)
		m.known[ring] = some;
	if (takes)
		m.known[ring] = false;
	if (takes || some)
		expect_mapping(ring, it, takes ? MS_EXT_MAP : MS_EXT_UNMAP);
	for (uint64_t i = 0; i < PAGES; i++)
		mapped += m.page[i] * 4096;
	m.stats.mapped_bytes = mapped;
	m.stats.maps += takes;
	if (mapped > m.stats.mapped_peak_bytes) {
		m.stats.mapped_peak_bytes = mapped;
		m.stats.mapped_peak_ns = stamp / TICK * TICK;
	}
}

static void random_step(void)
{
	unsigned ring = (unsigned)(any(3) ? any(RINGS) : any(2)), what = (unsigned)any(100);
	uint64_t place = any(any(2) ? PLACES : 20), nowhere = PLACES + any(8);
	stamp += any(60) ? 1 + any(300) : any(5 * TICK);
	stamp += lost ? FAR : 0;
	lost = false;
	if (m.moving[ring].open) {
		end_move(ring, place);
		return;
	}
	if (any(25) == 0)
		stamp_late(ring, place);
	else if (what < 40)
		m.at[place].live &&any(30) ? free_block(ring, place, true)
					   : make_block(ring, place);
	else if (what < 60)
		free_block(ring, m.at[place].live ? place : nowhere, any(4) != 0);
	else if (what < 80)
		begin_move(ring, m.at[place].live ? place : nowhere);
	else if (what < 84)
		fail(ring);
	else if (what < 86)
		step(ring, ITEM_DONE, address_of(place), 7);
	else
		map(ring, what < 93 ? ITEM_MAP : what < 98 ? ITEM_UNMAP : ITEM_LOOK);
}

/* ---- comparing ---- */

static void compare_events(void)
{
	for (size_t i = 0; i < s->open.batch->events.n && failures < 10; i++) {
		const struct ms_event *got = &s->open.batch->events.v[i],
				      *want = &m.events[m.merged + i];
		CHECK(!memcmp(got, want, sizeof *got),
		      "event %zu: kind %u thread %u number %lu freed %lu address %lx, not kind %u "
		      "thread %u number %lu freed %lu address %lx",
		      m.merged + i, got->kind, got->thread, (long)got->number, (long)got->freed,
		      (long)got->address, want->kind, want->thread, (long)want->number,
		      (long)want->freed, (long)want->address);
	}
	m.merged += s->open.batch->events.n;
	s->open.batch->events.n = s->open.left = 0;
}

/* Puts frees of live blocks behind the items that wait, where the merge may not look. */
static void poison(void)
{
	for (unsigned i = 0; i < RINGS; i++) {
		struct reader *r = &s->rings.readers[i];
		for (size_t k = 0; k < ITEMS_AHEAD; k++)
			r->items[r->count + k] = (struct item){
				.key = 1, .address = address_of(any(PLACES)), .kind = ITEM_FREE};
	}
}

static void merge_all(void)
{
	poison();
	merge_until(s, stamp - any(stamp - s->merged_key / 2 + 1));
	compare_events();
	merge_until(s, stamp + 1);
	compare_events();
	is("events", m.merged, m.count);
	is("merged so far", s->merged_key >> 1, stamp);
	for (unsigned i = 0; i < RINGS; i++) {
		is("all of a ring", s->rings.readers[i].first, s->rings.readers[i].count);
		s->rings.readers[i].first = s->rings.readers[i].count = 0;
	}
}

static void compare_tables(void)
{
	struct live_block b;
	uint64_t live = 0;
	for (uint64_t i = 0; i < PLACES; i++) {
		bool found = live_find(&s->heap->live, address_of(i), &b);
		is("live", found, m.at[i].live);
		live += found;
		if (found && m.at[i].live)
			is("number", b.number, m.at[i].number);
	}
	is("blocks", s->heap->live.count, live);
	CHECK(!memcmp(&s->stats, &m.stats, sizeof m.stats), "figures");
}

static void test(uint64_t seed, uint64_t portion)
{
	begin();
	memset(&m, 0, sizeof m);
	memset(m.last, 0xff, sizeof m.last);
	random_state = (struct stream){.seed = seed};
	opt.addresses = seed % 2;
	stamp = 1;
	for (unsigned i = 0; i < STEPS && !failures; i++) {
		random_step();
		if (any(portion) == 0) {
			stamp += FAR; /* nothing that comes is looked for */
			step(0, ITEM_DONE, 0, 0);
			merge_all();
		}
	}
	step(0, ITEM_DONE, 0, 0);
	merge_all();
	compare_tables();
	end();
}

int main(void)
{
	test(1, 400);
	test(2, 20);
	test(3, 1000);
	test(4, 3);
	is("all is given back", (uint64_t)held_blocks, 0);
	is("all is unmapped", (uint64_t)held_bytes, 0);
	return failures != 0;
}
