/* SPDX-License-Identifier: MIT
 * One trace being written.
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

/* Holds what the writing thread knows of a trace for its checkpoints. */
struct checkpoints {
	struct live_list *live;  /* NULL before the first event */
	uint64_t events, bytes;  /* since the last one; of the file then */
	uint64_t bytes_per_1000; /* blocks of the last one */
	uint64_t position,
		position_ns; /* `live` is the state before this event; the last one's time */
};

/* One trace being written. Made by the control thread; used by the writing thread until `closed`.
 */
struct output {
	int fd;     /* -1: made by the writing thread */
	char *path; /* as shown */
	int folder; /* where its file is, by which name there; -1 = it is none that we made */
	char *name;
	dev_t dev; /* which one that is; `ino` 0 = not made yet */
	ino_t ino;
	bool addresses;
	bool keep_fd_open; /* the descriptor was given to us (fd:N) */
	bool create;       /* the writing thread makes the file */
	int level;
	bool hurried; /* the writing thread is behind */
	struct ms_trace_writer *trace;
	struct encoder *open; /* holds the open block; NULL = none is */
	struct checkpoints checkpoints;
	/* --max-size: limit.c, rewrite.c */
	struct limit *limit;  /* NULL = none */
	struct kept *kept;    /* --keep=live: what a rewriting needs; NULL = none */
	struct later *later;  /* --keep=last: the trace that will take its place; NULL = none */
	uint64_t reserve;     /* bytes that the end of this trace may take */
	uint64_t counted;     /* of this trace in limit->used */
	struct stats written; /* what the file holds, when not all was written */
	uint64_t written_ns, discarded;
	uint64_t dropped_events, dropped_ns; /* not in the file any more: events before this one */
	int full;                            /* atomic: nothing more is written but the end */
	/* Results, read by others with acquire loads. */
	uint64_t bytes;
	int failed; /* 1: writing failed, `err` says why */
	int closed; /* 1: the last batch was written (or could not be) */
	int error_number;
	struct ms_err err;
};

struct output *output_new(int fd, const char *path);
/* Notes that it is a file of that name in that folder, which is borrowed. */
void output_place(struct output *o, int folder, const char *name);
/* Notes which file is open. */
void output_identify(struct output *o);
/* Begins its trace, or one that will take its place, on `fd`. NULL with `err` set. */
struct ms_trace_writer *output_begin(const struct output *o, int fd, struct ms_err *err);

/* Adds the fields of counts, and what --keep dropped, to an end record of 1024 bytes more. */
struct ms_record_writer;
void end_counts(const struct stats *t, struct ms_record_writer *w);
void end_dropped(const struct output *o, struct ms_record_writer *w);
