/* SPDX-License-Identifier: MIT
 * Which blocks meet the conditions on events of --trace-out: by call stack, size and thread.
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
	bool some;                         /* there are conditions: not every block is kept */
	MS_ARRAY(struct frame_bits) named; /* frames of the program that have names, by address */
	MS_ARRAY(uint64_t) frames, nodes, threads; /* by number; [0] is none */
	struct born born;
};

/* Refuses conditions that are on sites, not on events. `t` has the threads and the process of the
 * trace. 0, or -1 with `err` set. keep_free in both cases. */
int keep_prepare(struct keep *k, const struct options *o, const struct ms_recording *t,
		 struct ms_err *err);
/* Frames and nodes of a stacks block, which go on from those before. */
void keep_stacks(struct keep *k, struct ms_stacks_decoder d);
/* Tells whether the block of that number and size, made by that thread with that stack, is kept. */
bool keep_block(const struct keep *k, uint64_t number, uint64_t size, uint32_t stack,
		uint32_t thread);
void keep_free(struct keep *k);
