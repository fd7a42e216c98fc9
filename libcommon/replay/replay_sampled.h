/* SPDX-License-Identifier: MIT
 * Replay of a sampled recording: what the events stand for.
 *
 * The model keeps the sizes that were recorded, and counts each as what it stands for, so that
 * everything that it says in bytes is an estimate: live bytes, the peak and its moment, the timeline,
 * sums of several processes. Its numbers of blocks and calls are those of the samples. Here is what
 * that leaves out: how many blocks and calls the samples stand for, and how sure all of it is.
 *
 * Blocks come in whole numbers: one stands for 1/p of them rounded down or up, as a number made
 * from its allocation number says, so that it is right on average, the same when the block is
 * freed, and sums of sites, threads and all add up.
 */
#pragma once

#include "libcommon/stats/estimate.h"
#include "replay.h"

struct ms_sampled_site {
	struct ms_sampled_sum all, freed, live;
	struct ms_sampled_sum at_peak; /* valid while `epoch` is the peak's: see replay.h */
	uint64_t epoch;
	uint64_t smallest; /* size of a block recorded */
};

struct ms_sampled_thread {
	struct ms_sampled_sum all, freed;
	struct ms_sampled_sum live; /* after ms_replay_finish */
	uint64_t smallest;
};

/* Holds one thread's sums at one site, in order of ms_replay.records. */
struct ms_sampled_record {
	uint64_t allocations, live_blocks;
};

struct ms_sampled {
	uint64_t mean; /* bytes for one sample point */
	struct ms_sampled_site total;
	uint64_t inferred_frees;       /* of blocks: neither freed nor live */
	struct ms_sampled_site *sites; /* in order of ms_replay.sites; fewer of them */
	size_t site_count, site_cap;
	struct ms_sampled_thread *threads;
	size_t thread_count;
	uint64_t *allocations; /* by cell */
	size_t cell_count;
	struct ms_sampled_record *records; /* after ms_replay_finish */
	size_t record_count;
	uint64_t peak_epoch;
};

/* Makes `r` the replay of a recording with one sample point in `mean_bytes`. Before the first
 * event.
 */
void ms_sampled_start(struct ms_replay *r, uint64_t mean_bytes);
void ms_sampled_free(struct ms_sampled *s);

/* Called by the model, ahead of a new peak: a block was added to a cell, of the size that was
 * recorded, or taken out of it. */
void ms_sampled_added(struct ms_replay *r, const struct ms_event *ev, uint32_t cell);
void ms_sampled_removed(struct ms_replay *r, const struct ms_event *ev,
			const struct ms_live_block *b);
/* A moment is taken. */
void ms_sampled_moment(const struct ms_sampled *s, struct ms_sampled_moment *m);
/* The bytes that a recorded block of that size stands for; in any other recording that size. */
static inline uint64_t ms_sampled_size(const struct ms_sampled *s, uint64_t size)
{
	return s ? ms_sample_bytes(size, s->mean) : size;
}
/* The model is set to a state, of which each block follows by ms_sampled_put; what was counted, and
 * the peak, stay. */
void ms_sampled_restore(struct ms_replay *r);
void ms_sampled_put(void *r, uint64_t number, const struct ms_live_block *b);
/* Counting begins anew with what is live, ahead of the peak that this is. */
void ms_sampled_begin(struct ms_replay *r);
void ms_sampled_finish(struct ms_replay *r);

/* Returns the sum at the peak of a site, or of the whole as site_count. */
struct ms_sampled_sum ms_sampled_at_peak(const struct ms_sampled *s, size_t site);
/* Return the spread of the bytes, and of the blocks, of some samples. `smallest`: of the blocks
 * that may have been missed. */
struct ms_spread ms_sampled_bytes(const struct ms_sampled *s, const struct ms_sampled_sum *sum);
struct ms_spread ms_sampled_blocks(const struct ms_sampled *s, const struct ms_sampled_sum *sum,
				   uint64_t smallest);
