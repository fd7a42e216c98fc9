/* SPDX-License-Identifier: MIT
 * Live heap and RSS over time, resampled to a number of columns.
 */
#pragma once

#include "libcommon/model/model.h"

/* Describes a span of the run, [from_ns, to_ns): the sum over all processes. */
struct span {
	uint64_t from_ns, to_ns;
	uint64_t live_min, live_max, live_last,
		blocks_last; /* number of blocks; a process without a point in this span counts with
				its last point before the span */
	uint64_t
		rss; /* largest RSS sample in the span; if there is none, the last sample before it;
			UNKNOWN = no sample yet */
	uint64_t allocations, frees, allocated_bytes; /* in the span */
	uint64_t live_limits[2];                      /* lower, upper limit of live_last */
	uint64_t mapped;                              /* bytes at the end of the span; UNKNOWN =
							 not recorded */
	bool estimated;                               /* live_limits is set */
};

/* Divides the run into `n` spans of equal length, in the model's arena; returns `n`. 0 = there is
 * no timeline. */
size_t curve_make(struct model *m, size_t n, struct span **out);
