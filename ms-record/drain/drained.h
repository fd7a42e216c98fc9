/* SPDX-License-Identifier: MIT
 * The data that room drain keeps for a session.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ms-record/guest/layout.h"

struct drained {
	uint64_t listed[MG_RINGS_MOST / 64]; /* bit set of the rings listed in s->rings.taken */
	size_t return_next; /* index in rings.taken of the next ring to check for an ended thread */
	uint64_t return_ns; /* earliest time, in ns, of the next check for ended threads */
	uint64_t buffer_mine; /* this session's part of *s->buffer_used, in bytes */
	uint64_t moved;       /* number of times that an item was moved because another had an
				 earlier stamp */
	bool few_stamps;      /* MG_STAMPS_FEW is set in the session's `stamps` */
	bool partly;          /* the last round read only a part of some ring */
	/* A ring was left unread, and no other ring had data. Until the merge has advanced, that
	 * ring cannot be read, even if it is full. */
	bool left;
	struct remote *remote;
	uint64_t flushed_ns, looked_ns;      /* times of the last flush, and of the last check of
						threads and losses */
	const struct drain_request *request; /* request to perform at request_stamp; NULL = none */
	uint64_t request_stamp;
};
