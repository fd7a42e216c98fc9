/* SPDX-License-Identifier: MIT
 * Intervals of estimates: against Garwood's table for equal weights, and how often they cover the
 * truth when made-up programs are sampled again and again, always with the same random numbers.
 */
#include "libcommon/stats/estimate.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

#define RUNS 2000u

static unsigned failures;

static uint64_t state;

/* In [0, 1). */
static double uniform(void)
{
	state += UINT64_C(0x9e3779b97f4a7c15);
	uint64_t x = state;
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

static void near(const char *what, double got, double want, double part)
{
	if (fabs(got - want) <= part * (fabs(want) > 1e-9 ? fabs(want) : 1))
		return;
	printf("%s: %.6f, not %.6f\n", what, got, want);
	failures++;
}

/* The exact limits of a Poisson count's 95 % interval. */
static void check_garwood(void)
{
	static const struct {
		unsigned n;
		double low, high;
	} table[] = {{0, 0, 3.688879},
		     {1, 0.025318, 5.571643},
		     {2, 0.242209, 7.224688},
		     {5, 1.623486, 11.668332},
		     {10, 4.795389, 18.390356},
		     {50, 37.110964, 65.918767},
		     {100, 81.363991, 121.626794},
		     {1000, 938.973018, 1063.952136}};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		/* so small a share of each block is seen that the weights are those of a Poisson
		 * count */
		const double w = 1e9, n = table[i].n;
		struct ms_spread s = {0, n * w * w, w, w * w};
		double low, high;
		ms_interval(n * w, &s, &low, &high);
		near("low", low / w, table[i].low, 2e-5);
		near("high", high / w, table[i].high, 2e-5);
	}
}

static void check_exact(void)
{
	struct ms_spread s = ms_spread_of_bytes(1 << 20, 1024),
			 b = ms_spread_of_block(1 << 20, 1024);
	double low, high;
	s.step = s.step_variance = 0;
	ms_interval(1 << 20, &s, &low, &high);
	near("a block that is always seen, low", low, 1 << 20, 1e-9);
	near("a block that is always seen, high", high, 1 << 20, 1e-9);
	ms_interval(1, &b, &low, &high);
	near("its number, low", low, 1, 1e-9);
	near("its number, high", high, 1, 1e-9);
	near("chance", ms_sample_chance(512, 512), 1 - exp(-1), 1e-12);
	near("chance of nothing", ms_sample_chance(0, 512), 1 - exp(-1.0 / 512), 1e-12);
	uint64_t l, h;
	ms_interval_whole(0, &(struct ms_spread){0, 0, 1000, 1e6}, &l, &h);
	near("nothing seen, low", (double)l, 0, 0);
	near("nothing seen, high", (double)h, 3689, 0);
}

/* Blocks of a site, or of a whole program (then unseen blocks are reckoned with that are as small
 * as usual): groups of equal ones, or sizes spread evenly over the powers of two from there to
 * `size`.
 */
struct group {
	unsigned blocks;
	uint64_t size;
	bool scattered;
};
struct program {
	const char *name;
	uint64_t mean;
	bool whole;
	struct group groups[4];
};

static const struct program programs[] = {
	{"one small block", 10000, false, {{1, 100, false}}},
	{"a few small ones", 10000, false, {{20, 1000, false}}},
	{"as large as the mean", 10000, false, {{7, 10000, false}}},
	{"many small ones", 4096, false, {{3000, 64, false}}},
	{"small and large", 10000, true, {{500, 100, false}, {3, 50000, false}}},
	{"one large, few tiny", 10000, true, {{1, 100000, false}, {50, 16, false}}},
	{"all sizes", 4096, true, {{4000, 1 << 13, true}}},
	{"all sizes, few samples", 1 << 16, true, {{300, 1 << 13, true}}},
	{"several",
	 2048,
	 true,
	 {{100, 16, false}, {100, 300, false}, {30, 5000, false}, {900, 512, true}}},
};

static uint64_t size_of(const struct group *g, unsigned i)
{
	if (!g->scattered)
		return g->size;
	double top = log2((double)g->size / MS_SMALLEST_USUAL);
	return (uint64_t)(MS_SMALLEST_USUAL *
			  exp2(top * ((double)(i * 7919u % g->blocks) + 0.5) / g->blocks));
}

struct sums {
	double truth, estimate;
	struct ms_spread spread;
};

/* One recording. The number of blocks is in [1]. */
static void record(const struct program *p, struct sums out[2])
{
	uint64_t smallest = UINT64_MAX;
	out[0] = out[1] = (struct sums){0};
	for (unsigned g = 0; g < 4; g++)
		for (unsigned i = 0; i < p->groups[g].blocks; i++) {
			uint64_t size = size_of(&p->groups[g], i);
			double chance = ms_sample_chance(size, p->mean);
			out[0].truth += (double)size;
			out[1].truth++;
			if (uniform() >= chance)
				continue;
			struct ms_spread a = ms_spread_of_bytes(size, p->mean),
					 b = ms_spread_of_block(size, p->mean);
			out[0].estimate += (double)size / chance;
			out[1].estimate += 1 / chance;
			ms_spread_add(&out[0].spread, &a);
			ms_spread_add(&out[1].spread, &b);
			smallest = size < smallest ? size : smallest;
		}
	uint64_t unseen = smallest == UINT64_MAX ? 1 : smallest;
	if (p->whole && unseen > MS_SMALLEST_USUAL)
		unseen = MS_SMALLEST_USUAL;
	struct ms_spread none = ms_spread_of_bytes(0, p->mean),
			 block = ms_spread_of_block(unseen, p->mean);
	block.seen = block.variance = 0;
	ms_spread_add(&out[0].spread, &none);
	ms_spread_add(&out[1].spread, &block);
}

static void check_coverage(const struct program *p)
{
	static const char *const what[] = {"bytes", "blocks"};
	unsigned covered[2] = {0, 0};
	double sum[2] = {0, 0}, squares[2] = {0, 0}, truth[2];
	for (unsigned r = 0; r < RUNS; r++) {
		struct sums s[2];
		record(p, s);
		for (int k = 0; k < 2; k++) {
			double low, high;
			ms_interval(s[k].estimate, &s[k].spread, &low, &high);
			covered[k] += low <= s[k].truth && s[k].truth <= high;
			truth[k] = s[k].truth;
			sum[k] += s[k].estimate;
			squares[k] += s[k].estimate * s[k].estimate;
		}
	}
	for (int k = 0; k < 2; k++) {
		double mean = sum[k] / RUNS, error = sqrt((squares[k] / RUNS - mean * mean) / RUNS);
		/* 95 % less what chance may take away in so many runs */
		bool good = covered[k] >= RUNS * 95 / 100 - 29 &&
			    fabs(mean - truth[k]) <= 3.5 * error + 1e-6;
		failures += !good;
		if (!good)
			printf("%s, %s: the truth is in %u of %u intervals, mean %.1f (+-%.1f) of "
			       "%.1f\n",
			       p->name, what[k], covered[k], RUNS, mean, error, truth[k]);
	}
}

int main(void)
{
	check_garwood();
	check_exact();
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		state = i;
		check_coverage(&programs[i]);
	}
	printf("%u failures\n", failures);
	return failures != 0;
}
