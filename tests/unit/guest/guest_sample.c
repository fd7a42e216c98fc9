/* SPDX-License-Identifier: MIT
 * The guest's sampling: the distance to the next sample point against the logarithm of libm, and
 * the table of sampled blocks, full too.
 */
#include "ms-record/guest/sample.c"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct mg_core mg;
__thread struct mg_own mg_own;
struct mg_writer *mg_enter_slow(struct mg_writer *t, const uint64_t *frame)
{
	(void)frame;
	return t;
}

bool mg_custom_hides(const uint64_t *frame)
{
	(void)frame;
	return false;
}

struct mg_whole *mg_whole_ahead(const struct mg_writer *t, const uint64_t *frame)
{
	(void)t;
	(void)frame;
	return NULL;
}

static unsigned failures;

static void expect(bool good, const char *what, double got, double want)
{
	if (good)
		return;
	printf("%s: %.10g, not %.10g\n", what, got, want);
	failures++;
}

/* The distance is -mean ln(u / 2^64), rounded up. */
static void check_distance(uint64_t u, uint64_t mean)
{
	double want = -(double)mean * log((double)u * 0x1p-64);
	double got = (double)mg_sample_distance(u, mean);
	if (u > UINT64_MAX - 4096) /* (double)u loses what counts */
		want = (double)mean * ((double)-u * 0x1p-64);
	double slack = want * 1e-9 + 1e-6;
	expect(got >= want - slack && got <= want + 1 + slack, "distance", got, want);
}

static void check_distances(void)
{
	static const uint64_t means[] = {1, 2, 100, 4096, 524288, UINT64_C(1) << 40};
	for (size_t m = 0; m < sizeof means / sizeof *means; m++) {
		for (uint64_t i = 0; i < 20000; i++)
			check_distance(mix(i) | 1, means[m]);
		for (unsigned b = 0; b < 64; b++) {
			check_distance(UINT64_C(1) << b, means[m]);
			check_distance((UINT64_C(1) << b) * 2 - 1, means[m]);
		}
	}
	expect(mg_sample_distance(0, 4096) == mg_sample_distance(1, 4096), "zero", 0, 1);
	expect(mg_sample_distance(UINT64_MAX, 4096) == 1, "least", 0, 1);
}

/* How often a block of each size is recorded, in a million of them. */
static void check_chance(void)
{
	static struct mg_session session;
	static struct mg_ring ring;
	static const uint64_t sizes[] = {0, 1, 16, 1000, 4096, 20000};
	mg.session = &session;
	mg.rings = &ring;
	session.sample_bytes = 4096;
	session.sample_seed = 7;
	struct mg_writer t = {.ring = &ring};
	mg_sample_begin(&t);
	void *memory = calloc(1, mg_sample_table_bytes(8));
	mg_sample_table_init(memory, 8);
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		double n = 1e6, size = sizes[i] ? (double)sizes[i] : 1, p = -expm1(-size / 4096);
		unsigned taken = 0;
		for (double k = 0; k < n; k++)
			if (mg_sample_due(&t, 4096, sizes[i])) {
				mg_sample_take(&t, 4096);
				taken++;
				mg_sample_free(4096);
			}
		expect(fabs(taken - n * p) < 4 * sqrt(n * p * (1 - p)), "taken", taken, n * p);
	}
	free(memory);
}

static void check_table(uint32_t bits, unsigned blocks)
{
	void *memory = calloc(1, mg_sample_table_bytes(bits));
	unsigned sure = 0, unsure = 0, wrong = 0;
	mg_sample_table_init(memory, bits);
	for (uint64_t i = 1; i <= blocks; i++)
		mg_sample_keep(i * 4096 | (i % 5 ? 0 : MG_SAMPLE_USER));
	for (uint64_t i = 1; i <= blocks; i++) {
		wrong += mg_sample_free(i * 4096 | (i % 5 ? MG_SAMPLE_USER : 0)) == MG_SAMPLED_YES;
		enum mg_sampled found = mg_sample_free(i * 4096 | (i % 5 ? 0 : MG_SAMPLE_USER));
		sure += found == MG_SAMPLED_YES;
		unsure += found == MG_SAMPLED_UNSURE;
		wrong += mg_sample_free(i * 4096) == MG_SAMPLED_YES;
	}
	expect(sure + unsure == blocks, "found", sure + unsure, blocks);
	expect(wrong == 0, "found although not there", wrong, 0);
	bool fits = blocks < (SLOTS << bits) / 4;
	expect(fits ? unsure == 0 : sure >= (SLOTS << bits) / 2 && unsure > 0, "unsure", unsure, 0);
	for (uint32_t k = 0; k <= mg.sample_last; k++)
		for (uint32_t i = 0; i < 1u << (64 - mg.sample_tables[k].shift); i++) {
			uint8_t left = mg.sample_tables[k].counts[i];
			expect(!(left & ~OVERFLOWED), "left", left, 0);
		}
	for (uint32_t i = 0; fits && i < MG_SAMPLE_PAGES; i++)
		expect(!mg.sample_pages[i], "left of a page", mg.sample_pages[i], 0);
	free(memory);
}

/* Checks that as many blocks as most programs have use only the memory of the first table, and that
 * of many each is noted once, in whichever table it is. */
static void check_few(void)
{
	void *memory = calloc(1, mg_sample_table_bytes(16));
	mg_sample_table_init(memory, 16);
	for (uint64_t i = 1; i <= 1000; i++)
		mg_sample_keep(i * 4096);
	const struct mg_sample_table *m = mg.sample_tables;
	expect(mg.sample_last == 2, "tables", mg.sample_last, 2);
	for (const uint8_t *at = m[1].counts, *end = (uint8_t *)(m[2].slots + SLOTS); at < end;
	     at++)
		expect(!*at, "not the first table", *at, 0);
	unsigned kept = 0;
	for (uint64_t i = 1; i <= 20000; i++) {
		mg_sample_keep_once(i * 4096);
		mg_sample_keep_once(i * 4096);
	}
	for (uint64_t i = 1; i <= 20000; i++)
		for (int again = 0; again < 2; again++)
			kept += mg_sample_free(i * 4096) == MG_SAMPLED_YES;
	expect(kept == 20000, "kept once", kept, 20000);
	free(memory);
}

/* More blocks in a page than its byte counts, whichever of the pages that share it they are in. */
static void check_page(uint64_t apart)
{
	enum { BLOCKS = 600 };
	void *memory = calloc(1, mg_sample_table_bytes(16));
	mg_sample_table_init(memory, 16);
	for (uint64_t i = 0, key = 4096 + 16; i < BLOCKS; i++, key += apart) {
		expect(mg_sample_unknown(key) == (i == 0), "unknown", (double)i, 0);
		mg_sample_keep(key);
	}
	for (uint64_t i = 0, key = 4096 + 16; i < BLOCKS; i++, key += apart) {
		expect(!mg_sample_unknown(key), "forgotten", (double)i, 0);
		expect(mg_sample_free(key) == MG_SAMPLED_YES, "page", (double)i, 0);
		expect(mg_sample_free(key) == MG_SAMPLED_NO, "twice", (double)i, 0);
	}
	expect(mg_sample_unknown(3 * 4096) && mg_sample_unknown(0), "others", 0, 1);
	free(memory);
}

int main(void)
{
	check_distances();
	check_chance();
	check_few();
	check_table(8, 900);
	check_table(10, 3500);
	check_table(8, 3 * SLOTS << 8);
	check_table(16, 100000);
	check_page(0x10000000);
	printf("%u failures\n", failures);
	return failures != 0;
}
