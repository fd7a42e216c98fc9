/* SPDX-License-Identifier: MIT
 * The limits of what a trace may say: the last value that is taken, and the first that is not.
 */
#include <string.h>

#include "format/block.h"
#include "format/checkpoint.h"
#include "format/record.h"
#include "format/stacks.h"
#include "format/trace.h"
#include "format/varint.h"
#include "tests/unit/check.h"

static void header(const char *what, struct ms_block_head h, enum ms_fmt want)
{
	uint8_t bytes[MS_BLOCK_HEADER_SIZE];
	struct ms_block_head got;
	ms_block_header_put(bytes, &h);
	enum ms_fmt is = ms_block_header_get(bytes, &got);
	CHECK(is == want, "%s: %d", what, is);
	CHECK(is != MS_FMT_OK || !memcmp(&got, &h, sizeof h), "%s: another one", what);
	bytes[MS_BLOCK_HEADER_SIZE - 1] ^= 1;
	CHECK(ms_block_header_get(bytes, &got) == MS_FMT_BAD, "%s: a wrong checksum", what);
}

static void headers(void)
{
	const uint32_t most = MS_BLOCK_COLUMNS_MAX, entry = MS_COLUMN_ENTRY_SIZE;
	header("columns", (struct ms_block_head){.columns = most}, MS_FMT_OK);
	header("too many columns", (struct ms_block_head){.columns = most + 1}, MS_FMT_BAD);
	header("raw", (struct ms_block_head){.raw = MS_BLOCK_RAW_MAX}, MS_FMT_OK);
	header("too much raw", (struct ms_block_head){.raw = MS_BLOCK_RAW_MAX + 1}, MS_FMT_BAD);
	header("payload", (struct ms_block_head){.columns = 2, .raw = 5, .payload = 5 + 2 * entry},
	       MS_FMT_OK);
	header("too much payload",
	       (struct ms_block_head){.columns = 2, .raw = 5, .payload = 6 + 2 * entry},
	       MS_FMT_BAD);
}

/* What a field's number, 31 bits and one that says whether it has bytes, is read as. */
static void field(uint64_t key, uint64_t value, enum ms_fmt want, uint32_t id)
{
	uint8_t bytes[32], *end = ms_varints_put(bytes, (uint64_t[]){key, value}, 2);
	struct ms_record r = {bytes, end};
	struct ms_field f;
	enum ms_fmt is = ms_record_field(&r, &f);
	CHECK(is == want, "key %#lx: %d", (unsigned long)key, is);
	CHECK(is != MS_FMT_OK || (f.id == id && f.value == value), "key %#lx: field %u",
	      (unsigned long)key, f.id);
	CHECK(ms_record_field(&r, &f) == MS_FMT_END, "key %#lx: more", (unsigned long)key);
}

static void fields(void)
{
	field(14, 300, MS_FMT_OK, 7);
	field(15, 0, MS_FMT_OK, 7);
	field(15, 1, MS_FMT_BAD, 0); /* a byte that is not there */
	field((uint64_t)UINT32_MAX << 1, 1, MS_FMT_OK, UINT32_MAX);
	field(UINT64_C(1) << 33, 1, MS_FMT_OK, 0); /* none that is known, and skipped */
	field(UINT64_MAX - 1, 1, MS_FMT_OK, 0);
}

/* Ranges as they stand in a checkpoint: what comes out up to the first that is refused, and that. */
static void ranges(const char *what, const uint64_t *numbers, size_t n, size_t good, bool refused)
{
	static const uint64_t head[] = {1, 1, 1, 0, 0, 0, 1, 0};
	uint8_t heads[32], bytes[128];
	struct ms_column columns[2];
	struct ms_checkpoint_decoder d;
	struct ms_checkpoint_range r;
	size_t k = ms_column_add(columns, 0, MS_LIVE_HEAD, heads, ms_varints_put(heads, head, 8));
	k = ms_column_add(columns, k, MS_LIVE_MAPPED, bytes, ms_varints_put(bytes, numbers, n));
	CHECK(ms_checkpoint_decoder_init(&d, columns, k) == MS_FMT_OK, "%s: head", what);
	uint64_t end = 0;
	for (size_t i = 0; i < good; i++) {
		enum ms_fmt is = ms_checkpoint_next_range(&d, &r);
		CHECK(is == MS_FMT_OK && r.address == end + numbers[3 * i] &&
			      r.bytes == numbers[3 * i + 1] && r.stack == numbers[3 * i + 2],
		      "%s: range %zu: %d", what, i, is);
		end = r.address + r.bytes;
	}
	enum ms_fmt is = ms_checkpoint_next_range(&d, &r);
	CHECK(is == (refused ? MS_FMT_BAD : MS_FMT_END), "%s: then %d", what, is);
	CHECK(ms_checkpoint_next_range(&d, &r) == MS_FMT_END, "%s: after the end", what);
}
#define RANGES(what, good, refused, ...)                                                           \
	ranges(what, (const uint64_t[]){__VA_ARGS__}, sizeof(const uint64_t[]){__VA_ARGS__} / 8,   \
	       good, refused)

static void checkpoints(void)
{
	RANGES("three", 3, false, 4096, 8192, 1, 0, 4096, 2, 65536, 1, UINT32_MAX);
	RANGES("none", 1, true, 4096, 8192, 1, 4096, 0, 2);
	RANGES("no such stack", 0, true, 4096, 8192, UINT64_C(1) << 32);
	RANGES("cut", 1, true, 4096, 8192, 1, 4096);
	RANGES("cut later", 1, true, 4096, 8192, 1, 4096, 1);
	RANGES("to the last byte", 1, false, 4096, UINT64_MAX - 4096, 1);
	RANGES("beyond it", 0, true, 4096, UINT64_MAX - 4095, 1);
	RANGES("a gap beyond it", 1, true, 4096, 4096, 1, UINT64_MAX - 8191, 1, 1);
}

/* A node's frame is one that was written, in this block or before. */
static void node(uint32_t frame, enum ms_fmt want)
{
	enum { FIRST = 5, FRAMES = 3 };
	static uint8_t memory[MS_STACKS_MEMORY(FRAMES, 1)];
	struct ms_stacks_encoder e;
	struct ms_stacks_decoder d;
	struct ms_column c[MS_STACKS_COLUMNS];
	struct ms_node n;
	ms_stacks_encoder_init(&e, memory, FRAMES, 1);
	ms_stacks_encoder_begin(&e, FIRST, 1);
	for (uint64_t i = 0; i < FRAMES; i++)
		CHECK(!ms_stacks_put_frame(&e, &(struct ms_frame){.address = i}), "frame");
	CHECK(!ms_stacks_put_node(&e, &(struct ms_node){0, frame}), "node of frame %u", frame);
	size_t columns = ms_stacks_encoder_finish(&e, c);
	CHECK(!ms_stacks_decoder_init(&d, c, columns), "head");
	enum ms_fmt is = ms_stacks_next_node(&d, &n);
	CHECK(is == want && (is || (n.frame == frame && !n.parent)), "frame %u: %d", frame, is);
	CHECK(ms_stacks_next_node(&d, &n) == MS_FMT_END, "frame %u: more", frame);
}

static void nodes(void)
{
	node(0, MS_FMT_BAD);
	node(1, MS_FMT_OK);
	node(7, MS_FMT_OK);
	node(8, MS_FMT_BAD);
}

int main(void)
{
	headers();
	fields();
	checkpoints();
	nodes();
	printf("%d failures\n", failures);
	return failures != 0;
}
