/* SPDX-License-Identifier: MIT
 * Lists of a process's mappings, for its guest: how far a stack may be read, and what is code.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ms-record/guest/layout.h"

struct clock;
struct process;

/* Holds the lists of a session's mapped address ranges, made for the guest. The creator fills in
 * the members before the empty line; pointers there are borrowed. */
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
	/* address range of run-time code that keeps frame pointers, and number of searches for
	 * it */
	uint64_t framed_low, framed_high;
	uint32_t framed_asked;
};

/* Tells whether the guest has asked for a list of ranges, and the pause after the last read of maps
 * is over. */
bool ranges_due(const struct ranges *all);

/* Reads /proc/PID/maps and writes a new list if the guest has asked for one or has none yet. If
 * reading fails, the guest keeps its list. Returns true if it tried. The draining thread calls this
 * once a round. */
bool ranges_look(struct ranges *all);
