/* SPDX-License-Identifier: MIT
 * Event blocks: decode(encode(x)) = x on streams made from seeds; hostile columns are refused.
 */
#include <stdio.h>
#include <string.h>

#include "format/address.h"
#include "format/event.h"
#include "format/trace.h"
#include "tests/unit/stream.h"

#define BLOCK 700 /* events of a block: several blocks a stream */

static unsigned failures;

#define CHECK(cond, ...)                                                                           \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			printf("%s:%d: %s: ", __FILE__, __LINE__, #cond);                          \
			printf(__VA_ARGS__);                                                       \
			putchar('\n');                                                             \
			failures++;                                                                \
			return;                                                                    \
		}                                                                                  \
	} while (0)

static struct ms_address_encoder address_encoder;
static struct ms_address_decoder address_decoder;
static struct ms_event_encoder encoder;
static struct ms_event_decoder decoder;
static uint8_t memory[MS_EVENT_MEMORY(BLOCK)];
static _Alignas(8) uint8_t address_memory[MS_ADDRESS_MEMORY(BLOCK)];

static _Alignas(8) uint8_t decoder_memory[MS_ADDRESS_DECODER_MEMORY(BLOCK)];

struct coded {
	struct ms_event event[BLOCK + 1];
	size_t count;
	struct ms_column columns[MS_EVENT_COLUMNS + 1];
	size_t column_count;
};
static struct coded block;

static void same_column(const struct ms_column *a, const struct ms_column *b)
{
	CHECK(a->id == b->id && a->size == b->size && !memcmp(a->data, b->data, a->size),
	      "column %u differs", a->id);
}

/* Encodes the block again, some events at a time. */
static void same_put_many(uint64_t number, uint64_t event, uint64_t tick)
{
	static uint8_t columns_memory[MS_EVENT_MEMORY(BLOCK)];
	static struct ms_event_encoder many;
	struct ms_column c[MS_EVENT_COLUMNS + 1];
	enum ms_fmt rc;
	ms_event_encoder_init(&many, columns_memory, BLOCK);
	ms_event_encoder_begin(&many, number, event, tick);
	ms_address_encoder_begin(&address_encoder, number);
	for (size_t i = 0, n; i < block.count; i += n) {
		n = 1 + (event + i * 7) % 90;
		n = n < block.count - i ? n : block.count - i;
		CHECK(ms_event_put_many(&many, block.event + i, n, &rc) == n && rc == MS_FMT_OK,
		      "put many: %d", rc);
		ms_address_put_many(&address_encoder, block.event + i, n);
	}
	block.event[block.count] = block.event[0];
	CHECK(ms_event_put_many(&many, block.event + block.count, 1, &rc) == 0 && rc == MS_FMT_FULL,
	      "a full block took many");
	CHECK(ms_event_next_number(&many) == ms_event_next_number(&encoder), "number");
	size_t n = ms_event_encoder_finish(&many, c);
	CHECK(n == block.column_count, "%zu columns", n);
	for (size_t i = 0; i < n; i++)
		same_column(&c[i], &block.columns[i]);
	block.columns[block.column_count++] = ms_address_encoder_finish(&address_encoder);
}

static void encode_block(struct stream *s, uint64_t *events, uint64_t *tick)
{
	const uint64_t number = s->number, first = *events, first_tick = *tick;
	ms_event_encoder_begin(&encoder, number, first, first_tick);
	block.count = 0;
	for (;;) {
		struct ms_event *ev = &block.event[block.count];
		if (encoder.count == BLOCK)
			break;
		stream_next(s, ev);
		enum ms_fmt r = ms_event_put(&encoder, ev);
		CHECK(r == MS_FMT_OK, "put: %d", r);
		block.count++;
	}
	struct ms_event more = block.event[0];
	CHECK(ms_event_put(&encoder, &more) == MS_FMT_FULL, "a full block took more");
	*events += block.count;
	*tick = s->time;
	block.column_count = ms_event_encoder_finish(&encoder, block.columns);
	same_put_many(number, first, first_tick);
}

static bool same_event(const struct ms_event *a, const struct ms_event *b)
{
	return a->time_ticks == b->time_ticks && a->size == b->size && a->number == b->number &&
	       a->freed == b->freed && a->address == b->address && a->thread == b->thread &&
	       a->stack == b->stack && a->kind == b->kind && a->ext == b->ext &&
	       a->slack == b->slack;
}

/* Decodes copies of `decoder` both ways, to the end or to what is bad: many at a time, and each. */
static void same_as_one_by_one(size_t at_a_time)
{
	static struct ms_event_decoder one, many;
	static struct ms_event got[64];
	enum ms_fmt rc, want = MS_FMT_OK;
	one = many = decoder;
	do {
		memset(got, 0xa5, sizeof got);
		size_t n = ms_event_next_many(&many, got, at_a_time, &rc);
		for (size_t i = 0; i < n; i++) {
			struct ms_event ev;
			CHECK(ms_event_next(&one, &ev) == MS_FMT_OK, "one event more");
			CHECK(same_event(&ev, &got[i]), "another event");
		}
		if (n < at_a_time) {
			struct ms_event ev;
			want = ms_event_next(&one, &ev);
		}
		CHECK(rc == want && (n == at_a_time) == (rc == MS_FMT_OK), "another end");
	} while (rc == MS_FMT_OK);
}

static void decode_block(void)
{
	struct ms_event ev;
	CHECK(ms_event_decoder_init(&decoder, block.columns, block.column_count) == MS_FMT_OK,
	      "init");
	CHECK(decoder.count == block.count, "count");
	same_as_one_by_one(1 + block.count % 60);
	ms_address_decoder_begin(&address_decoder, &decoder, block.columns, block.column_count,
				 decoder_memory);
	for (size_t i = 0; i < block.count; i++) {
		enum ms_fmt r = ms_event_next(&decoder, &ev);
		CHECK(r == MS_FMT_OK, "event %zu: %d", i, r);
		ms_address_next(&address_decoder, &ev);
		CHECK(same_event(&ev, &block.event[i]), "event %zu kind %u differs", i,
		      block.event[i].kind);
	}
	CHECK(ms_event_next(&decoder, &ev) == MS_FMT_END, "more events than were put");
}

static void round_trip(uint64_t seed, unsigned threads, bool wild, bool no_addresses, unsigned n)
{
	struct stream s = {.seed = seed,
			   .threads = threads,
			   .wild = wild,
			   .no_addresses = no_addresses,
			   .ext = seed % 3 == 0,
			   .usable = seed % 4 == 1};
	uint64_t events = 0, tick = 0;
	ms_event_encoder_init(&encoder, memory, BLOCK);
	ms_address_encoder_init(&address_encoder, address_memory, BLOCK);
	for (unsigned b = 0; b < n; b++) {
		encode_block(&s, &events, &tick);
		decode_block();
	}
	stream_end(&s);
}

static void limits(void)
{
	struct ms_event ev = {.kind = MS_EV_FREE, .freed = 0};
	ms_event_encoder_init(&encoder, memory, BLOCK);
	CHECK(ms_event_put(&encoder, &ev) == MS_FMT_BAD, "freed before it was allocated");
	ev.kind = MS_EV_EXT;
	CHECK(ms_event_put(&encoder, &ev) == MS_FMT_BAD, "no extended kind");
	ev.ext = 128;
	CHECK(ms_event_put(&encoder, &ev) == MS_FMT_BAD, "extended kind 128");
	ev.kind = MS_EV_EXT + 1;
	CHECK(ms_event_put(&encoder, &ev) == MS_FMT_BAD, "no kind");
	ev = (struct ms_event){.kind = MS_EV_REALLOC};
	CHECK(ms_event_put(&encoder, &ev) == MS_FMT_BAD, "replaces itself");
	CHECK(encoder.count == 0, "a refused event counts");
	struct ms_column c[MS_EVENT_COLUMNS];
	CHECK(ms_event_encoder_finish(&encoder, c) == 1, "an empty block has its head only");
	CHECK(ms_event_decoder_init(&decoder, c, 1) == MS_FMT_OK &&
		      ms_event_next(&decoder, &ev) == MS_FMT_END,
	      "empty");
	CHECK(ms_event_decoder_init(&decoder, c, 0) == MS_FMT_BAD, "no head");
}

/* The numbers of a block's events are below 2^62, as those of its head. */
static void highest_numbers(void)
{
	const uint64_t most = UINT64_C(1) << 62;
	const uint64_t heads[][2] = {{most - 3, 0}, {most - 2, 0}, {0, most - 3},
				     {0, most - 2}, {most, 0},     {0, most}};
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		struct ms_column c[MS_EVENT_COLUMNS + 1];
		uint8_t head[64];
		ms_event_encoder_init(&encoder, memory, BLOCK);
		for (unsigned k = 0; k < 3; k++)
			ms_event_put(&encoder, &(struct ms_event){.kind = MS_EV_ALLOC, .size = 8});
		size_t n = ms_event_encoder_finish(&encoder, c);
		c[0].data = head;
		c[0].size =
			(size_t)(ms_varints_put(head, (uint64_t[]){heads[i][0], heads[i][1], 0, 3},
						4) -
				 head);
		bool good = heads[i][0] <= most - 3 && heads[i][1] <= most - 3;
		CHECK((ms_event_decoder_init(&decoder, c, n) == MS_FMT_OK) == good,
		      "a block with the highest numbers");
	}
}

static void extended(void)
{
	struct ms_event ev;
	block = (struct coded){.count = MS_EXT_BEFORE};
	ms_event_encoder_init(&encoder, memory, BLOCK);
	for (uint8_t k = 1; k <= MS_EXT_BEFORE; k++) {
		ev = (struct ms_event){.kind = MS_EV_EXT,
				       .ext = k,
				       .stack = 10u + k,
				       .address = 20u + k,
				       .size = 30u + k,
				       .freed = 40u + k};
		CHECK(ms_event_put(&encoder, &ev) == MS_FMT_OK, "put %u", k);
		block.event[k - 1] = ev;
	}
	block.column_count = ms_event_encoder_finish(&encoder, block.columns);
	decode_block();
}

/* Allocations of one stack: what is written of their sizes, and what is read of their slack. */
static void allocations(const char *what, const uint64_t sizes[2], const uint32_t slacks[2],
			const uint32_t want_slacks[2], const void *want, size_t n)
{
	ms_event_encoder_init(&encoder, memory, BLOCK);
	block = (struct coded){.count = 2};
	for (unsigned i = 0; i < 2; i++) {
		struct ms_event *ev = &block.event[i];
		*ev = (struct ms_event){.kind = MS_EV_ALLOC,
					.stack = 7,
					.number = i,
					.size = sizes[i],
					.slack = slacks[i]};
		CHECK(ms_event_put(&encoder, ev) == MS_FMT_OK, "%s: put", what);
		ev->slack = want_slacks[i];
	}
	block.column_count = ms_event_encoder_finish(&encoder, block.columns);
	const struct ms_column *c = ms_column_find(block.columns, block.column_count, MS_COL_SIZE);
	CHECK(c && c->size == n && !memcmp(c->data, want, n), "%s: sizes", what);
	decode_block();
}
#define ALLOCATIONS(what, a, b, slack_a, slack_b, want_a, want_b, want)                            \
	allocations(what, (const uint64_t[]){a, b}, (const uint32_t[]){slack_a, slack_b},          \
		    (const uint32_t[]){want_a, want_b}, want, sizeof want - 1)

/* A size that is too large to be added to is guessed like any other; where one allocation has slack,
 * none is written as 0 bytes. */
static void sizes_and_slack(void)
{
	const uint64_t most = UINT64_MAX;
	ALLOCATIONS("huge", most, most, 0, 0, 0, 0, "\1\xff\xff\xff\xff\xff\xff\xff\xff\xff\1\0");
	ALLOCATIONS("nearly", most - 2, most - 1, 0, 0, 0, 0,
		    "\xff\xff\xff\xff\xff\xff\xff\xff\xff\1"
		    "\1\xfe\xff\xff\xff\xff\xff\xff\xff\xff\1");
	ALLOCATIONS("slack of the first", 1, 2, 5, 0, 5, 1, "\3\4");
	ALLOCATIONS("slack of the second", 1, 2, 0, 5, 1, 5, "\3\4");
}

/* Every event is 3 bytes or less here, by hand: the written form is a promise. */
static void known_bytes(void)
{
	static const struct ms_event in[] = {
		{.kind = MS_EV_ALLOC,
		 .thread = 0,
		 .time_ticks = 5,
		 .stack = 7,
		 .size = 100,
		 .number = 10},
		{.kind = MS_EV_ALLOC,
		 .thread = 2,
		 .time_ticks = 7,
		 .stack = 7,
		 .size = 100,
		 .number = 11},
		{.kind = MS_EV_FREE, .thread = 2, .time_ticks = 7, .freed = 10},
		{.kind = MS_EV_FREE, .thread = 2, .time_ticks = 7, .freed = 11},
	};
	static const uint8_t op[] = {0x48, 0x30, 0x49, 0x49}, thread[] = {2}, stack[] = {15},
			     size[] = {102}, freed[] = {5, 3}, time[] = {2}, head[] = {10, 3, 5, 4};
	static const struct ms_column want[] = {
		{MS_COL_HEAD, head, sizeof head}, {MS_COL_OP, op, sizeof op},
		{MS_COL_THREAD, thread, 1},       {MS_COL_STACK, stack, sizeof stack},
		{MS_COL_SIZE, size, sizeof size}, {MS_COL_FREED, freed, sizeof freed},
		{MS_COL_TIME, time, 1},
	};
	struct ms_column c[MS_EVENT_COLUMNS];
	ms_event_encoder_begin(&encoder, 10, 3, 5);
	for (size_t i = 0; i < 4; i++)
		CHECK(ms_event_put(&encoder, &in[i]) == MS_FMT_OK, "put %zu", i);
	size_t n = ms_event_encoder_finish(&encoder, c);
	CHECK(n == 7, "%zu columns", n);
	for (size_t i = 0; i < n; i++)
		CHECK(c[i].id == want[i].id && c[i].size == want[i].size &&
			      !memcmp(c[i].data, want[i].data, c[i].size),
		      "column %u", c[i].id);
}

/* Flipped and cut columns: an error or other events, never a crash, and numbers stay in range. */
static void hostile(uint64_t seed)
{
	struct stream s = {
		.seed = seed, .threads = 5, .wild = true, .ext = true, .usable = seed % 2};
	uint64_t events = 0, tick = 0;
	static uint8_t copy[MS_EVENT_MEMORY(BLOCK)];
	ms_event_encoder_init(&encoder, memory, BLOCK);
	ms_address_encoder_init(&address_encoder, address_memory, BLOCK);
	encode_block(&s, &events, &tick);
	for (unsigned k = 0; k < 200; k++) {
		struct ms_column c[MS_EVENT_COLUMNS + 1];
		size_t n = block.column_count;
		memcpy(c, block.columns, n * sizeof *c);
		struct ms_column *victim = &c[stream_random(&s) % n];
		memcpy(copy, victim->data, victim->size);
		victim->data = copy;
		if (k % 4 == 0)
			victim->size = stream_random(&s) % victim->size;
		else
			copy[stream_random(&s) % victim->size] ^= 1u << stream_random(&s) % 8;
		struct ms_event ev;
		if (ms_event_decoder_init(&decoder, c, n) != MS_FMT_OK)
			continue;
		ms_address_decoder_begin(&address_decoder, &decoder, c, n, decoder_memory);
		same_as_one_by_one(1 + (size_t)(stream_random(&s) % 50));
		uint64_t left = decoder.count, next = decoder.first_number;
		while (ms_event_next(&decoder, &ev) == MS_FMT_OK) {
			CHECK(left-- > 0, "too many events");
			bool made = ev.kind == MS_EV_ALLOC || ev.kind == MS_EV_REALLOC ||
				    ev.kind == MS_EV_REALLOC_UNKNOWN;
			CHECK(ev.freed < next || ev.freed == 0 || ev.kind == MS_EV_EXT,
			      "freed out of range");
			ms_address_next(&address_decoder, &ev);
			next += made;
		}
		CHECK(ms_event_next(&decoder, &ev) == MS_FMT_END, "goes on after the end");
	}
	stream_end(&s);
}

int main(void)
{
	for (uint64_t seed = 1; seed <= 1500; seed++) {
		round_trip(seed, 1 + seed % 7 * (seed % 7), seed % 2, seed % 5 == 0, 1 + seed % 4);
		if (failures)
			return printf("seed %llu\n", (unsigned long long)seed), 1;
	}
	for (uint64_t seed = 1; seed <= 100; seed++)
		hostile(seed);
	limits();
	highest_numbers();
	extended();
	sizes_and_slack();
	known_bytes();
	return failures != 0;
}
