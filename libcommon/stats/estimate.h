/* SPDX-License-Identifier: MIT
 * Estimates from a sampled recording (ms-record --sample): weights, variances, 95 % intervals.
 *
 * With one sample point in `mean` bytes a block of s bytes is recorded with the chance
 * p = 1 - exp(-s/mean), each block by itself. What was recorded stands for 1/p blocks of s/p bytes:
 * right on average (Horvitz and Thompson). The truth is at least what was seen; the rest has an
 * estimate y and a variance v, and the interval takes it to be gamma distributed with these
 * moments: for the upper limit with one block more than was seen (Fay and Feuer's interval for
 * weighted sums of rare events; with equal weights it is Garwood's for a Poisson count). It covers
 * the truth at least as often as it says, for few samples too.
 */
#pragma once

#include <stdint.h>

/* Holds the sums that an estimate rests on. Spreads of disjoint groups of blocks add up
 * (ms_spread_add). */
struct ms_spread {
	double seen;                /* what was recorded of the figure: bytes, or blocks */
	double variance;            /* of the estimate */
	double step, step_variance; /* what one unseen block may add, at most */
};

/* Bounds the sizes of blocks that were not seen, which nobody knows. At one site they are taken to
 * be no smaller than the smallest one seen; in all of a program, or of a thread, no smaller than
 * this either. */
#define MS_SMALLEST_USUAL 16u

/* Returns the chance that a block is recorded. A size of 0 counts as 1. */
double ms_sample_chance(uint64_t size_bytes, uint64_t mean_bytes);

/* Bounds the mean: one above this is taken for it. The functions below return what a recorded block
 * stands for: its size over its chance, and a whole number of blocks, one over its chance rounded
 * down or up as a number made from its allocation number says, so that it is right on average and
 * the same when the block is freed. */
#define MS_SAMPLE_MOST (UINT64_C(1) << 40)
uint64_t ms_sample_bytes(uint64_t size_bytes, uint64_t mean_bytes);
uint64_t ms_sample_blocks(uint64_t size_bytes, uint64_t mean_bytes, uint64_t number);

/* Spreads of the bytes, and of the number, of one recorded block. */
struct ms_spread ms_spread_of_bytes(uint64_t size_bytes, uint64_t mean_bytes);
struct ms_spread ms_spread_of_block(uint64_t size_bytes, uint64_t mean_bytes);
void ms_spread_add(struct ms_spread *to, const struct ms_spread *s);

/* Gives the 95 % interval of an estimate: 2.5 % on either side. *low <= value <= *high. */
void ms_interval(double value, const struct ms_spread *s, double *low, double *high);
/* Gives the interval as ms_interval does, but in whole numbers, rounded outwards, in the range of
 * SQLite's integers. */
void ms_interval_whole(uint64_t value, const struct ms_spread *s, uint64_t *low, uint64_t *high);
