/* SPDX-License-Identifier: MIT
 * Records, stacks and varints: what was written reads the same, in any size of buffer; what was cut
 * is refused.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/record.h"
#include "format/stacks.h"
#include "format/trace.h"
#include "format/varint.h"
#include "tests/unit/stream.h"

static unsigned failures;

#define CHECK(cond)                                                                                \
	((cond) ? (void)0 : (void)(failures++, printf("%s:%d: %s\n", __FILE__, __LINE__, #cond)))

static void varints(void)
{
	static const struct {
		uint64_t value;
		const char *bytes;
		size_t size;
	} cases[] = {
		{0, "\x00", 1},
		{127, "\x7f", 1},
		{128, "\x80\x01", 2},
		{300, "\xac\x02", 2},
		{UINT64_MAX, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 10},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		uint8_t b[MS_VARINT_MAX];
		uint64_t v;
		CHECK((size_t)(ms_varint_put(b, cases[i].value) - b) == cases[i].size);
		CHECK(memcmp(b, cases[i].bytes, cases[i].size) == 0);
		for (size_t k = 0; k <= cases[i].size; k++) {
			const uint8_t *p = b;
			bool got = ms_varint_get(&p, b + k, &v);
			CHECK(got == (k == cases[i].size) &&
			      (got ? v == cases[i].value && p == b + k : p == b));
		}
	}
	const uint8_t *over = (const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02",
		      *p = over;
	uint64_t v;
	CHECK(!ms_varint_get(&p, over + 10, &v));
	p = over = (const uint8_t *)"\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01";
	CHECK(!ms_varint_get(&p, over + 11, &v));
	CHECK(ms_zigzag(0) == 0 && ms_zigzag(UINT64_MAX) == 1 && ms_zigzag(1) == 2 &&
	      ms_zigzag(UINT64_MAX - 1) == 3);
	CHECK(ms_unzigzag(ms_zigzag(UINT64_C(1) << 63)) == UINT64_C(1) << 63);
}

/* One record of `seed`'s fields; false when the buffer is full. */
static bool put_record(struct ms_record_writer *w, uint64_t seed)
{
	struct stream s = {.seed = seed};
	static uint8_t bytes[300];
	ms_record_begin(w);
	for (uint64_t n = stream_random(&s) % 6; n; n--) {
		uint64_t r = stream_random(&s);
		memset(bytes, (int)r, sizeof bytes);
		if (r >> 63)
			ms_record_bytes(w, (uint32_t)(r >> 20), bytes, r % sizeof bytes);
		else
			ms_record_number(w, (uint32_t)(r >> 30) % 40, stream_extreme(&s));
	}
	return ms_record_end(w);
}

static void check_record(struct ms_record *rec, uint64_t seed)
{
	struct stream s = {.seed = seed};
	struct ms_field f;
	for (uint64_t n = stream_random(&s) % 6; n; n--) {
		uint64_t r = stream_random(&s);
		CHECK(ms_record_field(rec, &f) == MS_FMT_OK);
		CHECK(f.is_bytes == (r >> 63));
		if (f.is_bytes)
			CHECK(f.id == (uint32_t)(r >> 20) && f.size == r % 300 &&
			      (!f.size || f.data[f.size - 1] == (uint8_t)r));
		else
			CHECK(f.id == (uint32_t)(r >> 30) % 40 && f.value == stream_extreme(&s) &&
			      !f.data);
	}
	CHECK(ms_record_field(rec, &f) == MS_FMT_END);
}

/* Every size of buffer takes a whole number of records; every cut is seen. */
static void records(void)
{
	static uint8_t buffer[4000];
	for (size_t room = 0; room < sizeof buffer; room += 37) {
		struct ms_record_writer w;
		struct ms_record_reader r;
		struct ms_record rec;
		uint64_t written = 0;
		ms_record_writer_init(&w, buffer, room);
		while (put_record(&w, room + written))
			written++;
		struct ms_column c = ms_record_column(&w);
		CHECK(c.id == 1 && c.data == buffer && c.size <= room);
		ms_record_reader_init(&r, c.data, c.size);
		for (uint64_t i = 0; i < written; i++) {
			CHECK(ms_record_next(&r, &rec) == MS_FMT_OK);
			check_record(&rec, room + i);
		}
		CHECK(ms_record_next(&r, &rec) == MS_FMT_END);
		if (!c.size)
			continue;
		uint64_t whole = 0;
		enum ms_fmt got;
		ms_record_reader_init(&r, c.data, c.size - 1);
		while ((got = ms_record_next(&r, &rec)) == MS_FMT_OK)
			whole++;
		CHECK(whole == written - 1 && (got == MS_FMT_BAD || c.data[c.size - 1] == 0));
	}
}

/* A record of two bytes and its length need three. */
static void exact_room(void)
{
	uint8_t buffer[4];
	for (size_t room = 0; room <= sizeof buffer; room++) {
		struct ms_record_writer w;
		ms_record_writer_init(&w, buffer, room);
		ms_record_begin(&w);
		ms_record_number(&w, 3, 9);
		CHECK(ms_record_end(&w) == (room >= 3));
		CHECK(w.size == (room >= 3 ? 3 : 0));
		CHECK(!w.size || !memcmp(buffer, "\2\6\11", 3));
	}
}

static struct ms_frame frame_of(struct stream *s)
{
	uint64_t r = stream_random(s);
	return (struct ms_frame){r % 4 ? UINT64_C(0x7f0000000000) + r % 100000 : stream_extreme(s),
				 (uint32_t)(r >> 33 & 1 ? stream_extreme(s) : r % 7),
				 (uint32_t)(r >> 60)};
}

static void stacks(uint64_t seed)
{
	enum { FRAMES = 50, NODES = 90 };
	static uint8_t memory[MS_STACKS_MEMORY(FRAMES, NODES)];
	struct stream s = {.seed = seed};
	struct ms_stacks_encoder e;
	struct ms_stacks_decoder d;
	struct ms_column c[MS_STACKS_COLUMNS];
	struct ms_frame frames[FRAMES], f;
	struct ms_node nodes[NODES], n;
	uint32_t first_frame = 1 + (uint32_t)(stream_random(&s) % (UINT32_MAX - FRAMES - 1));
	uint32_t first_node = 1 + (uint32_t)(stream_extreme(&s) % (UINT32_MAX - NODES - 1));
	ms_stacks_encoder_init(&e, memory, FRAMES, NODES);
	CHECK(ms_stacks_encoder_finish(&e, c) == 0);
	ms_stacks_encoder_begin(&e, first_frame, first_node);
	for (uint32_t i = 0; i < FRAMES; i++) {
		frames[i] = frame_of(&s);
		CHECK(ms_stacks_put_frame(&e, &frames[i]) == MS_FMT_OK);
	}
	for (uint32_t i = 0; i < NODES; i++) {
		nodes[i] = (struct ms_node){
			(uint32_t)(stream_random(&s) % ((uint64_t)first_node + i)),
			1 + (uint32_t)(stream_random(&s) % (first_frame + FRAMES - 1))};
		CHECK(ms_stacks_put_node(&e, &nodes[i]) == MS_FMT_OK);
	}
	CHECK(ms_stacks_put_frame(&e, &frames[0]) == MS_FMT_FULL &&
	      ms_stacks_put_node(&e, &nodes[0]) == MS_FMT_FULL);
	size_t columns = ms_stacks_encoder_finish(&e, c);
	CHECK(columns == MS_STACKS_COLUMNS && ms_stacks_decoder_init(&d, c, columns) == MS_FMT_OK);
	CHECK(d.first_frame == first_frame && d.frames == FRAMES && d.first_node == first_node &&
	      d.nodes == NODES);
	for (uint32_t i = 0; i < NODES; i++)
		CHECK(ms_stacks_next_node(&d, &n) == MS_FMT_OK && n.parent == nodes[i].parent &&
		      n.frame == nodes[i].frame);
	for (uint32_t i = 0; i < FRAMES; i++)
		CHECK(ms_stacks_next_frame(&d, &f) == MS_FMT_OK && f.address == frames[i].address &&
		      f.module == frames[i].module && f.flags == frames[i].flags);
	CHECK(ms_stacks_next_node(&d, &n) == MS_FMT_END &&
	      ms_stacks_next_frame(&d, &f) == MS_FMT_END);
	/* Cut columns, and numbers that no writer gives. */
	for (size_t i = 0; i < columns; i++) {
		struct ms_column cut[MS_STACKS_COLUMNS];
		memcpy(cut, c, sizeof cut);
		cut[i].size--;
		enum ms_fmt got = ms_stacks_decoder_init(&d, cut, columns);
		while (got == MS_FMT_OK)
			got = ms_stacks_next_frame(&d, &f);
		if (got == MS_FMT_END)
			while ((got = ms_stacks_next_node(&d, &n)) == MS_FMT_OK)
				;
		CHECK(got == MS_FMT_BAD);
	}
	static const struct ms_column wrong[] = {
		{MS_NODE_HEAD, (const uint8_t *)"\x00\x00\x01\x00", 4},
		{MS_NODE_HEAD, (const uint8_t *)"\x01\x00\x00\x00", 4},
		{MS_NODE_HEAD, (const uint8_t *)"\x01\x01\x01\x00", 4},
		{MS_NODE_HEAD, (const uint8_t *)"\x01\x00\x01", 3}};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		CHECK(ms_stacks_decoder_init(&d, &wrong[i], 1) == MS_FMT_BAD);
}

int main(void)
{
	varints();
	records();
	exact_room();
	for (uint64_t seed = 1; seed <= 500; seed++)
		stacks(seed);
	return failures != 0;
}
