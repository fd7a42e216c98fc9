/* SPDX-License-Identifier: MIT
 * Lists of a process's mappings, for its guest: how far a stack may be read, and what is code.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ms-record/guest/layout.h"

struct clock;
struct process;

/* Holds the lists of a session. Whoever makes one fills in the first part, which is borrowed. */
struct ranges {
	const struct process *process;
	const struct clock *clock;
	struct mg_session *mem;
	struct mg_range *list; /* in shared memory: two of `max` each; NULL = there is none */
	uint32_t max;
	int memfd;   /* of that, */
	uint64_t at; /* in which the list is here */

	bool read;        /* once */
	uint64_t free_at; /* ns: when the time that it took is made up for */
	/* code made at run time that keeps frame pointers; how often it was asked for */
	uint64_t framed_low, framed_high;
	uint32_t framed_asked;
};

/* Has the guest asked for a list that it can have now? */
bool ranges_due(const struct ranges *all);

/* The draining thread's, once a round: reads /proc/PID/maps when the guest has asked for it, or was
 * never told. What the guest has stays when it cannot be read. True: it has asked. */
bool ranges_look(struct ranges *all);
