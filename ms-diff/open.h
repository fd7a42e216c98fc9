/* SPDX-License-Identifier: MIT
 * Opens the runs to be compared, and chooses the one shown for each side.
 */
#pragma once

#include "options.h"
#include "spots.h"

struct ms_err;

/* Holds the opened runs, and facts about the runs for messages and the exit status. */
struct opened {
	struct run *shown[2]; /* run shown for each side: the median by peak, then by live bytes;
				 the last run of a history */
	size_t at[2];         /* index of the shown run within its side */
	bool flows;           /* whole runs are compared, not moments */
	bool missing;         /* no old run exists */
	bool history;         /* the old runs are from a dataset, the latest last */
	const char *left_out; /* name of the first missing run, if other old runs exist; or NULL */
	bool same_program;    /* the programs' file names are equal, or not known */
	double seconds;       /* time for replaying the slowest trace */
};

/* Opens all inputs of `o`, replaying traces, into s->runs (spots_free closes them). Returns 0, or
 * -1 with `err` set. */
int open_runs(const struct options *o, struct spots *s, struct opened *out, struct ms_err *err);
