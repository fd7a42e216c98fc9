/* SPDX-License-Identifier: MIT
 * What running processes have mapped, as a line of JSON for each time, in the layout of memc.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/proc/proc.h"

struct ms_err;

/* `one`: a line is a process; else it has a list of them, of those that could not be read how many,
 * and of those that ended since the time before which. */
struct lines *lines_new(bool one, bool smaps);
void lines_free(struct lines *l);

struct lines_figures {
	const struct ms_regions *regions;
	uint64_t rss_bytes, vsz_bytes;
};
/* One process that could be read, and its name now. */
void lines_process(struct lines *l, const struct ms_proc *p, const char *name, uint64_t wall_ns,
		   const struct lines_figures *f);
/* One that could not; `ended`: because it is no more. Those of a time come in order of pid. */
void lines_without(struct lines *l, const struct ms_proc *p, bool ended);
/* All of a time was told: to standard output, at once. 0, or -1 with `err` set. */
int lines_end(struct lines *l, uint64_t wall_ns, struct ms_err *err);
/* Has whoever read standard output gone away? Nothing need be written to know. */
bool lines_unread(void);
