/* SPDX-License-Identifier: MIT
 * Recording that waits for its start or is paused: allocations are counted, not recorded.
 *
 * All images of a run share one wanted state, set by the control thread (or by the start mark of
 * any image). The draining thread applies it to each image in its next round at the latest.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;

struct run {
	uint64_t started_ns; /* atomic, CLOCK_MONOTONIC: start of recording; 0 = waiting for the
				start */
	int paused;          /* atomic */
	int forked;          /* atomic: a process of the run has forked */
};

struct pause {
	bool waiting, told, user;
	uint64_t change;   /* number of the program's latest change, see MG_PAUSE */
	uint64_t since_ns; /* start of the pause, ns of the session */
	uint64_t reported; /* allocations covered by loss records so far */
};

static inline bool pause_on(const struct pause *p)
{
	return p->waiting || p->told || p->user;
}

/* Sets a new session to the run's state, before its guest has the shared memory. Keeps `run`. */
void pause_init(struct session *s, struct run *run);
/* Gives a forked child's session the pause state that its parent image had at the fork. */
void pause_adopt(struct session *s, struct run *run);
/* Sets the session to the run's current state, at the latest in the next round (draining
 * thread). */
void pause_look(struct session *s);
/* Starts recording if the program's mark `name` at `ns` is the start mark (draining thread). */
void pause_mark(struct session *s, const char *name, uint64_t ns);
/* Handles the program's pause or resume number `change` at `ns`: odd = it paused (draining
 * thread). */
void pause_user(struct session *s, uint64_t change, uint64_t ns);
/* Ends a pause that lasts until the end of the session (draining thread). */
void pause_finish(struct session *s);
