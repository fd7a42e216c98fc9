/* SPDX-License-Identifier: MIT
 * What is not in the trace of a session: records of losses, and the counters of its rings.
 */
#pragma once

#include <stdint.h>

struct reader;
struct session;

/* Records that `count` events (0 = nothing is recorded) were lost between `from` and `to` (ns).
 * `reason`: MS_LOST_*; `thread`: index + 1, 0 = several or unknown. */
void losses_add(struct session *s, uint64_t from, uint64_t to, uint64_t count, unsigned reason,
		uint32_t thread);
/* Adds the growth of a ring's counters (lost, waited, verified) to the session, and records the
 * events that the ring lost. */
void losses_take(struct session *s, struct reader *r);
/* Calls losses_take for every ring that a thread uses. */
void losses_take_all(struct session *s);
