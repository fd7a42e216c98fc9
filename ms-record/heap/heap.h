/* SPDX-License-Identifier: MIT
 * Room heap: merges all rings into one order, and keeps the live blocks.
 *   In:  a session; items of its rings, from room drain, which has them merged (merge.h).
 *   Out: events into batches of the session; live blocks (live.h), heaps, inherited blocks.
 *   Used by: drain and scan; attach and control for blocks from before (preexisting.h).
 *
 * Holds the heap state of a session.
 */
#pragma once

#include <stdbool.h>

#include "libcommon/base/ranges.h"
#include "ignored.h"
#include "live.h"

struct heap {
	struct live_table live;
	struct heaps *heaps;             /* NULL until a custom heap is seen */
	struct ms_ranges mapped;         /* mapped ranges with their stacks */
	struct preexisting *preexisting; /* NULL unless attached to a running process */
	/* blocks for forked children; NULL after the session's end */
	struct inherited_heap *inherited_heap;
	bool logging; /* changes are logged in inherited_heap */
	struct ignored ignored;
};
