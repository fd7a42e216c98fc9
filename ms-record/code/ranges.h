/* SPDX-License-Identifier: MIT
 * Lists of a process's mappings, for its guest: how far a stack may be read, and what is code.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ms-record/guest/layout.h"

struct clock;
struct process;

/* Holds the lists of a session. The creator fills in the first part, which is borrowed. */
struct ranges {
	const struct process *process;
	const struct clock *clock;
	struct mg_session *mem;
	struct mg_range *list; /* two lists of `max` entries in shared memory; NULL = none */
	uint32_t max;
	int memfd;   /* descriptor of the shared memory */
	uint64_t at; /* offset of `list` in the shared memory */

	bool read;        /* mappings were read at least once */
	uint64_t free_at; /* ns: end of the pause after the last read */
	/* range of run-time code that keeps frame pointers; number of searches for this range */
	uint64_t framed_low, framed_high;
	uint32_t framed_asked;
};

/* Tells whether the guest has asked for a list, and the pause since the last one is over. */
bool ranges_due(const struct ranges *all);

/* Reads /proc/PID/maps if the guest has asked for a list or has none yet (draining thread, once a
 * round). If reading fails, the guest's list stays. Returns true if it tried. */
bool ranges_look(struct ranges *all);
