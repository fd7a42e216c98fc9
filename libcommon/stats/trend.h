/* SPDX-License-Identifier: MIT
 * Room stats: what numbers say.
 *   In:  series of times and bytes; weights of samples (estimate.h).
 *   Out: a verdict, a rate and its interval; eight bars in a line of text (sparkline.h).
 *   Used by: replay, snapshot and api; ms-record --poll, ms-report, ms-top.
 *
 * Does a series of amounts of memory grow as a leak does? The same answer for a site of a trace,
 * for a whole heap and for what /proc says.
 *
 * What counts is what never comes back: of each moment the least that is held at it or later (the
 * floor). A sawtooth, a burst, an arena that is trimmed leave the floor flat; a step raises it
 * once; a cache that fills raises it ever more slowly; a leak raises it all the time. So a series
 * is growing when its floor rises in most tenths of the time, the last ones too, no tenth holds
 * most of the rise, the second half rises about as much as the first, the rise is larger than the
 * noise above the floor, and the Mann-Kendall test (with correction for ties) finds a trend. The
 * rate is the Theil-Sen slope (median of the slopes of all pairs), with its 95 % interval by Sen's
 * method.
 *
 * A vector that is appended to without bound rises in jumps instead, and the last one may have
 * most of the rise: it is doubling, as long as the next jump is not overdue.
 *
 * From 64 samples on, a leak is seen whose rise is 12 times the standard deviation of the noise;
 * one that noise hides is not reported, rather than noise as a leak.
 *
 * What this cannot tell: a single tooth, or a cache that is far from full, looks like a leak until
 * it comes to its end; the confidence is what the data say, not what the program is.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum ms_trend_kind {
	MS_TREND_SHORT,   /* not enough samples or time to say anything */
	MS_TREND_STEADY,  /* none of the following */
	MS_TREND_STEP,    /* the floor rose, most of it at once */
	MS_TREND_FILLING, /* it rose ever more slowly, or stopped rising */
	MS_TREND_FALLING,
	MS_TREND_GROWING,
	MS_TREND_DOUBLING, /* it rises in jumps, each about twice the one before, as a vector does */
};

/* Below these nothing is said. */
#define MS_TREND_SECONDS 10.0
#define MS_TREND_SAMPLES 16u
/* The first part of a series is warm-up, and not looked at. */
#define MS_TREND_WARM_UP 0.1

struct ms_trend_sample {
	double time;  /* seconds, growing */
	double value; /* bytes */
};

struct ms_trend {
	enum ms_trend_kind kind;
	double from, to;         /* seconds: what was looked at, without the warm-up */
	double rise;             /* bytes that the floor rose */
	double slope, low, high; /* bytes a second; 0 when too short */
	double p;          /* of Mann-Kendall, two-sided: how likely so much trend is by chance */
	double confidence; /* 0 to 1 that a growing series goes on like this; else 0 */
	double teardown;   /* seconds: freeing at exit begins, later samples were not looked at;
			      0 = all were */
};

/* `n` samples in order of time. */
struct ms_trend ms_trend_of(const struct ms_trend_sample *v, size_t n);

/* A span of time, next to others, and what was held in it. */
struct ms_trend_span {
	double from, to;           /* seconds */
	double least, most, last;  /* bytes; the state with which it began is among them */
	double allocations, frees; /* 0 and 0 = not known */
};

/* Returns where a process that has ended began to free what it held; 0 = it did not, or that cannot
 * be told from its usual ups and downs. `n` spans, the last one with its end. The heap then only
 * falls, in at most the last tenth of the time, by half as much again as it ever fell before, and
 * by more frees than allocations. */
double ms_trend_teardown(const struct ms_trend_span *v, size_t n);
/* Returns where the process began to free as ms_trend_teardown does, but of samples, of which
 * nobody knows what lay between; `room` is for as many spans. */
double ms_trend_teardown_of(const struct ms_trend_sample *v, size_t n, struct ms_trend_span *room);
/* Returns the trend of the samples up to there; teardown 0: of all. */
struct ms_trend ms_trend_until(const struct ms_trend_sample *v, size_t n, double teardown);
/* Returns "growing", "steady", ...: the words of the snapshot. */
const char *ms_trend_word(enum ms_trend_kind kind);
/* Says for people, in every view, that a series is doubling. */
#define MS_TREND_DOUBLINGS "grows in doublings"
