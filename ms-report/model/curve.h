/* SPDX-License-Identifier: MIT
 * Live heap and RSS over time, resampled to a number of columns.
 */
#pragma once

#include "libcommon/model/model.h"

/* A span of the run, [from, to), all processes together. */
struct span {
	uint64_t from_ns, to_ns;
	uint64_t live_min, live_max, live_last,
		blocks_last; /* a process without a point in the span counts with its last one */
	uint64_t
		rss; /* largest sample; the one before if there is none; UNKNOWN before the first */
	uint64_t allocations, frees, allocated_bytes; /* in the span */
	uint64_t live_limits[2];                      /* of live_last, an estimate */
	uint64_t mapped;                              /* at its end; UNKNOWN = not recorded */
	bool estimated;                               /* live_limits is set */
};

/* Cuts the run into `n` spans of equal length (fewer when it is shorter than n points), in the
 * model's arena; returns how many. 0 = no timeline. */
size_t curve_make(struct model *m, size_t n, struct span **out);
