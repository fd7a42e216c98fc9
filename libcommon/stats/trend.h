/* SPDX-License-Identifier: MIT
 * Room stats: statistics.
 *   In:  series of times and bytes; weights of samples (estimate.h).
 *   Out: a verdict, a rate and its interval; eight bars in a line of text (sparkline.h).
 *   Used by: replay, snapshot and api; ms-record --poll, ms-report, ms-top.
 *
 * Tells whether a series of amounts of memory grows like a leak. One method for a site of a trace,
 * for a whole heap and for figures of /proc.
 *
 * Only memory that is never freed again counts: at each moment, the least amount held then or later
 * (the floor). A sawtooth, a burst, an arena that is trimmed leave the floor flat; a step raises it
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
 * From 64 samples on, a leak is detected if its rise is 12 times the standard deviation of the
 * noise. A leak hidden by noise is missed; noise is not reported as a leak.
 *
 * Limits: a single tooth, or a cache that is far from full, looks like a leak until it ends. The
 * confidence describes the data, not the program.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum ms_trend_kind {
	MS_TREND_SHORT,   /* too few samples, or too short a time, to judge */
	MS_TREND_STEADY,  /* none of the following */
	MS_TREND_STEP,    /* the floor rose, mostly in a single step */
	MS_TREND_FILLING, /* the floor rose ever more slowly, or stopped rising */
	MS_TREND_FALLING,
	MS_TREND_GROWING,
	MS_TREND_DOUBLING, /* the floor rises in jumps, each about twice the one before, as a
			      vector's capacity does */
};

/* Minimum time and number of samples; with less the kind is MS_TREND_SHORT. */
#define MS_TREND_SECONDS 10.0
#define MS_TREND_SAMPLES 16u
/* Fraction of a series at its start that is ignored as warm-up. */
#define MS_TREND_WARM_UP 0.1

struct ms_trend_sample {
	double time;  /* seconds, ascending */
	double value; /* bytes */
};

struct ms_trend {
	enum ms_trend_kind kind;
	double from, to;         /* seconds: the range examined, without the warm-up */
	double rise;             /* rise of the floor in bytes */
	double slope, low, high; /* bytes per second; 0 if too short */
	double p;          /* two-sided p of Mann-Kendall: probability of such a trend by chance */
	double confidence; /* 0 to 1: confidence that the growth will continue; 0 for other kinds */
	double teardown;   /* seconds: start of freeing at exit, where analysis ends; 0 = none */
};

/* Returns the trend of `n` samples in order of time. */
struct ms_trend ms_trend_of(const struct ms_trend_sample *v, size_t n);

/* Describes the memory held in one of a series of adjacent spans of time. */
struct ms_trend_span {
	double from, to;           /* seconds */
	double least, most, last;  /* bytes, including the state at the start of the span */
	double allocations, frees; /* numbers in the span; both 0 = not known */
};

/* Returns the time at which a process that has ended began to free its memory; 0 = there was no
 * teardown, or the usual fluctuation hides it. The last of the `n` spans contains the process's
 * end. In a teardown, which takes at most the last tenth of the time, the heap only falls, by at
 * least 1.5 times any earlier fall, with more frees than allocations. */
double ms_trend_teardown(const struct ms_trend_span *v, size_t n);
/* Returns the start of freeing as ms_trend_teardown does, but from samples, between which nothing
 * is known. `room` has space for `n` spans. */
double ms_trend_teardown_of(const struct ms_trend_sample *v, size_t n, struct ms_trend_span *room);
/* Returns the trend of the samples up to `teardown` (seconds); 0 = of all samples. */
struct ms_trend ms_trend_until(const struct ms_trend_sample *v, size_t n, double teardown);
/* Returns the word that snapshots use: "growing", "steady", ... */
const char *ms_trend_word(enum ms_trend_kind kind);
/* Phrase that all reports use for a doubling series. */
#define MS_TREND_DOUBLINGS "grows in doublings"
