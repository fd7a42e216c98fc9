/* SPDX-License-Identifier: MIT
 * Opening the runs that are compared, and choosing the one of each side that is shown.
 */
#pragma once

#include "options.h"
#include "spots.h"

struct ms_err;

/* Holds the runs that were opened and the facts about them that main says or ends by. */
struct opened {
	struct run *shown[2]; /* of each side: the middle one by peak, then live bytes; of a
				 history the last */
	size_t at[2];         /* which of its side it is */
	bool flows;           /* whole runs are compared, not moments of them */
	bool missing;         /* there is no old run */
	bool history;         /* the old runs are of a dataset, the latest last */
	const char *left_out; /* the first of several old runs that is not there, or NULL */
	bool same_program;    /* files of one name, as far as that is known */
	double seconds;       /* that replaying the slowest trace took */
};

/* Opens all inputs of `o`, replaying traces, into s->runs (spots_free closes them). 0, or -1 with
 * `err` set. */
int open_runs(const struct options *o, struct spots *s, struct opened *out, struct ms_err *err);
