/* SPDX-License-Identifier: MIT
 * Live bytes of each site over time, and which sites grow.
 *
 * All sites are looked at in equal steps of time, never per event: 64 to 128 samples whatever the
 * length of the recording, since at 128 every other one goes and the step is doubled. A site
 * without a sample above 0 has no row. Memory: 512 bytes for each site that has one, none in the
 * first second.
 */
#pragma once

#include "replay.h"
#include "libcommon/stats/trend.h"

#define MS_GROWTH_SAMPLES 128u

/* Holds the trend that was found for a site's series, or that of the whole heap. */
struct ms_grown {
	uint32_t site; /* UINT32_MAX: the whole heap */
	struct ms_trend trend;
	/* The site's blocks that grew older than survival_ns (one of ms_age_ns, which half of the
	 * live ones are): those still live and those freed later; 0 and 0 where that says
	 * nothing. */
	uint64_t survival_ns, survivors, victims;
};

struct ms_growth {
	double tick_seconds;
	double teardown; /* seconds, or 0: see trend.h; found by ms_growth_end */
	bool exits;      /* the end of the recording is that of its process: set before that */
	uint64_t first, every, next; /* ticks: of the first sample, between two, of the next */
	size_t count;
	float total[MS_GROWTH_SAMPLES];
	float **rows; /* by site: MS_GROWTH_SAMPLES values, or NULL */
	size_t row_count;
	struct ms_grown *grown; /* after ms_growth_finish: the whole heap first, then sites whose
				   trend is a step, filling, doubling or growing, by number */
	size_t grown_count, grown_cap;
};

/* Starts before the first event: a tick is so long. */
void ms_growth_start(struct ms_replay *r, uint64_t tick_ns);
/* Forgets the samples: counting begins at `tick`. */
void ms_growth_begin(struct ms_replay *r, uint64_t tick);
/* Takes the samples that lie before an event at `tick`. Returns the tick of the next one. */
uint64_t ms_growth_due(struct ms_replay *r, uint64_t tick);
/* The samples so far of a site, or of the whole heap (UINT32_MAX), g->count of them; NULL: the site
 * never had a block when they were taken. And their trend: most sites have a new one only when
 * g->count or g->every has changed. Not after ms_growth_finish. */
const float *ms_growth_samples(const struct ms_growth *g, uint32_t site);
struct ms_trend ms_growth_trend(const struct ms_growth *g, uint32_t site);
/* Ends the recording at `tick`: trends are judged up to where teardown begins. */
void ms_growth_end(struct ms_replay *r, uint64_t tick);
/* Ends the recording as ms_growth_end does, and keeps the trends that were found instead of the
 * samples. Live blocks are still there. */
void ms_growth_finish(struct ms_replay *r, uint64_t tick);
void ms_growth_free(struct ms_growth *g);
