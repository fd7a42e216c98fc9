/* SPDX-License-Identifier: MIT
 * What the files that read a recording share among themselves.
 */
#pragma once

#include "recording.h"
#include "format/trace.h"

#define MS_TYPE_BIT(t) (UINT64_C(1) << (t))
#define MS_COLUMN_BIT(c) (UINT64_C(1) << (c))

#define MS_EVENT_TYPES (MS_TYPE_BIT(MS_BLOCK_EVENTS) | MS_TYPE_BIT(MS_BLOCK_CHECKPOINT))
/* All that this version knows but the index. */
#define MS_ALL_TYPES                                                                               \
	((MS_TYPE_BIT(MS_BLOCK_RESIDENT + 1) - MS_TYPE_BIT(MS_BLOCK_INFO)) &                       \
	 ~MS_TYPE_BIT(MS_BLOCK_INDEX))
/* Replay has no use for addresses (MS_COL_ADDRESS is above these; what early recorders wrote is
 * not read). */
#define MS_ALL_COLUMNS (UINT64_C(0xffe) & ~MS_COLUMN_BIT(MS_COL_ADDRESS_OLD))

/* A recording of `file`, which may be NULL, at its start. */
struct ms_recording *ms_recording_begin(struct ms_trace *file, const char *path);
/* Was there anything that could not be read so far? */
bool ms_recording_damaged(const struct ms_recording *t);
/* Goes on to the next block of `types` with its columns `want`. 1, 0 at the end, -1. Blocks that
 * were damaged are counted by the file's reader. */
int ms_recording_next_block(struct ms_recording *t, uint64_t types, uint64_t want,
			    struct ms_err *err);
/* Takes what a block says; of one of events, its decoder is set up. False when it means nothing. */
bool ms_recording_take(struct ms_recording *t, const struct ms_block *b);
/* A block of a checkpoint. It is passed over unless events before it are missing. False when it
 * means nothing. */
bool ms_recording_take_checkpoint(struct ms_recording *t, const struct ms_block *b);

/* ---- recording_ahead.c: a second thread reads blocks, decompresses them and decodes events ---- */

/* Starts it when that is worth it: a recording that may (ms_recording.may_read_ahead), read in
 * order to its end, in the middle of a large block of events, on more than one processor. `want`:
 * columns, as of ms_trace_next. */
bool ms_ahead_start(struct ms_recording *t, uint64_t want);
/* Gives what comes next. True: t->batch is the next events, valid until the next call. False:
 * `next` and `b` are what ms_trace_next gave, with `err`; of a block of events, which the batches
 * that follow are of, without columns. The thread is over with the first that is no block. */
bool ms_ahead_next(struct ms_recording *t, enum ms_trace_next *next, struct ms_block *b,
		   struct ms_err *err);
/* Ends it wherever it is. Nothing more can be read of the recording then. */
void ms_ahead_stop(struct ms_recording *t);
