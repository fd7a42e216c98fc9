/* SPDX-License-Identifier: MIT
 * What is read of the selected process alone, at each look: its limits, its allocator, and whether
 * it could be recorded.
 */
#ifndef TOP_CHOSEN_H
#define TOP_CHOSEN_H

#include <stdbool.h>
#include <stdint.h>

#include "limits.h"
#include "system.h"

struct chosen {
	uint64_t id;     /* of the process; 0 = none */
	uint64_t shared; /* bytes of shared memory that are resident; SOURCE_UNKNOWN */
	int oom_score;   /* -1 = not known */
	struct limits limits;
	char allocator[64]; /* "" = not known */
	char record[160];   /* "allowed (root)", or why not; "" = not known */
	bool may_record;
};

/* Reads it anew. `made`: the root is a copy of some /proc, of which nothing can be recorded. */
void chosen_look(struct chosen *c, const struct system *s, const struct system_process *p,
		 bool made);

#endif
