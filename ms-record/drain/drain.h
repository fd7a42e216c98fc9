/* SPDX-License-Identifier: MIT
 * Room drain: the draining thread.
 *   In:  sessions from room control; rings that guests fill.
 *   Out: checked records, to room heap; sessions that are over, back to control.
 *   Used by: control.
 *
 * The draining thread: reads all rings, merges, fills batches for the writing thread.
 */
#ifndef DRAIN_H
#define DRAIN_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct drain_request;
struct pool;
struct session;
struct writer;

struct drain {
	pthread_t thread;
	pthread_mutex_t lock;
	struct session **arrived; /* under lock */
	size_t arrived_count, arrived_room;
	struct drain_request *next_request; /* under lock */
	struct drain_request *request;      /* the thread's own: being done */
	struct writer *writer;              /* where the sessions' batches go */
	int event;                          /* eventfd, written when a request was done */
	struct session **sessions;          /* the thread's own */
	size_t count, room;
	struct session **children; /* of forked children, for the control thread; under lock */
	size_t child_count, child_room;
	int child_event;     /* eventfd: there are some */
	struct pool **pools; /* the thread's own */
	size_t pool_count, pool_room;
	uint32_t rounds;    /* atomic */
	uint32_t idle;      /* rounds since something came */
	uint32_t active;    /* atomic: it came after a while; `event` was written */
	bool called;        /* out of the last sleep */
	unsigned wake;      /* futex word */
	bool stop, started; /* stop: atomic */
};

/* Starts the thread. `writer` and `event` are borrowed. 0, or -1 with errno set. */
int drain_start(struct drain *d, struct writer *writer, int event);
/* Hands over a session. */
void drain_add(struct drain *d, struct session *s);
/* Rounds that the thread has made: after two more it has seen every child that was there before. */
uint32_t drain_rounds(const struct drain *d);
/* Takes a session that a forked child began, or NULL. Its process is to be found, and the session
 * to be handed over. */
struct session *drain_next_child(struct drain *d);
/* Something changed (an image ended): look at once. */
void drain_wake(struct drain *d);
/* Waits until it has seen all that happened so far, a tenth of a second at most. */
void drain_settle(struct drain *d);
/* Lets the thread end once it has no session any more, and waits for it. */
void drain_stop(struct drain *d);

#endif
