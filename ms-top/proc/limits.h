/* SPDX-License-Identifier: MIT
 * Limits of a process's memory, and when its growth reaches one: its control group's memory, its
 * address space, the machine's available memory.
 */
#pragma once

#include <stdint.h>

#include "source.h"
#include "libcommon/stats/trend.h"

struct limits {                        /* bytes; SOURCE_UNKNOWN = no limit, or not known */
	uint64_t group_max, group_now; /* control group with the least memory left */
	uint64_t space_max, space_now; /* RLIMIT_AS; present address space */
	uint64_t available;            /* available memory of the machine */
};
#define LIMITS_NONE                                                                                \
	{                                                                                          \
		.group_max = SOURCE_UNKNOWN, .group_now = SOURCE_UNKNOWN,                          \
		.space_max = SOURCE_UNKNOWN, .space_now = SOURCE_UNKNOWN,                          \
		.available = SOURCE_UNKNOWN                                                        \
	}

/* Rereads the limits; `folder` is the process's folder in /proc (or in a copy of it, with the
 * system's other files beside it). Allocates no memory. */
void limits_read(struct limits *l, int folder);

/* Describes the limit that growth reaches first. */
struct forecast {
	/* "reaches its cgroup's", to be followed by the limit. NULL = it does not grow, the trend
	 * is too uncertain, or not within a year. */
	const char *what;
	const char *word;                /* one-word form: "cgroup", "address_space" or "memory" */
	uint64_t limit;                  /* bytes; for "memory": bytes still available */
	double seconds, soonest, latest; /* time to the limit: estimate and its interval; latest may
					    be INFINITY */
};
struct forecast limits_forecast(const struct limits *l, const struct ms_trend *t);
/* Returns "reaches its cgroup's 4.00 G in 7 h 39 m (6 h 02 m to 9 h 10 m)"; "" = no forecast. */
const char *limits_words(const struct forecast *f);
