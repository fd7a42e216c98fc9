/* SPDX-License-Identifier: MIT
 * The limits of what a trace may say: the last value that is taken, and the first that is not.
 */
#include <stddef.h>
#include <string.h>

#include "format/block.h"
#include "format/checkpoint.h"
#include "format/event.h"
#include "format/record.h"
#include "format/stacks.h"
#include "format/trace.h"
#include "format/varint.h"
#include "tests/unit/check.h"

static void header(const char *what, struct ms_block_head h, enum ms_fmt want)
{
	uint8_t bytes[MS_BLOCK_HEADER_SIZE];
	struct ms_block_head got;
	const size_t fields = offsetof(struct ms_block_head, checksum) + sizeof h.checksum;
	ms_block_header_put(bytes, &h);
	enum ms_fmt is = ms_block_header_get(bytes, &got);
	CHECK(is == want, "%s: %d", what, is);
	CHECK(is != MS_FMT_OK || !memcmp(&got, &h, fields), "%s: another one", what);
	bytes[MS_BLOCK_HEADER_SIZE - 1] ^= 1;
	CHECK(ms_block_header_get(bytes, &got) == MS_FMT_BAD, "%s: a wrong checksum", what);
}

/* A file's header of `size` bytes, of which `n` are there. */
static void file_header(const char *what, struct ms_trace_head h, size_t n, bool sealed,
			enum ms_fmt want, size_t want_size)
{
	static uint8_t bytes[MS_FILE_HEADER_MAX + 64];
	struct ms_trace_head got;
	size_t size;
	memset(bytes, 0, sizeof bytes);
	memcpy(bytes, MS_TRACE_MAGIC, MS_TRACE_MAGIC_SIZE);
	memcpy(bytes + MS_TRACE_MAGIC_SIZE, &h, sizeof h);
	uint32_t crc = ms_crc32c(0, bytes, h.size - sizeof crc) ^ !sealed;
	memcpy(bytes + h.size - sizeof crc, &crc, sizeof crc);
	enum ms_fmt is = ms_file_header_get(bytes, n, &got, &size);
	CHECK(is == want && size == want_size, "%s: %d, %zu bytes", what, is, size);
}

static void file_headers(void)
{
	const uint32_t least = MS_FILE_HEADER_SIZE, most = MS_FILE_HEADER_MAX;
	struct ms_trace_head h = {.major = MS_TRACE_MAJOR, .tick_ns = 1, .size = least};
	file_header("as it is", h, least, true, MS_FMT_OK, least);
	file_header("nothing of it", h, 0, true, MS_FMT_SHORT, least);
	file_header("not all of it", h, least - 1, true, MS_FMT_SHORT, least);
	file_header("a wrong checksum", h, least, false, MS_FMT_BAD, least);
	h.size = least - 1;
	file_header("too short", h, most, true, MS_FMT_BAD, least);
	h.size = most;
	file_header("the longest", h, most, true, MS_FMT_OK, most);
	file_header("not all of that", h, most - 1, true, MS_FMT_SHORT, most);
	h.size = most + 1;
	file_header("too long", h, most + 1, true, MS_FMT_BAD, least);
	h.size = least;
	h.major++;
	file_header("a later version", h, least, true, MS_FMT_NEWER, least);
	h.major = MS_TRACE_MAJOR;
	h.need = UINT64_C(1) << 63;
	file_header("what nobody knows yet is needed", h, least, true, MS_FMT_NEWER, least);
	h.need = 0;
	h.hint = UINT64_MAX;
	file_header("what nobody knows yet may help", h, least, true, MS_FMT_OK, least);
	h.tick_ns = 0;
	file_header("no ticks", h, least, true, MS_FMT_BAD, least);
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

/* Checks how a field is read by its key: its number, and a bit that says if it has bytes. */
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

/* ---- columns of numbers ---- */

struct numbers {
	uint32_t id;
	size_t n;
	uint64_t v[10];
};
#define COLUMN(id, ...)                                                                            \
	{                                                                                          \
		id, sizeof(const uint64_t[]){__VA_ARGS__} / 8,                                     \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

/* Builds the columns of a block from numbers. Returns how many. */
static size_t build(struct ms_column *out, const struct numbers *from, size_t n)
{
	static uint8_t bytes[16][100];
	size_t k = 0;
	for (size_t i = 0; i < n; i++)
		k = ms_column_add(out, k, from[i].id, bytes[i],
				  ms_varints_put(bytes[i], from[i].v, from[i].n));
	return k;
}

/* ---- checkpoints ---- */

static void checkpoint_head(const char *what, const uint64_t *v, size_t n, enum ms_fmt want)
{
	struct numbers head = {MS_LIVE_HEAD, n, {0}};
	struct ms_column c[1];
	struct ms_checkpoint_decoder d;
	memcpy(head.v, v, n * sizeof *v);
	size_t k = build(c, &head, 1);
	enum ms_fmt is = ms_checkpoint_decoder_init(&d, c, k);
	CHECK(is == want, "%s: %d", what, is);
}

static void checkpoint_heads(void)
{
	const uint64_t most = MS_CHECKPOINT_PART, wide = UINT64_C(1) << 32;
	static const uint64_t good[] = {1, 9, 5, 10, 2, 0, 1, 2};
	for (size_t n = 0; n <= 8; n++)
		checkpoint_head("cut", good, n, n < 8 ? MS_FMT_BAD : MS_FMT_OK);
#define HEAD(what, want, number, blocks, part, parts, count)                                       \
	checkpoint_head(what, (const uint64_t[]){1, number, 5, 10, blocks, part, parts, count}, 8, \
			want)
	HEAD("all numbers live", MS_FMT_OK, 9, 9, 0, 1, 9);
	HEAD("more than were made", MS_FMT_BAD, 9, 10, 0, 1, 9);
	HEAD("more in a part than there are", MS_FMT_BAD, 9, 8, 0, 1, 9);
	HEAD("a full part", MS_FMT_OK, most, most, 0, 1, most);
	HEAD("a part that is too large", MS_FMT_BAD, most + 1, most + 1, 0, 1, most + 1);
	HEAD("the last part", MS_FMT_OK, 9, 9, wide - 2, wide - 1, 9);
	HEAD("one more", MS_FMT_BAD, 9, 9, 1, 1, 9);
	HEAD("parts beyond 32 bits", MS_FMT_BAD, 9, 9, 0, wide, 9);
	HEAD("part beyond 32 bits", MS_FMT_BAD, 9, 9, wide, 1, 9);
	HEAD("count beyond 32 bits", MS_FMT_BAD, 9, 9, 0, 1, wide + 1);
}

/* Two blocks below `number`, of which `n` numbers of one column are others. */
static void blocks(const char *what, uint64_t number, uint32_t id, size_t n, uint64_t a, uint64_t b,
		   enum ms_fmt first, enum ms_fmt second)
{
	struct numbers v[] = {COLUMN(MS_LIVE_HEAD, 1, number, 5, 10, 2, 0, 1, 2),
			      COLUMN(MS_LIVE_NUMBER, 3, 4),
			      COLUMN(MS_LIVE_SIZE, 1, 2),
			      COLUMN(MS_LIVE_STACK, 14, 0),
			      COLUMN(MS_LIVE_THREAD, 1, 0),
			      COLUMN(MS_LIVE_TICK, 10, 0),
			      COLUMN(MS_LIVE_ADDRESS, 32, 0),
			      COLUMN(MS_LIVE_SLACK, 0, 0)};
	struct ms_column c[8];
	struct ms_checkpoint_decoder d;
	struct ms_checkpoint_block got;
	for (size_t i = 0; i < 8; i++)
		if (v[i].id == id)
			v[i] = (struct numbers){id, n, {a, b}};
	size_t k = build(c, v, 8);
	CHECK(ms_checkpoint_decoder_init(&d, c, k) == MS_FMT_OK, "%s", what);
	enum ms_fmt is = ms_checkpoint_next(&d, &got);
	CHECK(is == first, "%s: the first %d", what, is);
	is = ms_checkpoint_next(&d, &got);
	CHECK(is == second, "%s: the second %d", what, is);
	CHECK(ms_checkpoint_next(&d, &got) == MS_FMT_END, "%s: more", what);
}

static void checkpoint_blocks(void)
{
	const enum ms_fmt ok = MS_FMT_OK, bad = MS_FMT_BAD, end = MS_FMT_END;
	const uint64_t wide = UINT64_C(1) << 32;
	static const uint32_t needed[] = {MS_LIVE_NUMBER, MS_LIVE_SIZE, MS_LIVE_STACK,
					  MS_LIVE_THREAD, MS_LIVE_TICK};
	for (size_t i = 0; i < 5; i++) {
		blocks("left out", 9, needed[i], 0, 0, 0, bad, end);
		blocks("cut", 9, needed[i], 1, 0, 0, ok, bad);
	}
	blocks("as they are", 9, 0, 0, 0, 0, ok, ok);
	blocks("no addresses", 9, MS_LIVE_ADDRESS, 0, 0, 0, ok, ok);
	blocks("addresses, cut", 9, MS_LIVE_ADDRESS, 1, 0, 0, ok, bad);
	blocks("no slack", 9, MS_LIVE_SLACK, 0, 0, 0, ok, ok);
	blocks("slack, cut", 9, MS_LIVE_SLACK, 1, 0, 0, ok, bad);
	blocks("most slack", 9, MS_LIVE_SLACK, 2, wide - 2, wide - 1, ok, bad);
	blocks("the last number", 9, MS_LIVE_NUMBER, 2, 8, 0, ok, bad);
	blocks("one more", 9, MS_LIVE_NUMBER, 2, 9, 0, bad, end);
	blocks("the last number, later", 9, MS_LIVE_NUMBER, 2, 3, 4, ok, ok);
	blocks("one more, later", 9, MS_LIVE_NUMBER, 2, 3, 5, ok, bad);
	blocks("around to 0", UINT64_MAX, MS_LIVE_NUMBER, 2, UINT64_MAX / 2, UINT64_MAX / 2 + 2, ok,
	       bad);
	blocks("stack 2^32 - 1, and one more", 9, MS_LIVE_STACK, 2, 2 * (wide - 1), 2, ok, bad);
	blocks("stack -1", 9, MS_LIVE_STACK, 2, 1, 0, bad, end);
	blocks("threads", 9, MS_LIVE_THREAD, 2, wide - 1, wide, ok, bad);
}

static void checkpoint_encoder(void)
{
	static uint8_t memory[MS_CHECKPOINT_MEMORY(3, 1)];
	struct ms_checkpoint_encoder e;
	struct ms_checkpoint_decoder d;
	struct ms_column c[MS_CHECKPOINT_COLUMNS];
	struct ms_checkpoint_block b = {0};
	uint64_t last;
	const struct ms_checkpoint_head head = {.number = 9, .live_blocks = 3, .parts = 1};
	static const struct {
		uint64_t number;
		enum ms_fmt want;
	} put[] = {{9, MS_FMT_BAD}, {2, MS_FMT_OK}, {2, MS_FMT_BAD}, {3, MS_FMT_OK},
		   {1, MS_FMT_BAD}, {8, MS_FMT_OK}, {8, MS_FMT_FULL}};
	ms_checkpoint_begin(&e, memory, 3, 1, &head, false, true);
	ms_checkpoint_put_last(&e, 5);
	ms_checkpoint_put_last(&e, 6); /* of a thread for which there is no room */
	for (size_t i = 0; i < sizeof put / sizeof *put; i++) {
		b.number = put[i].number;
		enum ms_fmt is = ms_checkpoint_put(&e, &b);
		CHECK(is == put[i].want, "put %zu: %d", i, is);
	}
	size_t k = ms_checkpoint_finish(&e, c);
	CHECK(ms_checkpoint_decoder_init(&d, c, k) == MS_FMT_OK && d.head.count == 3, "%u blocks",
	      d.head.count);
	CHECK(ms_checkpoint_next(&d, &b) == MS_FMT_OK && b.number == 2 && b.slack == 1,
	      "%u, that is of 0 bytes", b.slack);
	CHECK(ms_checkpoint_next_last(&d, &last) == MS_FMT_OK && last == 5, "thread 0");
	CHECK(ms_checkpoint_next_last(&d, &last) == MS_FMT_END, "thread 1");
	const uint8_t cut = 0x80;
	d.last = (struct ms_cursor){&cut, &cut + 1};
	CHECK(ms_checkpoint_next_last(&d, &last) == MS_FMT_BAD, "cut");
}

/* ---- events ---- */

/* How an event block's decoding goes: o, and b where it ends badly. */
static void events(const char *what, const char *want, const struct numbers *v, size_t n)
{
	struct ms_column c[8];
	static struct ms_event_decoder d;
	struct ms_event ev;
	char got[8] = "";
	size_t k = build(c, v, n);
	enum ms_fmt is = ms_event_decoder_init(&d, c, k);
	if (is != MS_FMT_OK)
		strcpy(got, "head");
	for (size_t i = 0; is == MS_FMT_OK && i < 4; i++)
		if ((is = ms_event_next(&d, &ev)) != MS_FMT_END)
			got[i] = is ? 'b' : 'o';
	CHECK(!strcmp(got, want), "%s: '%s', not '%s'", what, got, want);
}
#define EVENTS(what, want, ...)                                                                    \
	events(what, want, (const struct numbers[]){__VA_ARGS__},                                  \
	       sizeof(const struct numbers[]){__VA_ARGS__} / sizeof(struct numbers))

static void event_blocks(void)
{
	enum {
		SAME_THREAD = 8,
		STACK = 16,
		SIZE = 32,
		FREE_STACK = 32,
		SAME_TICK = 64
	}; /* of an op byte */
	enum {
		ALLOC = MS_EV_ALLOC | SAME_THREAD | STACK | SIZE | SAME_TICK,
		EXT = MS_EV_EXT | SAME_THREAD | SAME_TICK,
		UNKNOWN = MS_EV_FREE_UNKNOWN | SAME_THREAD | SAME_TICK
	};
	const uint64_t wide = UINT64_C(1) << 32, most = UINT64_C(1) << 62;
	EVENTS("a head cut off", "head", COLUMN(MS_COL_HEAD, 0, 0, 0), COLUMN(MS_COL_OP, ALLOC));
	EVENTS("one op", "o", COLUMN(MS_COL_HEAD, 0, 0, 0, 1), COLUMN(MS_COL_OP, ALLOC));
	EVENTS("one op for two", "head", COLUMN(MS_COL_HEAD, 0, 0, 0, 2), COLUMN(MS_COL_OP, ALLOC));
	EVENTS("the last number", "o", COLUMN(MS_COL_HEAD, most - 1, most - 1, 0, 1),
	       COLUMN(MS_COL_OP, ALLOC));
	EVENTS("one more", "head", COLUMN(MS_COL_HEAD, most, 0, 0, 1), COLUMN(MS_COL_OP, ALLOC));
	EVENTS("one event more", "head", COLUMN(MS_COL_HEAD, 0, most, 0, 1),
	       COLUMN(MS_COL_OP, ALLOC));
	EVENTS("threads", "ob", COLUMN(MS_COL_HEAD, 0, 0, 0, 2),
	       COLUMN(MS_COL_OP, ALLOC - SAME_THREAD, ALLOC - SAME_THREAD),
	       COLUMN(MS_COL_THREAD, wide - 1, wide));
	EVENTS("the end of time", "oob", COLUMN(MS_COL_HEAD, 0, 0, 5, 3),
	       COLUMN(MS_COL_OP, ALLOC - SAME_TICK, ALLOC - SAME_TICK, ALLOC - SAME_TICK),
	       COLUMN(MS_COL_TIME, 0, UINT64_MAX - 5, 1));
	EVENTS("no times", "b", COLUMN(MS_COL_HEAD, 0, 0, 5, 1),
	       COLUMN(MS_COL_OP, ALLOC - SAME_TICK));
	EVENTS("slack", "ob", COLUMN(MS_COL_HEAD, 0, 0, 0, 2), COLUMN(MS_COL_OP, ALLOC, ALLOC),
	       COLUMN(MS_COL_SLACK, wide - 2, wide - 1));
	EVENTS("slack, cut", "ob", COLUMN(MS_COL_HEAD, 0, 0, 0, 2), COLUMN(MS_COL_OP, ALLOC, ALLOC),
	       COLUMN(MS_COL_SLACK, 0));
	EVENTS("unknown", "ob", COLUMN(MS_COL_HEAD, 0, 0, 0, 2),
	       COLUMN(MS_COL_OP, UNKNOWN, UNKNOWN), COLUMN(MS_COL_UNKNOWN, 7));
	EVENTS("unknown, without where", "oo", COLUMN(MS_COL_HEAD, 0, 0, 0, 2),
	       COLUMN(MS_COL_OP, UNKNOWN, UNKNOWN));
	EVENTS("unknown, and where it was freed", "b", COLUMN(MS_COL_HEAD, 0, 0, 0, 1),
	       COLUMN(MS_COL_OP, UNKNOWN | FREE_STACK), COLUMN(MS_COL_UNKNOWN, 7));
#define EXTENDED(what, want, ...)                                                                  \
	EVENTS(what, want, COLUMN(MS_COL_HEAD, 0, 0, 0, 2), COLUMN(MS_COL_OP, EXT, ALLOC),         \
	       COLUMN(MS_COL_EXT, __VA_ARGS__))
	EXTENDED("extended", "oo", 1, 4, 1, 2, 3, 4);
	EXTENDED("of a later version", "oo", 127, 1, 0);
	EXTENDED("with more behind", "oo", 6, 5, 1, 2, 3, 4, 5);
	EXTENDED("kind 0", "b", 0, 4, 1, 2, 3, 4);
	EXTENDED("kind 128", "b", 128, 0);
	EXTENDED("longer than the column", "b", 1, 5, 1, 2, 3, 4);
	EXTENDED("no length", "b", 1);
	EXTENDED("three numbers", "b", 1, 3, 1, 2, 3);
	EXTENDED("no numbers", "b", 1, 0);
	EXTENDED("one number", "b", 1, 1, 1, 2);
	EXTENDED("two numbers", "b", 1, 2, 1, 2, 3);
	EXTENDED("stack 2^32 - 1", "oo", 1, 8, wide - 1, 2, 3, 4);
	EXTENDED("stack 2^32", "b", 1, 8, wide, 2, 3, 4);
	EVENTS("the column was left out", "oo", COLUMN(MS_COL_HEAD, 0, 0, 0, 2),
	       COLUMN(MS_COL_OP, EXT, ALLOC));
}

/* Checks that `want` allocations can be put before their numbers end. */
static void last_numbers(uint64_t number, size_t want)
{
	static uint8_t memory[MS_EVENT_MEMORY(3)];
	static struct ms_event_encoder e;
	const struct ms_event two[] = {{.kind = MS_EV_ALLOC}, {.kind = MS_EV_ALLOC}};
	enum ms_fmt rc;
	ms_event_encoder_init(&e, memory, 3);
	ms_event_encoder_begin(&e, number, 0, 0);
	size_t is = ms_event_put_many(&e, two, 2, &rc);
	CHECK(is == want && rc == (want == 2 ? MS_FMT_OK : MS_FMT_BAD), "%zu, %d", is, rc);
}

/* ---- the directory of a block ---- */

static void directory(const char *what, uint32_t payload, uint32_t raw,
		      struct ms_column_entry first, struct ms_column_entry second, enum ms_fmt want)
{
	uint8_t bytes[2 * MS_COLUMN_ENTRY_SIZE];
	struct ms_column_entry out[2];
	const struct ms_block_head h = {.columns = 2, .payload = payload, .raw = raw};
	ms_column_entry_put(bytes, &first);
	ms_column_entry_put(bytes + MS_COLUMN_ENTRY_SIZE, &second);
	enum ms_fmt is = ms_block_directory_get(bytes, &h, out);
	CHECK(is == want, "%s: %d", what, is);
	CHECK(is || (out[0].offset == sizeof bytes && out[1].offset == sizeof bytes + first.stored),
	      "%s: offsets %u %u", what, out[0].offset, out[1].offset);
}

static void directories(void)
{
	const uint32_t at = 2 * MS_COLUMN_ENTRY_SIZE;
	const struct ms_column_entry
		raw = {.id = 1, .codec = MS_CODEC_RAW, .raw = 5, .stored = 5},
		packed = {.id = 2, .codec = MS_CODEC_ZSTD, .raw = 9, .stored = 3},
		wrong = {.id = 2, .codec = MS_CODEC_RAW, .raw = 9, .stored = 3},
		most = {.id = 2, .codec = MS_CODEC_ZSTD, .raw = UINT32_MAX, .stored = UINT32_MAX};
	directory("good", at + 8, 14, raw, packed, MS_FMT_OK);
	directory("shorter than itself", at - 1, 14, raw, packed, MS_FMT_BAD);
	directory("a column beyond the end", at + 7, 14, raw, packed, MS_FMT_BAD);
	directory("bytes that are no column's", at + 9, 14, raw, packed, MS_FMT_BAD);
	directory("more when unpacked", at + 8, 13, raw, packed, MS_FMT_BAD);
	directory("less when unpacked", at + 8, 15, raw, packed, MS_FMT_BAD);
	directory("a packed size of what is not", at + 8, 14, raw, wrong, MS_FMT_BAD);
	directory("around to 0", at + 8, 14, most, most, MS_FMT_BAD);
}

/* ---- stacks ---- */

/* The heads of runs of numbers, and the frames and nodes behind: as in events(). */
static void stacks(const char *what, const char *want, const struct numbers *v, size_t n)
{
	struct ms_column c[8];
	struct ms_stacks_decoder d;
	struct ms_frame f;
	struct ms_node node;
	char got[12] = "", *to = got;
	size_t k = build(c, v, n);
	enum ms_fmt is = ms_stacks_decoder_init(&d, c, k);
	if (is != MS_FMT_OK)
		strcpy(got, "head");
	for (size_t i = 0;
	     *got != 'h' && i < 3 && (is = ms_stacks_next_frame(&d, &f)) != MS_FMT_END; i++)
		*to++ = is ? 'b' : 'o';
	*to = *got == 'h' ? *to : ' ';
	for (size_t i = 0;
	     *got != 'h' && i < 3 && (is = ms_stacks_next_node(&d, &node)) != MS_FMT_END; i++)
		*++to = is ? 'b' : 'o';
	CHECK(!strcmp(got, want), "%s: '%s', not '%s'", what, got, want);
}
#define STACKS(what, want, ...)                                                                    \
	stacks(what, want, (const struct numbers[]){__VA_ARGS__},                                  \
	       sizeof(const struct numbers[]){__VA_ARGS__} / sizeof(struct numbers))

static void runs(void)
{
	const uint64_t wide = UINT64_C(1) << 32;
#define FRAMES(what, want, first, frames, module, flags)                                           \
	STACKS(what, want, COLUMN(MS_NODE_HEAD, first, frames, 1, 0),                              \
	       COLUMN(MS_NODE_FRAME_MODULE, module), COLUMN(MS_NODE_FRAME_ADDR, 2),                \
	       COLUMN(MS_NODE_FRAME_FLAGS, flags))
	FRAMES("a frame", "o ", 1, 1, wide - 1, wide - 1);
	FRAMES("the last frame", "o ", wide - 2, 1, 1, 1);
	FRAMES("one more", "head", wide - 1, 1, 1, 1);
	FRAMES("none there", " ", wide - 1, 0, 1, 1);
	FRAMES("none beyond", "head", wide, 0, 1, 1);
	FRAMES("frame 0", "head", 0, 1, 1, 1);
	FRAMES("more than their bytes", "head", 1, 2, 1, 1);
	FRAMES("module 2^32", "b ", 1, 1, wide, 1);
	FRAMES("flags 2^32", "b ", 1, 1, 1, wide);
	STACKS("a head cut off", "head", COLUMN(MS_NODE_HEAD, 1, 0, 1));
	STACKS("no flags", "b ", COLUMN(MS_NODE_HEAD, 1, 1, 1, 0), COLUMN(MS_NODE_FRAME_MODULE, 1),
	       COLUMN(MS_NODE_FRAME_ADDR, 2));
#define NODES(what, want, first, up, step)                                                         \
	STACKS(what, want, COLUMN(MS_NODE_HEAD, 5, 0, first, 1), COLUMN(MS_NODE_PARENT, up),       \
	       COLUMN(MS_NODE_FRAME, step))
	NODES("a node", " o", 5, 5, 2);
	NODES("its own parent", " b", 5, 0, 2);
	NODES("a parent below 0", " b", 5, 6, 2);
	NODES("node 0", "head", 0, 1, 2);
	NODES("frame -1", " b", 5, 5, 1);
	STACKS("no frames", " b", COLUMN(MS_NODE_HEAD, 5, 0, 5, 1), COLUMN(MS_NODE_PARENT, 1));
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
	file_headers();
	headers();
	fields();
	checkpoints();
	nodes();
	checkpoint_heads();
	checkpoint_blocks();
	checkpoint_encoder();
	event_blocks();
	last_numbers((UINT64_C(1) << 62) - 2, 2);
	last_numbers((UINT64_C(1) << 62) - 1, 1);
	last_numbers(UINT64_C(1) << 62, 0);
	last_numbers(UINT64_MAX, 0);
	directories();
	runs();
	printf("%d failures\n", failures);
	return failures != 0;
}
