/* SPDX-License-Identifier: MIT
 * What is recorded beside the heap: mapped address space (--mmap), usable sizes (--with=usable-size),
 * where blocks were freed (--with=free-stacks), and what heaps of the program's own cut their blocks from.
 *
 * Nothing here changes a figure of the heap; a replay without any of it has no struct ms_beside and
 * pays a comparison with NULL.
 *
 * Slack is a block's usable size minus its size. It is kept by block number in a table like that of
 * the live blocks, of those alone that have some. Mapped ranges are kept by address, each with the
 * site that took it. An mremap is a UNMAP and a MAP: as with realloc its range changes hands twice
 * and its bytes once, so what the first takes away stays counted, `held`, until the second.
 */
#pragma once

#include "libcommon/base/arena.h"
#include "libcommon/base/ranges.h"
#include "replay.h"

struct ms_beside_site {
	struct ms_level slack, mapped; /* blocks of them mean nothing */
	uint64_t maps, mapped_bytes;   /* calls, and bytes in all */
};

/* Holds bytes that the UNMAP of an mremap took away from `site`, until its MAP. */
struct ms_beside_held {
	uint32_t thread, site;
	uint64_t bytes;
};

/* Blocks of `site` that were freed by the stack with the innermost node `stack` (0 = none). */
struct ms_beside_free {
	uint32_t site, stack;
	uint64_t frees, bytes;
};

struct ms_beside {
	bool mapped, usable, free_stacks; /* what was recorded */
	bool asked_usable;                /* usable sizes should be there */

	struct ms_beside_site *sites;
	size_t site_count;

	struct ms_blocks slacks; /* size: slack; set up when it has a window */
	uint64_t slack_bytes, peak_slack_bytes;

	struct ms_ranges ranges; /* owner: site */
	MS_ARRAY(struct ms_beside_held) held;
	uint64_t maps, unmaps, taken_bytes; /* calls, and bytes in all */
	uint64_t mapped_bytes;              /* now */
	uint64_t most_bytes, most_tick;     /* the peak of mapped */
	uint64_t peak_mapped_bytes;         /* at the peak of the heap */

	MS_ARRAY(struct ms_beside_free) frees;
	struct ms_lookup free_index; /* by site and stack */
};

/* The recording holds what `options` (MS_OPTION_*) says. Call before the first event. */
void ms_beside_start(struct ms_replay *r, uint64_t options);
void ms_beside_free(struct ms_beside *b);

/* Called by the replay, when r->beside is there: a block with that `slack` (as in struct ms_event)
 * was added to `site`; one of `size` bytes was taken out of it; the heap has a new peak; a moment is
 * taken; the recording ends. */
void ms_beside_added(struct ms_replay *r, uint64_t number, uint32_t slack, uint32_t site);
void ms_beside_removed(struct ms_replay *r, const struct ms_event *ev, uint32_t site,
		       uint64_t size);
void ms_beside_peak(struct ms_replay *r);
void ms_beside_moment(const struct ms_beside *b, struct ms_beside_moment *m);
void ms_beside_finish(struct ms_replay *r);
/* Replaces everything by a checkpoint; then come its blocks (ms_beside_added) and ranges. */
void ms_beside_restore(struct ms_replay *r);
void ms_beside_restore_range(struct ms_replay *r, const struct ms_checkpoint_range *range);
/* Forgets counts, but not what is live. */
void ms_beside_begin(struct ms_replay *r, uint64_t tick);
/* Takes an event of kind MS_EXT_MAP or MS_EXT_UNMAP. */
void ms_beside_mapped(struct ms_replay *r, const struct ms_event *ev);

/* Returns a site's figures, now; zero for one that has none. */
const struct ms_beside_site *ms_beside_site(const struct ms_beside *b, uint32_t site);

/* ---- backing: the memory that heaps of the program's own cut their blocks from ---- */

/* Holds the figures of one heap. */
struct ms_backing {
	uint32_t node; /* its marker, 0 = not known */
	uint64_t bytes, blocks, most_bytes;
	uint64_t taken; /* blocks in all */
};

/* MS_EXT_BACKING or MS_EXT_UNBACKING. */
void ms_backing_event(struct ms_replay *r, const struct ms_event *ev);
