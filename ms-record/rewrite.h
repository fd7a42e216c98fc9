/* SPDX-License-Identifier: MIT
 * --keep=live: a trace written anew without the blocks that were freed already (writing thread).
 *
 * The new file holds what is known of the process, the call stacks (nodes keep their numbers) and a
 * checkpoint of the live blocks, from which the events go on. It is written without a name, then
 * takes the old one's place. The old file gets an end, so that whoever reads it has a whole trace
 * up to here.
 */
#ifndef REWRITE_H
#define REWRITE_H

#include <stddef.h>
#include <stdint.h>

#include "format/column.h"
#include "format/stacks.h"

struct kept;
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

/* Writes the trace anew. 0 = done; 1 = not: what must stay takes more than half of the limit, and
 * limit->why says so; -1 with `err` set: writing failed. */
int rewrite_trace(struct output *o, struct ms_err *err);

#endif
