/* SPDX-License-Identifier: MIT
 * Verdict records: what is written is read, and nothing else is made of damaged ones.
 */
#include "format/trace.h"
#include "format/verdict.h"

#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(x) ((x) ? (void)0 : (void)(failures++, printf("line %d: %s\n", __LINE__, #x)))

static bool read_one(const void *data, size_t n, struct ms_verdict_record *out)
{
	struct ms_record_reader r;
	struct ms_record rec;
	ms_record_reader_init(&r, data, n);
	return ms_record_next(&r, &rec) == MS_FMT_OK && ms_verdict_get(rec, out);
}

static void scans(void)
{
	uint8_t room[512];
	struct ms_record_writer w;
	struct ms_verdict_record got;
	struct ms_verdict_scan s = {3,     1000, 17, 1, 20,         30,         UINT64_MAX, true,
				    "end", 3,    99, 4, UINT64_MAX, UINT64_MAX, 7,          8};
	ms_record_writer_init(&w, room, sizeof room);
	CHECK(ms_verdict_put_scan(&w, &s));
	CHECK(read_one(room, w.size, &got) && got.is_scan);
	CHECK(got.scan.scan == 3 && got.scan.time_ns == 1000 && got.scan.event == 17);
	CHECK(got.scan.state == 1 && got.scan.pause_ns == 20 && got.scan.took_ns == 30);
	CHECK(got.scan.read_bytes == UINT64_MAX && got.scan.wide);
	CHECK(got.scan.number == 99 && got.scan.align == 4 && got.scan.cleared == UINT64_MAX);
	CHECK(got.scan.ignored == UINT64_MAX && got.scan.roots == 7 && got.scan.roots_refused == 8);
	CHECK(got.scan.label_size == 3 && !memcmp(got.scan.label, "end", 3));
	for (size_t n = 0; n < w.size; n++)
		CHECK(!read_one(room, n, &got));
}

static void sites(void)
{
	uint8_t room[512];
	struct ms_record_writer w;
	struct ms_verdict_record got;
	struct ms_verdict_site s = {1, 12,  {1, 0, 3, 4}, {100, 0, 300, UINT64_MAX},
				    5, 500, NULL,         0};
	ms_record_writer_init(&w, room, sizeof room);
	CHECK(ms_verdict_put_site(&w, &s));
	CHECK(w.size <= MS_VERDICT_RECORD_BYTES);
	CHECK(read_one(room, w.size, &got) && !got.is_scan);
	CHECK(!memcmp(&got.site, &s, sizeof s));
	for (size_t at = 0; at < w.size; at++)
		for (int bit = 0; bit < 8; bit++) {
			room[at] ^= (uint8_t)(1 << bit);
			read_one(room, w.size, &got); /* survives */
			room[at] ^= (uint8_t)(1 << bit);
		}
	struct ms_verdict_site none = {0, 12, {1}, {1}, 0, 0, NULL, 0};
	ms_record_writer_init(&w, room, sizeof room);
	CHECK(ms_verdict_put_site(&w, &none) && !read_one(room, w.size, &got)); /* of no scan */
	ms_record_writer_init(&w, room, sizeof room);
	ms_record_begin(&w);
	ms_record_number(&w, MS_VERDICT_SCAN, 1);
	ms_record_number(&w, MS_VERDICT_DIRECT_BLOCKS, 2);
	CHECK(ms_record_end(&w) && !read_one(room, w.size, &got)); /* of no stack */
}

/* Roots come in order, each once; what is not is passed over. */
static void roots(void)
{
	static const struct ms_verdict_root put[] = {
		{0, 1, 10}, {7, UINT64_MAX, UINT64_MAX}, {7, 2, 20}, {9, 0, 30}, {12, 3, 0}};
	uint8_t room[512];
	struct ms_record_writer w;
	struct ms_record_reader r;
	struct ms_record rec;
	struct ms_verdict_record got;
	struct ms_verdict_root root = {0};
	struct ms_verdict_site s = {1, 12, {0, 5}, {0, 100}, 0, 0, put, 5};
	ms_record_writer_init(&w, room, sizeof room);
	CHECK(ms_verdict_put_site(&w, &s));
	CHECK(w.size <= MS_VERDICT_RECORD_BYTES + 5 * MS_VERDICT_ROOT_BYTES_MAX);
	CHECK(read_one(room, w.size, &got) && got.site.blocks[1] == 5 && !got.site.roots);
	ms_record_reader_init(&r, room, w.size);
	CHECK(ms_record_next(&r, &rec) == MS_FMT_OK);
	static const unsigned want[] = {0, 1, 4};
	for (unsigned i = 0; i < 3; i++)
		CHECK(ms_verdict_next_root(&rec, &root) &&
		      !memcmp(&root, &put[want[i]], sizeof root));
	CHECK(!ms_verdict_next_root(&rec, &root));
}

int main(void)
{
	scans();
	sites();
	roots();
	return failures != 0;
}
