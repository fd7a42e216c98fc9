/* SPDX-License-Identifier: MIT
 * Chooses the file of /proc/PID for the figures of a process: the best one that may be read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/proc/proc_text.h"

enum source {
	SOURCE_STAT,   /* no costly file was read yet: RSS only */
	SOURCE_ROLLUP, /* smaps_rollup: all figures */
	SOURCE_SMAPS,  /* smaps, if the kernel has no smaps_rollup: all figures, at a higher cost */
	SOURCE_STATM,  /* no permission for either file: RSS, and as the heap, RSS without file
			  pages */
};
/* Returns "stat", "rollup", "smaps" or "statm". */
const char *source_word(enum source s);

#define SOURCE_UNKNOWN UINT64_MAX
/* Returns the figure in status or meminfo after `label` ("\nRssShmem:"), converted to bytes. */
uint64_t source_kib(const char *text, const char *label);

struct source_figures { /* bytes, or SOURCE_UNKNOWN */
	enum source source;
	bool denied; /* smaps_rollup and smaps may not be read, and are not tried again */
	uint64_t pss, uss, swap, heap, file;
};
#define SOURCE_NOTHING                                                                             \
	{                                                                                          \
		.pss = SOURCE_UNKNOWN, .uss = SOURCE_UNKNOWN, .swap = SOURCE_UNKNOWN,              \
		.heap = SOURCE_UNKNOWN, .file = SOURCE_UNKNOWN                                     \
	}

/* Updates the figures from `folder`, the process's folder; `f` has the previous ones, or
 * SOURCE_NOTHING. Figures that cannot be read are unchanged. Allocates no memory. */
void source_read(int folder, uint64_t page_bytes, struct source_figures *f);
/* Sets the figures from the sums of smaps. */
void source_take(struct source_figures *f, enum source source, const struct ms_proc_memory *m);
