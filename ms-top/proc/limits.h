/* SPDX-License-Identifier: MIT
 * What a process may grow to, and when it will have: its control group's memory, its address space,
 * what the machine has left.
 */
#pragma once

#include <stdint.h>

#include "source.h"
#include "libcommon/stats/trend.h"

struct limits { /* bytes, SOURCE_UNKNOWN = there is none, or it is not known */
	uint64_t group_max, group_now; /* of the control group that has least left */
	uint64_t space_max, space_now; /* RLIMIT_AS, address space */
	uint64_t available;            /* of the machine */
};
#define LIMITS_NONE                                                                                \
	{                                                                                          \
		.group_max = SOURCE_UNKNOWN, .group_now = SOURCE_UNKNOWN,                          \
		.space_max = SOURCE_UNKNOWN, .space_now = SOURCE_UNKNOWN,                          \
		.available = SOURCE_UNKNOWN                                                        \
	}

/* Reads them anew; `folder` is that of the process below /proc (or below a copy of it, which has
 * the system's other files beside it as it is there). Takes no memory. */
void limits_read(struct limits *l, int folder);

/* Which limit a growth meets first. */
struct forecast {
	/* "reaches its cgroup's", to be followed by the limit. NULL: it does not grow, nobody can
	 * be so sure, or not within a year. */
	const char *what;
	const char *word; /* the same as one word: "cgroup", "address_space", "memory" */
	uint64_t limit;   /* bytes; of "memory": what is left */
	double seconds, soonest, latest; /* by the slope and its interval; latest may be INFINITY */
};
struct forecast limits_forecast(const struct limits *l, const struct ms_trend *t);
/* "reaches its cgroup's 4.00 G in 7 h 39 m (6 h 02 m to 9 h 10 m)"; "" = nothing. */
const char *limits_words(const struct forecast *f);
