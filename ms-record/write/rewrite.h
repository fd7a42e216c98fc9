/* SPDX-License-Identifier: MIT
 * --keep=live: a trace written anew without the blocks that were freed already (writing thread).
 *
 * The new file holds what is known of the process, the call stacks (nodes keep their numbers) and a
 * checkpoint of the live blocks, from which the events go on. It is written without a name, then
 * takes the old one's place. The old file gets an end, so that whoever reads it has a whole trace
 * up to here.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/column.h"
#include "format/stacks.h"

struct kept;
struct later;
struct ms_err;
struct output;

struct kept *kept_new(void);
void kept_free(struct kept *k);
/* Remembers the records of a block of records; other types are passed over. */
void kept_block(struct kept *k, uint16_t type, const uint64_t ns[2],
		const struct ms_column *columns);
/* Remembers frames and nodes, in order. */
void kept_stacks(struct kept *k, const struct ms_frame *frames, size_t frame_count,
		 const struct ms_node *nodes, size_t node_count);

/* Writes the trace anew. False: it cannot be, for instance because what must stay takes more than half
 * of the limit; limit->why says why. */
bool rewrite_trace(struct output *o);

/* ---- --keep=last ----
 *
 * Two traces are written at a time, one span of time apart: the first has the name, and the later
 * one begins with a checkpoint of what was live then. When that is a span ago it takes the first
 * one's place, and a new one begins. So at least the last span is there, at most two.
 */

/* Is called before each block of events, the first of which is of `ns`, when all before are
 * written: begins another trace when it is time. When that cannot be, recording stops as at a
 * limit, and limit->why says why. */
void later_turn(struct output *o, uint64_t ns);
/* Writes a block that went to `o` into the later trace too, if there is one. */
void later_block(struct output *o, uint16_t type, const uint64_t ns[2],
		 const struct ms_column *columns, size_t n);
void later_checkpoint(struct output *o, uint64_t event);
void later_free(struct later *l);
