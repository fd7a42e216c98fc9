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

/* Describes a program image (a process between two execs) that has ended, or that was not recorded
 * at all. */
struct image {
	char *name, *exe; /* name for reports; path of the executable */
	char *file;       /* path of the program image's trace; NULL = not recorded, so that members
			     after `note` are unset */
	pid_t pid;
	uint32_t number, parent; /* number of the program image; number of its parent + 1, 0 =
				    unknown */
	uint64_t started_ns;     /* ns since the command began */
	char note[256];          /* why the trace is missing or incomplete; "" = it is complete */

	uint64_t bytes; /* bytes of the program image's trace */
	uint64_t duration_ns;
	uint64_t rss_at_peak, rss_ns; /* RSS and time of the sample nearest to the peak; 0 = none */
	int ending, exit_status;
	struct stats stats;
	struct scan_result scan;
	struct preexisting_counts preexisting;
	bool mid_run; /* recorded from an attachment to the running process: `preexisting` is
			 valid */
	bool late;    /* the process or its parent ran before the recording began */
	bool sampled; /* sizes in `stats` are estimates */
	char damage[160];
	struct guest_account guest;
	uint64_t dropped_events, dropped_ns; /* discarded by --keep=live */
	uint64_t full_ns;
	bool full; /* --max-size was reached */
	bool kept;
	dev_t dev; /* identity of the trace file; `ino` 0 = not a file that we made */
	ino_t ino;
	MS_ARRAY(struct module_file) files; /* files of the program image's modules */
	char *error;                        /* why writing the trace failed; NULL = no failure */
};
