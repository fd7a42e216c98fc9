/* SPDX-License-Identifier: MIT
 * Room trace: a trace file, read and written.
 *   In:  a path, a descriptor or a pipe (tracefile.h), also one that still grows (follow.h).
 *   Out: blocks (tracefile.h), and a recording: its records, with its events fed to room replay.
 *   Used by: ms-record writes (tracewrite.c); snapshot, symbols, api and ms-top read.
 *
 * A trace being replayed: what its records say, its frames and call stacks, and the live-heap model
 * that its events feed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libcommon/base/arena.h"
#include "libcommon/replay/replay.h"
#include "trace_index.h"
#include "tracefile.h"
#include "format/stacks.h"
#include "format/verdict.h"

struct ms_err;

#define MS_FIELDS 64u
#define MS_ROW_FIELDS 14u

/* One record, taken apart by field number; of a repeated field the last one. `number` is a value,
 * or a count of bytes. */
struct ms_fields {
	uint64_t known; /* bit per field */
	uint64_t number[MS_FIELDS];
	const char *text[MS_FIELDS]; /* NUL-ended copy, as long as the recording lives; "" for a
					number */
};
/* Holds a record as ms_fields does, of kinds of which there are many. Only their fields 2 and 3 may
 * be text: text[field - 2], else NULL. */
struct ms_row {
	uint32_t known;
	uint64_t number[MS_ROW_FIELDS];
	const char *text[2];
};
#define ms_has(f, field) ((f)->known >> (field)&1)

/* Strings of a repeated field. */
struct ms_strings {
	const char **v;
	size_t n, cap;
};
/* MS_MODULE_KIND of a source file of an interpreter: the trace says what its frames are. */
#define MS_SYMBOLS_SOURCE 5
/* Functions of a source file, by number. */
struct ms_functions {
	struct ms_function {
		uint64_t number;
		const char *name;
	} * v;
	size_t n, cap;
};
struct ms_rows {
	struct ms_row *v;
	size_t n, cap;
};

/* Symbols block: the logical frames of one frame, innermost inlined first. */
struct ms_chain {
	uint32_t first, count; /* in ms_recording.places */
};
struct ms_place {
	uint32_t function, file, line, column; /* strings by number, from 1; 0 = unknown */
};

struct ms_module_state {
	uint32_t module, state;
};

struct ms_recording {
	struct ms_trace *file;
	const struct ms_trace_head *head;
	const char *path; /* borrowed */
	struct ms_arena arena;
	struct ms_replay replay;

	struct ms_fields info, end; /* MS_INFO_*, MS_END_* of the last end block */
	bool has_info, has_end;
	struct ms_strings args, allocators, hooks_missing, allocators_missed, left;
	struct ms_rows modules;                  /* by id - 1; an id never seen has known = 0 */
	MS_ARRAY(struct ms_functions) functions; /* of modules that are source files, by id - 1 */
	struct ms_rows threads;                  /* by index */
	struct ms_rows samples, marks, losses, before;
	/* Moments at which resident memory was looked at: their heads, by number; in `resident` the
	 * sites of each, by stack, and its files. */
	MS_ARRAY(struct ms_fields) moments;
	struct ms_rows resident;
	/* of each scan its head, then its sites, by stack; scans by number; labels NUL-ended */
	MS_ARRAY(struct ms_verdict_record) verdicts;

	MS_ARRAY(struct ms_frame) frames; /* by number; [0] and those lost in damage are zero */
	MS_ARRAY(struct ms_node) nodes;   /* by number; frame 0 = lost in damage */

	bool has_symbols;
	struct ms_strings strings; /* by number - 1 */
	uint32_t string_base;      /* strings of earlier symbols blocks */
	MS_ARRAY(struct ms_place) places;
	struct ms_chain *chains; /* by frame number, of frames.n entries when has_symbols */
	size_t chain_count;
	MS_ARRAY(struct ms_module_state) states;

	uint64_t last_ns;          /* latest time seen anywhere */
	uint64_t bad_blocks;       /* whole, but their content means nothing */
	enum ms_trace_state state; /* valid at the end */

	struct ms_event_decoder *decoder; /* NULL until there is an event */
	struct ms_event *batch;           /* events of one block, decoded */
	size_t batch_at, batch_end;       /* those not applied yet */
	bool in_block;
	bool may_read_ahead;    /* by a thread of its own, where that is worth it */
	struct ms_ahead *ahead; /* which is at work on `file` and `decoder`; or NULL */
	uint64_t offset;        /* what is before it in the file was taken, while it is at work */

	/* Reading a part only. */
	struct ms_trace_index index; /* of ms_recording_open_parts */
	bool parts;   /* so opened: all but events and checkpoints was read already */
	bool skipped; /* events before a checkpoint are not in the file, or were not read */
	bool stopped; /* at the stop: what follows is not applied */
	uint64_t stop_tick, stop_event, stop_ns; /* ms_recording_stop_at */
	uint32_t next_part;                      /* of the checkpoint being taken; 0 = none is */
	struct ms_checkpoint_head part_head;     /* its part 0 */

	void (*on_block)(void *arg); /* called after every block, or NULL: for progress */
	void *on_block_arg;
};

/* Opens `path` ("-" = standard input), which is borrowed, and reads up to the first event. NULL
 * with `err` set when it is no trace. */
struct ms_recording *ms_recording_open(const char *path, struct ms_err *err);
/* Reads a recording as ms_recording_open does, from a descriptor of which `n` bytes were read
 * already. It is kept and closed by ms_recording_close, not when this fails. */
struct ms_recording *ms_recording_open_fd(int fd, const char *name, const void *bytes, size_t n,
					  struct ms_err *err);
void ms_recording_close(struct ms_recording *t);
/* Keeps no open file and no buffers until it is read on, where it can be opened again; so that
 * there may be more recordings than open files. */
void ms_recording_park(struct ms_recording *t);

/* ---- a part of a trace ---- */

/* Opens a trace on disk that has ended and reads everything but events and checkpoints: its marks
 * and its end are known then. NULL without a text in `err`: it must be read from its start. */
struct ms_recording *ms_recording_open_parts(const char *path, struct ms_err *err);
/* Reads a trace that still grows, or that has no end, as ms_recording_open_parts does: everything
 * but events that is there now. */
struct ms_recording *ms_recording_open_present(const char *path, struct ms_err *err);
/* Takes such a recording to the last checkpoint that holds no event later than `tick`, or to its
 * first event when there is none; ms_recording_run goes on from there. False when that cannot be
 * done: the recording can only be closed then, and the trace be read from its start. */
bool ms_recording_start_at(struct ms_recording *t, uint64_t tick, struct ms_err *err);
/* The recording is to end at `ns`: events at `tick` or later, or of number `event` or higher
 * (MS_NEVER: all), are not wanted. ms_recording_run ends before them, and leaves them unread where
 * it can. */
void ms_recording_stop_at(struct ms_recording *t, uint64_t ns, uint64_t tick, uint64_t event);
/* When its figures end, in ns: where it was stopped, else its length. */
uint64_t ms_recording_reached(const struct ms_recording *t);

/* Applies the events up to and including `until_ns` (ns since the start of this recording). 1:
 * *next_ns is the time of the next one; 0: there is none, all was read and the model is finished;
 * -1 with `err` set: reading failed. */
int ms_recording_run(struct ms_recording *t, uint64_t until_ns, uint64_t *next_ns,
		     struct ms_err *err);

/* Applies some of what is there, without finishing the model: for one who follows a trace that
 * grows. 1: there may be more; 0: no more now, or the stop was reached (t->stopped); t->state is
 * valid; -1 with `err` set: reading failed. */
int ms_recording_step(struct ms_recording *t, struct ms_err *err);

/* Finishes the model of one that was read by steps, as if it ended where it is: nothing more can be
 * applied. */
void ms_recording_finish(struct ms_recording *t);

/* Bytes of the file that were taken so far. */
uint64_t ms_recording_offset(const struct ms_recording *t);
/* Length in ns: what the end block says, else the latest time in the file. */
uint64_t ms_recording_length(const struct ms_recording *t);
/* Do its figures end with its process, by exit or by a signal? Valid after the end of the events. */
bool ms_recording_exited(const struct ms_recording *t);
/* The scan at the end of the process; NULL = there was none. */
const struct ms_verdict_scan *ms_recording_end_scan(const struct ms_recording *t);
/* "complete", "growing", "no end" or "damaged"; the first two are complete. Valid after the end. */
const char *ms_recording_state(const struct ms_recording *t);
bool ms_recording_complete(const struct ms_recording *t);

/* Looks at a file on disk quickly, without its events: info, end and marks. The result is only for
 * those; close it. */
struct ms_recording *ms_recording_glance(const char *path, struct ms_err *err);

/* Returns the function of a frame in a source file, NULL = not known; ms_source_line its line, 0 =
 * not known. */
const char *ms_source_function(const struct ms_recording *t, const struct ms_frame *f);
uint32_t ms_source_line(const struct ms_frame *f);
