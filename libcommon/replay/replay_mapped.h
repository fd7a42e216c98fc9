/* SPDX-License-Identifier: MIT
 * What is recorded beside the heap: mapped address space (--mmap), usable sizes (--with=usable-size),
 * where blocks were freed (--with=free-stacks), and what heaps of the program's own cut their blocks from.
 *
 * Nothing here changes a figure of the heap; a replay without any of it has no struct ms_beside,
 * and its only cost is a comparison with NULL.
 *
 * Slack is a block's usable size minus its size. It is stored by block number, for blocks that have
 * any, in a table like that of the live blocks. Mapped ranges are stored by address, each with the
 * site that mapped it. An mremap is an UNMAP and a MAP. As with realloc, its bytes must move from
 * one site to the other in one step, so the bytes that the UNMAP removes remain counted, `held`,
 * until the MAP.
 */
#pragma once

#include "libcommon/base/arena.h"
#include "libcommon/base/ranges.h"
#include "replay.h"

struct ms_beside_site {
	struct ms_level slack, mapped; /* bytes only: the blocks of these levels are unused */
	uint64_t maps, mapped_bytes;   /* maps: number of mapping calls; mapped_bytes: bytes of all
					  these calls */
};

/* Holds the bytes that the UNMAP event of an mremap removed from `site`, until the MAP event
 * follows. */
struct ms_beside_held {
	uint32_t thread, site;
	uint64_t bytes;
};

/* Counts blocks of `site` freed by the stack with the innermost node `stack` (0 = none). */
struct ms_beside_free {
	uint32_t site, stack;
	uint64_t frees, bytes;
};

struct ms_beside {
	bool mapped, usable, free_stacks; /* flags: mapped memory, usable sizes and stacks of frees
					     were recorded */
	bool asked_usable;                /* usable sizes were requested */

	struct ms_beside_site *sites;
	size_t site_count;

	struct ms_blocks slacks; /* live blocks with their slacks as sizes; initialised if `window`
				    is set */
	uint64_t slack_bytes, peak_slack_bytes;

	struct ms_ranges ranges; /* mapped ranges; the owner of a range is its site */
	MS_ARRAY(struct ms_beside_held) held;
	uint64_t maps, unmaps, taken_bytes; /* maps, unmaps: numbers of calls; taken_bytes: bytes of
					       all mapping calls */
	uint64_t mapped_bytes;              /* current bytes */
	uint64_t most_bytes, most_tick;     /* maximum of mapped_bytes, and its time */
	uint64_t peak_mapped_bytes;         /* mapped_bytes at the peak of the heap */

	MS_ARRAY(struct ms_beside_free) frees;
	struct ms_lookup free_index; /* finds `frees` by site and stack */
};

/* Starts tracking mapped memory, usable sizes and stacks of frees, whichever the MS_OPTION_* bits
 * in `options` show as recorded. Call before the first event. */
void ms_beside_start(struct ms_replay *r, uint64_t options);
void ms_beside_free(struct ms_beside *b);

/* Called by the replay if r->beside is set: ms_beside_added after a block with that `slack` (as in
 * struct ms_event) was added to `site`, ms_beside_removed after a block of `size` bytes was
 * removed, ms_beside_peak at a new peak of the heap, ms_beside_moment to save a moment,
 * ms_beside_finish at the end of the recording. */
void ms_beside_added(struct ms_replay *r, uint64_t number, uint32_t slack, uint32_t site);
void ms_beside_removed(struct ms_replay *r, const struct ms_event *ev, uint32_t site,
		       uint64_t size);
void ms_beside_peak(struct ms_replay *r);
void ms_beside_moment(const struct ms_beside *b, struct ms_beside_moment *m);
void ms_beside_finish(struct ms_replay *r);
/* Resets everything before a checkpoint is read; the caller then passes its blocks to
 * ms_beside_added and its ranges to ms_beside_restore_range. */
void ms_beside_restore(struct ms_replay *r);
void ms_beside_restore_range(struct ms_replay *r, const struct ms_checkpoint_range *range);
/* Resets counts, but not live figures. */
void ms_beside_begin(struct ms_replay *r, uint64_t tick);
/* Applies an event of kind MS_EXT_MAP or MS_EXT_UNMAP. */
void ms_beside_mapped(struct ms_replay *r, const struct ms_event *ev);

/* Returns a site's present figures; zero if it has none. */
const struct ms_beside_site *ms_beside_site(const struct ms_beside *b, uint32_t site);

/* ---- backing: the memory that custom heaps cut their blocks from ---- */

/* Counts the malloc blocks that one custom heap is cut from. */
struct ms_backing {
	uint32_t node; /* stack node that stands for the heap, 0 = not known */
	uint64_t bytes, blocks, most_bytes;
	uint64_t taken; /* number of blocks ever taken */
};

/* Applies an event of kind MS_EXT_BACKING or MS_EXT_UNBACKING. */
void ms_backing_event(struct ms_replay *r, const struct ms_event *ev);
