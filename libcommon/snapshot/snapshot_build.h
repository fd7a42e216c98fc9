/* SPDX-License-Identifier: MIT
 * Shared by the files that build a snapshot from traces: snapshot_inputs.c (which traces),
 * snapshot_points.c (which moments), snapshot_step.c (replay of all traces in step),
 * snapshot_build.c (database).
 */
#pragma once

#include <sys/types.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/point.h"
#include "libcommon/trace/run_index.h"
#include "snapshot_private.h"
#include "snapshot_sum.h"

/* Describes a process being replayed. */
struct running {
	struct ms_kept_process keep;
	const char *path;
	struct ms_recording *glance; /* the process's trace, if read in advance; or NULL */
	uint64_t start_ns;           /* start time on the clock shared by all traces */
	uint64_t next_ns;            /* time of the process's next event, from origin_ns */
	bool ended;                  /* all events are applied, and next_ns is the end of the
					process */
	dev_t dev;
	ino_t ino;
};

/* Describes a folder of traces of one run. */
struct run_folder {
	const char *path;
	struct ms_run_index index;
	const struct running *of; /* first trace of the folder, which identifies the run */
	const char *empty;        /* an empty file in the folder, or NULL */
	const char *why;          /* error of the first file in the folder that is no trace, or
				     NULL */
};

struct build {
	const struct ms_build_options *opt;
	struct ms_build_result *res;
	struct ms_err *err;
	struct ms_arena arena;
	const char *const *labels;
	size_t label_count, asked;        /* label_count: number of labels; the first `asked` of
					     them must exist in some process */
	struct ms_point *points;          /* point of each label */
	const struct ms_point *from, *to; /* --from and --to, or NULL */
	MS_ARRAY(struct running *) all;   /* all processes, in the order in which they were added */
	MS_ARRAY(struct running *) queue; /* binary heap, smallest next_ns first */
	bool wall; /* the traces share no monotonic clock, so wall time is used */
	uint64_t origin_ns;
	struct ms_sum sum;
	const char *successor_missing;
	unsigned unreadable_count;
	const char *unreadable; /* names of unreadable files, with the reasons */
	MS_ARRAY(struct run_folder) folders;
	struct ms_stream *stream; /* the input "-", or NULL */
	MS_ARRAY(int) spooled;    /* descriptors of temporary copies */
	uint64_t bytes;           /* bytes of all files, for progress */
	const char *replaying;    /* text of the progress message */
	uint64_t due_ns;          /* time of the next progress message */
	uint64_t files_max;       /* limit on open files */
};

/* ---- snapshot_build.c ---- */

/* Places a process on the shared clock and in the queue. Returns 0, or -1 with b->err set. */
int ms_build_start(struct build *b, struct running *p);

/* ---- snapshot_points.c ---- */

/* Parses the points of b->opt. Returns 0, or -1 with b->err set. */
int ms_points_parse(struct build *b);
/* Makes the points of --every, once all traces are open. Returns 0 or -1. */
int ms_points_every(struct build *b);
/* Registers the points with the replay of `p`, and decides where to begin and end reading the
 * trace; p->keep.rec may then be another recording. Returns 0 or -1. */
int ms_points_set(struct build *b, struct running *p);
/* Marks the points that `p`, whose replay has ended, did not reach as absent. */
void ms_points_ended(struct build *b, struct running *p);
/* Checks, after all replays, that some process has each point. Returns 0 or -1. */
int ms_points_check(struct build *b);
/* Tells whether a point requires reading the whole trace in advance. */
bool ms_points_need_glance(const struct build *b);

/* ---- snapshot_inputs.c ---- */

/* Opens a trace, the traces of a folder, or standard input ("-"). Returns 0, or -1 with b->err
 * set. */
int ms_build_input(struct build *b, const char *path);
/* Adds the trace of the program image (process between two execs) that replaced `p` by exec; `p`
 * has ended. Returns 0 or -1. */
int ms_build_successor(struct build *b, const struct running *p);
/* Numbers the processes by start time, and links each to its parent. */
void ms_build_number(struct build *b);
/* Sets the counts in b->res, once all traces are replayed. */
void ms_build_count(struct build *b);

/* ---- snapshot_step.c ---- */

/* Adds a process to the queue, ordered by its next_ns. */
void ms_build_enqueue(struct build *b, struct running *p);
/* Replays all processes to their ends. Returns 0, or -1 with b->err set. */
int ms_build_replay(struct build *b);
