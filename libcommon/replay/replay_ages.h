/* SPDX-License-Identifier: MIT
 * How old the live blocks are: found from the blocks when a moment is taken, not event by event.
 */
#ifndef MS_REPLAY_AGES_H
#define MS_REPLAY_AGES_H

#include <stdint.h>

struct ms_replay;
struct ms_replay_moment;

/* With more moments than this nobody looks: it would cost a pass over the live blocks for each. */
#define MS_AGES_MOMENTS 64u

/* Fills in oldest_tick of the figures of `m`, which is being taken. They stay MS_NEVER in a sampled
 * recording, whose oldest block need not have been recorded. */
void ms_ages_moment(const struct ms_replay *r, struct ms_replay_moment *m);
/* The events are over: sets r->oldest to the tick of each site's oldest live block, MS_NEVER where
 * none is. It stays NULL in a sampled recording. */
void ms_ages_finish(struct ms_replay *r);

#endif
