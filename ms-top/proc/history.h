/* SPDX-License-Identifier: MIT
 * A figure over time, in a fixed amount of memory: when it is full, every second sample is dropped
 * and from then on half as many are kept. The latest value is always there.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/stats/trend.h"

#define HISTORY_SAMPLES 96u
#define HISTORY_SURE 0.8 /* confidence from which on it is called growing */
struct history {
	uint32_t kib[HISTORY_SAMPLES];
	uint32_t ms[HISTORY_SAMPLES]; /* since the first sample */
	uint32_t n;
	uint32_t step, left; /* one sample of `step` is kept; how many until the next one */
	uint64_t first_ns;
	uint64_t bytes, last_ns; /* latest */
	uint64_t first_bytes;
};

void history_add(struct history *h, uint64_t now_ns, uint64_t bytes);
/* Does it grow? Of a process that has ended it is judged until it began to free what it held. No
 * memory is taken. */
struct ms_trend history_trend(const struct history *h, bool ended);
/* Returns the trend in one word: "growing", "maybe" (growing, but not so sure), "new" (too short),
 * .. */
const char *history_word(const struct ms_trend *t);
/* At most `n` values, oldest first, the last of them the latest; returns how many. */
size_t history_values(const struct history *h, unsigned *values, size_t n);
