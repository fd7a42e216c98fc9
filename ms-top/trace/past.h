/* SPDX-License-Identifier: MIT
 * A trace as it was at an earlier moment, found by a thread of its own: by the index from the last
 * checkpoint before, or from the start where that is near.
 */
#ifndef TOP_PAST_H
#define TOP_PAST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_recording;

/* The model at a moment, and the allocations of each of its sites one window earlier. */
struct past_state {
	struct ms_recording *rec; /* NULL: it could not be found */
	uint64_t ns;
	bool partial; /* read from a checkpoint on: only what is live is known */
	uint64_t window_ns;
	uint64_t *site_before,
		*thread_before; /* allocations, by number; fewer than there are now */
	size_t site_count, thread_count;
	uint64_t allocations, frees, bytes, temporary, events; /* then */
	char why[256];
};

struct past *past_new(void);
void past_free(struct past *p);
/* Asks for the moment `ns` of the trace at `path`. What was asked before is given up. `part`: it is
 * worth to begin at a checkpoint. */
void past_ask(struct past *p, const char *path, uint64_t ns, bool part);
/* The answer to the latest question, once: NULL when there is no new one. It is valid until there
 * is another, or past_drop. */
const struct past_state *past_get(struct past *p);
/* Forgets question and answer. */
void past_drop(struct past *p);

#endif
