/* SPDX-License-Identifier: MIT
 * What the samples of a recording stand for, while it is recorded: the figures that readers will
 * estimate from it.
 */
#pragma once

#include <stdint.h>

struct stats;

/* A block was recorded, or one that was recorded is freed. `mean`: --sample. */
void sampled_made(struct stats *t, uint64_t mean, uint64_t number, uint64_t size_bytes);
void sampled_freed(struct stats *t, uint64_t mean, uint64_t number, uint64_t size_bytes);
/* After sampled_made: live bytes are at a new peak. */
void sampled_peak(struct stats *t);
/* "1.3 GiB (1.2 to 1.4)": live bytes at the end, or at the peak, with their 95 % interval. */
const char *sampled_words(char room[128], const struct stats *t, uint64_t mean, int peak);
