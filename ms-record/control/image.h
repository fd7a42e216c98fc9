/* SPDX-License-Identifier: MIT
 * One image of a run that is over.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libcommon/base/arena.h"
#include "ms-record/base/stats.h"
#include "ms-record/heap/preexisting.h"
#include "ms-record/scan/scan.h"
#include "ms-record/session/session.h"

/* Describes an image that is over, or that was not recorded at all. */
struct image {
	char *name, *exe; /* exe: path */
	char *file;       /* its trace; NULL: not recorded, and only what comes next is known */
	pid_t pid;
	uint32_t number, parent; /* parent + 1, 0 = none known */
	uint64_t started_ns;     /* since the command began */
	char note[256];          /* why no trace is kept, or in part; "" = all is */

	uint64_t bytes; /* of its trace */
	uint64_t duration_ns;
	uint64_t rss_at_peak, rss_ns; /* of the sample nearest to the peak; 0 = none */
	int ending, exit_status;
	struct stats stats;
	struct scan_result scan;
	struct preexisting_counts preexisting;
	bool mid_run; /* `before` holds */
	bool late;    /* the process, or the one that forked it, ran before it was recorded */
	bool sampled; /* sizes there are estimates */
	char damage[160];
	struct guest_account guest;
	uint64_t dropped_events, dropped_ns; /* --keep=live */
	uint64_t full_ns;
	bool full; /* --max-size was reached */
	bool kept;
	dev_t dev; /* which file it is; `ino` 0 = none that we made */
	ino_t ino;
	MS_ARRAY(struct module_file) files; /* of its modules */
	char *error;                        /* the trace could not be written; NULL = it was */
};
