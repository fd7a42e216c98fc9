/* SPDX-License-Identifier: MIT
 * Room write: the writing thread.
 *   In:  batches, in the order in which they are to be read.
 *   Out: blocks of traces (format/, libcommon/trace); checkpoints; limits of size.
 *   Used by: session, scan and drain, which fill batches; control.
 *
 * The writing thread: batches from a bounded queue, encoded, compressed and written.
 *
 * It alone touches files of traces while recording goes on, so that a slow disk or a pipe that
 * nobody reads holds up nothing but itself until the queue is full.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "batch.h"
#include "limit.h"
#include "output.h"

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
	bool burst;  /* there were more batches than are kept */
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

/* With all that is kept for its rewriting. */
void output_free(struct output *o);
