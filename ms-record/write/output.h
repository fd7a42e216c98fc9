/* SPDX-License-Identifier: MIT
 * An output: the state of one trace being written.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libcommon/base/err.h"
#include "libcommon/trace/tracefile.h"
#include "ms-record/base/stats.h"

struct encoder;
struct kept;
struct later;
struct limit;
struct live_list;

/* Holds the writing thread's state for the checkpoints of a trace. */
struct checkpoints {
	struct live_list *live;  /* NULL before the first event */
	bool asked;              /* one is to be written, whether it is due or not */
	uint64_t events, bytes;  /* events since the last checkpoint; file size just after it */
	uint64_t bytes_per_1000; /* bytes of the last checkpoint, per 1000 blocks */
	uint64_t position,
		position_ns; /* `live` is the state before event `position`; position_ns: time of
				the event before that */
};

/* Holds the state of one trace being written. The control thread makes it; the writing thread
 * uses it until `closed`. */
struct output {
	int fd;     /* -1 = the writing thread opens it */
	char *path; /* as shown to the user */
	int folder; /* directory and name of the file; folder -1 = the file is not ours */
	char *name;
	dev_t dev; /* identity of the file; `ino` 0 = not created yet */
	ino_t ino;
	bool addresses;
	bool keep_fd_open; /* the descriptor was passed to us (fd:N) */
	bool create;       /* the writing thread creates the file */
	int level;
	bool hurried; /* the writing thread is behind */
	struct ms_trace_writer *trace;
	struct encoder *open; /* encoder of the open block; NULL = no open block */
	struct checkpoints checkpoints;
	/* for --max-size: limit.c, rewrite.c */
	struct limit *limit;  /* NULL = no limit */
	struct kept *kept;    /* --keep: the data for rewriting the trace; NULL = none */
	struct later *later;  /* --keep=last: the trace that will replace this one; NULL = none */
	uint64_t reserve;     /* bytes reserved for the end of this trace */
	uint64_t counted;     /* bytes of this trace in limit->used */
	struct stats written; /* totals up to the last event written; used if events are missing */
	uint64_t written_ns, discarded;
	uint64_t dropped_events, dropped_ns; /* count and time of the events dropped by --keep */
	int full;                            /* atomic: only the end may still be written */
	/* Results, read by others with acquire loads. */
	uint64_t bytes;
	int failed; /* 1: writing failed, see `err` */
	int closed; /* 1: the last batch was written or failed */
	int error_number;
	struct ms_err err;
};

struct output *output_new(int fd, const char *path);
/* Sets the folder, which is borrowed, and the file's name in it. */
void output_place(struct output *o, int folder, const char *name);
/* Notes device and inode of the open file. */
void output_identify(struct output *o);
/* Begins to write the trace, or its replacement, to the file `fd`. Returns NULL with `err` set on
 * failure. */
struct ms_trace_writer *output_begin(const struct output *o, int fd, struct ms_err *err);

/* Add the counts, and the events dropped by --keep, to an end record, in at most 1024 more
 * bytes. */
struct ms_record_writer;
void end_counts(const struct stats *t, struct ms_record_writer *w);
void end_dropped(const struct output *o, struct ms_record_writer *w);
