/* SPDX-License-Identifier: MIT
 * Decides which blocks meet the conditions of --trace-out: by call stack, size, thread and time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "born.h"
#include "format/stacks.h"
#include "libcommon/base/arena.h"

struct ms_err;
struct ms_recording;
struct options;

struct frame_bits {
	uint64_t address, found;
};
struct keep {
	const struct options *o;
	bool some;                         /* there are conditions, so some blocks are not kept */
	MS_ARRAY(struct frame_bits) named; /* named frames of the program, sorted by address */
	MS_ARRAY(uint64_t) frames, nodes, threads; /* by number: bits of conditions met */
	struct born born;
};

/* Prepares the conditions; refuses conditions on sites, because only single blocks can be tested
 * here. `t` holds the threads and the process of the trace. Returns 0, or -1 with `err` set. Call
 * keep_free in both cases. */
int keep_prepare(struct keep *k, const struct options *o, const struct ms_recording *t,
		 struct ms_err *err);
/* Adds the frames and nodes of a stacks block; their numbers continue those of the previous block.
 */
void keep_stacks(struct keep *k, struct ms_stacks_decoder d);
/* Tells whether the block with that number, size, stack and thread is kept. */
bool keep_block(const struct keep *k, uint64_t number, uint64_t size, uint32_t stack,
		uint32_t thread);
void keep_free(struct keep *k);
