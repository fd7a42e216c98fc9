/* SPDX-License-Identifier: MIT
 * The data that room drain keeps for a session.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ms-record/guest/layout.h"

struct drained {
	uint64_t listed[MG_RINGS_MOST / 64]; /* set of the rings in s->rings.taken */
	size_t return_next; /* index in rings.taken of the next ring to check for an ended thread */
	uint64_t return_ns; /* earliest time of the next such check */
	uint64_t buffer_mine; /* bytes of *s->buffer_used that are this session's */
	uint64_t moved;       /* items moved to insert ones stamped earlier */
	bool few_stamps;      /* MG_STAMPS_FEW is set */
	bool partly;          /* the last round read only a part of some ring */
	/* A ring was left unread, and no other ring had data: until the merge advances, checking
	 * that ring is useless, however full it is. */
	bool left;
	struct remote *remote;
	uint64_t flushed_ns, looked_ns;      /* looked: last check of threads and losses */
	const struct drain_request *request; /* still to be performed, at request_stamp */
	uint64_t request_stamp;
};
