/* SPDX-License-Identifier: MIT
 * The processes of a run of ms-record: of its first trace, FILE, and of the traces in FILE.d. Their
 * figures are read from the traces without the events.
 */
#pragma once

#include "libcommon/base/arena.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ms_err;

/* Describes a process, from its first program image to its last one. */
struct run_process {
	const char *path; /* path of its first trace, by which other tools find the rest */
	const char *exe;  /* executable of the program image with the highest peak; NULL = not
			     known */
	uint64_t pid, peak_bytes, unfreed_bytes, events_lost, unreachable_bytes;
	uint64_t image; /* number of its first program image in the run */
	bool sampled;   /* the process's figures are estimates */
	bool first;     /* the process's trace is FILE */
	bool goes_on;   /* continues by exec in a later program image */
};

struct run {
	struct ms_arena arena;
	const char *file;
	MS_ARRAY(struct run_process) processes; /* in descending order of peak */
	size_t shown;                           /* index of the process that is reported on */
	uint64_t missed;                        /* number of programs that could not be recorded */
};

/* Finds the processes of the run of `file`, which is borrowed. Returns none unless FILE is a trace
 * beside a folder of further traces with the same owner (or root's); then at least the process of
 * FILE. */
void run_find(struct run *r, const char *file);
/* Chooses a process by pid, name or name of its trace; NULL = the one with the highest peak.
 * Returns 0, or -1 with `err` set if there is no such process. */
int run_choose(struct run *r, const char *which, struct ms_err *err);
void run_free(struct run *r);
