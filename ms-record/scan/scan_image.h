/* SPDX-License-Identifier: MIT
 * Searches memory that is not a process's, such as a core dump's, for blocks that nothing points to, and
 * for what keeps the others.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ms-record/graph/graph.h"
#include "scan_memory.h"
#include "scan_roots.h"

struct scan_options;
struct session;

struct scan_image {
	const struct memory_image *memory; /* borrowed */
	struct scan_thread *threads;       /* in memory to be freed, which scan_image frees */
	size_t thread_count;
	struct graph_block *blocks; /* all that are live; freed with the session */
	uint32_t count;
	bool wide;       /* blocks may be missing */
	bool unreadable; /* memory is missing, so that there are no verdicts */
	/* Called once the blocks are searched: sets the number and the stack of each. `type`: returns the
	 * symbol or the name of a block's type, by its index; NULL = not known. */
	void (*name)(void *arg, struct graph_block *blocks, uint32_t count,
		     const char *(*type)(const void *of, uint32_t block), const void *of);
	void *arg;
};

/* Searches the memory, whose modules and threads `s` has, and queues the records of the scan and of what
 * keeps the blocks. */
void scan_image(struct session *s, const struct scan_options *opt, struct scan_image *in);
