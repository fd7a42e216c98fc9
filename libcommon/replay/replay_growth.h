/* SPDX-License-Identifier: MIT
 * Live bytes of each site over time, and which sites grow.
 *
 * All sites are sampled at equal intervals of time, not per event. There are 64 to 128 samples,
 * however long the recording is: at 128 every other one is dropped and the interval doubled. A site
 * without a sample above 0 has no row. A sample looks only at sites that had events since the last
 * one, and a row has only the samples that differ from those before them.
 */
#pragma once

#include "replay.h"
#include "libcommon/stats/trend.h"

#define MS_GROWTH_SAMPLES 128u

/* Holds the trend of a site's series, or of the whole heap's. */
struct ms_grown {
	uint32_t site; /* UINT32_MAX: the whole heap */
	struct ms_trend trend;
	/* Numbers of the site's blocks that were live longer than survival_ns: survivors are still
	 * live, victims were freed. survival_ns is the highest of ms_age_ns that half of the live
	 * blocks have reached. 0 and 0 = not conclusive. */
	uint64_t survival_ns, survivors, victims;
};

/* Holds the samples of a site. */
struct ms_growth_row {
	uint8_t n, room; /* number of changes, and room for them */
	struct ms_growth_change {
		float value;
		uint8_t at; /* number of the first sample with this value */
	} v[];
};

struct ms_growth {
	double tick_seconds;
	double teardown;             /* seconds, 0 = none: see trend.h; set by ms_growth_end */
	bool exits;                  /* the process ends at the end of the recording; set before
			    ms_growth_end */
	uint64_t first, every, next; /* ticks: time of the first sample, interval, time of the next
					sample */
	size_t count;
	float total[MS_GROWTH_SAMPLES];
	struct ms_growth_row **rows; /* indexed by site; NULL = no samples above 0 */
	size_t row_count;
	struct ms_grown *grown; /* trends found by ms_growth_finish: the whole heap, then sites
				   whose trend is a step, filling, doubling or growing, by number */
	size_t grown_count, grown_cap;
};

/* Starts sampling, with that length of a tick. Call before the first event. */
void ms_growth_start(struct ms_replay *r, uint64_t tick_ns);
/* Drops the samples, as counting begins at `tick`. */
void ms_growth_begin(struct ms_replay *r, uint64_t tick);
/* Takes the samples due before an event at `tick`. Returns the tick of the next sample. */
uint64_t ms_growth_due(struct ms_replay *r, uint64_t tick);
/* Returns g->count samples of a site, in `room`, or of the whole heap (UINT32_MAX); NULL = no blocks
 * at any sample. ms_growth_trend returns the trend of these samples. Most trends change only with g->count
 * or g->every. Not after ms_growth_finish. */
const float *ms_growth_samples(const struct ms_growth *g, uint32_t site,
			       float room[MS_GROWTH_SAMPLES]);
struct ms_trend ms_growth_trend(const struct ms_growth *g, uint32_t site);
/* Ends sampling at `tick`, and finds the start of teardown, up to which trends are judged. */
void ms_growth_end(struct ms_replay *r, uint64_t tick);
/* Ends sampling as ms_growth_end does, then replaces the samples by the trends found. Call while
 * the live blocks still exist. */
void ms_growth_finish(struct ms_replay *r, uint64_t tick);
void ms_growth_free(struct ms_growth *g);
