/* SPDX-License-Identifier: MIT
 * Retention records: what is written is read, and nothing else is made of damaged ones.
 */
#include "format/retention.h"
#include "format/trace.h"

#include <stdio.h>
#include <string.h>

static int failures;

#define CHECK(x) ((x) ? (void)0 : (void)(failures++, printf("line %d: %s\n", __LINE__, #x)))

static uint8_t room[2048];
static struct ms_record_writer w;
static struct ms_retention_lists lists;
static struct ms_retention_record got;

static void begin(void)
{
	ms_record_writer_init(&w, room, sizeof room);
}

static bool read_one(size_t n)
{
	struct ms_record_reader r;
	struct ms_record rec;
	ms_record_reader_init(&r, room, n);
	return ms_record_next(&r, &rec) == MS_FMT_OK && ms_retention_get(rec, &got, &lists);
}

/* The record that was written: no part of it is one, and flipped bits do no harm. */
static bool read_back(enum ms_retention_kind kind)
{
	for (size_t n = 0; n < w.size; n++)
		CHECK(!read_one(n));
	for (size_t at = 0; at < w.size; at++)
		for (int bit = 0; bit < 8; bit++) {
			room[at] ^= (uint8_t)(1 << bit);
			read_one(w.size);
			room[at] ^= (uint8_t)(1 << bit);
		}
	return read_one(w.size) && got.kind == kind;
}

static void heads(void)
{
	struct ms_retention_head h = {3, MS_SCAN_DONE, UINT64_MAX, 1, 2, 3, 4, 5, 6};
	begin();
	CHECK(ms_retention_put_head(&w, &h));
	CHECK(read_back(MS_RETENTION_IS_HEAD) && !memcmp(&got.head, &h, sizeof h));
	h = (struct ms_retention_head){.scan = 1, .state = MS_SCAN_KEPT_MEMORY};
	begin();
	CHECK(ms_retention_put_head(&w, &h) && w.size == 5);
	CHECK(read_back(MS_RETENTION_IS_HEAD) && !memcmp(&got.head, &h, sizeof h));
	h.scan = 0;
	begin();
	CHECK(ms_retention_put_head(&w, &h) && !read_one(w.size)); /* of no scan */
}

static bool same_text(const char *a, const char *b, size_t n)
{
	return n == strlen(b) && !memcmp(a, b, n);
}

static void roots(void)
{
	struct ms_retention_root r = {.scan = 2,
				      .root = 9,
				      .kind = MS_KEEPER_THREAD_LOCAL,
				      .module = 4,
				      .offset = UINT64_MAX,
				      .size = 16,
				      .thread = 3,
				      .stack = 77,
				      .observes = 8,
				      .name = "_ZL1x",
				      .name_size = 5,
				      .type = "long",
				      .type_size = 4};
	begin();
	CHECK(ms_retention_put_root(&w, &r) && read_back(MS_RETENTION_IS_ROOT));
	CHECK(got.root.scan == 2 && got.root.root == 9 && got.root.kind == MS_KEEPER_THREAD_LOCAL);
	CHECK(got.root.module == 4 && got.root.offset == UINT64_MAX && got.root.size == 16);
	CHECK(got.root.thread == 3 && got.root.stack == 77 && got.root.observes == 8);
	CHECK(same_text(got.root.name, "_ZL1x", got.root.name_size));
	CHECK(same_text(got.root.type, "long", got.root.type_size));
	r = (struct ms_retention_root){.scan = 2, .root = 1, .kind = MS_KEEPER_REGISTERS};
	begin();
	CHECK(ms_retention_put_root(&w, &r) && read_back(MS_RETENTION_IS_ROOT));
	CHECK(!got.root.name_size && !*got.root.name && !got.root.module && !got.root.thread);
	r.root = 0;
	begin();
	CHECK(ms_retention_put_root(&w, &r) && !read_one(w.size)); /* of no number */
}

static void sets(void)
{
	uint64_t v[MS_RETENTION_MEMBERS_MAX + 1];
	for (unsigned i = 0; i <= MS_RETENTION_MEMBERS_MAX; i++)
		v[i] = UINT64_MAX - i;
	struct ms_retention_set s = {2, 5, true, v, MS_RETENTION_MEMBERS_MAX};
	begin();
	CHECK(ms_retention_put_set(&w, &s) && w.size <= MS_RETENTION_RECORD_BYTES);
	CHECK(read_back(MS_RETENTION_IS_SET) && got.set.scan == 2 && got.set.set == 5);
	CHECK(got.set.others && got.set.root_count == MS_RETENTION_MEMBERS_MAX);
	CHECK(!memcmp(got.set.roots, v, MS_RETENTION_MEMBERS_MAX * sizeof *v));
	s.root_count++; /* one more than a set may have */
	begin();
	CHECK(ms_retention_put_set(&w, &s) && !read_one(w.size));
	s = (struct ms_retention_set){2, 1, false, v, 2};
	begin();
	CHECK(ms_retention_put_set(&w, &s) && read_back(MS_RETENTION_IS_SET));
	CHECK(!got.set.others && got.set.root_count == 2);
}

static struct ms_retention_row full_row(const struct ms_retention_step *path, size_t n)
{
	return (struct ms_retention_row){.scan = 2,
					 .row = UINT64_MAX,
					 .parent = UINT64_MAX,
					 .root = UINT64_MAX,
					 .set = UINT64_MAX,
					 .stack = UINT64_MAX,
					 .flags = MS_KEPT_MAPPING | MS_KEPT_REST,
					 .bytes = UINT64_MAX,
					 .blocks = UINT64_MAX,
					 .retained_bytes = UINT64_MAX,
					 .retained_blocks = UINT64_MAX,
					 .mapped_bytes = UINT64_MAX,
					 .offset = UINT64_MAX,
					 .from = UINT64_MAX,
					 .until = UINT64_MAX,
					 .depth = UINT64_MAX,
					 .path_root = UINT64_MAX,
					 .path = path,
					 .path_count = n,
					 .path_blocks = UINT64_MAX,
					 .path_cut = true,
					 .type = "",
					 .type_size = 0};
}

/* Compares all but the lists and texts. */
static bool same_row(const struct ms_retention_row *a, struct ms_retention_row b)
{
	b.path = a->path;
	b.type = a->type;
	return !memcmp(a, &b, offsetof(struct ms_retention_row, path_cut)) &&
	       a->path_cut == b.path_cut;
}

static void rows(void)
{
	struct ms_retention_step path[MS_RETENTION_STEPS_MAX + 1];
	for (unsigned i = 0; i <= MS_RETENTION_STEPS_MAX; i++) {
		path[i].stack = i % 2 ? UINT64_MAX : 0;
		path[i].count = i % 3 ? UINT64_MAX : 1;
		path[i].mapping = i % 5 == 0;
	}
	struct ms_retention_row r = full_row(path, MS_RETENTION_STEPS_MAX);
	begin();
	CHECK(ms_retention_put_row(&w, &r) && w.size <= MS_RETENTION_RECORD_BYTES);
	CHECK(read_back(MS_RETENTION_IS_ROW) && same_row(&got.row, r));
	for (unsigned i = 0; i < MS_RETENTION_STEPS_MAX; i++)
		CHECK(got.row.path[i].stack == path[i].stack &&
		      got.row.path[i].count == path[i].count &&
		      got.row.path[i].mapping == path[i].mapping);
	r.path_count++; /* one more than a path may have */
	begin();
	CHECK(ms_retention_put_row(&w, &r) && !read_one(w.size));
	r = (struct ms_retention_row){.scan = 2,
				      .row = 1,
				      .root = 1,
				      .offset = MS_RETENTION_NO_OFFSET,
				      .type = "_ZTV7Session",
				      .type_size = 12};
	begin();
	CHECK(ms_retention_put_row(&w, &r) && read_back(MS_RETENTION_IS_ROW));
	CHECK(same_row(&got.row, r) && same_text(got.row.type, "_ZTV7Session", 12));
	r.offset = 0; /* which is not the same as none */
	r.type_size = 0;
	begin();
	CHECK(ms_retention_put_row(&w, &r) && read_back(MS_RETENTION_IS_ROW) && !got.row.offset);
}

static void others(void)
{
	begin();
	ms_record_begin(&w);
	ms_record_number(&w, MS_RETENTION_SCAN, 1);
	ms_record_number(&w, MS_RETENTION_BYTES, 2);
	CHECK(ms_record_end(&w) && !read_one(w.size)); /* of no kind */
	begin();
	ms_record_begin(&w);
	ms_record_number(&w, MS_RETENTION_SCAN, 1);
	ms_record_number(&w, MS_RETENTION_ROW, 1);
	ms_record_number(&w, MS_RETENTION_TYPE, 7);       /* a number where a text is */
	ms_record_string(&w, MS_RETENTION_BYTES, "many"); /* and the other way round */
	ms_record_number(&w, MS_RETENTION_PATH_COUNT, 7); /* of no step */
	ms_record_number(&w, MS_RETENTION_LAST + 1, 7);
	CHECK(ms_record_end(&w) && read_one(w.size) && got.kind == MS_RETENTION_IS_ROW);
	CHECK(!got.row.type_size && !got.row.bytes && !got.row.path_count);
	CHECK(!strcmp(ms_keeper_word(MS_KEEPER_VARIABLE), "variable"));
	CHECK(!strcmp(ms_keeper_word(MS_KEEPER_OTHER), "other"));
	CHECK(!ms_keeper_word(0) && !ms_keeper_word(9) && !ms_keeper_word(UINT64_MAX));
}

int main(void)
{
	heads();
	roots();
	sets();
	rows();
	others();
	return failures != 0;
}
