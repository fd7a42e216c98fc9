/* SPDX-License-Identifier: MIT
 * Room heap: all rings in one order, and what is live.
 *   In:  a session; items of its rings, from room drain, which has them merged (merge.h).
 *   Out: events into batches of the session; live blocks (live.h), heaps, what children inherit.
 *   Used by: drain and scan; attach and control for blocks from before (preexisting.h).
 *
 * What the room keeps of a session.
 */
#pragma once

#include <stdbool.h>

#include "libcommon/base/ranges.h"
#include "ignored.h"
#include "live.h"

struct heap {
	struct live_table live;
	struct heaps *heaps;                   /* NULL until there is one */
	struct ms_ranges mapped;               /* by stack */
	struct preexisting *preexisting;       /* attached in mid-run; else NULL */
	struct inherited_heap *inherited_heap; /* for children; NULL once it is over */
	bool logging;                          /* changes are kept for it */
	struct ignored ignored;
};
