/* SPDX-License-Identifier: MIT
 * The building of a snapshot from traces, as its files share it: snapshot_inputs.c (which traces),
 * snapshot_points.c (which moments), snapshot_step.c (replay of all in step), snapshot_build.c
 * (database).
 */
#pragma once

#include <sys/types.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/point.h"
#include "libcommon/trace/run_index.h"
#include "snapshot_private.h"
#include "snapshot_sum.h"

/* A process being replayed. */
struct running {
	struct ms_kept_process keep;
	const char *path;
	struct ms_recording *glance; /* what was found out beforehand, or NULL */
	uint64_t start_ns;           /* on the clock that all traces share */
	uint64_t next_ns;            /* what comes next of it, on that clock from its origin */
	bool ended;                  /* all events are applied, next_ns is its end */
	dev_t dev;
	ino_t ino;
};

/* A folder of traces of one run. */
struct run_folder {
	const char *path;
	struct ms_run_index index;
	const struct running *of; /* the first trace found in it, which says of which run it is */
	const char *empty;        /* an empty file in it, or NULL */
	const char *why;          /* its first file that is no trace: what was wrong, or NULL */
};

struct build {
	const struct ms_build_options *opt;
	struct ms_build_result *res;
	struct ms_err *err;
	struct ms_arena arena;
	const char *const *labels;
	size_t label_count, asked;        /* of these so many, the first, must be in some process */
	struct ms_point *points;          /* one per label */
	const struct ms_point *from, *to; /* of --from and --to, or NULL */
	MS_ARRAY(struct running *) all;   /* in order of being added */
	MS_ARRAY(struct running *) queue; /* binary heap, least next_ns first */
	bool wall; /* the traces share no monotonic clock: wall time is taken */
	uint64_t origin_ns;
	struct ms_sum sum;
	const char *successor_missing;
	unsigned unreadable_count;
	const char *unreadable; /* which and why */
	MS_ARRAY(struct run_folder) folders;
	struct ms_stream *stream; /* what "-" means, or NULL */
	MS_ARRAY(int) spooled;    /* descriptors of copies */
	uint64_t bytes;           /* of all files, for progress: */
	const char *replaying;    /* what is said to be done then, */
	uint64_t due_ns;          /* and when next */
	uint64_t files_max;       /* that may be open at a time */
};

/* ---- snapshot_build.c ---- */

/* Puts a process on the clock of all and in the queue. 0, or -1 with b->err set. */
int ms_build_start(struct build *b, struct running *p);

/* ---- snapshot_points.c ---- */

/* Takes over the points of b->opt. 0, or -1 with b->err set. */
int ms_points_parse(struct build *b);
/* All traces are open: makes the points of --every. 0, or -1. */
int ms_points_every(struct build *b);
/* Asks the replay of `p` for the points, and decides where reading it begins and ends: p->keep.rec
 * may be another one afterwards. 0, or -1. */
int ms_points_set(struct build *b, struct running *p);
/* Its replay is over: moments that it did not reach are absent. */
void ms_points_ended(struct build *b, struct running *p);
/* All are over: each point must be one of some process. 0, or -1. */
int ms_points_check(struct build *b);
/* Does a point need a look at the whole trace beforehand? */
bool ms_points_need_glance(const struct build *b);

/* ---- snapshot_inputs.c ---- */

/* Opens a trace, the traces of a folder, or standard input ("-"). 0, or -1 with b->err set. */
int ms_build_input(struct build *b, const char *path);
/* The trace of the image that `p`, which is over, became by exec is taken too. 0, or -1. */
int ms_build_successor(struct build *b, const struct running *p);
/* Numbers the processes by their start, and links each to its parent. */
void ms_build_number(struct build *b);
/* All are replayed: fills in the counts of b->res. */
void ms_build_count(struct build *b);

/* ---- snapshot_step.c ---- */

/* Puts a process in the queue, by its next_ns. */
void ms_build_enqueue(struct build *b, struct running *p);
/* Replays all to their ends. 0, or -1 with b->err set. */
int ms_build_replay(struct build *b);
