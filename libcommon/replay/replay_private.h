/* SPDX-License-Identifier: MIT
 * What the files of the live-heap model share among themselves.
 */
#pragma once

#include "replay.h"

/* More than Linux has; a hostile trace cannot ask for more memory than this. */
#define MS_REPLAY_THREADS_MAX (UINT32_C(1) << 22)

/* Before a counter of that level changes; `epoch`: of the latest peak. */
static inline void ms_replay_touch(struct ms_level *l, uint64_t epoch)
{
	if (l->epoch != epoch) {
		l->epoch = epoch;
		l->at_peak_bytes = l->bytes;
		l->at_peak_blocks = l->blocks;
	}
}

/* A site at which nothing was allocated yet. */
static inline struct ms_replay_site ms_replay_idle_site(uint32_t node)
{
	return (struct ms_replay_site){.node = node,
				       .min_size = UINT64_MAX,
				       .first_tick = MS_NEVER,
				       .cell_key = UINT32_MAX};
}

/* The site of a stack node, made if needed, which may move r->sites. A node that nobody told of
 * stands for no stack. */
uint32_t ms_replay_site_of(struct ms_replay *r, uint32_t stack);
/* Something was allocated there at `tick`. */
static inline void ms_replay_seen_at(struct ms_replay_site *s, uint64_t tick)
{
	if (__builtin_expect(s->first_tick == MS_NEVER, 0))
		s->first_tick = tick;
	s->last_tick = tick;
}

/* Room for that many threads at least. */
void ms_replay_more_threads(struct ms_replay *r, size_t count);
/* Makes the span that holds `tick` the current one. A jump of any length costs at most a pass or
 * two over the spans. */
void ms_replay_move_timeline(struct ms_replay *r, uint64_t tick);
/* Does everything that is due before the event at `tick`, now that an alarm has gone off; sets the
 * next alarm. */
void ms_replay_alarm(struct ms_replay *r, uint64_t tick);
/* Takes what is left of the moments, and closes the timeline; the recording ends at `tick`. */
void ms_replay_end_alarms(struct ms_replay *r, uint64_t tick);
/* Returns for each site the tick of its oldest live block, MS_NEVER where none is, to be freed:
 * found from the blocks, not event by event. NULL for a sampled recording, whose oldest block need
 * not have been recorded. */
uint64_t *ms_replay_oldest(const struct ms_replay *r);
/* Returns for each site what is live and came after the scan at the end, to be freed; NULL =
 * nothing did. */
struct ms_replay_late *ms_replay_late(const struct ms_replay *r);
/* Begins counting at `tick`, with what is live now. */
void ms_replay_begin(struct ms_replay *r, uint64_t tick);
