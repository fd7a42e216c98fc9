/* SPDX-License-Identifier: MIT
 * The writing thread.
 */
#include "writer.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include "checkpoint.h"
#include "encode.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/dest.h"
#include "libcommon/trace/tracefile.h"
#include "ms-record/base/wake.h"
#include "rewrite.h"

/* Most events that wait to be written. QUEUE_MAX, 56 MB, is allowed only while a write takes
 * long. */
#define QUEUE_USUAL BLOCK_EVENTS
#define QUEUE_MAX (6 * BLOCK_EVENTS)
#define QUEUE_WAKE (4 * BATCH_EVENTS) /* events that wake the thread, as the end of a block does */
#define QUEUE_BEHIND (8 * BATCH_EVENTS)
#define STUCK_NS 20000000
#define GIVE_UP_NS 50000000 /* ns between calls of give_up */
#define TRIM_NS 200000000
#define SPARE_MAX BLOCK_EVENTS /* most room, in events, of empty batches that are kept */

/* Frees all resources for writing an output. */
static void close_output(struct output *o)
{
	ms_trace_writer_free(o->trace);
	kept_free(o->kept);
	later_free(o->later);
	live_list_free(o->checkpoints.live);
	o->trace = NULL;
	o->kept = NULL;
	o->later = NULL;
	o->checkpoints.live = NULL;
	if (o->fd >= 0 && !o->keep_fd_open) {
		close(o->fd);
		o->fd = -1;
	}
}

void output_free(struct output *o)
{
	if (!o)
		return;
	close_output(o);
	MS_FREE(o->name, o->path, o);
}

static void fail(struct output *o)
{
	o->error_number = errno;
	__atomic_store_n(&o->failed, 1, __ATOMIC_RELEASE);
}

/* Opens the output's file, or creates it if `create` is set, and writes the header. */
static void begin(struct output *o)
{
	if (o->create)
		o->fd = ms_dest_create(o->folder, o->name);
	else if (o->fd < 0)
		o->fd = open(o->path, O_WRONLY | O_CLOEXEC);
	if (o->fd < 0) {
		ms_err_sys(&o->err, "cannot open '%s'", o->path);
		fail(o);
		return;
	}
	output_identify(o);
	ms_trace_lock(o->fd);
	o->trace = output_begin(o, o->fd, &o->err);
	if (o->trace)
		limit_begin(o);
	else
		fail(o);
}

static void write_batch(struct writer *w, struct encoders *encoders, struct batch *b)
{
	struct output *o = b->out;
	o->hurried = w->behind;
	if (w->limit.max)
		o->limit = &w->limit;
	if (!o->trace && !o->failed)
		begin(o);
	if (!o->failed && encode_batch(encoders, b, &o->err))
		fail(o);
	if (o->trace)
		__atomic_store_n(&o->bytes, ms_trace_writer_bytes(o->trace), __ATOMIC_RELAXED);
	if (b->close) {
		limit_end(o);
		close_output(o);
		__atomic_store_n(&o->closed, 1, __ATOMIC_RELEASE);
	}
}

/* Waits, under the lock, for a batch. After a burst, if no batch arrives for TRIM_NS, returns free
 * memory to the kernel: up to a third of what the thread uses. */
static void await_batch(struct writer *w)
{
	struct timespec until = ms_timespec(ms_clock_ns(CLOCK_MONOTONIC) + TRIM_NS);
	while (!w->first && !w->stop)
		if (!w->burst) {
			pthread_cond_wait(&w->filled, &w->lock);
		} else if (pthread_cond_clockwait(&w->filled, &w->lock, CLOCK_MONOTONIC, &until)) {
			w->burst = false;
			pthread_mutex_unlock(&w->lock);
			malloc_trim(0);
			pthread_mutex_lock(&w->lock);
		}
}

static struct batch *take(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	await_batch(w);
	struct batch *b = w->first;
	w->behind = w->queued > QUEUE_BEHIND;
	if (b) {
		w->first = b->next;
		if (!w->first)
			w->last = &w->first;
	}
	pthread_mutex_unlock(&w->lock);
	return b;
}

/* Returns the weight of a batch in the queue, in events. */
static size_t weight(const struct batch *b)
{
	return b->events.n + BATCH_EVENTS / 16;
}

static void done(struct writer *w, struct batch *b)
{
	size_t events = weight(b);
	batch_reset(b);
	pthread_mutex_lock(&w->lock);
	w->queued -= events;
	if (++w->written == w->watched)
		wake_event(w->event);
	if (w->spare_room < SPARE_MAX) {
		w->spare_room += b->events.cap;
		b->next = w->spare;
		w->spare = b;
		b = NULL;
	}
	w->burst |= b != NULL;
	if (w->queued <= w->room_at)
		pthread_cond_signal(&w->drained);
	pthread_mutex_unlock(&w->lock);
	batch_free(b);
}

static void *run(void *arg)
{
	struct writer *w = arg;
	struct encoders encoders = {0};
	for (struct batch *b; (b = take(w));) {
		write_batch(w, &encoders, b);
		done(w, b);
	}
	encoders_free(&encoders);
	return NULL;
}

int writer_start(struct writer *w, int event)
{
	w->event = w->limit.event = event;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->filled, NULL);
	pthread_cond_init(&w->drained, NULL);
	w->stuck_at = UINT64_MAX;
	w->first = NULL;
	w->last = &w->first;
	int e = pthread_create(&w->thread, NULL, run, w);
	w->started = e == 0;
	errno = e;
	return e ? -1 : 0;
}

/* Waits, under the lock, until the queue is half empty; a higher mark would make the two threads
 * switch more often. While the writing thread is stuck in a write, the queue may grow. */
static void await_room(struct writer *w)
{
	struct timespec until = ms_timespec(ms_clock_ns(CLOCK_MONOTONIC) + STUCK_NS);
	w->room_at = QUEUE_USUAL / 2;
	while (w->queued > w->room_at && w->written != w->stuck_at)
		if (pthread_cond_clockwait(&w->drained, &w->lock, CLOCK_MONOTONIC, &until))
			w->stuck_at = w->written;
	w->room_at = QUEUE_MAX - BLOCK_EVENTS;
	while (w->queued >= QUEUE_MAX)
		pthread_cond_wait(&w->drained, &w->lock);
	w->room_at = 0;
}

void writer_push(struct writer *w, struct batch *b)
{
	pthread_mutex_lock(&w->lock);
	if (w->queued >= QUEUE_USUAL)
		await_room(w);
	b->next = NULL;
	*w->last = b;
	w->last = &b->next;
	w->queued += weight(b);
	w->pushed++;
	if (b->ends || w->queued >= QUEUE_WAKE)
		pthread_cond_signal(&w->filled);
	pthread_mutex_unlock(&w->lock);
}

uint64_t writer_ticket(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	uint64_t n = w->pushed;
	pthread_mutex_unlock(&w->lock);
	return n;
}

bool writer_reached(struct writer *w, uint64_t ticket)
{
	pthread_mutex_lock(&w->lock);
	bool reached = w->written >= ticket;
	w->watched = reached ? 0 : ticket;
	pthread_mutex_unlock(&w->lock);
	return reached;
}

uint64_t writer_progress(struct writer *w, bool *waits)
{
	pthread_mutex_lock(&w->lock);
	uint64_t n = w->pushed + w->written;
	*waits = w->pushed != w->written;
	pthread_mutex_unlock(&w->lock);
	return n;
}

struct batch *writer_batch(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	struct batch *b = w->spare;
	if (b) {
		w->spare = b->next;
		w->spare_room -= b->events.cap;
	}
	pthread_mutex_unlock(&w->lock);
	if (!b)
		return batch_new();
	b->next = NULL;
	return b;
}

bool writer_stop(struct writer *w, bool (*give_up)(void *), void *arg)
{
	if (!w->started)
		return true;
	pthread_mutex_lock(&w->lock);
	w->stop = true;
	pthread_cond_signal(&w->filled);
	pthread_mutex_unlock(&w->lock);
	for (;;) {
		struct timespec until = ms_timespec(ms_clock_ns(CLOCK_REALTIME) + GIVE_UP_NS);
		if (!pthread_timedjoin_np(w->thread, NULL, &until))
			break;
		if (give_up(arg))
			return false;
	}
	w->started = false;
	while (w->spare) {
		struct batch *b = w->spare;
		w->spare = b->next;
		batch_free(b);
	}
	return true;
}
