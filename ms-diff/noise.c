/* SPDX-License-Identifier: MIT
 * Decides whether a change of a figure exceeds the noise between runs.
 *
 * With one run on a side its noise is not known, and an allowance replaces it. With more runs, the
 * gap between the ranges of both sides must be wider than either range: with hundreds of sites,
 * ranges of three runs that merely do not overlap often differ by chance. From eight runs on each
 * side, a rank test (Mann and Whitney) counts too, which tolerates outliers.
 *
 * The runs of a history are of many builds, some of which changed the figure permanently. So noise
 * is the usual distance between successive runs, as in a chart of individuals and moving ranges: a
 * step in the history is only one of these distances, but would be the whole range. The median
 * distance would be too small for a figure that is mostly constant with rare outliers, so the upper
 * quartile is used. The new run must be outside the range by twice that distance.
 */
#include "noise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"

enum {
	FEW = 3,           /* with fewer runs per side, a larger change is required */
	MANY = 8,          /* minimum number of runs per side for a rank test, and of old runs in a
			      history to measure noise */
	STEPS = 2,         /* a new run must differ by more than this multiple of usual_step() */
	ALLOWED_COUNT = 16 /* blocks or calls: allowance for figures that are not in bytes */
};
#define ALLOWED_SHARE 0.01
#define RANKS_Z 3.29 /* two-sided p < 0.001 */

struct limits series_range(const int64_t *v, size_t n)
{
	struct limits r = {DELTA_UNKNOWN, DELTA_UNKNOWN};
	for (size_t i = 0; i < n; i++) {
		if (v[i] == DELTA_UNKNOWN)
			return (struct limits){DELTA_UNKNOWN, DELTA_UNKNOWN};
		r.low = i == 0 || v[i] < r.low ? v[i] : r.low;
		r.high = i == 0 || v[i] > r.high ? v[i] : r.high;
	}
	return r;
}

struct ranked {
	int64_t v;
	bool new;
};

static int by_value(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	return x->v < y->v ? -1 : x->v > y->v;
}

/* Returns the z score of the rank sum, corrected for ties. */
static double ranks_z(const struct series *s)
{
	size_t n = s->olds + s->news;
	struct ranked *v = ms_xrealloc(NULL, n, sizeof *v);
	for (size_t i = 0; i < s->olds; i++)
		v[i] = (struct ranked){s->old[i], false};
	for (size_t i = 0; i < s->news; i++)
		v[s->olds + i] = (struct ranked){s->new[i], true};
	qsort(v, n, sizeof *v, by_value);
	double sum = 0, ties = 0, m = (double)s->olds, k = (double)s->news, all = (double)n;
	for (size_t i = 0, j; i < n; i = j) {
		for (j = i; j < n && v[j].v == v[i].v; j++)
			;
		double t = (double)(j - i);
		ties += t * t * t - t;
		for (size_t at = i; at < j; at++)
			sum += v[at].new ? (double)(i + 1 + j) / 2 : 0;
	}
	free(v);
	double mean = k * (all + 1) / 2;
	double variance = m * k / 12 * (all + 1 - ties / (all * (all - 1)));
	double off = fabs(sum - mean) - 0.5;
	return variance > 0 && off > 0 ? off / sqrt(variance) : 0;
}

static void sort(int64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t x = v[i];
		size_t k = i;
		for (; k > 0 && v[k - 1] > x; k--)
			v[k] = v[k - 1];
		v[k] = x;
	}
}

static int64_t middle(const int64_t *v, size_t n)
{
	int64_t *sorted = memcpy(ms_xrealloc(NULL, n, sizeof *sorted), v, n * sizeof *sorted);
	sort(sorted, n);
	int64_t m = sorted[(n - 1) / 2];
	free(sorted);
	return m;
}

bool noise_is_unknown(size_t olds, size_t news, bool history)
{
	return history ? olds < MANY : olds < FEW || news < FEW;
}

/* Returns the third quartile of the absolute differences between successive old runs. */
static double usual_step(const struct series *s)
{
	size_t n = s->olds - 1, quartile = n - n / 4;
	int64_t *steps = ms_xrealloc(NULL, s->olds, sizeof *steps);
	for (size_t i = 0; i < n; i++) {
		int64_t d = delta_sub(s->old[i + 1], s->old[i]);
		steps[i] = d < 0 ? -d : d;
	}
	sort(steps, n);
	double step = n ? (double)steps[quartile - 1] : 0;
	free(steps);
	return step;
}

bool series_differ(const struct series *s)
{
	struct limits o = series_range(s->old, s->olds), n = series_range(s->new, s->news);
	if (o.low == DELTA_UNKNOWN || n.low == DELTA_UNKNOWN)
		return false;
	int64_t old = s->history ? s->old[s->olds - 1] : middle(s->old, s->olds);
	double change = fabs((double)middle(s->new, s->news) - (double)old);
	double larger = fmax(fabs((double)o.high), fabs((double)n.high));
	bool few = noise_is_unknown(s->olds, s->news, s->history);
	if (change == 0 || (s->bytes && change < (double)s->least))
		return false;
	if (few && (change <= ALLOWED_SHARE * larger || (!s->bytes && change < ALLOWED_COUNT)))
		return false;
	double gap = n.low > o.high   ? (double)n.low - (double)o.high
		     : o.low > n.high ? (double)o.low - (double)n.high
				      : 0;
	double wide = s->history ? STEPS * usual_step(s) : (double)o.high - (double)o.low;
	if (s->history && s->bytes && gap < (double)s->least)
		return false;
	if (gap > fmax(wide, (double)n.high - (double)n.low))
		return true;
	return !s->history && s->olds >= MANY && s->news >= MANY && ranks_z(s) > RANKS_Z;
}

/* ---- intervals of samples ---- */

static double below(int64_t v, struct limits x)
{
	return x.low == DELTA_UNKNOWN ? 0 : (double)v - (double)x.low;
}

static double above(int64_t v, struct limits x)
{
	return x.high == DELTA_UNKNOWN ? 0 : (double)x.high - (double)v;
}

static struct limits around(double v, double down, double up)
{
	double low = floor(v - down), high = ceil(v + up);
	if (!(fabs(low) < 9e18 && fabs(high) < 9e18))
		return (struct limits){DELTA_UNKNOWN, DELTA_UNKNOWN};
	return (struct limits){(int64_t)low, (int64_t)high};
}

struct limits delta_interval(int64_t old, struct limits of_old, int64_t new, struct limits of_new)
{
	if ((of_old.low == DELTA_UNKNOWN && of_new.low == DELTA_UNKNOWN) || old == DELTA_UNKNOWN ||
	    new == DELTA_UNKNOWN)
		return (struct limits){DELTA_UNKNOWN, DELTA_UNKNOWN};
	return around((double)new - (double)old, hypot(below(new, of_new), above(old, of_old)),
		      hypot(above(new, of_new), below(old, of_old)));
}

struct limits sum_interval(int64_t sum, struct limits of_sum, int64_t x, struct limits of_x)
{
	if ((of_sum.low == DELTA_UNKNOWN && of_x.low == DELTA_UNKNOWN) || sum == DELTA_UNKNOWN ||
	    x == DELTA_UNKNOWN)
		return (struct limits){DELTA_UNKNOWN, DELTA_UNKNOWN};
	return around((double)sum + (double)x, hypot(below(sum, of_sum), below(x, of_x)),
		      hypot(above(sum, of_sum), above(x, of_x)));
}
