/* SPDX-License-Identifier: MIT
 * Sizes, durations and counts: one table per direction.
 */
#include "libcommon/base/err.h"
#include "libcommon/base/units.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define BAD UINT64_MAX

static int failures;

struct row {
	const char *in;
	uint64_t want;
};

static void check_parse(const char *kind, const struct row *r, int rc, uint64_t got,
			const struct ms_err *err)
{
	if (r->want == BAD ? rc == -1 && err->text[0] : rc == 0 && got == r->want && !err->text[0])
		return;
	printf("%s '%s': status %d, %" PRIu64 " instead of %" PRIu64 " (%s)\n", kind, r->in, rc,
	       got, r->want, err->text);
	failures++;
}

static void test_sizes(void)
{
	static const struct row t[] = {
		{"0", 0},
		{"123", 123},
		{"4k", 4096},
		{"4K", 4096},
		{"4KiB", 4096},
		{"4kB", 4096},
		{"1.5M", 1572864},
		{"2g", UINT64_C(2) << 30},
		{"1T", UINT64_C(1) << 40},
		{"0.5k", 512},
		{"7B", 7},
		{"", BAD},
		{"k", BAD},
		{"-1", BAD},
		{"+1", BAD},
		{"1e3", BAD},
		{"0x10", BAD},
		{"4x", BAD},
		{"4kk", BAD},
		{" 4", BAD},
		{"4 ", BAD},
		{"99999999T", BAD},
		{"nan", BAD},
		{"1..5", BAD},
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct ms_err err = {0};
		uint64_t v = 1;
		int rc = ms_parse_size(t[i].in, &v, &err);
		check_parse("size", &t[i], rc, v, &err);
	}
}

static void test_durations(void)
{
	static const struct row t[] = {
		{"0", 0},
		{"3", 3000000000},
		{"250ms", 250000000},
		{"1.5s", 1500000000},
		{"100us", 100000},
		{"10m", UINT64_C(600000000000)},
		{"2h", UINT64_C(7200000000000)},
		{"1x", BAD},
		{"", BAD},
		{"-1s", BAD},
		{"s", BAD},
		{"1 s", BAD},
		{"99999999999h", BAD},
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct ms_err err = {0};
		uint64_t v = 1;
		int rc = ms_parse_duration(t[i].in, &v, &err);
		check_parse("duration", &t[i], rc, v, &err);
	}
}

static void test_counts(void)
{
	static const struct row t[] = {{"1", 1},    {"512", 512}, {"0", BAD},  {"513", BAD},
				       {"-1", BAD}, {"", BAD},    {"1k", BAD}, {" 1", BAD}};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
		struct ms_err err = {0};
		uint64_t v = 0;
		int rc = ms_parse_count(t[i].in, "depth", 1, 512, &v, &err);
		check_parse("count", &t[i], rc, v, &err);
	}
}

static void same(const char *got, const char *want)
{
	if (strcmp(got, want) == 0)
		return;
	printf("'%s' instead of '%s'\n", got, want);
	failures++;
}

static void test_formats(void)
{
	char b[MS_UNIT_BUF];
	same(ms_format_size(b, 0), "0 B");
	same(ms_format_size(b, 1023), "1023 B");
	same(ms_format_size(b, 1024), "1.0 KiB");
	same(ms_format_size(b, 1048575), "1.0 MiB");
	same(ms_format_size(b, 432642000), "412.6 MiB");
	same(ms_format_size(b, 1975684956), "1.84 GiB");
	same(ms_format_size(b, UINT64_MAX), "16.00 EiB");
	same(ms_format_delta(b, -12), "-12 B");
	same(ms_format_delta(b, 65536), "+64.0 KiB");
	same(ms_format_delta(b, 0), "0 B");
	same(ms_format_delta(b, INT64_MIN), "-8.00 EiB");
	same(ms_format_count(b, 0), "0");
	same(ms_format_count(b, 999), "999");
	same(ms_format_count(b, 1204118332), "1,204,118,332");
	same(ms_format_count(b, UINT64_MAX), "18,446,744,073,709,551,615");
	same(ms_format_duration(b, 310000), "0.31 ms");
	same(ms_format_duration(b, 1449000), "1.4 ms");
	same(ms_format_duration(b, 9949000), "9.9 ms");
	same(ms_format_duration(b, 9950000), "10 ms");
	same(ms_format_duration(b, 190000000), "190 ms");
	same(ms_format_duration(b, 999499999), "999 ms");
	same(ms_format_duration(b, 999600000), "1.000 s");
	same(ms_format_duration(b, 3204000000), "3.204 s");
	same(ms_format_duration(b, UINT64_C(3492000000000)), "58m 12s");
	same(ms_format_duration(b, UINT64_C(4328000000000)), "1h 12m 08s");
	same(ms_format_duration(b, UINT64_C(59999600000)), "1m 00s");
	same(ms_format_seconds(b, 0), "0s");
	same(ms_format_seconds(b, 250000000), "0.25s");
	same(ms_format_seconds(b, UINT64_C(10000000000)), "10s");
	same(ms_format_seconds(b, 1000000001), "1.000000001s");
	same(ms_format_seconds(b, UINT64_MAX), "18446744073.709551615s");
}

static void test_round(void)
{
	static const uint64_t t[][2] = {
		{0, 0},       {1, 1},
		{4, 2},       {5, 5},
		{9, 5},       {10, 10},
		{19, 10},     {1999, 1000},
		{2000, 2000}, {UINT64_MAX, UINT64_C(10000000000000000000)},
	};
	for (size_t i = 0; i < sizeof t / sizeof *t; i++)
		if (ms_round_down(t[i][0]) != t[i][1]) {
			printf("%" PRIu64 " down: %" PRIu64 "\n", t[i][0], ms_round_down(t[i][0]));
			failures++;
		}
}

int main(void)
{
	test_sizes();
	test_durations();
	test_counts();
	test_formats();
	test_round();
	return failures != 0;
}
