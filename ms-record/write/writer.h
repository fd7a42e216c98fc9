/* SPDX-License-Identifier: MIT
 * Room write: the writing thread.
 *   In:  batches, in the order in which they are to be read.
 *   Out: blocks of traces (format/, libcommon/trace); checkpoints; limits of size.
 *   Used by: session and control.
 *
 * The writing thread: batches from a bounded queue, encoded, compressed and written.
 *
 * It alone touches files of traces while recording goes on, so that a slow disk or a pipe that
 * nobody reads holds up nothing but itself until the queue is full.
 */
#ifndef WRITER_H
#define WRITER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "batch.h"
#include "libcommon/trace/tracefile.h"
#include "limit.h"
#include "libcommon/base/err.h"

struct encoder;
struct kept;
struct live_list;

/* What the writing thread knows of a trace for its checkpoints. */
struct checkpoints {
	struct live_list *live;  /* NULL before the first event */
	uint64_t events, bytes;  /* since the last one; of the file then */
	uint64_t bytes_per_1000; /* blocks of the last one */
	bool usable;             /* usable sizes are recorded */
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

struct writer {
	struct limit limit;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t filled, drained;
	struct batch *first, **last, *spare;
	size_t queued;            /* events, about */
	size_t room_at;           /* who waits for room is woken when there are only so many */
	size_t spare_room;        /* for events, in `spare` */
	uint64_t stuck_at;        /* a write has taken long since `written` was this */
	uint64_t pushed, written; /* batches: progress */
	uint64_t watched;         /* written is to reach this */
	int event;                /* eventfd, written when it did */
	bool stop, started;
	bool behind; /* much was queued when the thread took its last batch */
};

/* Starts the thread. `event` is borrowed. 0, or -1 with errno set. */
int writer_start(struct writer *w, int event);
/* Hands over a batch with its memory; waits while the queue is full. */
void writer_push(struct writer *w, struct batch *b);
/* The number of the batch that was handed over last. */
uint64_t writer_ticket(struct writer *w);
/* Was that batch written (or failed to be)? If not, w->event tells when. One thread asks. */
bool writer_reached(struct writer *w, uint64_t ticket);
/* A number that changes as batches come and are written; *waits: some were not yet. */
uint64_t writer_progress(struct writer *w, bool *waits);
/* An empty batch, perhaps a used one. */
struct batch *writer_batch(struct writer *w);
/* Lets the thread end after what is queued, and waits for it. False when `give_up`, asked every 50
 * ms, said to leave it behind. */
bool writer_stop(struct writer *w, bool (*give_up)(void *), void *arg);

struct output *output_new(int fd, const char *path);
/* It is a file of that name in that folder, which is borrowed. */
void output_place(struct output *o, int folder, const char *name);
/* Notes which file is open. */
void output_identify(struct output *o);
/* The header of its trace. */
struct ms_trace_head output_head(const struct output *o);
void output_free(struct output *o);

#endif
