/* SPDX-License-Identifier: MIT
 * Computes estimates from a sampled recording.
 */
#include "estimate.h"

#include <math.h>

#define TAIL 0.025
#define NORMAL 1.959963984540054 /* 97.5 % quantile of the normal distribution */
#define LARGE_SHAPE 100.0        /* least shape for which Wilson-Hilferty is accurate */

double ms_sample_chance(uint64_t size_bytes, uint64_t mean_bytes)
{
	/* A cache: callers need the probability several times per block, and programs allocate the
	 * same sizes again and again. */
	static __thread struct {
		uint64_t size, mean; /* mean is stored plus 1; 0 = unused slot */
		double chance;
	} known[64], *k;
	uint64_t most = mean_bytes < MS_SAMPLE_MOST ? mean_bytes : MS_SAMPLE_MOST;
	k = &known[size_bytes * UINT64_C(0x9e3779b97f4a7c15) >> 58];
	if (k->size != size_bytes || k->mean != most + 1) {
		k->size = size_bytes;
		k->mean = most + 1;
		k->chance = -expm1(-(size_bytes ? (double)size_bytes : 1) / (double)most);
	}
	return k->chance;
}

/* larger sizes are not scaled, so that sums of estimates cannot overflow */
#define SIZE_MOST (UINT64_C(1) << 57)

uint64_t ms_sample_bytes(uint64_t size_bytes, uint64_t mean_bytes)
{
	if (size_bytes >= SIZE_MOST)
		return size_bytes;
	return (uint64_t)llround((double)size_bytes / ms_sample_chance(size_bytes, mean_bytes));
}

/* Returns a pseudo-random number in [0, 1) that depends on `number` only. */
static double scattered(uint64_t number)
{
	uint64_t x = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((x ^ x >> 31) >> 11) * 0x1p-53;
}

uint64_t ms_sample_blocks(uint64_t size_bytes, uint64_t mean_bytes, uint64_t number)
{
	return (uint64_t)(1 / ms_sample_chance(size_bytes, mean_bytes) + scattered(number));
}

/* Returns the spread of a block that is recorded with probability `p` and then counts as `x`. */
static struct ms_spread spread_of(double x, double p)
{
	double rest = (1 - p) / p;
	return (struct ms_spread){x, x * x * rest / p, x * rest, x * x * rest / p};
}

struct ms_spread ms_spread_of_bytes(uint64_t size_bytes, uint64_t mean_bytes)
{
	double mean = (double)mean_bytes;
	struct ms_spread s =
		spread_of((double)size_bytes, ms_sample_chance(size_bytes, mean_bytes));
	/* the value for small blocks, and an upper bound for all */
	s.step = mean;
	s.step_variance = mean * mean;
	return s;
}

struct ms_spread ms_spread_of_block(uint64_t size_bytes, uint64_t mean_bytes)
{
	return spread_of(1, ms_sample_chance(size_bytes, mean_bytes));
}

void ms_spread_add(struct ms_spread *to, const struct ms_spread *s)
{
	to->seen += s->seen;
	to->variance += s->variance;
	if (s->step > to->step)
		to->step = s->step;
	if (s->step_variance > to->step_variance)
		to->step_variance = s->step_variance;
}

/* ---- the gamma distribution with scale 1 ---- */

/* Returns the probability that a gamma-distributed value is at most `x`. */
static double gamma_below(double shape, double x)
{
	int sign;
	double scale = exp(shape * log(x) - x - lgamma_r(shape, &sign));
	if (x < shape + 1) { /* power series for small `x` */
		double term = 1 / shape, sum = term;
		for (double n = shape + 1; term > sum * 1e-12; n++)
			sum += term *= x / n;
		return scale * sum;
	}
	/* Legendre's continued fraction, evaluated by its convergents */
	double b = x + 1 - shape, c = 1e300, d = 1 / b, f = d;
	for (int i = 1; i < 500; i++) {
		double a = i * (shape - i), e;
		b += 2;
		d = 1 / (a * d + b);
		c = b + a / c;
		f *= e = c * d;
		if (fabs(e - 1) < 1e-12)
			break;
	}
	return 1 - scale * f;
}

static double gamma_quantile(double shape, double chance, double normal)
{
	if (shape > LARGE_SHAPE) {
		double t = 1 - 1 / (9 * shape) + normal / (3 * sqrt(shape));
		return shape * t * t * t;
	}
	double low = 0, high = shape + 1;
	while (gamma_below(shape, high) < chance)
		high *= 2;
	for (int i = 0; i < 100 && high - low > high * 1e-9; i++) {
		double middle = (low + high) / 2;
		if (gamma_below(shape, middle) < chance)
			low = middle;
		else
			high = middle;
	}
	return (low + high) / 2;
}

static double limit(double estimate, double variance, double chance, double normal)
{
	if (!(estimate > 0) || !(variance > 0))
		return estimate > 0 ? estimate : 0;
	double scale = variance / estimate;
	return scale * gamma_quantile(estimate / scale, chance, normal);
}

void ms_interval(double value, const struct ms_spread *s, double *low, double *high)
{
	double rest = value > s->seen ? value - s->seen : 0;
	double variance = s->variance > 0 ? s->variance : 0;
	*low = s->seen + limit(rest, variance, TAIL, -NORMAL);
	*high = s->seen + limit(rest + s->step, variance + s->step_variance, 1 - TAIL, NORMAL);
	if (*low > value)
		*low = value;
	if (*high < value)
		*high = value;
}

void ms_interval_whole(uint64_t value, const struct ms_spread *s, uint64_t *low, uint64_t *high)
{
	double a, b, most = 9e18;
	ms_interval((double)value, s, &a, &b);
	*low = a < most ? (uint64_t)floor(a) : (uint64_t)most;
	*high = b < most ? (uint64_t)ceil(b) : (uint64_t)most;
	if (*low > value)
		*low = value;
	if (*high < value)
		*high = value;
}
