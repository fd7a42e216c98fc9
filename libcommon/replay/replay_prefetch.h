/* SPDX-License-Identifier: MIT
 * Prefetches what the next events will read.
 *
 * An event reads memory that is spread over all live blocks, sites and cells, and each address is
 * in the memory that the one before refers to:
 *
 *    free:        place in the table of blocks -> slot -> cell -> site
 *    allocation:  site of the node -> site -> place in the table of cells -> cell
 *
 * With hundreds of thousands of blocks or cells most of these reads miss the cache, and a processor
 * that waits for them one by one spends most of the replay so. Therefore each is prefetched in a
 * step of its own, some events after the step before, which prefetched what it reads. Steps change
 * nothing; what they find may be outdated when the event is applied.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "replay.h"

/* Tells whether the steps are worth it: there are more old blocks, or cells, than fit the cache. */
static inline bool ms_prefetch_pays(const struct ms_replay *r)
{
	return r->cell_count > 2048 || r->blocks.old_count > 1024;
}

/* Makes the steps that are due when the first of `n` events is applied. */
void ms_prefetch_due(const struct ms_replay *r, const struct ms_event *ev, size_t n);
/* Makes the steps that would have been due before the first of `n` events. */
void ms_prefetch_begin(const struct ms_replay *r, const struct ms_event *ev, size_t n);
