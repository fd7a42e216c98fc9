/* SPDX-License-Identifier: MIT
 * Estimates figures from the samples of a recording while it is recorded, as readers of the trace
 * will.
 */
#pragma once

#include <stdint.h>

struct stats;

/* Counts a recorded block as allocated or freed. `mean`: mean distance of sample points in bytes
 * (--sample). */
void sampled_made(struct stats *t, uint64_t mean, uint64_t number, uint64_t size_bytes);
void sampled_freed(struct stats *t, uint64_t mean, uint64_t number, uint64_t size_bytes);
/* Notes that live bytes are at a new peak; call after sampled_made. */
void sampled_peak(struct stats *t);
/* Formats live bytes, at the end or at the peak, with their 95 % interval: "1.3 GiB (1.2 to
 * 1.4)". */
const char *sampled_words(char room[128], const struct stats *t, uint64_t mean, int peak);
