/* SPDX-License-Identifier: MIT
 * The writing thread.
 */
#include "writer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "checkpoint.h"
#include "encode.h"
#include "files.h"
#include "format/trace.h"
#include "libcommon/arena.h"
#include "libcommon/tracefile.h"
#include "rewrite.h"

#define QUEUE_MAX 6u
#define SPARE_MAX 3u

struct output *output_new(int fd, const char *path)
{
	struct output *o = ms_xrealloc(NULL, 1, sizeof *o);
	memset(o, 0, sizeof *o);
	o->fd = fd;
	o->path = strdup(path);
	o->addresses = true;
	o->level = 1;
	return o;
}

void output_free(struct output *o)
{
	if (!o)
		return;
	if (o->trace)
		ms_trace_writer_free(o->trace);
	if (o->fd >= 0 && !o->keep_fd_open)
		close(o->fd);
	free(o->address);
	live_list_free(o->checkpoints.live);
	kept_free(o->kept);
	free(o->path);
	free(o);
}

static void fail(struct output *o)
{
	o->error_number = errno;
	__atomic_store_n(&o->failed, 1, __ATOMIC_RELEASE);
}

struct ms_trace_head output_head(const struct output *o)
{
	return (struct ms_trace_head){.major = MS_TRACE_MAJOR,
				      .minor = MS_TRACE_MINOR,
				      .hint = o->addresses ? MS_FEATURE_ADDRESSES : 0,
				      .machine = EM_X86_64,
				      .address_bytes = 8,
				      .tick_ns = MS_TRACE_TICK_NS};
}

/* Opens what could not be opened before without waiting, and writes the header. */
static void begin(struct output *o)
{
	if (o->create)
		o->fd = files_create(o->path);
	else if (o->fd < 0)
		o->fd = open(o->path, O_WRONLY | O_CLOEXEC);
	if (o->fd < 0) {
		ms_err_sys(&o->err, "cannot open '%s'", o->path);
		fail(o);
		return;
	}
	ms_trace_lock(o->fd);
	struct ms_trace_head head = output_head(o);
	o->trace = ms_trace_writer_new(o->fd, &head, o->level, &o->err);
	if (o->trace)
		limit_begin(o);
	else
		fail(o);
}

static void write_batch(struct writer *w, struct encoder *e, struct batch *b)
{
	struct output *o = b->out;
	if (w->limit.max)
		o->limit = &w->limit;
	if (!o->trace && !o->failed)
		begin(o);
	if (!o->failed && encode_batch(e, b, &o->err))
		fail(o);
	if (o->trace)
		__atomic_store_n(&o->bytes, ms_trace_writer_bytes(o->trace), __ATOMIC_RELAXED);
	if (b->close) {
		limit_end(o);
		if (o->trace)
			ms_trace_writer_free(o->trace);
		o->trace = NULL;
		kept_free(o->kept);
		o->kept = NULL;
		live_list_free(o->checkpoints.live);
		o->checkpoints.live = NULL;
		if (o->fd >= 0 && !o->keep_fd_open) {
			close(o->fd);
			o->fd = -1;
		}
		__atomic_store_n(&o->closed, 1, __ATOMIC_RELEASE);
	}
}

static struct batch *take(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	while (!w->first && !w->stop)
		pthread_cond_wait(&w->filled, &w->lock);
	struct batch *b = w->first;
	if (b) {
		w->first = b->next;
		if (!w->first)
			w->last = &w->first;
	}
	pthread_mutex_unlock(&w->lock);
	return b;
}

static void tell_event(struct writer *w)
{
	uint64_t one = 1;
	if (write(w->event, &one, sizeof one) < 0)
		return; /* it is set already */
}

static void done(struct writer *w, struct batch *b)
{
	batch_reset(b);
	pthread_mutex_lock(&w->lock);
	w->queued--;
	if (++w->written == w->watched)
		tell_event(w);
	unsigned spares = 0;
	for (struct batch *s = w->spare; s; s = s->next)
		spares++;
	if (spares < SPARE_MAX) {
		b->next = w->spare;
		w->spare = b;
		b = NULL;
	}
	pthread_cond_signal(&w->drained);
	pthread_mutex_unlock(&w->lock);
	batch_free(b);
}

static void *run(void *arg)
{
	struct writer *w = arg;
	struct encoder *e = encoder_new();
	for (struct batch *b; (b = take(w));) {
		write_batch(w, e, b);
		done(w, b);
	}
	encoder_free(e);
	return NULL;
}

int writer_start(struct writer *w, int event)
{
	w->event = w->limit.event = event;
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->filled, NULL);
	pthread_cond_init(&w->drained, NULL);
	w->first = NULL;
	w->last = &w->first;
	int e = pthread_create(&w->thread, NULL, run, w);
	w->started = e == 0;
	errno = e;
	return e ? -1 : 0;
}

void writer_push(struct writer *w, struct batch *b)
{
	pthread_mutex_lock(&w->lock);
	while (w->queued >= QUEUE_MAX)
		pthread_cond_wait(&w->drained, &w->lock);
	b->next = NULL;
	*w->last = b;
	w->last = &b->next;
	w->queued++;
	w->pushed++;
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

struct batch *writer_batch(struct writer *w)
{
	pthread_mutex_lock(&w->lock);
	struct batch *b = w->spare;
	if (b)
		w->spare = b->next;
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
		struct timespec until;
		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 50000000;
		if (until.tv_nsec >= 1000000000) {
			until.tv_sec++;
			until.tv_nsec -= 1000000000;
		}
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
