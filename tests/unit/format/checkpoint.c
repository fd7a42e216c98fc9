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
	}
	return failures != 0;
}
