/* SPDX-License-Identifier: MIT
 * Rewrites a trace for --keep=live, without blocks that were freed already (writing thread).
 *
 * The new file holds all that is known of the process, the call stacks (nodes keep their
 * numbers) and a checkpoint of the live blocks, from which the events continue. It is written
 * without a name and then replaces the old file. The old file gets an end block, so that a
 * process that reads it has a complete trace up to this point.
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
/* Keeps the records of a block that consists of records; ignores other block types. */
void kept_block(struct kept *k, uint16_t type, const uint64_t ns[2],
		const struct ms_column *columns);
/* Keeps frames and nodes, in order. */
void kept_stacks(struct kept *k, const struct ms_frame *frames, size_t frame_count,
		 const struct ms_node *nodes, size_t node_count);

/* Rewrites the trace. Returns false if that is impossible, for example because the data to keep
 * takes more than half of the limit; limit->why has the reason. */
bool rewrite_trace(struct output *o);

/* ---- --keep=last ----
 *
 * Two traces are written at a time, begun one span apart: the first has the file name, the later
 * one begins with a checkpoint of the blocks live at that time. Once the later trace spans the
 * time to keep, it replaces the first one and a new one begins. So the file covers at least one
 * span and at most two. */

/* Begins the next later trace (the trace that will replace this one, with --keep=last) if the
 * current later trace spans the time to keep. Call it before each block of events, with the time
 * `ns` of its first event, when all earlier blocks are written. If it fails, recording ends as at
 * the limit, and limit->why has the reason. */
void later_turn(struct output *o, uint64_t ns);
/* Writes a block of `o` also to its later trace (see later_turn), if there is one. */
void later_block(struct output *o, uint16_t type, const uint64_t ns[2],
		 const struct ms_column *columns, size_t n);
void later_checkpoint(struct output *o, uint64_t event);
void later_free(struct later *l);
