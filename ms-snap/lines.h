/* SPDX-License-Identifier: MIT
 * Writes the mapped memory of running processes as one line of JSON per moment, in the layout of
 * memc.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/proc/proc.h"

struct ms_err;

/* Creates a writer of lines. `one`: each line is one process; else it has a list of processes, the
 * number of unreadable ones, and a list of those that have ended since the previous line. */
struct lines *lines_new(bool one, bool smaps);
void lines_free(struct lines *l);

struct lines_figures {
	const struct ms_regions *regions;
	uint64_t rss_bytes, vsz_bytes;
};
/* Adds a process that could be read, with its present name. */
void lines_process(struct lines *l, const struct ms_proc *p, const char *name, uint64_t wall_ns,
		   const struct lines_figures *f);
/* Adds a process that could not be read; `ended`: because it has ended. The processes of a line are
 * passed in order of pid. */
void lines_without(struct lines *l, const struct ms_proc *p, bool ended);
/* Ends the current line and writes it to standard output. Returns 0, or -1 with `err` set. */
int lines_end(struct lines *l, uint64_t wall_ns, struct ms_err *err);
/* Tells whether the reader of standard output is gone, without writing anything. */
bool lines_unread(void);
