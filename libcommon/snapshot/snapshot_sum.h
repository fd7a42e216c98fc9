/* SPDX-License-Identifier: MIT
 * What all processes of a snapshot hold together, from moment to moment.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MS_SUM_BUCKETS 1024u

/* The part of one process in the sum. Zero = it has not begun. */
struct ms_sum_share {
	uint64_t live;    /* bytes, now */
	uint64_t at_peak; /* bytes, at the peak of the sum; valid after ms_sum_settle */
	uint64_t peaks;   /* peaks of the sum that at_peak knows of */
	bool in;
};

/* Zero = nothing yet. Times are ns on the clock of all processes; they never go back. */
struct ms_sum {
	uint64_t live, peak, peak_ns; /* peak: the first moment at which it was largest */
	uint64_t peaks;               /* how often it rose above all before */
	uint64_t processes;           /* at the moment */
	uint64_t width_ns;            /* of a bucket */
	size_t buckets;
	struct {
		uint64_t most, last, processes, processes_last;
		bool used;
	} bucket[MS_SUM_BUCKETS];
};

/* The last moment of the bucket in which `now_ns` lies: what is told with one ms_sum_change must
 * lie in one bucket. */
uint64_t ms_sum_until(struct ms_sum *s, uint64_t now_ns);
/* From `now_ns` on, until the end of its bucket at most, a process went from what it held to
 * `live`, and held `most` at `most_ns` in between. The first call is its beginning. */
void ms_sum_change(struct ms_sum *s, struct ms_sum_share *p, uint64_t now_ns, uint64_t live,
		   uint64_t most, uint64_t most_ns);
/* Its end: what it holds leaves the sum. */
void ms_sum_leave(struct ms_sum *s, struct ms_sum_share *p, uint64_t now_ns);
/* All have left: p->at_peak is right from now on, and those of all processes make up s->peak. */
void ms_sum_settle(const struct ms_sum *s, struct ms_sum_share *p);
