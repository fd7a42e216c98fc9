/* SPDX-License-Identifier: MIT
 * Trends: 64 series of known kind, each with five seeds of noise; rates that are known; the least
 * leak that is seen under noise; two tests of Mann-Kendall and Theil-Sen worked out by hand.
 */
#include "libcommon/stats/trend.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int failures;
static uint64_t state;

/* 0 to 1, the same on every machine */
static double dice(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(state >> 11) / 9007199254740992.0;
}

/* near enough to normal */
static double bell(void)
{
	double s = 0;
	for (int i = 0; i < 12; i++)
		s += dice();
	return s - 6;
}

#define KB 1024.0
#define MB 1048576.0

/* x: 0 to 1 over the whole time; a, b: what each shape makes of them. Bytes. */
typedef double shape(double x, double a, double b);

static double leak(double x, double a, double b)
{
	return b + a * x;
}
static double idle(double x, double a, double b)
{
	(void)x;
	(void)a;
	return b;
}
static double sawtooth(double x, double a, double b)
{
	return b * fmod(x * a, 1);
}
static double step(double x, double a, double b)
{
	return x < a ? MB : MB + b;
}
static double two_steps(double x, double a, double b)
{
	return (x > 0.35) * a + (x > 0.7) * b;
}
static double fill(double x, double a, double b)
{
	return b * fmin(1, x / a);
}
static double log_fill(double x, double a, double b)
{
	return b * log(1 + a * x);
}
static double exp_fill(double x, double a, double b)
{
	return b * (1 - exp(-a * x));
}
static double burst(double x, double a, double b)
{
	return fabs(x - a) < 0.06 ? b : 10 * KB;
}
static double bursts(double x, double a, double b)
{
	return fmod(x * a, 1) < 0.2 ? b : 10 * KB;
}
static double trimmed(double x, double a, double b)
{
	return b * (1 + fmod(x * a, 1)) * (x > 0.05);
}
static double wave(double x, double a, double b)
{
	return b * (1.2 + sin(x * a * 6.2832));
}
static double falling(double x, double a, double b)
{
	return b - a * x;
}
static double tooth_leak(double x, double a, double b)
{
	return b * fmod(x * 9, 1) + a * x;
}
static double late(double x, double a, double b)
{
	return x < b ? 0 : a * (x - b);
}
static double stairs(double x, double a, double b)
{
	return floor(x * b) * a;
}
/* A vector to which is added from `a` on, on a heap of `b`; its capacity is a power of 2. */
static double vector(double x, double a, double b)
{
	return b + (x > a ? 64 * exp2(ceil(log2((x - a) * 100000))) : 0);
}
static double vector_half(double x, double a, double b)
{
	return b + (x > a ? 64 * pow(1.5, ceil(log((x - a) * 100000) / log(1.5))) : 0);
}
/* Returns a vector that is full at `a` and stays so. */
static double full_vector(double x, double a, double b)
{
	return vector(fmin(x, a), 0, b);
}
static double speeding(double x, double a, double b)
{
	return a * pow(x, b);
}

static const struct series {
	const char *name;
	shape *f;
	double a, b, noise; /* bytes, standard deviation */
	double seconds;
	enum ms_trend_kind kind;
} all[] = {
	{"leak of 1 MB/s for 20 s", leak, 20 * MB, 0, 0, 20, MS_TREND_GROWING},
	{"the same on 100 MB", leak, 20 * MB, 100 * MB, 0, 20, MS_TREND_GROWING},
	{"the same with noise", leak, 20 * MB, 100 * MB, MB, 20, MS_TREND_GROWING},
	{"leak of 10 KB/min for 10 min", leak, 100 * KB, 0, 0, 600, MS_TREND_GROWING},
	{"the same on 50 MB with noise", leak, 100 * KB, 50 * MB, 5 * KB, 600, MS_TREND_GROWING},
	{"leak of 10 KB/min for 1 min", leak, 10 * KB, MB, 0, 60, MS_TREND_GROWING},
	{"leak of a day", leak, 3 * MB, 9 * MB, 50 * KB, 86400, MS_TREND_GROWING},
	{"leak under noise of a twelfth of it", leak, MB, MB, MB / 12, 60, MS_TREND_GROWING},
	{"sawtooth on a leak of its height", tooth_leak, 10 * MB, 3 * MB, 0, 60, MS_TREND_GROWING},
	{"sawtooth on a leak, with noise", tooth_leak, 10 * MB, 3 * MB, 0.1 * MB, 60,
	 MS_TREND_GROWING},
	{"leak that begins after a fifth", late, 10 * MB, 0.2, 0, 60, MS_TREND_GROWING},
	{"leak that speeds up", speeding, 10 * MB, 1.5, 0, 60, MS_TREND_GROWING},
	{"leak in forty steps", stairs, MB, 40, 0, 60, MS_TREND_GROWING},
	{"leak in twenty steps", stairs, MB, 20, 0, 60, MS_TREND_GROWING},
	{"leak of 12 blocks of 64 bytes", stairs, 64, 12.1, 0, 60, MS_TREND_GROWING},
	{"idle", idle, 0, 0, 0, 60, MS_TREND_STEADY},
	{"idle at 100 MB", idle, 0, 100 * MB, 0, 60, MS_TREND_STEADY},
	{"idle with noise", idle, 0, 100 * MB, MB, 60, MS_TREND_STEADY},
	{"idle with much noise", idle, 0, 100 * MB, 30 * MB, 60, MS_TREND_STEADY},
	{"idle for a day with noise", idle, 0, 10 * MB, 10 * KB, 86400, MS_TREND_STEADY},
	{"sawtooth of 3", sawtooth, 3.3, 10 * MB, 0, 60, MS_TREND_STEADY},
	{"sawtooth of 5", sawtooth, 5.7, 10 * MB, 0, 60, MS_TREND_STEADY},
	{"sawtooth of 17", sawtooth, 17.2, 10 * MB, 0, 60, MS_TREND_STEADY},
	{"sawtooth of 400", sawtooth, 400.4, 10 * MB, 0, 60, MS_TREND_STEADY},
	{"sawtooth with noise", sawtooth, 7.9, 10 * MB, MB, 60, MS_TREND_STEADY},
	{"sawtooth about to end", sawtooth, 5.99, 10 * MB, 0, 60, MS_TREND_STEADY},
	{"step at the start", step, 0.02, 10 * MB, 0, 60, MS_TREND_STEADY},
	{"step at a fifth", step, 0.2, 10 * MB, 0, 60, MS_TREND_STEP},
	{"step at the half", step, 0.5, 10 * MB, 0, 60, MS_TREND_STEP},
	{"step at three quarters", step, 0.75, 10 * MB, 0, 60, MS_TREND_STEP},
	{"step with noise", step, 0.4, 10 * MB, 0.2 * MB, 60, MS_TREND_STEP},
	{"two steps", two_steps, 4 * MB, 6 * MB, 0, 60, MS_TREND_STEP},
	{"leak that comes nearly at once", speeding, 64 * MB, 14, 0, 60, MS_TREND_STEP},
	{"vector that doubles", vector, 0, 0, 0, 60, MS_TREND_DOUBLING},
	{"vector that doubles, on a heap", vector, 0, 10 * MB, 0, 60, MS_TREND_DOUBLING},
	{"vector that doubles, with noise", vector, 0, 10 * MB, 20 * KB, 60, MS_TREND_DOUBLING},
	{"vector that doubles, from a third on", vector, 0.33, 0, 0, 60, MS_TREND_DOUBLING},
	{"vector that doubles, for a day", vector, 0, 0, 0, 86400, MS_TREND_DOUBLING},
	{"vector half as large again each time", vector_half, 0, 0, 0, 60, MS_TREND_DOUBLING},
	{"vector that is full at a third", full_vector, 0.33, 0, 0, 60, MS_TREND_STEP},
	{"LRU cache full at a tenth", fill, 0.08, 10 * MB, 0, 60, MS_TREND_STEADY},
	{"LRU cache full at a third", fill, 0.33, 10 * MB, 0, 60, MS_TREND_FILLING},
	{"LRU cache full at half", fill, 0.5, 10 * MB, 0, 60, MS_TREND_FILLING},
	{"LRU cache full at two thirds", fill, 0.66, 10 * MB, 0, 60, MS_TREND_FILLING},
	{"LRU cache full, with noise", fill, 0.5, 10 * MB, 0.1 * MB, 60, MS_TREND_FILLING},
	{"log-like fill", log_fill, 20, 10 * MB, 0, 60, MS_TREND_FILLING},
	{"log-like fill, steeper", log_fill, 200, 10 * MB, 0, 60, MS_TREND_FILLING},
	{"log-like fill, with noise", log_fill, 30, 10 * MB, 0.2 * MB, 60, MS_TREND_FILLING},
	{"fill that saturates", exp_fill, 3, 10 * MB, 0, 60, MS_TREND_FILLING},
	{"fill that saturates soon", exp_fill, 5, 10 * MB, 0.1 * MB, 60, MS_TREND_FILLING},
	{"one burst", burst, 0.5, 50 * MB, 0, 60, MS_TREND_STEADY},
	{"one burst at the end", burst, 0.97, 50 * MB, 0, 60, MS_TREND_STEP},
	{"one burst with noise", burst, 0.3, 50 * MB, KB, 60, MS_TREND_STEADY},
	{"bursts", bursts, 9.6, 50 * MB, 0, 60, MS_TREND_STEADY},
	{"bursts, many", bursts, 60.5, 50 * MB, KB, 60, MS_TREND_STEADY},
	{"arena trimmed 4 times", trimmed, 4.3, 20 * MB, 0, 60, MS_TREND_STEADY},
	{"arena trimmed 11 times", trimmed, 11.4, 20 * MB, 0, 60, MS_TREND_STEADY},
	{"wave", wave, 3.2, 20 * MB, 0, 60, MS_TREND_STEADY},
	{"wave with noise", wave, 6.1, 20 * MB, MB, 60, MS_TREND_STEADY},
	{"slow wave", wave, 2.4, 20 * MB, 0, 60, MS_TREND_STEADY},
	{"falling", falling, 10 * MB, 20 * MB, 0, 60, MS_TREND_FALLING},
	{"falling with noise", falling, 10 * MB, 20 * MB, 0.1 * MB, 60, MS_TREND_FALLING},
	{"a leak, but 9 s", leak, 20 * MB, 0, 0, 9, MS_TREND_SHORT},
	{"noise of ten leaks", leak, 100 * KB, 100 * MB, MB, 60, MS_TREND_STEADY},
};

enum { SEEDS = 5 };

static struct ms_trend trend_of(const struct series *s, uint64_t seed, size_t samples)
{
	struct ms_trend_sample v[1000];
	state = seed * 77 + 1;
	for (size_t i = 0; i < samples; i++) {
		double x = (double)i / (double)(samples - 1);
		v[i].time = 5 + x * s->seconds;
		v[i].value = fmax(0, s->f(x, s->a, s->b) + s->noise * bell());
	}
	return ms_trend_of(v, samples);
}

/* Every series has the kind that it was made as. */
static void kinds(void)
{
	static const size_t lengths[] = {72, 128, 1000};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++)
			for (size_t k = 0; k < 3; k++) {
				struct ms_trend t = trend_of(&all[i], seed, lengths[k]);
				bool alarm = (t.kind == MS_TREND_GROWING) !=
					     (all[i].kind == MS_TREND_GROWING);
				bool other = !all[i].noise && t.kind != all[i].kind;
				if (!alarm && !other)
					continue;
				failures++;
				printf("%s, seed %d, %zu samples: %s, wanted %s (rise %.0f, p "
				       "%.4f)\n",
				       all[i].name, (int)seed, lengths[k], ms_trend_word(t.kind),
				       ms_trend_word(all[i].kind), t.rise, t.p);
			}
}

#define CHECK(c)                                                                                   \
	do {                                                                                       \
		if (!(c)) {                                                                        \
			failures++;                                                                \
			printf("%s:%d: not so: %s\n", __FILE__, __LINE__, #c);                     \
		}                                                                                  \
	} while (0)

/* Rates are as made; confidence says how good the data are. */
static void rates(void)
{
	struct series s = {"", leak, 20 * MB, 100 * MB, 0, 20, MS_TREND_GROWING};
	struct ms_trend t = trend_of(&s, 1, 100);
	CHECK(fabs(t.slope / MB - 1) < 1e-9 && fabs(t.low / MB - 1) < 1e-9 &&
	      fabs(t.high / MB - 1) < 1e-9);
	CHECK(t.confidence > 0.999 && t.p < 1e-9);
	CHECK(t.from >= 7 && t.from < 7.3 && t.to == 25);
	CHECK(t.rise > 0.97 * MB * (t.to - t.from) && t.rise <= MB * (t.to - t.from));

	/* the 95 % interval holds the truth in 95 of 100, give or take three deviations */
	unsigned inside = 0, runs = 200;
	s.noise = 0.5 * MB;
	for (uint64_t seed = 1; seed <= runs; seed++) {
		t = trend_of(&s, seed, 100);
		CHECK(t.low <= t.slope && t.slope <= t.high);
		/* least samples of windows lie lower, but all by as much */
		inside += t.low <= MB && MB <= t.high;
		CHECK(t.confidence > 0.9 && t.confidence < 0.9999);
	}
	CHECK(inside >= 180);
	s = (struct series){"", tooth_leak, 10 * MB, 9 * MB, 0, 60, MS_TREND_GROWING};
	double plain = trend_of(&s, 1, 128).confidence;
	s.b = MB;
	CHECK(trend_of(&s, 1, 128).confidence > plain);
}

/* Worked out by hand: 16 samples of which each has a window of its own, all but two in order. The
 * sum of signs is 120 - 2 = 118 (one pair is turned round); its variance is 16 * 15 * 37 / 18. */
static void by_hand(void)
{
	struct ms_trend_sample v[18] = {{0, 0}, {1, 0}};
	for (int i = 2; i < 18; i++)
		v[i] = (struct ms_trend_sample){i, i == 8 ? 9 : i == 9 ? 8 : i};
	struct ms_trend t = ms_trend_of(v, 18);
	double z = (120 - 2 - 1) / sqrt(16 * 15 * 37 / 18.0);
	CHECK(fabs(t.p - erfc(z / sqrt(2))) < 1e-15);
	CHECK(t.slope == 1 && t.low == 1 && t.high == 1);
	CHECK(t.from == 2 && t.to == 17 && t.rise == 15);
}

/* No input is too odd. */
static void odd(void)
{
	struct ms_trend_sample v[100] = {{0}};
	CHECK(ms_trend_of(v, 0).kind == MS_TREND_SHORT);
	CHECK(ms_trend_of(v, 1).kind == MS_TREND_SHORT);
	CHECK(ms_trend_of(v, 100).kind == MS_TREND_SHORT); /* no time passes */
	for (int i = 0; i < 100; i++)
		v[i].time = i < 99 ? 0 : 1e6;
	CHECK(ms_trend_of(v, 100).kind == MS_TREND_SHORT); /* nearly all at once */
	for (int i = 0; i < 100; i++)
		v[i] = (struct ms_trend_sample){i, 1.8e19};
	CHECK(ms_trend_of(v, 100).kind == MS_TREND_STEADY);
	CHECK(strcmp(ms_trend_word(MS_TREND_GROWING), "growing") == 0);
}

/* 100 spans of a second: it rises to 1,000 within 95 of them, then falls to 400. */
static void rise_and_fall(struct ms_trend_span v[100])
{
	for (int i = 0; i < 100; i++) {
		double x = i < 95 ? (i + 1) * 1000 / 95.0 : 1000 - (i - 94) * 120;
		double before = i ? v[i - 1].last : 0;
		v[i] = (struct ms_trend_span){i, i + 1,          fmin(x, before), fmax(x, before),
					      x, i < 95 ? 9 : 4, i < 95 ? 1 : 8};
	}
}

static void teardown(void)
{
	struct ms_trend_span v[100];
	struct ms_trend_sample s[100];
	rise_and_fall(v);
	for (int i = 0; i < 100; i++)
		s[i] = (struct ms_trend_sample){v[i].to, v[i].last};
	CHECK(ms_trend_teardown(v, 100) == 95); /* it begins in this one */
	CHECK(ms_trend_teardown(v, 15) == 0 && ms_trend_teardown(v, 0) == 0);
	CHECK(ms_trend_teardown(v, 95) == 0); /* it does not fall */
	struct ms_trend whole = ms_trend_of(s, 100), judged = ms_trend_until(s, 100, 95);
	CHECK(whole.kind == MS_TREND_STEADY && whole.teardown == 0);
	CHECK(judged.kind == MS_TREND_GROWING && judged.teardown == 95 && judged.to == 95);
	CHECK(fabs(judged.slope - 1000 / 95.0) < 1e-9);
	CHECK(ms_trend_until(s, 100, 0).kind == MS_TREND_STEADY);

	v[97].allocations = 30; /* more than half as many as frees */
	CHECK(ms_trend_teardown(v, 100) == 0);
	v[97].allocations = 4;
	v[98].most = v[97].last + 61; /* a rise of a tenth */
	CHECK(ms_trend_teardown(v, 100) == 0);
	v[98].most = v[97].last + 59;
	CHECK(ms_trend_teardown(v, 100) == 95);
	v[60].least = v[59].most - 401; /* it has fallen by two thirds of that before */
	CHECK(ms_trend_teardown(v, 100) == 0);
	v[60].least = v[59].most - 399;
	CHECK(ms_trend_teardown(v, 100) == 95);
	v[5].least = 0; /* in the warm-up it may */
	v[4].most = 5000;
	CHECK(ms_trend_teardown(v, 100) == 95);
	for (int i = 0; i < 20; i++) /* falls for a fifth of the time */
		v[80 + i].least = v[80 + i].last = (v[80 + i].most = 1000 - i * 30) - 30;
	CHECK(ms_trend_teardown(v, 100) == 0);
	for (int i = 0; i < 100; i++) /* flat, and a fiftieth is freed */
		v[i] = (struct ms_trend_span){i, i + 1, 1000, 1000, 1000, 0, 0};
	v[99].least = v[99].last = 981;
	CHECK(ms_trend_teardown(v, 100) == 0);
	v[99].least = v[99].last = 979;
	CHECK(ms_trend_teardown(v, 100) == 99);
}

/* None of the series has one, with or without noise, but bursts and teeth that end with the time. */
static void no_teardown(void)
{
	struct ms_trend_sample s[400];
	struct ms_trend_span room[400];
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		for (uint64_t seed = 1; seed <= SEEDS; seed++) {
			state = seed * 77 + 1;
			for (size_t k = 0; k < 400; k++) {
				double x = (double)k / 399;
				s[k].time = 5 + x * all[i].seconds;
				s[k].value = fmax(0, all[i].f(x, all[i].a, all[i].b) +
							     all[i].noise * bell());
			}
			if (ms_trend_teardown_of(s, 400, room) == 0)
				continue;
			failures++;
			printf("%s, seed %d: a teardown\n", all[i].name, (int)seed);
		}
}

int main(void)
{
	teardown();
	no_teardown();
	kinds();
	rates();
	by_hand();
	odd();
	return failures != 0;
}
