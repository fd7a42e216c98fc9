/* SPDX-License-Identifier: MIT
 * The sum of the live bytes of all processes of a snapshot over time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_SUM_BUCKETS 1024u

/* Holds one process's part of the sum. All zero = not begun. */
struct ms_sum_share {
	uint64_t live;    /* live bytes at the current time */
	uint64_t at_peak; /* live bytes at the peak of the sum; valid after ms_sum_settle */
	uint64_t peaks;   /* number of the peak (ms_sum.peaks) that at_peak belongs to */
	bool in;
};

/* Holds the sum. All zero = empty. Times are in ns on the clock of all processes and never
 * decrease. */
struct ms_sum {
	uint64_t live, peak, peak_ns; /* peak_ns: first time of the peak */
	uint64_t peaks;               /* how often the sum exceeded all earlier values */
	uint64_t processes;           /* number of processes at the current time */
	uint64_t width_ns;            /* width of a bucket, ns */
	size_t buckets;
	struct {
		uint64_t most, last, processes, processes_last;
		bool used;
	} bucket[MS_SUM_BUCKETS];
};

/* Returns the last time in the bucket of `now_ns`. A change added by ms_sum_change must not extend
 * beyond this time. */
uint64_t ms_sum_until(struct ms_sum *s, uint64_t now_ns);
/* Adds a change of a process between `now_ns` and, at the latest, the end of the bucket: the
 * process reached `most` live bytes at `most_ns`, and has `live` at the end. The first call begins
 * the process. */
void ms_sum_change(struct ms_sum *s, struct ms_sum_share *p, uint64_t now_ns, uint64_t live,
		   uint64_t most, uint64_t most_ns);
/* Ends a process: subtracts its bytes from the sum. */
void ms_sum_leave(struct ms_sum *s, struct ms_sum_share *p, uint64_t now_ns);
/* Makes p->at_peak valid, once all processes have left; the values of all processes add up to
 * s->peak. */
void ms_sum_settle(const struct ms_sum *s, struct ms_sum_share *p);
