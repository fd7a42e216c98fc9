/* SPDX-License-Identifier: MIT
 * The memory that heaps of the program's own cut their blocks from, heap by heap.
 */
#ifndef MS_REPLAY_BACKING_H
#define MS_REPLAY_BACKING_H

#include <stddef.h>
#include <stdint.h>

#include "format/event.h"

struct ms_replay;

struct ms_backing {
	struct {
		struct ms_backing_heap {
			uint32_t node; /* its marker, 0 = not known */
			uint64_t bytes, blocks, most_bytes;
			uint64_t taken; /* blocks in all */
		} * v;
		size_t n, cap;
	} heaps;
};

/* MS_EXT_BACKING or MS_EXT_UNBACKING. */
void ms_backing_event(struct ms_replay *r, const struct ms_event *ev);
void ms_backing_free(struct ms_backing *b);

#endif
