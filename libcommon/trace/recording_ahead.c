/* SPDX-License-Identifier: MIT
 * Reads ahead: a second thread reads and decompresses blocks and decodes events while the first
 * thread applies earlier ones.
 *
 * The second thread alone uses the file and the decoder, until it meets anything but a good block
 * (the end, damage, a failure). It passes that on as its last parcel and ends, and the first thread
 * reads the rest.
 *
 * Its results go through a ring of parcels, each with a block or a batch of events, in the file's
 * order. For a block of events, one parcel has the head only, and the next ones have the events.
 *
 *   taken <= put <= taken + PARCELS; parcels [taken, put) belong to the thread that applies, which
 *   holds the first of them while it is at work on it, all others to the one that reads.
 *
 * Each counter is used by one thread only. The other thread waits on semaphores, which count free
 * and filled parcels.
 */
#include "recording_private.h"

#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/thread.h"
#include "format/trace.h"

/* Number of parcels (batches of events, or blocks) that the reading-ahead thread fills in turn: few
 * enough for the second-level cache, enough to make wake-ups rare. */
#define PARCELS 4u
#define PARCEL_EVENTS 2048u
#define STACK_BYTES (512u << 10)
#define WORTH_IT 16384u /* events left in a block for which reading ahead pays */

struct parcel {
	bool is_batch;
	/* The following members are set if is_batch: */
	struct ms_event *events;
	size_t count;
	uint64_t position; /* number of the first event in the file, 0 = not known */
	bool bad;          /* the rest of the block cannot be decoded */
	/* The following members are set if not is_batch: */
	enum ms_trace_next next; /* result of ms_trace_next; anything but MS_NEXT_BLOCK makes it the
				    last parcel */
	struct ms_block block;   /* its columns point into `bytes` */
	struct ms_column columns[MS_BLOCK_COLUMNS_MAX];
	uint8_t *bytes;
	size_t room;
};

struct ms_ahead {
	pthread_t thread;
	sem_t free, filled;
	uint64_t put, taken; /* numbers of parcels filled and taken so far */
	int stop;            /* accessed atomically */
	struct ms_recording *t;
	uint64_t want; /* bit set of columns, as for ms_trace_next */
	struct ms_err err;
	struct ms_event *batch; /* the recording's own t->batch */
	struct parcel parcels[PARCELS];
};

/* ---- the ring ---- */

static void await(sem_t *s)
{
	while (sem_wait(s) != 0) /* fails if interrupted by a signal */
		continue;
}

/* Returns the next parcel to be filled; NULL = stop. */
static struct parcel *next_free(struct ms_ahead *a)
{
	await(&a->free);
	return __atomic_load_n(&a->stop, __ATOMIC_ACQUIRE) ? NULL : &a->parcels[a->put++ % PARCELS];
}

/* Returns the next filled parcel, and frees the previous one. */
static const struct parcel *take(struct ms_ahead *a)
{
	if (a->taken)
		sem_post(&a->free);
	await(&a->filled);
	return &a->parcels[a->taken++ % PARCELS];
}

/* ---- the thread that reads ---- */

/* Queues the remaining events of the decoder's block for the reader; none if `rc` is an error.
 * False = stop. */
static bool put_events(struct ms_ahead *a, enum ms_fmt rc)
{
	struct ms_event_decoder *d = a->t->decoder;
	do {
		struct parcel *p = next_free(a);
		bool good = rc == MS_FMT_OK;
		if (!p)
			return false;
		if (!p->events)
			p->events = ms_xrealloc(NULL, PARCEL_EVENTS, sizeof *p->events);
		p->is_batch = true;
		p->position = good ? d->first_event + (d->count - d->left) : 0;
		p->count = good ? ms_event_next_many(d, p->events, PARCEL_EVENTS, &rc) : 0;
		p->bad = rc != MS_FMT_OK && rc != MS_FMT_END;
		sem_post(&a->filled);
	} while (rc == MS_FMT_OK);
	return true;
}

static void copy_columns(struct parcel *p)
{
	size_t need = 0;
	for (size_t i = 0; i < p->block.column_count; i++)
		need += p->block.columns[i].size;
	if (need > p->room)
		p->bytes = ms_xrealloc(p->bytes, p->room = need, 1);
	uint8_t *to = p->bytes;
	for (size_t i = 0; i < p->block.column_count; i++) {
		p->columns[i] = p->block.columns[i];
		p->columns[i].data = to;
		if (p->columns[i].size)
			memcpy(to, p->block.columns[i].data, p->columns[i].size);
		to += p->columns[i].size;
	}
	p->block.columns = p->columns;
}

/* Queues a block, or the final result of ms_trace_next, for the reader. False = stop. */
static bool put_block(struct ms_ahead *a, enum ms_trace_next next, const struct ms_block *b)
{
	struct parcel *p = next_free(a);
	if (!p)
		return false;
	p->is_batch = false;
	p->next = next;
	p->block = *b;
	if (b->type == MS_BLOCK_EVENTS)
		p->block.column_count = 0;
	copy_columns(p);
	sem_post(&a->filled);
	return true;
}

static void *read_ahead(void *arg)
{
	struct ms_ahead *a = arg;
	enum ms_trace_next next = MS_NEXT_BLOCK;
	bool more = put_events(a, MS_FMT_OK);
	while (more && next == MS_NEXT_BLOCK) {
		struct ms_block b = {0};
		next = ms_trace_next(a->t->file, MS_ALL_TYPES, a->want, &b, &a->err);
		more = put_block(a, next, &b);
		if (more && next == MS_NEXT_BLOCK && b.type == MS_BLOCK_EVENTS)
			more = put_events(
				a, ms_event_decoder_init(a->t->decoder, b.columns, b.column_count));
	}
	return NULL;
}

/* ---- the thread that applies ---- */

static bool worth_it(const struct ms_recording *t)
{
	cpu_set_t set;
	return t->may_read_ahead && !t->parts && t->in_block && t->decoder->left >= WORTH_IT &&
	       t->stop_tick == MS_NEVER && t->stop_event == MS_NEVER && !ms_recording_damaged(t) &&
	       sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 1;
}

bool ms_ahead_start(struct ms_recording *t, uint64_t want)
{
	if (!worth_it(t))
		return false;
	struct ms_ahead *a = ms_xcalloc(1, sizeof *a);
	a->t = t;
	a->want = want;
	t->offset = ms_trace_offset(t->file);
	sem_init(&a->free, 0, PARCELS);
	sem_init(&a->filled, 0, 0);
	if (ms_thread_start(&a->thread, STACK_BYTES, read_ahead, a) != 0) {
		free(a);
		t->may_read_ahead = false;
		return false;
	}
	a->batch = t->batch;
	t->in_block = false;
	t->ahead = a;
	return true;
}

void ms_ahead_stop(struct ms_recording *t)
{
	struct ms_ahead *a = t->ahead;
	if (!a)
		return;
	__atomic_store_n(&a->stop, 1, __ATOMIC_RELEASE);
	sem_post(&a->free);
	pthread_join(a->thread, NULL);
	sem_destroy(&a->free);
	sem_destroy(&a->filled);
	for (size_t i = 0; i < PARCELS; i++)
		MS_FREE(a->parcels[i].events, a->parcels[i].bytes);
	t->batch = a->batch;
	t->batch_at = t->batch_end = 0;
	t->ahead = NULL;
	free(a);
}

bool ms_ahead_next(struct ms_recording *t, enum ms_trace_next *next, struct ms_block *b,
		   struct ms_err *err)
{
	const struct parcel *p = take(t->ahead);
	if (p->is_batch) {
		if (p->position > t->replay.position)
			t->replay.position = p->position;
		t->bad_blocks += p->bad;
		t->batch = p->events;
		t->batch_at = 0;
		t->batch_end = p->count;
		return true;
	}
	*next = p->next;
	*b = p->block;
	t->offset = b->offset + b->bytes;
	if (p->next != MS_NEXT_BLOCK) {
		if (t->ahead->err.text[0])
			ms_err_set(err, "%s", t->ahead->err.text);
		ms_ahead_stop(t);
		t->may_read_ahead = false;
	}
	return false;
}
