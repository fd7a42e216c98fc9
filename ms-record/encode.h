/* SPDX-License-Identifier: MIT
 * From a batch to blocks of a trace.
 */
#ifndef ENCODE_H
#define ENCODE_H

#include "batch.h"

struct encoder;
struct ms_err;
struct ms_stacks_encoder;

struct encoder *encoder_new(void);
void encoder_free(struct encoder *e);
/* Writes what the batch holds to its output. 0, or -1 with `err` and errno set. */
int encode_batch(struct encoder *e, struct batch *b, struct ms_err *err);

/* Frames and nodes, the first of which have these numbers. */
struct stack_span {
	uint32_t first_frame, first_node;
	const struct ms_frame *frames;
	const struct ms_node *nodes;
	size_t frame_count, node_count;
};
/* Gives `put` the columns of as many blocks as they take, until it returns other than 0, which is
 * returned. `e` may be NULL: then memory is taken for it. */
int encode_stacks(struct ms_stacks_encoder *e, const struct stack_span *s,
		  int (*put)(void *arg, const struct ms_column *columns, size_t n,
			     struct ms_err *err),
		  void *arg, struct ms_err *err);

#endif
