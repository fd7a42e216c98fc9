/* SPDX-License-Identifier: MIT
 * Room drain: the draining thread.
 *   In:  sessions from room control, with what recording.h adds to them; rings that guests fill.
 *   Out: checked records, to room heap; sessions that are over, back to control.
 *   Used by: control.
 *
 * The draining thread: reads all rings, merges, fills batches for the writing thread.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"
#include "ms-record/base/wake.h"

struct drain_request;
struct pool;
struct session;
struct writer;

struct drain {
	pthread_t thread;
	pthread_mutex_t lock;
	struct drain_sessions {
		struct session **v;
		size_t n, cap;
	} arrived;                          /* sessions not adopted yet; protected by `lock` */
	struct drain_request *next_request; /* protected by `lock` */
	struct drain_request *request;      /* request in progress; used by the draining thread
					       only */
	struct writer *writer;              /* receives the sessions' batches */
	int event;                          /* eventfd, written when a request is done */
	struct drain_sessions sessions;     /* sessions being drained; used by the draining thread
					       only */
	struct drain_sessions children;     /* sessions of forked children found; protected by
					       `lock` */
	int child_event;                    /* eventfd, written when `children` grows */
	MS_ARRAY(struct pool *) pools;      /* used by the draining thread; lock to change */
	struct wake wake;                   /* for waking the thread after a change */
	uint32_t idle;                      /* rounds since the last records arrived */
	uint32_t active;                    /* atomic: records arrived after an idle time */
	bool called;                        /* a wake-up ended the last sleep */
	bool stop, started;                 /* `stop` is atomic */
};

/* Starts the thread. `writer` and `event` are borrowed. Returns 0, or -1 with errno set. */
int drain_start(struct drain *d, struct writer *writer, int event);
/* Passes a session to the thread, which drains it from then on. */
void drain_add(struct drain *d, struct session *s);
/* Returns the session of a newly forked child, or NULL. The caller finds the child's process and
 * then passes the session to drain_add. */
struct session *drain_next_child(struct drain *d);
/* Tells whether the pool whose memory has this inode was made with slots for forked children, free
 * or in use; if `inode` is 0, whether any pool was. */
bool drain_has_pool(struct drain *d, uint64_t inode);
/* Waits until all sessions have ended, and ends the thread. */
void drain_stop(struct drain *d);
