/* SPDX-License-Identifier: MIT
 * From a batch to blocks of a trace.
 */
#ifndef ENCODE_H
#define ENCODE_H

#include "batch.h"

struct encoder;
struct ms_err;
struct ms_trace_writer;

struct encoder *encoder_new(void);
void encoder_free(struct encoder *e);
/* Writes what the batch holds. 0, or -1 with `err` and errno set. */
int encode_batch(struct encoder *e, struct batch *b, struct ms_trace_writer *t, struct ms_err *err);

#endif
