/* SPDX-License-Identifier: MIT
 * Heaps of the program's own beside malloc's: what each holds, and the memory that it cuts its
 * blocks from.
 */
#ifndef REPORT_HEAPS_H
#define REPORT_HEAPS_H

#include "model.h"

/* Figures are of the moment of --at; not known is UNKNOWN. */
struct heap {
	const char *name; /* "malloc", or what the program calls it; raw */
	uint64_t live, blocks, peak, allocated, allocations, frees;
	uint64_t backing,
		unused; /* memory that it cuts its blocks from, and how much of it is free */
};
/* Those that any site allocated from, that with the most live bytes first, into an arena array;
 * returns how many. */
size_t heaps_read(struct model *m, struct heap **out);

/* Functions that were to be hooked and that no process had, raw: at most `most`. Returns how many.
 */
size_t heaps_hooks_missing(struct model *m, const char **out, size_t most);

#endif
