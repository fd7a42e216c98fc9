/* SPDX-License-Identifier: MIT
 * Checkpoints: what is put comes out, of random blocks, with and without what may be left out.
 */
#include "format/checkpoint.h"

#include <string.h>

#include "format/trace.h"
#include "tests/unit/check.h"
#include "tests/unit/stream.h"

#define MOST 50u
#define THREADS 9u

static uint8_t memory[MS_CHECKPOINT_MEMORY(MOST, THREADS)];
static struct ms_checkpoint_block blocks[MOST];
static uint64_t last[THREADS];
static struct ms_checkpoint_head head;

static void make(struct stream *s, uint32_t count)
{
	uint64_t number = stream_extreme(s) >> 8;
	for (uint32_t i = 0; i < count; i++) {
		blocks[i] = (struct ms_checkpoint_block){.number = number,
							 .size = stream_extreme(s),
							 .stack = (uint32_t)stream_extreme(s),
							 .thread = (uint32_t)stream_extreme(s),
							 .tick = stream_extreme(s),
							 .address = stream_extreme(s),
							 .slack = (uint32_t)stream_extreme(s)};
		number += 1 + (stream_random(s) % 2 ? 0 : stream_extreme(s) >> 16);
	}
	for (unsigned i = 0; i < THREADS; i++)
		last[i] = stream_random(s) % 4 ? stream_extreme(s) : UINT64_MAX;
	head = (struct ms_checkpoint_head){.event = stream_extreme(s),
					   .number = number,
					   .tick = stream_extreme(s),
					   .live_bytes = stream_extreme(s),
					   .live_blocks = count + stream_random(s) % 9,
					   .part = (uint32_t)(stream_random(s) % 5),
					   .parts = 5,
					   .count = 77};
	if (head.live_blocks > number)
		head.live_blocks = count;
}

static size_t encode(struct ms_column *c, uint32_t count, unsigned threads, bool addresses,
		     bool usable)
{
	static struct ms_checkpoint_encoder e;
	ms_checkpoint_begin(&e, memory, count, threads, &head, addresses, usable);
	for (uint32_t i = 0; i < count; i++) {
		struct ms_checkpoint_block again = blocks[i];
		CHECK(ms_checkpoint_put(&e, &again) == MS_FMT_OK, "block %u", i);
		CHECK(ms_checkpoint_put(&e, &again) != MS_FMT_OK, "block %u twice", i);
	}
	for (unsigned i = 0; i < THREADS; i++)
		ms_checkpoint_put_last(&e, last[i]);
	return ms_checkpoint_finish(&e, c);
}

static void decode(const struct ms_column *c, size_t n, uint32_t count, unsigned threads,
		   bool addresses, bool usable)
{
	struct ms_checkpoint_decoder d;
	struct ms_checkpoint_block b;
	struct ms_checkpoint_range range;
	uint64_t number;
	CHECK(ms_checkpoint_decoder_init(&d, c, n) == MS_FMT_OK, "head");
	head.count = count;
	CHECK(!memcmp(&d.head, &head, sizeof head), "another head");
	for (uint32_t i = 0; i < count; i++) {
		const struct ms_checkpoint_block *w = &blocks[i];
		uint32_t slack = !usable ? 0 : w->slack ? w->slack : 1;
		CHECK(ms_checkpoint_next(&d, &b) == MS_FMT_OK, "block %u", i);
		CHECK(b.number == w->number && b.size == w->size && b.stack == w->stack &&
			      b.thread == w->thread && b.tick == w->tick && b.slack == slack &&
			      b.address == (addresses ? w->address : 0),
		      "block %u is another", i);
	}
	CHECK(ms_checkpoint_next(&d, &b) == MS_FMT_END, "more blocks");
	for (unsigned i = 0; i < threads; i++) {
		CHECK(ms_checkpoint_next_last(&d, &number) == MS_FMT_OK, "thread %u", i);
		CHECK(number == last[i], "the last of thread %u", i);
	}
	CHECK(ms_checkpoint_next_last(&d, &number) == MS_FMT_END, "more threads");
	CHECK(ms_checkpoint_next_range(&d, &range) == MS_FMT_END, "a range");
}

/* ---- ranges, and what cannot be ---- */

static enum ms_fmt next_range(const uint8_t *at, size_t n, struct ms_checkpoint_range *got)
{
	struct ms_checkpoint_decoder d = {.mapped = {at, at + n}};
	enum ms_fmt rc;
	while ((rc = ms_checkpoint_next_range(&d, got)) == MS_FMT_OK)
		;
	CHECK(ms_checkpoint_next_range(&d, got) == MS_FMT_END, "goes on after the end");
	return rc;
}

/* Ranges one after the other, some of them adjacent; whole, cut anywhere, and beyond all memory. */
static void check_ranges(struct stream *s)
{
	enum { RANGES = 5 };
	struct ms_checkpoint_range r[RANGES], got;
	uint8_t room[RANGES * 30], *at = room, *whole[RANGES + 1] = {room};
	uint64_t end = 0;
	for (unsigned i = 0; i < RANGES; i++) {
		uint64_t gap = stream_random(s) % 2 ? stream_extreme(s) >> 4 : 0;
		r[i] = (struct ms_checkpoint_range){.address = end + gap,
						    .bytes = 1 + (stream_extreme(s) >> 4),
						    .stack = (uint32_t)stream_extreme(s)};
		at = whole[i + 1] = ms_checkpoint_put_range(at, end, &r[i]);
		end = r[i].address + r[i].bytes;
	}
	struct ms_checkpoint_decoder d = {.mapped = {room, at}};
	for (unsigned i = 0; i < RANGES; i++)
		CHECK(ms_checkpoint_next_range(&d, &got) == MS_FMT_OK &&
			      got.address == r[i].address && got.bytes == r[i].bytes &&
			      got.stack == r[i].stack,
		      "range %u is another", i);
	for (unsigned i = 0; i < RANGES; i++)
		for (const uint8_t *cut = whole[i]; cut < whole[i + 1]; cut++)
			CHECK(next_range(room, (size_t)(cut - room), &got) ==
				      (cut == whole[i] ? MS_FMT_END : MS_FMT_BAD),
			      "cut in range %u", i);
	const struct ms_checkpoint_range wrong[] = {{.address = end + 1},
						    {.address = end, .bytes = -end},
						    {.address = end - 1, .bytes = 1}};
	for (unsigned i = 0; i < 3; i++) {
		uint8_t *to = ms_checkpoint_put_range(at, end, &wrong[i]);
		CHECK(next_range(room, (size_t)(to - room), &got) == MS_FMT_BAD, "wrong %u", i);
	}
}

/* Blocks and heads at a limit, and beyond it. */
static void check_limits(struct stream *s)
{
	static struct ms_checkpoint_encoder e;
	struct ms_column c[32];
	struct ms_checkpoint_decoder d;
	make(s, 1);
	head.number = blocks[0].number + 1;
	head.live_blocks = 1;
	for (unsigned i = 0; i < 4; i++) {
		struct ms_checkpoint_head h = head;
		h.part = i == 1 ? h.parts : h.part;
		h.live_blocks = i == 2 ? 0 : i == 3 ? h.number + 1 : 1;
		ms_checkpoint_begin(&e, memory, 1, 0, &h, false, false);
		struct ms_checkpoint_block beyond = {.number = head.number};
		CHECK(ms_checkpoint_put(&e, &beyond) == MS_FMT_BAD, "a number of later");
		CHECK(ms_checkpoint_put(&e, &blocks[0]) == MS_FMT_OK, "the last number");
		CHECK(ms_checkpoint_decoder_init(&d, c, ms_checkpoint_finish(&e, c)) ==
			      (i ? MS_FMT_BAD : MS_FMT_OK),
		      "head %u", i);
	}
	head.number++; /* one more than a block that is read may have */
	ms_checkpoint_begin(&e, memory, 1, 0, &head, false, false);
	blocks[0].number++;
	CHECK(ms_checkpoint_put(&e, &blocks[0]) == MS_FMT_OK, "the last number");
	CHECK(ms_checkpoint_decoder_init(&d, c, ms_checkpoint_finish(&e, c)) == MS_FMT_OK, "head");
	d.head.number--;
	struct ms_checkpoint_block b;
	CHECK(ms_checkpoint_next(&d, &b) == MS_FMT_BAD, "a number of later");
	CHECK(ms_checkpoint_next(&d, &b) == MS_FMT_END, "goes on after it");
}

int main(void)
{
	struct stream s = {.seed = 8};
	for (unsigned i = 0; i < 2000 && failures < 20; i++) {
		struct ms_column c[32];
		uint32_t count = (uint32_t)(stream_random(&s) % (MOST + 1));
		unsigned threads = (unsigned)(stream_random(&s) % (THREADS + 1));
		make(&s, count);
		decode(c, encode(c, count, threads, i & 1, i & 2), count, threads,
		       (i & 1) || !count, i & 2);
		check_ranges(&s);
		check_limits(&s);
	}
	return failures != 0;
}
