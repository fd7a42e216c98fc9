/* SPDX-License-Identifier: MIT
 * Declarations shared by the files that read a recording only.
 */
#pragma once

#include "recording.h"
#include "format/trace.h"

#define MS_TYPE_BIT(t) (UINT64_C(1) << (t))
#define MS_COLUMN_BIT(c) (UINT64_C(1) << (c))

#define MS_EVENT_TYPES (MS_TYPE_BIT(MS_BLOCK_EVENTS) | MS_TYPE_BIT(MS_BLOCK_CHECKPOINT))
/* Bit set of all block types that this version knows, except the index. */
#define MS_ALL_TYPES                                                                               \
	((MS_TYPE_BIT(MS_BLOCK_RETENTION + 1) - MS_TYPE_BIT(MS_BLOCK_INFO)) &                      \
	 ~MS_TYPE_BIT(MS_BLOCK_INDEX))
/* Bit set of all columns except addresses, which replay does not use: MS_COL_ADDRESS is above the
 * mask, and MS_COL_ADDRESS_OLD (written by early recorders) is removed from it. */
#define MS_ALL_COLUMNS (UINT64_C(0xffe) & ~MS_COLUMN_BIT(MS_COL_ADDRESS_OLD))

/* Returns a recording of `file` (may be NULL) at its start. */
struct ms_recording *ms_recording_begin(struct ms_trace *file, const char *path);
/* Tells whether anything could not be read so far. */
bool ms_recording_damaged(const struct ms_recording *t);
/* Reads the next block of `types` with its columns `want`. Returns 1 if read, 0 at the end of the
 * trace, or -1 on failure. The file's reader counts damaged blocks. */
int ms_recording_next_block(struct ms_recording *t, uint64_t types, uint64_t want,
			    struct ms_err *err);
/* Applies a block; for events, it only sets up the decoder. Returns false if its content is
 * invalid. */
bool ms_recording_take(struct ms_recording *t, const struct ms_block *b);
/* Applies a block of a checkpoint; skips the block if all events before it were read. Returns false
 * if the block's content is invalid. */
bool ms_recording_take_checkpoint(struct ms_recording *t, const struct ms_block *b);

/* Keeps the records of a block. Returns false if some are invalid. */
bool ms_recording_take_records(struct ms_recording *t, const struct ms_block *b);
/* Adds a record of a retention block. Returns false if it is invalid, or what it refers to is
 * missing. */
bool ms_recording_add_retention(struct ms_recording *t, struct ms_record rec);

/* ---- recording_ahead.c: a second thread reads and decompresses blocks, decodes events ---- */

/* Starts reading ahead, if all of this holds: it is permitted (ms_recording.may_read_ahead), the
 * trace is read in order to its end, a large block of events is partly read, and there are several
 * processors. `want`: bit set of columns, as for ms_trace_next. */
bool ms_ahead_start(struct ms_recording *t, uint64_t want);
/* Gets the next result of the thread. Returns true if t->batch has the next events, which are valid
 * until the next call. Returns false if `next`, `b` and `err` are set as by ms_trace_next; a block
 * of events has no columns, and its events follow. The thread has ended if `next` is not
 * MS_NEXT_BLOCK. */
bool ms_ahead_next(struct ms_recording *t, enum ms_trace_next *next, struct ms_block *b,
		   struct ms_err *err);
/* Ends the thread. Afterwards, nothing more of the recording can be read. */
void ms_ahead_stop(struct ms_recording *t);

/* Functions of sums.c. ms_sums_note adds a block to the digest of the
 * recording; ms_sums_take puts the content of the block of sums into its replay, and returns false
 * if that is invalid; ms_sums_fit tells whether they belong to the blocks noted. */
void ms_sums_note(struct ms_recording *t, const struct ms_block *b);
bool ms_sums_take(struct ms_recording *t, const struct ms_block *b);
bool ms_sums_fit(const struct ms_recording *t);
