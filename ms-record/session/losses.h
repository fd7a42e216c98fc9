/* SPDX-License-Identifier: MIT
 * What is not in the trace of a session: records of losses, and the counters of its rings.
 */
#pragma once

#include <stdint.h>

struct reader;
struct session;

/* A record of `count` events (none of 0), lost between `from` and `to`, in ns; `reason`: MS_LOST_*;
 * `thread`: index + 1, 0 = several or unknown. */
void losses_add(struct session *s, uint64_t from, uint64_t to, uint64_t count, unsigned reason,
		uint32_t thread);
/* Takes over the counters of a ring (lost, waited, verified), with a record of what it lost. */
void losses_take(struct session *s, struct reader *r);
/* Takes over the counters of every ring that a thread has taken. */
void losses_take_all(struct session *s);
