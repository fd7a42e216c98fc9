/* SPDX-License-Identifier: MIT
 * Declarations shared by the files of the live-heap model only.
 */
#pragma once

#include "replay.h"

/* Limit on threads: more than Linux permits, so that a hostile trace cannot make us allocate
 * more. */
#define MS_REPLAY_THREADS_MAX (UINT32_C(1) << 22)

/* Saves a level's value at the latest peak (number `epoch`). Call before the level changes. */
static inline void ms_replay_touch(struct ms_level *l, uint64_t epoch)
{
	if (l->epoch != epoch) {
		l->epoch = epoch;
		l->at_peak_bytes = l->bytes;
		l->at_peak_blocks = l->blocks;
	}
}

/* Returns a site without allocations. */
static inline struct ms_replay_site ms_replay_idle_site(uint32_t node)
{
	return (struct ms_replay_site){.node = node,
				       .min_size = UINT64_MAX,
				       .first_tick = MS_NEVER,
				       .cell_key = UINT32_MAX};
}

/* Returns the site of a stack node, created if needed (this may move r->sites). An unknown node
 * counts as no stack. */
uint32_t ms_replay_site_of(struct ms_replay *r, uint32_t stack);
/* Notes that a thread allocated at the site of a brief replay. */
static inline void ms_replay_note_thread(struct ms_replay_site *s, uint32_t thread)
{
	if (__builtin_expect(s->cell_key != thread, 0))
		s->cell_key = s->cell_key == UINT32_MAX ? thread : MS_SEVERAL_THREADS;
}
/* Updates the site's first and last time for an allocation at `tick`. */
static inline void ms_replay_seen_at(struct ms_replay_site *s, uint64_t tick)
{
	if (__builtin_expect(s->first_tick == MS_NEVER, 0))
		s->first_tick = tick;
	s->last_tick = tick;
}

/* Makes room for at least `count` threads. */
void ms_replay_more_threads(struct ms_replay *r, size_t count);
/* Makes the span that contains `tick` the current one. A jump of any length takes at most two
 * passes over the spans. */
void ms_replay_move_timeline(struct ms_replay *r, uint64_t tick);
/* Handles an alarm: does everything that is due before the event at `tick`, and sets the next
 * alarm. */
void ms_replay_alarm(struct ms_replay *r, uint64_t tick);
/* Saves the remaining moments and closes the timeline of a recording that ends at `tick`. */
void ms_replay_end_alarms(struct ms_replay *r, uint64_t tick);
/* Returns, for each site, the tick of its oldest live block, MS_NEVER = it has none. Makes a pass
 * over the blocks; the caller frees the array. NULL for a sampled recording, in which the oldest
 * block may not have been recorded. */
uint64_t *ms_replay_oldest(const struct ms_replay *r);
/* Returns, for each site, its live blocks allocated after the scan at the end; the caller frees the
 * array. Returns NULL if there are none. */
struct ms_replay_late *ms_replay_late(const struct ms_replay *r);
/* Notes for a brief replay the threads of live blocks that a checkpoint restored. */
void ms_replay_note_restored(struct ms_replay *r);
/* Begins counting at `tick`, with the present live blocks. */
void ms_replay_begin(struct ms_replay *r, uint64_t tick);
