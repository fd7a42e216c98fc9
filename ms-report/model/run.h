/* SPDX-License-Identifier: MIT
 * The processes of a run of ms-record whose first trace is FILE: those that have a trace in FILE.d,
 * too. What is told of each is in its trace without its events.
 */
#pragma once

#include "libcommon/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_err;

/* A process, from its first image to its last one. */
struct run_process {
	const char *path; /* of its first trace: tools find the others by it */
	const char *exe;  /* of the image with the highest peak; NULL = not known */
	uint64_t pid, peak_bytes, unfreed_bytes, events_lost, unreachable_bytes;
	uint64_t image; /* number of its latest one in the run */
	bool sampled;   /* figures are estimates */
	bool first;     /* FILE is of it */
	bool goes_on;   /* by exec, in a later image */
};

struct run {
	struct ms_arena arena;
	const char *file;
	MS_ARRAY(struct run_process) processes; /* the highest peak first */
	size_t shown;                           /* index of the one that is reported on */
	uint64_t missed;                        /* programs that could not be recorded */
};

/* Finds the processes of the run of `file`, which is borrowed. None but with a trace that has a
 * folder of further ones of the same owner, or root's; then at least the one of FILE. */
void run_find(struct run *r, const char *file);
/* Chooses by pid, name or name of the trace; NULL = the highest peak. 0, or -1 with `err` set: there
 * is no such process. */
int run_choose(struct run *r, const char *which, struct ms_err *err);
void run_free(struct run *r);
