/* SPDX-License-Identifier: MIT
 * What room drain keeps of a session.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ms-record/guest/layout.h"

struct drained {
	uint64_t listed[MG_RINGS_MOST / 64]; /* s->rings.taken, as a set */
	size_t return_next;   /* of them: the one to be looked at next for whether it is over, */
	uint64_t return_ns;   /* not before then */
	uint64_t buffer_mine; /* of *s->buffer_used */
	uint64_t moved;       /* items, for others that were stamped earlier */
	bool few_stamps;      /* MG_STAMPS_FEW is set */
	bool partly;          /* a ring was not read to its end */
	/* One was left for later, and nothing read of others: before the merge comes on, no look at
	 * it helps, however full it is. */
	bool left;
	struct remote *remote;
	uint64_t flushed_ns, looked_ns;      /* looked: threads, losses */
	const struct drain_request *request; /* left to do, at that stamp */
	uint64_t request_stamp;
};
