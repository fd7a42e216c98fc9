/* SPDX-License-Identifier: MIT
 * Trends: divides a series into windows and judges the shape of their floor, by Mann-Kendall and
 * Theil-Sen.
 */
#include "trend.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

enum {
	WINDOWS = 40, /* 40 windows give 780 pairs, few enough for a median */
	TENTHS = 10,
	PAIRS = WINDOWS * (WINDOWS - 1) / 2
};

/* Criteria of steady growth, as of a leak. */
static const double TENTH_RISES = 0.2;    /* minimum rise of a rising tenth, relative to an even
					     share of the whole rise */
enum { RISING_TENTHS = 7 };               /* least rising tenths, incl. one of the last two */
static const double LARGEST_TENTH = 0.45; /* maximum part of the rise in one tenth; more is a
					     step */
static const double SECOND_HALF = 0.6;    /* minimum ratio of the second half's rise to the first's;
					     less is filling */
static const double CHANCE = 0.01;        /* p below which a trend is accepted */

/* Criteria of doubling, as of a vector that grows without limit, for the last three jumps. */
static const double JUMP = 0.05;                          /* minimum jump, as a part of the rise */
static const double JUMPS = 0.8;                          /* minimum sum of the three jumps, as a
							     part of the rise */
static const double TIMES_LEAST = 1.35, TIMES_MOST = 3.2; /* limits of the ratio of a jump to the
							     previous jump */
static const double APART = 2.5;   /* minimum windows between the last two jumps; closer ones are
				      one rise */
static const double OVERDUE = 1.3; /* maximum wait for the next jump, relative to the expected
				      wait */

/* Criteria of teardown, the freeing of memory at exit. */
static const double TEARDOWN_TIME = 0.1;   /* maximum duration, as a part of the whole time */
static const double TEARDOWN_LEAST = 0.02; /* minimum fall, as a part of the heap's size before */
static const double TEARDOWN_DEEPER = 1.5; /* minimum ratio to the deepest earlier fall */
static const double NEAR = 0.05;           /* tolerance, as a part of the fall */

struct windows {
	size_t n;
	double time[WINDOWS], least[WINDOWS]; /* time in seconds; least sample of each window, in
						 bytes */
	double floor[WINDOWS];                /* bytes: minimum of `least` from this window to the
						 last */
};

static void sift(double *v, size_t at, size_t n)
{
	double x = v[at];
	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		child += child + 1 < n && v[child + 1] > v[child];
		if (v[child] <= x)
			break;
		v[at] = v[child];
	}
	v[at] = x;
}

/* Sorts by heap sort, since qsort() allocates memory for more than a kilobyte, and ms-top sorts
 * every second. */
static void sort(double *v, size_t n)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(v, i, n);
	for (size_t end = n; end-- > 1;) {
		double largest = v[0];
		v[0] = v[end];
		v[end] = largest;
		sift(v, 0, end);
	}
}

/* Divides the series into equal spans of time and takes the least sample of each; spans without
 * samples are left out. */
static void make_windows(struct windows *w, const struct ms_trend_sample *v, size_t n)
{
	double from = v[0].time, span = (v[n - 1].time - from) / WINDOWS;
	size_t last = SIZE_MAX;
	w->n = 0;
	for (size_t i = 0; i < n; i++) {
		size_t k = (size_t)((v[i].time - from) / span);
		k = k < WINDOWS ? k : WINDOWS - 1;
		if (k != last) {
			w->time[w->n] = v[i].time;
			w->least[w->n++] = v[i].value;
			last = k;
		} else if (v[i].value < w->least[w->n - 1]) {
			w->time[w->n - 1] = v[i].time;
			w->least[w->n - 1] = v[i].value;
		}
	}
	double least = INFINITY;
	for (size_t i = w->n; i-- > 0;)
		w->floor[i] = least = fmin(least, w->least[i]);
}

/* Returns the floor (the minimum of all later samples) at a time, interpolated between windows. */
static double floor_at(const struct windows *w, double time)
{
	size_t i = 1;
	while (i < w->n - 1 && w->time[i] < time)
		i++;
	double part = (time - w->time[i - 1]) / (w->time[i] - w->time[i - 1]);
	part = fmax(0, fmin(1, part));
	return w->floor[i - 1] + part * (w->floor[i] - w->floor[i - 1]);
}

/* Returns the Mann-Kendall statistic: the sum of the signs of all pairs, in standard deviations. */
static double mann_kendall(const struct windows *w)
{
	double s = 0, n = (double)w->n, sorted[WINDOWS];
	for (size_t i = 0; i < w->n; i++)
		for (size_t j = i + 1; j < w->n; j++)
			s += (w->least[j] > w->least[i]) - (w->least[j] < w->least[i]);
	double variance = n * (n - 1) * (2 * n + 5);
	memcpy(sorted, w->least, w->n * sizeof *sorted);
	sort(sorted, w->n);
	for (size_t i = 0, k; i < w->n; i = k) {
		for (k = i; k < w->n && sorted[k] == sorted[i];)
			k++;
		double ties = (double)(k - i);
		variance -= ties * (ties - 1) * (2 * ties + 5);
	}
	if (variance <= 0 || s == 0)
		return 0;
	return (s - (s > 0 ? 1 : -1)) / sqrt(variance / 18);
}

/* Computes the Theil-Sen slope and its confidence interval by Sen, whose width follows from the
 * standard deviation of the Mann-Kendall test. */
static void theil_sen(const struct windows *w, struct ms_trend *t)
{
	double slopes[PAIRS], n = (double)w->n;
	size_t count = 0;
	for (size_t i = 0; i < w->n; i++)
		for (size_t j = i + 1; j < w->n; j++)
			slopes[count++] = (w->least[j] - w->least[i]) / (w->time[j] - w->time[i]);
	sort(slopes, count);
	t->slope = count % 2 ? slopes[count / 2] : (slopes[count / 2 - 1] + slopes[count / 2]) / 2;
	double off = 1.96 * sqrt(n * (n - 1) * (2 * n + 5) / 18) / 2, middle = (double)count / 2;
	t->low = slopes[off < middle ? (size_t)(middle - off) : 0];
	t->high = slopes[middle + off < (double)count ? (size_t)(middle + off) : count - 1];
}

/* Returns the noise: the height above the floor that nine of ten windows do not exceed. */
static double noise_of(const struct windows *w)
{
	double above[WINDOWS];
	for (size_t i = 0; i < w->n; i++)
		above[i] = w->least[i] - w->floor[i];
	sort(above, w->n);
	return above[(w->n - 1) * 9 / 10];
}

/* Returns how well a line describes the floor: the part of the floor's variance that the line
 * explains. */
static double straightness(const struct windows *w)
{
	double n = (double)w->n, st = 0, sf = 0, stt = 0, sff = 0, stf = 0;
	for (size_t i = 0; i < w->n; i++) {
		double t = w->time[i] - w->time[0], f = w->floor[i] - w->floor[0];
		st += t;
		sf += f;
		stt += t * t;
		sff += f * f;
		stf += t * f;
	}
	double covariance = n * stf - st * sf, square = (n * stt - st * st) * (n * sff - sf * sf);
	return square > 0 ? covariance * covariance / square : 0;
}

static bool is_twice(double larger, double smaller)
{
	return larger >= TIMES_LEAST * smaller && larger <= TIMES_MOST * smaller;
}

/* Tells whether the floor rises in ever larger jumps, and the next one is not overdue: when the
 * capacity of a vector has doubled, the next jump comes after at most twice the time. Includes the
 * warm-up, since jumps are far apart. */
static bool is_doubling(const struct windows *w)
{
	double size[3] = {0}, at[3] = {0}, sum = 0, now = w->time[w->n - 1];
	double rise = w->floor[w->n - 1] - w->floor[0];
	size_t n = 0;
	for (size_t i = 1; i < w->n; i++) {
		double jump = w->floor[i] - w->floor[i - 1];
		if (jump < JUMP * rise)
			continue;
		sum += jump;
		memmove(size, size + 1, 2 * sizeof *size);
		memmove(at, at + 1, 2 * sizeof *at);
		size[2] = jump;
		at[2] = w->time[i];
		n++;
	}
	if (n < 3 || sum < JUMPS * rise || !is_twice(size[1], size[0]) ||
	    !is_twice(size[2], size[1]))
		return false;
	double gap = at[2] - at[1];
	return gap > APART * (now - w->time[0]) / WINDOWS &&
	       now - at[2] <= OVERDUE * gap * size[2] / size[1];
}

/* Judges the shape of a rising floor. `all` includes the warm-up. */
static void judge(const struct windows *w, const struct windows *all, struct ms_trend *t)
{
	double from = w->time[0], span = w->time[w->n - 1] - from, share[TENTHS], largest = 0;
	unsigned rising = 0;
	for (unsigned i = 0; i < TENTHS; i++) {
		share[i] = (floor_at(w, from + span * (i + 1) / TENTHS) -
			    floor_at(w, from + span * i / TENTHS)) /
			   t->rise;
		rising += share[i] * TENTHS >= TENTH_RISES;
		largest = fmax(largest, share[i]);
	}
	double half = (floor_at(w, from + span / 2) - w->floor[0]) / t->rise;
	double slowing = half > 0 ? (1 - half) / half : INFINITY;
	bool still = fmax(share[TENTHS - 1], share[TENTHS - 2]) * TENTHS >= TENTH_RISES;
	double noise = noise_of(w);
	if (t->rise <= noise || t->p >= CHANCE)
		t->kind = MS_TREND_STEADY;
	else if (is_doubling(all))
		t->kind = MS_TREND_DOUBLING;
	else if (largest > LARGEST_TENTH)
		t->kind = MS_TREND_STEP;
	else if (!still || slowing < SECOND_HALF)
		t->kind = MS_TREND_FILLING;
	else if (rising < RISING_TENTHS || t->low <= 0)
		t->kind = MS_TREND_STEADY;
	else
		t->kind = MS_TREND_GROWING;
	if (t->kind == MS_TREND_GROWING)
		t->confidence = (1 - t->p) * sqrt(straightness(w)) *
				fmin(1, t->rise / (2 * noise)) * fmin(1, slowing / 0.8);
}

struct ms_trend ms_trend_of(const struct ms_trend_sample *v, size_t n)
{
	struct ms_trend t = {.kind = MS_TREND_SHORT, .p = 1};
	struct windows w, all;
	if (n < 2)
		return t;
	double begin = v[0].time + (v[n - 1].time - v[0].time) * MS_TREND_WARM_UP;
	size_t first = 0;
	while (first < n && v[first].time < begin)
		first++;
	t.from = v[first].time;
	t.to = v[n - 1].time;
	if (n - first < MS_TREND_SAMPLES || v[n - 1].time - v[0].time < MS_TREND_SECONDS)
		return t;
	make_windows(&w, v + first, n - first);
	if (w.n < MS_TREND_SAMPLES)
		return t;
	double z = mann_kendall(&w);
	t.p = erfc(fabs(z) / sqrt(2));
	t.rise = w.floor[w.n - 1] - w.floor[0];
	theil_sen(&w, &t);
	t.kind = MS_TREND_STEADY;
	make_windows(&all, v, n);
	if (t.rise > 0)
		judge(&w, &all, &t);
	else if (t.p < CHANCE && t.slope < 0)
		t.kind = MS_TREND_FALLING;
	return t;
}

struct ms_trend ms_trend_until(const struct ms_trend_sample *v, size_t n, double teardown)
{
	while (teardown > 0 && n && v[n - 1].time > teardown)
		n--;
	struct ms_trend t = ms_trend_of(v, n);
	t.teardown = teardown;
	return t;
}

/* Returns the deepest fall before span `to`, without the warm-up. */
static double deepest_fall(const struct ms_trend_span *v, size_t to, double begin)
{
	double top = 0, deepest = 0;
	for (size_t i = 0; i < to; i++) {
		if (v[i].from < begin)
			continue;
		deepest = fmax(deepest, top - v[i].least);
		top = fmax(top, v[i].most);
	}
	return deepest;
}

/* Tells whether, after span `top`, there are at least twice as many frees as allocations and no
 * rise is larger than `most`. */
static bool only_falls(const struct ms_trend_span *v, size_t n, size_t top, double most)
{
	double least = v[top].last, rise = 0, allocations = 0, frees = 0;
	for (size_t i = top + 1; i < n; i++) {
		rise = fmax(rise, v[i].most - least);
		least = fmin(least, v[i].least);
		allocations += v[i].allocations;
		frees += v[i].frees;
	}
	return rise <= most && allocations * 2 <= frees;
}

double ms_trend_teardown(const struct ms_trend_span *v, size_t n)
{
	if (n < MS_TREND_SAMPLES)
		return 0;
	double begin = v[0].from, length = v[n - 1].to - begin, end = v[n - 1].last;
	double top = 0, before = 0;
	size_t late = n, at = n - 1;
	while (late && v[late - 1].from >= begin + length * (1 - TEARDOWN_TIME))
		top = fmax(top, v[--late].most);
	for (size_t i = late; i && v[i - 1].from >= begin + length * (1 - 2 * TEARDOWN_TIME); i--)
		before = fmax(before, v[i - 1].most);
	double fall = top - end;
	/* a fall that began before the last tenth is no teardown */
	if (fall <= 0 || fall < TEARDOWN_LEAST * top || before - end > fall * (1 + NEAR))
		return 0;
	while (at > late && v[at].most - end < fall * (1 - NEAR))
		at--;
	if (!only_falls(v, n, at, fall * 2 * NEAR) ||
	    fall < TEARDOWN_DEEPER * deepest_fall(v, at, begin + length * MS_TREND_WARM_UP))
		return 0;
	return v[at].from;
}

double ms_trend_teardown_of(const struct ms_trend_sample *v, size_t n, struct ms_trend_span *room)
{
	for (size_t i = 0; i < n; i++) {
		double to = v[i + (i + 1 < n)].time, x = v[i].value;
		room[i] = (struct ms_trend_span){v[i].time, to, x, x, x, 0, 0};
	}
	return ms_trend_teardown(room, n);
}

const char *ms_trend_word(enum ms_trend_kind kind)
{
	static const char *const words[] = {"too short", "steady",  "step",    "filling",
					    "falling",   "growing", "doubling"};
	return words[kind];
}
