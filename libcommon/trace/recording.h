/* SPDX-License-Identifier: MIT
 * Room trace: reads and writes trace files.
 *   In:  a path, a descriptor or a pipe (tracefile.h), also one that still grows (follow.h).
 *   Out: blocks (tracefile.h), and a recording: its records, with its events fed to room replay.
 *   Used by: ms-record writes (tracewrite.c); snapshot, symbols, api and ms-top read.
 *
 * A trace being replayed: its records, its frames and call stacks, and the live-heap model that
 * applies its events.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/replay/replay.h"
#include "trace_index.h"
#include "tracefile.h"
#include "format/retention.h"
#include "format/stacks.h"
#include "format/verdict.h"

struct ms_err;

#define MS_FIELDS 64u
#define MS_ROW_FIELDS 14u

/* Holds one record, indexed by field number; for a repeated field, the last value. `number` is a
 * value, or a length in bytes. */
struct ms_fields {
	uint64_t known; /* bit set of fields present */
	uint64_t number[MS_FIELDS];
	const char *text[MS_FIELDS]; /* NUL-terminated copies that live as long as the recording;
					NULL for a number */
};
/* Holds a record like struct ms_fields, in less memory, for kinds with many records. Only fields 2
 * and 3 can be text: text[field - 2]; NULL = none. */
struct ms_row {
	uint32_t known;
	uint64_t number[MS_ROW_FIELDS];
	const char *text[2];
};
#define ms_has(f, field) ((f)->known >> (field)&1)

/* Lists the strings of a repeated field. */
struct ms_strings {
	const char **v;
	size_t n, cap;
};
/* Value of MS_MODULE_KIND for the source file of an interpreter; the trace has the function names
 * of its frames. */
#define MS_SYMBOLS_SOURCE 5
/* Lists the functions of a source file, by number. */
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

/* Locates the logical frames of a machine frame: the innermost inlined function first. From a
 * symbols block. */
struct ms_chain {
	uint32_t first, count; /* range in ms_recording.places */
};
struct ms_place {
	uint32_t function, file, line, column; /* function and file: string numbers; 0 = unknown */
};

/* Tells where a variable is declared. From a symbols block. */
struct ms_told_variable {
	uint64_t address;               /* in the module's ELF file, or in thread-local storage */
	uint32_t module, type, members; /* type, members: string numbers; 0 = unknown */
	bool in_thread;
	struct ms_place at; /* without a function */
};

struct ms_module_state {
	uint32_t module, state;
};

/* Locates the records about what a scan's blocks are kept by, in struct ms_retentions. */
struct ms_retention_scan {
	struct ms_retention_head head;
	size_t first_root, root_count, first_set, set_count, first_row, row_count;
};
/* Holds the retention of all scans, in order of scan number. Roots, sets and rows are in order of
 * number; each refers only to roots and sets, and to earlier rows, of its scan that are here. Texts
 * are NUL-terminated. */
struct ms_retentions {
	MS_ARRAY(struct ms_retention_scan) scans;
	MS_ARRAY(struct ms_retention_root) roots;
	MS_ARRAY(struct ms_retention_set) sets;
	MS_ARRAY(struct ms_retention_row) rows;
};

struct ms_recording {
	struct ms_trace *file;
	const struct ms_trace_head *head;
	const char *path; /* borrowed */
	struct ms_arena arena;
	struct ms_replay replay;

	struct ms_fields info, end; /* MS_INFO_* of the info block, MS_END_* of the last end
				       block */
	bool has_info, has_end;
	struct ms_strings args, allocators, hooks_missing, allocators_missed, left;
	struct ms_rows modules;                  /* indexed by id - 1; unknown ids have known = 0 */
	MS_ARRAY(struct ms_functions) functions; /* functions of source files, by module id - 1 */
	struct ms_rows threads;                  /* indexed by thread index */
	struct ms_rows samples, marks, losses, before;
	/* Head records of all measurements of resident memory, in order of number. `resident` has
	 * the other records of each measurement: sites by stack, then files. */
	MS_ARRAY(struct ms_fields) moments;
	struct ms_rows resident;
	/* Verdicts of all scans, in order of scan number: for each scan one head record, then its
	 * sites, in order of stack. Labels are NUL-terminated. */
	MS_ARRAY(struct ms_verdict_record) verdicts;
	struct ms_retentions retention;

	MS_ARRAY(struct ms_frame) frames; /* by number; [0] and lost frames are all zero */
	MS_ARRAY(struct ms_node) nodes;   /* by node number; a lost node has frame 0 */

	bool has_symbols;
	struct ms_strings strings; /* indexed by number - 1 */
	uint32_t string_base;      /* number of strings of earlier symbols blocks */
	MS_ARRAY(struct ms_place) places;
	MS_ARRAY(struct ms_told_variable) variables;
	struct ms_chain *chains; /* indexed by frame number; frames.n entries if has_symbols */
	size_t chain_count;
	MS_ARRAY(struct ms_module_state) states;

	uint64_t last_ns;          /* latest time in any block */
	uint64_t bad_blocks;       /* blocks with a valid checksum but invalid content */
	enum ms_trace_state state; /* state of the trace; valid after the last event */

	struct ms_event_decoder *decoder; /* NULL before the first event */
	struct ms_event *batch;           /* decoded events of one block */
	size_t batch_at, batch_end;       /* range of the batch not applied yet */
	bool in_block;
	bool may_read_ahead;    /* permits a second thread to read ahead, if that is worthwhile */
	struct ms_ahead *ahead; /* state of the thread that reads ahead; while not NULL, only this
				   thread uses `file` and `decoder` */
	uint64_t offset;        /* bytes of the file processed, while reading ahead */

	/* The following members are used only with sums (sums.h). */
	bool skims;      /* events and checkpoints are checked, but not applied */
	bool has_sums;   /* the replay has the state of the sums */
	uint32_t digest; /* of the blocks so far, except end blocks and what is appended */
	uint32_t end_digest, sums_digest; /* of the last end block; as the sums have it */

	/* The following members are used only when a part of the trace is read. */
	struct ms_trace_index index; /* set by ms_recording_open_parts */
	bool parts;   /* opened by ms_recording_open_parts: all blocks are read already, except
			 events and checkpoints */
	bool skipped; /* events before a checkpoint are missing in the file, or were not read */
	bool stopped; /* the position set by ms_recording_stop_at is reached: later events are not
			 applied */
	uint64_t stop_tick, stop_event, stop_ns; /* set by ms_recording_stop_at */
	uint32_t next_part;                      /* next part of the checkpoint being read; 0 =
						    none */
	struct ms_checkpoint_head part_head;     /* head of part 0 of that checkpoint */

	/* called with events before they are applied, which it may change; NULL = none */
	void (*on_events)(void *arg, struct ms_event *ev, size_t n);
	void *on_events_arg;
	void (*on_block)(void *arg); /* called after every block, to show progress; NULL = none */
	void *on_block_arg;
};

/* Opens `path` ("-" = standard input), which is borrowed, and reads up to the first event. Returns
 * NULL with `err` set if it is not a trace. */
struct ms_recording *ms_recording_open(const char *path, struct ms_err *err);
/* Opens a recording as ms_recording_open does, from a descriptor from which `n` bytes have been
 * read already. ms_recording_close closes the descriptor; if this fails, it stays open. */
struct ms_recording *ms_recording_open_fd(int fd, const char *name, const void *bytes, size_t n,
					  struct ms_err *err);
void ms_recording_close(struct ms_recording *t);
/* Closes the file and frees the buffers until the next read, if the file can be reopened. Lets
 * recordings outnumber open files. */
void ms_recording_park(struct ms_recording *t);

/* ---- a part of a trace ---- */

/* Opens a finished trace on disk and reads everything except events and checkpoints, so that marks
 * and end are known. NULL without a text in `err`: the trace must be read from its start. */
struct ms_recording *ms_recording_open_parts(const char *path, struct ms_err *err);
/* Opens a trace as ms_recording_open_parts does, even if it still grows or has no end block: reads
 * everything present now except events. */
struct ms_recording *ms_recording_open_present(const char *path, struct ms_err *err);
/* Moves a recording opened by ms_recording_open_parts or ms_recording_open_present to the last
 * checkpoint without events later than `tick`, or to the first event if there is no such
 * checkpoint; ms_recording_run continues from there. Returns false on failure: close the recording,
 * and read the trace from its start. */
bool ms_recording_start_at(struct ms_recording *t, uint64_t tick, struct ms_err *err);
/* Makes the recording end at `ns`: events at or after `tick`, or from number `event` on (MS_NEVER:
 * no limit), are excluded. ms_recording_run stops before them, and does not read them if it can. */
void ms_recording_stop_at(struct ms_recording *t, uint64_t ns, uint64_t tick, uint64_t event);
/* Returns the time in ns up to which events are applied: that of ms_recording_stop_at if set, else
 * the length. */
uint64_t ms_recording_reached(const struct ms_recording *t);

/* Applies the events up to and including `until_ns` (ns since the start of this recording). Returns
 * 1 with the time of the next event in *next_ns; 0 if there are no more events: everything is read
 * and the model is finished; or -1 with `err` set if reading failed. */
int ms_recording_run(struct ms_recording *t, uint64_t until_ns, uint64_t *next_ns,
		     struct ms_err *err);

/* Applies some of the events present, without finishing the model; for readers that follow a
 * growing trace. Returns 1 if there may be more; 0 if there are no more now, or the stop position
 * is reached (t->stopped), and t->state is valid; or -1 with `err` set if reading failed. */
int ms_recording_step(struct ms_recording *t, struct ms_err *err);

/* Finishes the model of a recording read in steps, as if the trace ended here. No more events can
 * be applied. */
void ms_recording_finish(struct ms_recording *t);

/* Returns the number of bytes of the file processed so far. */
uint64_t ms_recording_offset(const struct ms_recording *t);
/* Returns the length in ns: from the end block, else the latest time in the file. */
uint64_t ms_recording_length(const struct ms_recording *t);
/* Tells whether the recording includes the end of the process, by exit or by a signal. Valid after
 * the last event. */
bool ms_recording_exited(const struct ms_recording *t);
/* Returns the scan at the end of the process; NULL = there was none. */
const struct ms_verdict_scan *ms_recording_end_scan(const struct ms_recording *t);
/* Returns the scan of that number; NULL = the trace does not have it. */
const struct ms_verdict_scan *ms_recording_scan(const struct ms_recording *t, uint64_t number);
/* Tells whether all rows of a retention scan are there, and each retains at least what it has itself
 * and what the rows below it retain, so that no sum of figures is too large. */
bool ms_retention_is_whole(const struct ms_recording *t, const struct ms_retention_scan *s);
/* Tells whether ms-record --poll made the trace, which has samples of /proc only. */
bool ms_recording_is_polled(const struct ms_recording *t);
/* Tells whether a loss record counts lost events, rather than events left out in a pause or beyond
 * a limit. ms_recording_lost returns the number of lost events. */
bool ms_recording_is_loss(const struct ms_row *loss);
uint64_t ms_recording_lost(const struct ms_recording *t);
/* Returns "complete", "growing", "no end" or "damaged". Traces in the first two states count as
 * complete, unless they were made from a core dump that is not. Valid after the last event. */
const char *ms_recording_state(const struct ms_recording *t);
bool ms_recording_complete(const struct ms_recording *t);

/* Reads only info, end and marks of a file on disk, quickly, without events. Close the recording
 * after use. */
struct ms_recording *ms_recording_glance(const char *path, struct ms_err *err);

/* Returns the function of a frame in a source file, NULL = not known. ms_source_line returns its
 * line, 0 = not known. */
const char *ms_source_function(const struct ms_recording *t, const struct ms_frame *f);
uint32_t ms_source_line(const struct ms_frame *f);

/* Returns the index of the thread that an index of threads stands for: itself, or if it was made for
 * labels, its thread's. */
static inline size_t ms_thread_of(const struct ms_recording *t, size_t index)
{
	const struct ms_row *row = index < t->threads.n ? &t->threads.v[index] : NULL;
	if (!row || !ms_has(row, MS_THREAD_OF) || row->number[MS_THREAD_OF] >= index)
		return index;
	size_t of = row->number[MS_THREAD_OF];
	return ms_has(&t->threads.v[of], MS_THREAD_OF) ? index : of;
}

/* Returns the labels that an index of threads stands for, NULL = none. */
static inline const char *ms_label_of(const struct ms_recording *t, size_t index)
{
	return ms_thread_of(t, index) == index ? NULL
					       : t->threads.v[index].text[MS_THREAD_NAME - 2];
}
