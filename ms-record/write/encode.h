/* SPDX-License-Identifier: MIT
 * From a batch to blocks of a trace.
 */
#pragma once

#include "batch.h"

struct encoder;
struct ms_err;
struct output;

/* An open block has an encoder for itself, taken from here and given back. */
struct encoders {
	struct encoder *spare;
	unsigned spares;
};

void encoders_free(struct encoders *all);
/* Writes what the batch holds to its output; its events when their block ends. 0, or -1 with `err`
 * and errno set. */
int encode_batch(struct encoders *all, struct batch *b, struct ms_err *err);

/* Frames and nodes, the first of which have these numbers. */
struct stack_span {
	uint32_t first_frame, first_node;
	const struct ms_frame *frames;
	const struct ms_node *nodes;
	size_t frame_count, node_count;
};
/* Gives `put` the columns of as many blocks as they take, until it returns other than 0, which is
 * returned. */
int encode_stacks(const struct stack_span *s,
		  int (*put)(void *arg, const struct ms_column *columns, size_t n,
			     struct ms_err *err),
		  void *arg, struct ms_err *err);
