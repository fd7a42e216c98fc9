/* SPDX-License-Identifier: MIT
 * The records of an index: taken when they describe a file without gaps, and else not.
 */
#include "libcommon/trace/trace_index.h"

#include <stdlib.h>

#include "format/record.h"
#include "format/trace.h"
#include "tests/unit/check.h"

#define FIRST 64u   /* offset of the first block */
#define OFFSET 200u /* of the index */

struct entry {
	uint64_t type, number, offset, bytes;
};

static void take(const char *what, struct entry a, struct entry b, size_t cut, bool want)
{
	static struct ms_trace_index x;
	uint8_t bytes[256];
	struct ms_record_writer w;
	ms_record_writer_init(&w, bytes, sizeof bytes);
	for (int i = 0; i < 2; i++) {
		const struct entry *e = i ? &b : &a;
		ms_record_begin(&w);
		ms_record_number(&w, MS_INDEX_TYPE, e->type);
		ms_record_number(&w, MS_INDEX_NUMBER, e->number);
		ms_record_number(&w, MS_INDEX_OFFSET, e->offset);
		ms_record_number(&w, MS_INDEX_BYTES, e->bytes);
		ms_record_number(&w, MS_INDEX_EVENTS + 1, 9); /* of a later version */
		if (i)
			ms_record_number(&w, MS_INDEX_EVENT, 5);
		ms_record_end(&w);
	}
	const struct ms_column c = {1, bytes, w.size - cut};
	bool is = ms_index_take(&x, &c, FIRST, OFFSET);
	CHECK(is == want, "%s", what);
	if (is)
		CHECK(x.n == 2 && x.v[1].offset == FIRST + 100 && x.v[1].bytes == 36 &&
			      x.v[0].type == a.type && x.v[1].event == 5 &&
			      x.v[0].event == MS_INDEX_UNKNOWN && x.v[1].events == MS_INDEX_UNKNOWN,
		      "%s: another file", what);
	free(x.v);
	x = (struct ms_trace_index){0};
}

/* The index of so many blocks that it is given up, which is after a million and a half of them. */
static void too_long(void)
{
	struct ms_index_builder b = {0};
	struct ms_index_entry e = {.type = 3, .offset = UINT64_C(1) << 40, .bytes = 5000};
	size_t n = 0;
	for (; !b.too_long && n < 10000000; n++) {
		e.number = (uint32_t)n;
		ms_index_add(&b, e, NULL, 0);
	}
	CHECK(n > 1000000 && n < 4000000, "%zu blocks", n);
	ms_index_add(&b, e, NULL, 0);
	CHECK(b.too_long && !b.w.data && !b.w.size, "%zu bytes", b.w.size);
}

int main(void)
{
	const struct entry a = {2, 0, 64, 100}, b = {3, 1, 164, 36};
	take("two blocks", a, b, 0, true);
	take("cut off", a, b, 1, false);
	take("the last type", (struct entry){UINT16_MAX, 0, 64, 100}, b, 0, true);
	take("no such type", (struct entry){UINT16_MAX + 1, 0, 64, 100}, b, 0, false);
	take("one left out", a, (struct entry){3, 2, 164, 36}, 0, false);
	take("twice the first", a, (struct entry){3, 0, 164, 36}, 0, false);
	take("a gap", a, (struct entry){3, 1, 165, 35}, 0, false);
	take("an overlap", a, (struct entry){3, 1, 163, 37}, 0, false);
	take("a gap at the end", a, (struct entry){3, 1, 164, 35}, 0, false);
	take("beyond the index", a, (struct entry){3, 1, 164, 37}, 0, false);
	take("around to 0", (struct entry){2, 0, 64, UINT64_MAX - 63}, (struct entry){3, 1, 0, 200},
	     0, false);
	take("not at the beginning", (struct entry){2, 0, 63, 101}, b, 0, false);
	too_long();
	return failures != 0;
}
