/* SPDX-License-Identifier: MIT
 * A session with what rooms drain, heap, scan and attach keep of it.
 *
 * Session knows none of them, so whoever makes one that is to be drained calls one of these.
 */
#pragma once

#include <stdint.h>

struct pool;
struct session;

/* Before its process has the memory; of one on standby, when that is known (info_names), before it
 * is woken. */
void recording_begin(struct session *s);
/* A forked child took a slot: makes its session, as far as shared memory tells. */
struct session *recording_of_child(struct pool *p, uint32_t slot);
/* Frees a session that nobody uses any more, recorded or not. */
void recording_free(struct session *s);

/* finish.c: writes the end block with all counts and closes the trace (draining thread). */
void finish_trace(struct session *s);
