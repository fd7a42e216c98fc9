/* SPDX-License-Identifier: MIT
 * Cells: what one thread allocated at one site in one size class.
 *
 * An event changes one cell, and of its site what no sum of cells gives. All figures by thread, by
 * size, and by site and thread are sums of cells, made when the recording ends: so an event costs
 * the same however many tables there are. A live block knows its cell, by number; a cell's number
 * never changes.
 */
#pragma once

#include "replay.h"
#include "replay_classes.h"
#include "replay_private.h"

struct ms_replay_cell {
	struct ms_level live;
	uint64_t allocations, bytes, temporary;
	/* Blocks that came (or, negative, went) by no call: of a checkpoint, inferred frees. What
	 * was allocated or came so and is not live any more was freed. */
	uint64_t others;
	uint32_t site, thread;
	uint32_t record; /* its ms_replay_site_thread, after ms_replay_sum_cells */
	uint8_t class;
	bool restored; /* blocks of a checkpoint were put back into it */
};

/* A site's thread and size class in one number. */
static inline uint32_t ms_cell_key(uint32_t thread, uint64_t size_bytes)
{
	return thread << 6 | ms_replay_class_of(size_bytes);
}
_Static_assert(MS_SIZE_CLASSES == 1u << 6 && MS_REPLAY_THREADS_MAX <= 1u << 26, "a key's bits");

/* Makes that cell the latest one of the site; made if there is none. */
void ms_replay_turn_to_cell(struct ms_replay *r, struct ms_replay_site *s, uint32_t key);

/* Number of the cell of blocks of that site, thread and size. */
static inline uint32_t ms_replay_cell_of(struct ms_replay *r, struct ms_replay_site *s,
					 uint32_t thread, uint64_t size_bytes)
{
	uint32_t key = ms_cell_key(thread, size_bytes);
	if (__builtin_expect(s->cell_key != key, 0))
		ms_replay_turn_to_cell(r, s, key);
	return s->cell;
}

/* Sets what is a sum of cells: of sites, threads, their records and classes, and of sizes. */
void ms_replay_sum_cells(struct ms_replay *r);
