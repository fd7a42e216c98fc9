/* SPDX-License-Identifier: MIT
 * Writes a valid trace of any length for the benchmark of the readers, block by block, so that its
 * own memory depends on the live blocks and the sites alone.
 *
 *   bigtrace EVENTS LIVE SITES THREADS FILE     (FILE: "-" = standard output)
 *
 * The program that it seems to record keeps LIVE blocks and replaces them one by one: most soon
 * after they were made, some at random, so that lifetimes differ. A thread makes runs of events;
 * its call stacks follow each other as in a loop with a few branches, and a site asks mostly for
 * one size. The frames have symbols. There are no addresses: replay has no use for them.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/checkpoint.h"
#include "format/event.h"
#include "format/record.h"
#include "format/stacks.h"
#include "format/trace.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/tracefile.h"

#define BLOCK_EVENTS 131072u
#define STACKS_BLOCK 65536u
#define EVENTS_PER_TICK 500u /* 5 million events a second */
#define DEPTH 16u
#define PATHS 64u /* ways to the sites, each DEPTH - 1 nodes long */

struct slot {
	uint64_t number, size, tick; /* number UINT64_MAX: empty */
	uint32_t stack, thread;
};

struct big {
	uint64_t events, live, number, event, now, seed;
	uint32_t sites, threads, frames, nodes, first_site;
	struct slot *slots;
	uint32_t *recent; /* slots filled lately, a ring of 64 */
	uint64_t turns;
	uint32_t thread, run, *step; /* of the current thread; of each thread */
	uint64_t *last;              /* latest allocation of each thread, UINT64_MAX = none */
	uint64_t live_bytes, live_blocks, since_checkpoint;
	struct ms_trace_writer *w;
	struct ms_record_writer records;
	uint8_t *text;
	size_t text_room;
};

static void die(const char *what, const char *why)
{
	fprintf(stderr, "bigtrace: %s: %s\n", what, why);
	exit(2);
}

static void *get(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);
	if (!p)
		die("cannot start", "out of memory");
	return p;
}

static uint64_t random_of(struct big *b)
{
	uint64_t z = b->seed += UINT64_C(0x9e3779b97f4a7c15);
	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

/* ---- blocks ---- */

static void put(struct big *b, unsigned type, const struct ms_column *c, size_t n)
{
	struct ms_err err = {0};
	uint64_t ns = b->now * MS_TRACE_TICK_NS;
	if (ms_trace_write(b->w, (uint16_t)type, ns, ns, c, n, &err) != 0)
		die("cannot write", err.text);
}

static void put_records(struct big *b, unsigned type)
{
	struct ms_column c = ms_record_column(&b->records);
	if (c.size)
		put(b, type, &c, 1);
	ms_record_writer_init(&b->records, b->text, b->text_room);
}

/* Ends the record in hand; there must be room for one more of 4 KiB. */
static void end_record(struct big *b)
{
	if (!ms_record_end(&b->records) || b->records.room - b->records.size < 4096)
		die("records", "no room");
}

static void put_start(struct big *b)
{
	ms_record_begin(&b->records);
	ms_record_number(&b->records, MS_INFO_PID, 4711);
	ms_record_string(&b->records, MS_INFO_EXE, "/opt/big/bin/big");
	ms_record_string(&b->records, MS_INFO_ARG, "big");
	ms_record_number(&b->records, MS_INFO_START_WALL, UINT64_C(1760000000000000000));
	ms_record_number(&b->records, MS_INFO_START_MONO, 1000000000);
	ms_record_number(&b->records, MS_INFO_PAGE_SIZE, 4096);
	end_record(b);
	put_records(b, MS_BLOCK_INFO);
	ms_record_begin(&b->records);
	ms_record_number(&b->records, MS_MODULE_ID, 1);
	ms_record_string(&b->records, MS_MODULE_PATH, "/opt/big/bin/big");
	ms_record_number(&b->records, MS_MODULE_START, UINT64_C(0x555555554000));
	ms_record_number(&b->records, MS_MODULE_END, UINT64_C(0x555595554000));
	ms_record_number(&b->records, MS_MODULE_BIAS, UINT64_C(0x555555554000));
	end_record(b);
	put_records(b, MS_BLOCK_MODULES);
	for (uint32_t i = 0; i < b->threads; i++) {
		ms_record_begin(&b->records);
		ms_record_number(&b->records, MS_THREAD_INDEX, i);
		ms_record_number(&b->records, MS_THREAD_TID, 4711 + i);
		end_record(b);
	}
	put_records(b, MS_BLOCK_THREADS);
}

/* ---- stacks ---- */

/* Nodes of the paths first, then one of each site; four sites share a frame. */
static struct ms_node node_of(const struct big *b, uint32_t number)
{
	uint32_t i = number - 1;
	if (i >= PATHS * (DEPTH - 1))
		return (struct ms_node){((i - PATHS * (DEPTH - 1)) % PATHS + 1) * (DEPTH - 1),
					1 + PATHS + i % (b->frames - PATHS)};
	return (struct ms_node){i % (DEPTH - 1) ? number - 1 : 0,
				1 + (i / (DEPTH - 1) + i % (DEPTH - 1)) % PATHS};
}

static void put_stacks(struct big *b)
{
	struct ms_stacks_encoder e;
	struct ms_column c[MS_STACKS_COLUMNS];
	void *memory = get(MS_STACKS_MEMORY(STACKS_BLOCK, STACKS_BLOCK), 1);
	uint32_t f = 0, n = 0;
	b->frames = PATHS + b->sites / 4 + 1;
	b->first_site = PATHS * (DEPTH - 1) + 1;
	b->nodes = b->first_site - 1 + b->sites;
	ms_stacks_encoder_init(&e, memory, STACKS_BLOCK, STACKS_BLOCK);
	while (f < b->frames || n < b->nodes) {
		ms_stacks_encoder_begin(&e, f + 1, n + 1);
		while (f < b->frames &&
		       ms_stacks_put_frame(&e,
					   &(struct ms_frame){UINT64_C(0x555555555000) + f * 160ULL,
							      1, 0}) == MS_FMT_OK)
			f++;
		while (f == b->frames && n < b->nodes) {
			struct ms_node node = node_of(b, n + 1);
			if (ms_stacks_put_node(&e, &node) != MS_FMT_OK)
				break;
			n++;
		}
		put(b, MS_BLOCK_STACKS, c, ms_stacks_encoder_finish(&e, c));
	}
	free(memory);
}

static void put_symbols(struct big *b)
{
	char name[64];
	for (uint32_t i = 0; i <= b->frames; i++) {
		snprintf(name, sizeof name,
			 i < b->frames ? "big::part_%u::make_thing_%u" : "/src/big/things.cc",
			 i % 97, i);
		ms_record_begin(&b->records);
		ms_record_string(&b->records, MS_SYM_STRING, name);
		end_record(b);
	}
	for (uint32_t i = 1; i <= b->frames; i++) {
		ms_record_begin(&b->records);
		ms_record_number(&b->records, MS_SYM_FRAME, i);
		ms_record_number(&b->records, MS_SYM_FUNCTION, i);
		ms_record_number(&b->records, MS_SYM_FILE, b->frames + 1);
		ms_record_number(&b->records, MS_SYM_LINE, 10 + i * 7);
		end_record(b);
	}
	ms_record_begin(&b->records);
	ms_record_number(&b->records, MS_SYM_MODULE, 1);
	ms_record_number(&b->records, MS_SYM_STATE, MS_SYMBOLS_DWARF);
	end_record(b);
	put_records(b, MS_BLOCK_SYMBOLS);
}

/* ---- events ---- */

static int by_number(const void *a, const void *b)
{
	const struct slot *x = a, *y = b;
	return (x->number > y->number) - (x->number < y->number);
}

static void put_checkpoint(struct big *b)
{
	struct ms_checkpoint_head h = {.event = b->event,
				       .number = b->number,
				       .tick = b->now,
				       .live_bytes = b->live_bytes,
				       .live_blocks = b->live_blocks};
	struct ms_checkpoint_encoder e;
	struct ms_column c[MS_CHECKPOINT_COLUMNS];
	struct slot *sorted = get(b->live, sizeof *sorted);
	void *memory = get(MS_CHECKPOINT_MEMORY(MS_CHECKPOINT_PART, b->threads), 1);
	memcpy(sorted, b->slots, b->live * sizeof *sorted);
	qsort(sorted, b->live, sizeof *sorted, by_number);
	h.parts = (uint32_t)((b->live_blocks + MS_CHECKPOINT_PART - 1) / MS_CHECKPOINT_PART);
	for (uint64_t i = 0; h.part < h.parts; h.part++) {
		ms_checkpoint_begin(&e, memory, MS_CHECKPOINT_PART, h.part ? 0 : b->threads, &h,
				    false, false);
		for (uint32_t t = 0; t < b->threads && !h.part; t++)
			ms_checkpoint_put_last(&e, b->last[t]);
		for (uint64_t n = 0; n < MS_CHECKPOINT_PART && i < b->live_blocks; n++, i++)
			ms_checkpoint_put(
				&e, &(struct ms_checkpoint_block){.number = sorted[i].number,
								  .size = sorted[i].size,
								  .tick = sorted[i].tick,
								  .stack = sorted[i].stack,
								  .thread = sorted[i].thread});
		put(b, MS_BLOCK_CHECKPOINT, c, ms_checkpoint_finish(&e, c));
	}
	b->since_checkpoint = 0;
	free(sorted);
	free(memory);
}

/* Which slot is next: an empty one while there are some; else one filled lately, three times in
 * four, or any. */
static struct slot *choose(struct big *b)
{
	uint64_t r = random_of(b);
	if (b->live_blocks < b->live && b->turns < b->live)
		return &b->slots[b->turns];
	if (r % 4)
		return &b->slots[b->recent[(r >> 8) % 64]];
	return &b->slots[(r >> 8) % b->live];
}

/* A thread goes through the sites in runs of eight, and few sites get most of the events. */
static uint32_t next_site(struct big *b)
{
	uint32_t step = b->step[b->thread]++;
	uint64_t r = random_of(b);
	uint64_t base = (step >> 3) * UINT64_C(0x9e3779b1) + b->thread;
	uint64_t hot = b->sites < 512 ? b->sites : 512;
	if (r % 16 == 0)
		return (uint32_t)((r >> 8) % b->sites);
	return (uint32_t)((base % (hot / 8 + 1) * 8 + (step & 7)) % b->sites);
}

static void change_thread(struct big *b)
{
	if (b->run-- > 0)
		return;
	uint64_t r = random_of(b);
	b->thread = (uint32_t)(r % b->threads);
	b->run = (uint32_t)(r >> 32) % 64;
}

static void add(struct big *b, struct ms_event_encoder *e, const struct ms_event *ev)
{
	if (ms_event_put(e, ev) != MS_FMT_OK)
		die("event", "refused");
	b->event++;
	b->now = b->event / EVENTS_PER_TICK;
}

/* The block of a slot is freed if there is one, and the slot gets another one. */
static void turn(struct big *b, struct ms_event_encoder *e)
{
	struct slot *s = choose(b);
	change_thread(b);
	if (s->number != UINT64_MAX) {
		add(b, e,
		    &(struct ms_event){.kind = MS_EV_FREE,
				       .thread = b->thread,
				       .time_ticks = b->now,
				       .freed = s->number});
		b->live_bytes -= s->size;
		b->live_blocks--;
	}
	uint32_t site = next_site(b);
	uint64_t r = random_of(b), size = (site * 37 % 61 + 1) * 8;
	size = r % 8 ? size : size + (r >> 8) % 1000;
	*s = (struct slot){b->number++, size, b->now, b->first_site + site, b->thread};
	add(b, e,
	    &(struct ms_event){.kind = MS_EV_ALLOC,
			       .thread = b->thread,
			       .time_ticks = b->now,
			       .size = size,
			       .stack = s->stack});
	b->last[b->thread] = s->number;
	b->live_bytes += size;
	b->live_blocks++;
	b->recent[b->turns++ % 64] = (uint32_t)(s - b->slots);
}

static void put_events(struct big *b)
{
	static struct ms_event_encoder e;
	struct ms_column c[MS_EVENT_COLUMNS];
	void *memory = get(MS_EVENT_MEMORY(BLOCK_EVENTS), 1);
	ms_event_encoder_init(&e, memory, BLOCK_EVENTS);
	while (b->event < b->events) {
		uint64_t first = b->event;
		if (b->since_checkpoint >= 10 * b->live_blocks && b->since_checkpoint > 1000000)
			put_checkpoint(b);
		ms_event_encoder_begin(&e, b->number, b->event, b->now);
		while (b->event < b->events && b->event - first < BLOCK_EVENTS - 1)
			turn(b, &e);
		put(b, MS_BLOCK_EVENTS, c, ms_event_encoder_finish(&e, c));
		b->since_checkpoint += b->event - first;
	}
	free(memory);
}

static void put_end(struct big *b, uint64_t index)
{
	ms_record_begin(&b->records);
	ms_record_number(&b->records, MS_END_TIME, (b->now + 1) * MS_TRACE_TICK_NS);
	ms_record_number(&b->records, MS_END_STATUS, 0);
	ms_record_number(&b->records, MS_END_EVENTS, b->event);
	ms_record_number(&b->records, MS_END_ALLOCATIONS, b->number);
	ms_record_number(&b->records, MS_END_REASON, MS_ENDED_EXIT);
	ms_record_string(&b->records, MS_END_ALLOCATOR, "glibc 2.36");
	if (index)
		ms_record_number(&b->records, MS_END_INDEX, index);
	end_record(b);
	put_records(b, MS_BLOCK_END);
}

static uint64_t number_of(const char *s)
{
	char *end;
	uint64_t v = strtoull(s, &end, 10);
	if (*end || !*s || !v || v > UINT32_MAX)
		die(s, "a count from 1 to 4294967295 is wanted");
	return v;
}

int main(int argc, char **argv)
{
	struct big b = {.seed = 42};
	struct ms_err err = {0};
	struct ms_trace_head head = {.major = MS_TRACE_MAJOR,
				     .minor = MS_TRACE_MINOR,
				     .machine = 62,
				     .address_bytes = 8,
				     .tick_ns = MS_TRACE_TICK_NS};
	if (argc != 6)
		die("usage", "bigtrace EVENTS LIVE SITES THREADS FILE");
	b.events = number_of(argv[1]);
	b.live = number_of(argv[2]);
	b.sites = (uint32_t)number_of(argv[3]);
	b.threads = (uint32_t)number_of(argv[4]);
	b.slots = get(b.live, sizeof *b.slots);
	b.recent = get(64, sizeof *b.recent);
	b.step = get(b.threads, sizeof *b.step);
	b.last = get(b.threads, sizeof *b.last);
	memset(b.last, 0xff, b.threads * sizeof *b.last);
	for (uint64_t i = 0; i < b.live; i++)
		b.slots[i].number = UINT64_MAX;
	b.text_room = ((size_t)b.sites + b.threads) * 100 + 65536;
	b.text = get(b.text_room, 1);
	int fd = strcmp(argv[5], "-") ? open(argv[5], O_CREAT | O_TRUNC | O_WRONLY, 0600) : 1;
	b.w = fd < 0 ? NULL : ms_trace_writer_new(fd, &head, 1, &err);
	if (!b.w)
		die(argv[5], fd < 0 ? "cannot be opened" : err.text);
	ms_record_writer_init(&b.records, b.text, b.text_room);
	put_start(&b);
	put_stacks(&b);
	put_events(&b);
	uint64_t index;
	if (ms_trace_write_index(b.w, b.now * MS_TRACE_TICK_NS, &index, &err) != 0)
		die("index", err.text);
	put_end(&b, index);
	put_symbols(&b);
	put_end(&b, index);
	ms_trace_writer_free(b.w);
	free(b.slots);
	free(b.recent);
	free(b.step);
	free(b.last);
	free(b.text);
	return close(fd) != 0 ? 2 : 0;
}
