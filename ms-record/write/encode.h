/* SPDX-License-Identifier: MIT
 * Encodes batches as blocks of a trace.
 */
#pragma once

#include "batch.h"

struct encoder;
struct ms_err;
struct output;

/* Holds unused encoders. Each open block uses one, which is put back when the block ends. */
struct encoders {
	struct encoder *spare;
	unsigned spares;
};

void encoders_free(struct encoders *all);
/* Writes a batch to its output, but its events only when their block ends. Returns 0, or -1 with
 * `err` and errno set. */
int encode_batch(struct encoders *all, struct batch *b, struct ms_err *err);

/* Describes consecutive frames and nodes, numbered from first_frame and first_node on. */
struct stack_span {
	uint32_t first_frame, first_node;
	const struct ms_frame *frames;
	const struct ms_node *nodes;
	size_t frame_count, node_count;
};
/* Encodes a span in as many blocks as needed and calls `put` with the columns of each. Ends when
 * `put` returns other than 0. Returns the last result of `put`. */
int encode_stacks(const struct stack_span *s,
		  int (*put)(void *arg, const struct ms_column *columns, size_t n,
			     struct ms_err *err),
		  void *arg, struct ms_err *err);
