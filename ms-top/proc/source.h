/* SPDX-License-Identifier: MIT
 * From which file of /proc/PID the figures of a process are: the best that may be read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "libcommon/proc/proc_text.h"

enum source {
	SOURCE_STAT,   /* nothing dear was read yet: RSS only */
	SOURCE_ROLLUP, /* smaps_rollup: all figures */
	SOURCE_SMAPS,  /* smaps, of a kernel without smaps_rollup: all figures, at a higher price */
	SOURCE_STATM,  /* neither may be read: RSS, and of it what is no file's, about the heap */
};
/* "stat", "rollup", "smaps", "statm". */
const char *source_word(enum source s);

#define SOURCE_UNKNOWN UINT64_MAX
/* The line of status or meminfo that begins with `label` ("\nRssShmem:"), in bytes. */
uint64_t source_kib(const char *text, const char *label);

struct source_figures { /* bytes, SOURCE_UNKNOWN */
	enum source source;
	bool denied; /* smaps_rollup and smaps may not be read: they are not tried again */
	uint64_t pss, uss, swap, heap, file;
};
#define SOURCE_NOTHING                                                                             \
	{                                                                                          \
		.pss = SOURCE_UNKNOWN, .uss = SOURCE_UNKNOWN, .swap = SOURCE_UNKNOWN,              \
		.heap = SOURCE_UNKNOWN, .file = SOURCE_UNKNOWN                                     \
	}

/* Reads them anew from `folder`, that of the process; `f` as it was then, or SOURCE_NOTHING. What
 * cannot be read at all stays as it is. Takes no memory. */
void source_read(int folder, uint64_t page_bytes, struct source_figures *f);
/* Figures of what smaps says in all. */
void source_take(struct source_figures *f, enum source source, const struct ms_proc_memory *m);
