/* SPDX-License-Identifier: MIT
 * Threads of a recorded image: their numbers, names and ends.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"

struct session;

struct thread {
	uint32_t tid, outer; /* in its own pid namespace, and in ours (0 = not found yet) */
	uint32_t missed;     /* lists of threads in which it was not found, */
	uint64_t missed_ns;  /* and the last of them */
	char name[16];
	uint64_t start_ns, end_ns;
	uint64_t last_number; /* of its last allocation; UINT64_MAX = none */
	uint64_t look_ns, look_after;
	uint64_t lost, waited;
	bool gone, dirty;
};

struct alive {
	uint32_t tid, index;
};

struct tid_pair {
	uint32_t inner, outer;
};

struct threads {
	MS_ARRAY(struct thread) all;
	/* Those that have not gone, or whose end is not written. */
	MS_ARRAY(struct alive) alive;
	size_t name_next;  /* of `alive`: the one whose name is to be looked at next, */
	uint64_t names_ns; /* not before then */
	/* Threads of a process in another pid namespace: their numbers there and here. */
	MS_ARRAY(struct tid_pair) tids;
	uint64_t tids_ns, tids_again_ns; /* when they were read, and may be again */
};

/* A thread that started at `stamp`. Returns its index. */
uint32_t threads_add(struct session *s, uint32_t tid, uint64_t stamp);
/* Notes that a thread does not exist any more. UINT32_MAX = none. */
void threads_gone(struct session *s, uint32_t index);
/* Reads names that are due (`all`: every one) and writes a record of each thread that changed. */
void threads_look(struct session *s, bool all);
