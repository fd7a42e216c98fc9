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
	} arrived;                          /* under lock */
	struct drain_request *next_request; /* under lock */
	struct drain_request *request;      /* the thread's own: being done */
	struct writer *writer;              /* where the sessions' batches go */
	int event;                          /* eventfd, written when a request was done */
	struct drain_sessions sessions;     /* the thread's own */
	struct drain_sessions children;     /* forked ones, for the control thread; under lock */
	int child_event;                    /* eventfd: there are some */
	MS_ARRAY(struct pool *) pools;      /* the thread's own; changed under lock */
	struct wake wake;                   /* who changes something calls */
	uint32_t idle;                      /* rounds since something came */
	uint32_t active;                    /* atomic: it came after a while; `event` was written */
	bool called;                        /* out of the last sleep */
	bool stop, started;                 /* stop: atomic */
};

/* Starts the thread. `writer` and `event` are borrowed. 0, or -1 with errno set. */
int drain_start(struct drain *d, struct writer *writer, int event);
/* Hands over a session. */
void drain_add(struct drain *d, struct session *s);
/* Takes a session that a forked child began, or NULL. Its process is to be found, and the session
 * to be handed over. */
struct session *drain_next_child(struct drain *d);
/* May processes have the memory mapped, in which children that they fork, and they themselves, find
 * where to record? By its inode; 0 = any. */
bool drain_has_pool(struct drain *d, uint64_t inode);
/* Lets the thread end once it has no session any more, and waits for it. */
void drain_stop(struct drain *d);
