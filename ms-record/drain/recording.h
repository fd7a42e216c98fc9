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

/* Adds the data for draining, merging and scanning to a session. Call it before the process gets
 * the shared memory; for a process on standby, after info_names and before the process is woken. */
void recording_begin(struct session *s);
/* Returns a new session for a forked child that has taken a pool slot, filled in only from shared
 * memory. */
struct session *recording_of_child(struct pool *p, uint32_t slot);
/* Frees a session that is no longer used, recorded or not. */
void recording_free(struct session *s);

/* Writes the end block with all counts and closes the trace. In finish.c, for the draining
 * thread. */
void finish_trace(struct session *s);
