/* SPDX-License-Identifier: MIT
 * Reads the clocks of the system.
 */
#pragma once

#include <stdint.h>
#include <time.h>

static inline uint64_t ms_ns_of(struct timespec t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns a clock's time in ns, for instance CLOCK_MONOTONIC. */
static inline uint64_t ms_clock_ns(clockid_t id)
{
	struct timespec t;
	clock_gettime(id, &t);
	return ms_ns_of(t);
}

static inline struct timespec ms_timespec(uint64_t ns)
{
	return (struct timespec){(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
}
