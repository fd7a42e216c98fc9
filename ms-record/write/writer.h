/* SPDX-License-Identifier: MIT
 * Room write: the writing thread.
 *   In:  batches, in the order in which they are to be read.
 *   Out: blocks of traces (format/, libcommon/trace); checkpoints; limits of size.
 *   Used by: session, scan and drain, which fill batches; control.
 *
 * The writing thread takes batches from a bounded queue, encodes, compresses and writes them.
 *
 * While recording, only this thread accesses trace files. So a slow disk, or a pipe that nobody
 * reads, delays no other thread until the queue is full.
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
	size_t queued;            /* events, approximately */
	size_t room_at;           /* a waiting thread is woken at this length of the queue */
	size_t spare_room;        /* room for events in the batches of `spare` */
	uint64_t stuck_at;        /* value of `written` when the write that takes long began */
	uint64_t pushed, written; /* batches pushed and written so far */
	uint64_t watched;         /* value of `written` at which `event` is written */
	int event;                /* eventfd, written when `watched` is reached */
	bool stop, started;
	bool burst;  /* there were more batches than `spare` keeps */
	bool behind; /* the queue was long when the thread took its last batch */
};

/* Starts the thread. `event` is borrowed. Returns 0, or -1 with errno set. */
int writer_start(struct writer *w, int event);
/* Passes a batch and its memory to the thread; waits while the queue is full. */
void writer_push(struct writer *w, struct batch *b);
/* Returns the number of the last batch passed to the thread. */
uint64_t writer_ticket(struct writer *w);
/* Tells whether the batch `ticket` was written or failed. If not, w->event reports when it is.
 * For use by one thread only. */
bool writer_reached(struct writer *w, uint64_t ticket);
/* Returns a number that changes whenever a batch is pushed or written. *waits: there are batches
 * not written yet. */
uint64_t writer_progress(struct writer *w, bool *waits);
/* Returns an empty batch, reused or new. */
struct batch *writer_batch(struct writer *w);
/* Ends the thread once the queue is written, and waits until the thread has ended. Returns false if
 * `give_up`, called every 50 ms, returned true; then the thread still runs. */
bool writer_stop(struct writer *w, bool (*give_up)(void *), void *arg);

/* Frees an output with all data kept for its rewriting. */
void output_free(struct output *o);
