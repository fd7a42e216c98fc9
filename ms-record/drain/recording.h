/* SPDX-License-Identifier: MIT
 * A session with the data that rooms drain, heap, scan and attach keep for it.
 *
 * Room session does not know these rooms, so whoever makes a session that will be drained calls
 * one of these functions.
 */
#pragma once

#include <stdint.h>

struct pool;
struct session;

/* Adds the rooms' data to a session. Call it before the process has the memory; for a process on
 * standby, once that process is known (info_names) and before it is woken. */
void recording_begin(struct session *s);
/* Returns the session of a forked child that took a slot, filled in from shared memory only. */
struct session *recording_of_child(struct pool *p, uint32_t slot);
/* Frees a session that is no longer used, recorded or not. */
void recording_free(struct session *s);

/* Writes the end block with all counts and closes the trace. In finish.c, for the draining
 * thread. */
void finish_trace(struct session *s);
