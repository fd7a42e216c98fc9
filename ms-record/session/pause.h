/* SPDX-License-Identifier: MIT
 * Recording that waits for its start or is paused: allocations are counted, not recorded.
 *
 * What a run shall do is one state for all its images, set by the control thread (and by the start
 * mark of any image); the draining thread brings each image to it, at the latest in its next round.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct session;

struct run {
	uint64_t started_ns; /* atomic, CLOCK_MONOTONIC: when recording began; 0 = it waits */
	int paused;          /* atomic */
	int forked;          /* atomic: a process of it did */
};

struct pause {
	bool waiting, told, user;
	uint64_t change;   /* of the program's, the latest, see MG_PAUSE */
	uint64_t since_ns; /* of the session */
	uint64_t reported; /* allocations that loss records speak of so far */
};

static inline bool pause_on(const struct pause *p)
{
	return p->waiting || p->told || p->user;
}

/* Puts a new session into the run's state, before its guest has the shared memory. `run` is kept.
 */
void pause_init(struct session *s, struct run *run);
/* A forked child began in the state that the image was in. */
void pause_adopt(struct session *s, struct run *run);
/* The following are the draining thread's. Brings the session to the run's state. */
void pause_look(struct session *s);
/* The program made a mark at `ns`: is it the one at which recording begins? */
void pause_mark(struct session *s, const char *name, uint64_t ns);
/* The program's change of that number, at `ns`: odd = it paused. */
void pause_user(struct session *s, uint64_t change, uint64_t ns);
/* The session ends: a pause that still lasts ends too. */
void pause_finish(struct session *s);
