/* SPDX-License-Identifier: MIT
 * Keeps a figure over time in a fixed amount of memory: when it is full, every second sample is
 * dropped and later samples are kept half as often. The latest value is always kept.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/stats/trend.h"

#define HISTORY_SAMPLES 96u
#define HISTORY_SURE 0.8 /* least confidence of "growing" */
struct history {
	uint32_t kib[HISTORY_SAMPLES];
	uint32_t ms[HISTORY_SAMPLES]; /* ms since the first sample */
	uint32_t n;
	uint32_t step, left; /* every `step`-th sample is kept; `left`: samples to skip */
	uint64_t first_ns;
	uint64_t bytes, last_ns; /* latest value, and its time */
	uint64_t first_bytes;
};

void history_add(struct history *h, uint64_t now_ns, uint64_t bytes);
/* Returns the trend. If the process has ended, the time in which it freed its memory does not
 * count. Allocates no memory. */
struct ms_trend history_trend(const struct history *h, bool ended);
/* Returns the trend in one word: "growing", "maybe" (growing, but less certain), "new" (too short),
 * ... */
const char *history_word(const struct ms_trend *t);
/* Stores at most `n` values, oldest first, ending with the latest. Returns how many. */
size_t history_values(const struct history *h, unsigned *values, size_t n);
