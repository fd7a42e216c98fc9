/* SPDX-License-Identifier: MIT
 * Estimates from a sampled recording (ms-record --sample): weights, variances, 95 % intervals.
 *
 * With one sample point in `mean` bytes a block of s bytes is recorded with the chance p = 1 -
 * exp(-s/mean), independently of other blocks. A recorded block counts as 1/p blocks and s/p bytes,
 * which is unbiased (Horvitz and Thompson). The truth is at least what was seen; the rest has an
 * estimate y and a variance v, and the interval takes it to be gamma distributed with these
 * moments: for the upper limit with one more block than was seen (Fay and Feuer's interval for
 * weighted sums of rare events; with equal weights it is Garwood's for a Poisson count). Its
 * coverage is at least the nominal one, with few samples too.
 */
#pragma once

#include <stdint.h>

/* Holds the sums that an estimate is computed from. Spreads of disjoint groups of blocks are added
 * by ms_spread_add. */
struct ms_spread {
	double seen;                /* recorded part of the figure: bytes, or blocks */
	double variance;            /* variance of the estimate */
	double step, step_variance; /* maximum contribution of one unrecorded block */
};

/* Lower limit, in bytes, that is assumed for the sizes of unrecorded blocks in a whole program or
 * thread. At a single site they are assumed to be no smaller than the smallest recorded block
 * there. */
#define MS_SMALLEST_USUAL 16u

/* Returns the probability that a block is recorded. A size of 0 counts as 1. */
double ms_sample_chance(uint64_t size_bytes, uint64_t mean_bytes);

/* Largest mean in bytes; a larger one is treated as this. ms_sample_bytes returns the bytes that a
 * recorded block counts as: its size divided by its probability of being recorded. ms_sample_blocks
 * returns the blocks that it counts as: 1 / probability, rounded up or down by a hash of the
 * allocation number, so that the result is unbiased, and the same when the block is freed. */
#define MS_SAMPLE_MOST (UINT64_C(1) << 40)
uint64_t ms_sample_bytes(uint64_t size_bytes, uint64_t mean_bytes);
uint64_t ms_sample_blocks(uint64_t size_bytes, uint64_t mean_bytes, uint64_t number);

/* Return the spread of one recorded block, of bytes or of blocks. */
struct ms_spread ms_spread_of_bytes(uint64_t size_bytes, uint64_t mean_bytes);
struct ms_spread ms_spread_of_block(uint64_t size_bytes, uint64_t mean_bytes);
void ms_spread_add(struct ms_spread *to, const struct ms_spread *s);

/* Computes the 95 % interval of an estimate, 2.5 % on either side: *low <= value <= *high. */
void ms_interval(double value, const struct ms_spread *s, double *low, double *high);
/* Computes the interval as ms_interval does, but in integers, rounded outwards, within the range of
 * SQLite's integers. */
void ms_interval_whole(uint64_t value, const struct ms_spread *s, uint64_t *low, uint64_t *high);
