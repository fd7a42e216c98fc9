/* SPDX-License-Identifier: MIT
 * The thread that reads a recording ahead.
 *
 * What it read goes through a ring of parcels, each with a batch of events or a copy of another
 * block, in the file's order:
 *
 *   taken <= put <= taken + PARCELS; parcels [taken, put) belong to the thread that applies, which
 *   holds the first of them while it is at work on it, all others to the one that reads.
 *
 * Both counters change under the lock alone, so that a parcel's content passes with it.
 */
#include "recording_ahead.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "recording_private.h"
#include "libcommon/base/thread.h"
#include "format/trace.h"

/* Few enough for the second-level cache, many enough that waking each other is cheap. */
#define PARCELS 4u
#define PARCEL_EVENTS 2048u
#define STACK_BYTES (512u << 10)
#define WORTH_IT 16384u /* events of a block */

struct parcel {
	enum { EVENTS, BLOCK, LAST } kind;
	struct ms_event *events;
	size_t count;
	bool begins;           /* of a block of events: `block` is its head */
	bool bad;              /* it cannot be decoded from here on */
	uint64_t first_event;  /* of a block that begins, 0 = not known */
	struct ms_block block; /* columns point into `bytes` */
	enum ms_trace_next last;
	struct ms_column columns[MS_BLOCK_COLUMNS_MAX];
	uint8_t *bytes;
	size_t room;
};

struct ms_ahead {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	uint64_t put, taken; /* parcels */
	bool stop;
	struct ms_recording *t;
	uint64_t types, want;
	struct ms_err err;
	struct ms_event *batch; /* what t->batch was */
	bool holding;           /* the parcel `taken` is in use */
	struct parcel parcels[PARCELS];
};

/* ---- the ring ---- */

/* The next parcel to be filled; NULL = stop. */
static struct parcel *next_free(struct ms_ahead *a)
{
	pthread_mutex_lock(&a->lock);
	while (a->put - a->taken == PARCELS && !a->stop)
		pthread_cond_wait(&a->changed, &a->lock);
	struct parcel *p = a->stop ? NULL : &a->parcels[a->put % PARCELS];
	pthread_mutex_unlock(&a->lock);
	return p;
}

static void put(struct ms_ahead *a)
{
	pthread_mutex_lock(&a->lock);
	a->put++;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
}

static struct parcel *take(struct ms_ahead *a)
{
	pthread_mutex_lock(&a->lock);
	if (a->holding) {
		a->taken++;
		pthread_cond_broadcast(&a->changed);
	}
	while (a->put == a->taken)
		pthread_cond_wait(&a->changed, &a->lock);
	a->holding = true;
	pthread_mutex_unlock(&a->lock);
	return &a->parcels[a->taken % PARCELS];
}

/* ---- the thread that reads ---- */

/* The events of the decoder's block, from where it stands; none when `rc` says that it is bad. False:
 * stop. */
static bool put_events(struct ms_ahead *a, const struct ms_block *begins, enum ms_fmt rc)
{
	struct ms_event_decoder *d = a->t->decoder;
	bool good = rc == MS_FMT_OK;
	do {
		struct parcel *p = next_free(a);
		if (!p)
			return false;
		if (!p->events)
			p->events = ms_xrealloc(NULL, PARCEL_EVENTS, sizeof *p->events);
		p->kind = EVENTS;
		p->begins = begins != NULL;
		if (begins) {
			p->block = *begins;
			p->first_event = good ? d->first_event : 0;
		}
		begins = NULL;
		p->count = good ? ms_event_next_many(d, p->events, PARCEL_EVENTS, &rc) : 0;
		p->bad = rc != MS_FMT_OK && rc != MS_FMT_END;
		put(a);
	} while (rc == MS_FMT_OK);
	return true;
}

/* A copy of the block. */
static bool put_block(struct ms_ahead *a, const struct ms_block *b)
{
	struct parcel *p = next_free(a);
	size_t need = 0;
	if (!p)
		return false;
	p->kind = BLOCK;
	p->block = *b;
	p->block.columns = p->columns;
	for (size_t i = 0; i < b->column_count; i++)
		need += b->columns[i].size;
	if (need > p->room)
		p->bytes = ms_xrealloc(p->bytes, p->room = need, 1);
	uint8_t *to = p->bytes;
	for (size_t i = 0; i < b->column_count; i++) {
		p->columns[i] = b->columns[i];
		p->columns[i].data = to;
		if (b->columns[i].size)
			memcpy(to, b->columns[i].data, b->columns[i].size);
		to += b->columns[i].size;
	}
	put(a);
	return true;
}

static bool put_last(struct ms_ahead *a, enum ms_trace_next last, const struct ms_block *b)
{
	struct parcel *p = next_free(a);
	if (!p)
		return false;
	p->kind = LAST;
	p->last = last;
	p->block = *b;
	put(a);
	return false;
}

/* False: it is over. */
static bool read_one(struct ms_ahead *a)
{
	struct ms_block b = {0};
	struct ms_recording *t = a->t;
	enum ms_trace_next next = ms_trace_next(t->file, a->types, a->want, &b, &a->err);
	if (next != MS_NEXT_BLOCK)
		return put_last(a, next, &b);
	if (b.type == MS_BLOCK_EVENTS)
		return put_events(a, &b,
				  ms_event_decoder_init(t->decoder, b.columns, b.column_count));
	return put_block(a, &b);
}

static void *read_ahead(void *arg)
{
	struct ms_ahead *a = arg;
	bool more = put_events(a, NULL, MS_FMT_OK);
	while (more)
		more = read_one(a);
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

bool ms_ahead_start(struct ms_recording *t, uint64_t types, uint64_t want)
{
	if (!worth_it(t))
		return false;
	struct ms_ahead *a = ms_xcalloc(1, sizeof *a);
	a->t = t;
	a->types = types;
	a->want = want;
	t->offset = ms_trace_offset(t->file);
	pthread_mutex_init(&a->lock, NULL);
	pthread_cond_init(&a->changed, NULL);
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
	pthread_mutex_lock(&a->lock);
	a->stop = true;
	pthread_cond_broadcast(&a->changed);
	pthread_mutex_unlock(&a->lock);
	pthread_join(a->thread, NULL);
	pthread_cond_destroy(&a->changed);
	pthread_mutex_destroy(&a->lock);
	for (size_t i = 0; i < PARCELS; i++) {
		free(a->parcels[i].events);
		free(a->parcels[i].bytes);
	}
	t->batch = a->batch;
	t->batch_at = t->batch_end = 0;
	t->ahead = NULL;
	free(a);
}

static void apply_block(struct ms_recording *t, const struct parcel *p)
{
	if (t->on_block)
		t->on_block(t->on_block_arg);
	if (!ms_recording_take(t, &p->block))
		t->bad_blocks++;
}

/* The head of a block of events. */
static void apply_begin(struct ms_recording *t, const struct parcel *p)
{
	if (t->on_block)
		t->on_block(t->on_block_arg);
	ms_recording_note_block(t, &p->block);
	if (p->first_event > t->replay.position)
		t->replay.position = p->first_event;
}

int ms_ahead_next(struct ms_recording *t, enum ms_trace_next *last, struct ms_block *b,
		  struct ms_err *err)
{
	struct ms_ahead *a = t->ahead;
	for (;;) {
		const struct parcel *p = take(a);
		if (p->kind == LAST) {
			*last = p->last;
			*b = p->block;
			if (a->err.text[0])
				ms_err_set(err, "%s", a->err.text);
			ms_ahead_stop(t);
			t->may_read_ahead = false;
			return 0;
		}
		if (p->kind == BLOCK || p->begins)
			t->offset = p->block.offset + p->block.bytes;
		if (p->kind == BLOCK) {
			apply_block(t, p);
			continue;
		}
		if (p->begins)
			apply_begin(t, p);
		t->bad_blocks += p->bad;
		t->batch = p->events;
		t->batch_at = 0;
		t->batch_end = p->count;
		if (p->count)
			return 1;
	}
}
