/* SPDX-License-Identifier: MIT
 * Estimates figures from the samples of a recording while it is recorded.
 */
#include "sampled.h"

#include <stdio.h>

#include "libcommon/stats/estimate.h"
#include "libcommon/base/units.h"
#include "ms-record/base/stats.h"

void sampled_made(struct stats *t, uint64_t mean, uint64_t number, uint64_t size_bytes)
{
	struct ms_spread x = ms_spread_of_bytes(size_bytes, mean);
	uint64_t bytes = ms_sample_bytes(size_bytes, mean);
	t->allocated_bytes += bytes;
	t->live_bytes += bytes;
	t->live_blocks += ms_sample_blocks(size_bytes, mean, number);
	t->seen_bytes += size_bytes;
	t->variance += x.variance;
}

void sampled_freed(struct stats *t, uint64_t mean, uint64_t number, uint64_t size_bytes)
{
	struct ms_spread x = ms_spread_of_bytes(size_bytes, mean);
	t->live_bytes -= ms_sample_bytes(size_bytes, mean);
	t->live_blocks -= ms_sample_blocks(size_bytes, mean, number);
	t->seen_bytes -= size_bytes;
	t->variance = t->live_bytes ? t->variance - x.variance : 0;
}

void sampled_peak(struct stats *t)
{
	t->peak_seen_bytes = t->seen_bytes;
	t->peak_variance = t->variance;
}

const char *sampled_words(char room[128], const struct stats *t, uint64_t mean, int peak)
{
	char v[MS_UNIT_BUF], a[MS_UNIT_BUF], b[MS_UNIT_BUF];
	uint64_t value = peak ? t->peak_bytes : t->live_bytes, low, high;
	struct ms_spread x = ms_spread_of_bytes(0, mean);
	x.seen = (double)(peak ? t->peak_seen_bytes : t->seen_bytes);
	x.variance = peak ? t->peak_variance : t->variance;
	ms_interval_whole(value, &x, &low, &high);
	snprintf(room, 128, "%s (%s to %s)", ms_format_size(v, value), ms_format_size(a, low),
		 ms_format_size(b, high));
	return room;
}
