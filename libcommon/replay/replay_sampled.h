/* SPDX-License-Identifier: MIT
 * Replay of a sampled recording: scales samples up.
 *
 * The model stores the recorded sizes, but adds up the bytes that each sample represents. So all
 * its figures in bytes are estimates: live bytes, the peak and its moment, the timeline, sums of
 * several processes. Its numbers of blocks and calls are those of the samples. This file adds the
 * rest: the blocks and calls that the samples represent, and the errors of all estimates.
 *
 * Numbers of blocks are integers: a sample represents 1/p blocks, rounded down or up by a hash of
 * its allocation number. So they are unbiased, equal when the block is freed, and add up over sites
 * and threads.
 */
#pragma once

#include "libcommon/stats/estimate.h"
#include "replay.h"

struct ms_sampled_site {
	struct ms_sampled_sum all, freed, live;
	struct ms_sampled_sum at_peak; /* valid while `epoch` is that of the latest peak: see
					  replay.h */
	uint64_t epoch;
	uint64_t smallest; /* size of the smallest recorded block */
};

struct ms_sampled_thread {
	struct ms_sampled_sum all, freed;
	struct ms_sampled_sum live; /* live samples; valid after ms_replay_finish */
	uint64_t smallest;
};

/* Holds one thread's sums at one site; element i belongs to ms_replay.records[i]. */
struct ms_sampled_record {
	uint64_t allocations, live_blocks;
};

struct ms_sampled {
	uint64_t mean; /* mean bytes between sample points */
	struct ms_sampled_site total;
	uint64_t inferred_frees;       /* number of blocks with an inferred free, which count
					  neither as freed nor as live */
	struct ms_sampled_site *sites; /* sums of sites, by index in ms_replay.sites; may be
					  shorter */
	size_t site_count, site_cap;
	struct ms_sampled_thread *threads;
	size_t thread_count;
	uint64_t *allocations; /* number of allocations in each cell (replay_cells.h) */
	size_t cell_count;
	struct ms_sampled_record *records; /* set by ms_replay_finish */
	size_t record_count;
	uint64_t peak_epoch;
};

/* Makes `r` the replay of a recording with one sample point in `mean_bytes`. Call before the first
 * event. */
void ms_sampled_start(struct ms_replay *r, uint64_t mean_bytes);
void ms_sampled_free(struct ms_sampled *s);

/* Called by the replay before it updates the peak, when a block was added to a cell, or removed
 * from one. Sizes are as recorded. */
void ms_sampled_added(struct ms_replay *r, const struct ms_event *ev, uint32_t cell);
void ms_sampled_removed(struct ms_replay *r, const struct ms_event *ev,
			const struct ms_live_block *b);
/* Saves the sums at a moment of the recording. */
void ms_sampled_moment(const struct ms_sampled *s, struct ms_sampled_moment *m);
/* Returns the bytes that a recorded block of that size represents; in a recording that is not
 * sampled, its size. */
static inline uint64_t ms_sampled_size(const struct ms_sampled *s, uint64_t size)
{
	return s ? ms_sample_bytes(size, s->mean) : size;
}
/* Returns the live blocks of a site; in a sampled recording an estimate. */
static inline uint64_t ms_replay_live_blocks(const struct ms_replay *r, size_t site)
{
	const struct ms_sampled *s = r->sampled;
	return !s                     ? r->sites[site].live.blocks
	       : site < s->site_count ? s->sites[site].live.blocks
				      : 0;
}
/* Resets the live sums before a checkpoint is read, whose blocks are then passed to ms_sampled_put.
 * Counts and the peak are kept. */
void ms_sampled_restore(struct ms_replay *r);
void ms_sampled_put(void *r, uint64_t number, const struct ms_live_block *b);
/* Begins counting anew with the live blocks; call before the replay sets the peak. */
void ms_sampled_begin(struct ms_replay *r);
void ms_sampled_finish(struct ms_replay *r);

/* Returns the sum of a site at the peak; with site_count as `site`, that of the whole heap. */
struct ms_sampled_sum ms_sampled_at_peak(const struct ms_sampled *s, size_t site);
/* Return the spread of the bytes, and of the number of blocks, of some samples. `smallest`: size of
 * the smallest block that may have been missed. */
struct ms_spread ms_sampled_bytes(const struct ms_sampled *s, const struct ms_sampled_sum *sum);
struct ms_spread ms_sampled_blocks(const struct ms_sampled *s, const struct ms_sampled_sum *sum,
				   uint64_t smallest);
