/* SPDX-License-Identifier: MIT
 * Reading ahead: a second thread reads blocks, decompresses them and decodes events while the first
 * one applies those before.
 *
 * Until it comes to something other than a good block (the end, damage, a failure) the thread is
 * the only one that touches the file and the decoder. That it hands over as the last, and ends: the
 * reading goes on in one thread.
 */
#pragma once

#include <stdbool.h>

#include "recording.h"

/* Starts it when that is worth it: a recording that may (ms_recording.may_read_ahead), read in
 * order to its end, in the middle of a large block of events, on more than one processor. `want`:
 * columns, as of ms_trace_next. */
bool ms_ahead_start(struct ms_recording *t, uint64_t types, uint64_t want);
/* Sets t->batch to the next events, valid until the next call, and takes all blocks before them. 1;
 * or 0 when the thread is over: `*last` is what ms_trace_next gave then, with `b` and `err`. */
int ms_ahead_next(struct ms_recording *t, enum ms_trace_next *last, struct ms_block *b,
		  struct ms_err *err);
/* Ends it wherever it is. Nothing more can be read of the recording then. */
void ms_ahead_stop(struct ms_recording *t);
