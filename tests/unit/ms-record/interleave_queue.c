/* SPDX-License-Identifier: MIT
 * The writing thread's queue under every order of two threads that fill it, of the writing thread
 * and of the one that stops it, which differs in a few places: each batch is written once, in the
 * order of who pushed it, the queue stays within its bounds, and nobody sleeps for ever.
 *
 * The code is the writer's; its lock and its conditions are the model's, a batch is only counted.
 */
#include "tests/unit/guest/interleave.h"

#include <errno.h>
#include <pthread.h>

#include "libcommon/trace/tracefile.h"
#include "ms-record/write/encode.h"
#include "ms-record/write/writer.h"

static int model_lock(pthread_mutex_t *m);
static int model_unlock(pthread_mutex_t *m);
static int model_wait(pthread_cond_t *c, pthread_mutex_t *m);
static int model_wait_for(pthread_cond_t *c, pthread_mutex_t *m);
static int model_signal(pthread_cond_t *c);
static int model_join(void);
#define pthread_mutex_lock model_lock
#define pthread_mutex_unlock model_unlock
#define pthread_cond_wait model_wait
#define pthread_cond_clockwait(c, m, clock, until) ((void)(until), model_wait_for(c, m))
#define pthread_cond_signal model_signal
#define pthread_timedjoin_np(thread, result, until) ((void)(until), model_join())
#define encode_batch(all, b, err) ((void)(all), written(b))
#define batch_free(b) ((void)(b))
#define ms_trace_writer_bytes(t) ((void)(t), 0u)
static int written(const struct batch *b);
#include "ms-record/write/writer.c"

enum { PUSHERS = 2, EACH = 6, WRITER = PUSHERS, STOPPER };

static struct writer w;
static struct output out;
static struct batch batches[PUSHERS][EACH];
static const struct scenario {
	const char *name;
	unsigned bound;
	size_t events; /* of a batch */
	unsigned each; /* batches of a pusher */
	bool ends;     /* each ends a block */
} * now;
static bool locked, timed[IL_THREADS];
static union il_view lock_view;
static unsigned next[PUSHERS];
static size_t most;

/* ---- what the code calls ---- */

static int model_lock(pthread_mutex_t *m)
{
	il_point();
	while (locked)
		il_doze(m);
	locked = true;
	il_join(&il.now->cur, &lock_view);
	return 0;
}

static int model_unlock(pthread_mutex_t *m)
{
	most = w.queued > most ? w.queued : most;
	locked = false;
	il_join(&lock_view, &il.now->cur);
	il_wake((const uint32_t *)m, 1);
	return 0;
}

static int model_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
	locked = false;
	for (unsigned i = 0; i < il.threads; i++) /* in one step with falling asleep */
		if (il.thread[i].state == IL_ASLEEP && il.thread[i].word[0] == (uintptr_t)m)
			il.thread[i].state = IL_READY;
	bool woken = il_doze(c);
	timed[il_self()] = false;
	model_lock(m);
	return woken ? 0 : ETIMEDOUT;
}

static int model_wait_for(pthread_cond_t *c, pthread_mutex_t *m)
{
	timed[il_self()] = true;
	return model_wait(c, m);
}

static int model_signal(pthread_cond_t *c)
{
	il_wake((const uint32_t *)c, 1);
	return 0;
}

static int model_join(void)
{
	while (!il_is_done(WRITER))
		il_doze(&w.thread);
	return 0;
}

static int written(const struct batch *b)
{
	size_t i = (size_t)(b - batches[0]);
	if (i % EACH != next[i / EACH]++)
		il_fail("batch %zu of thread %zu comes as number %u", i % EACH, i / EACH,
			next[i / EACH] - 1);
	return 0;
}

/* ---- the threads ---- */

static void push(void)
{
	for (unsigned i = 0; i < now->each; i++)
		writer_push(&w, &batches[il_self()][i]);
	il_wake((const uint32_t *)&w, 1);
}

static void write_all(void)
{
	run(&w);
	il_wake((const uint32_t *)&w.thread, 1);
}

static bool never(void *arg)
{
	return arg != NULL;
}

static void stop(void)
{
	for (unsigned i = 0; i < PUSHERS; i++)
		while (!il_is_done(i))
			il_doze(&w);
	writer_stop(&w, never, NULL);
}

static bool times_out(unsigned thread)
{
	return timed[thread];
}

/* ---- a run ---- */

static void begin_run(void)
{
	memset(&w, 0, sizeof w);
	memset(batches, 0, sizeof batches);
	memset(timed, 0, sizeof timed);
	memset(next, 0, sizeof next);
	memset(&lock_view, 0, sizeof lock_view);
	locked = false;
	w.last = &w.first;
	w.started = true;
	w.stuck_at = UINT64_MAX;
	w.spare_room = SPARE_MAX; /* none is kept */
	out.trace = (void *)&out;
	for (unsigned t = 0; t < PUSHERS; t++)
		for (unsigned i = 0; i < EACH; i++) {
			batches[t][i].out = &out;
			batches[t][i].events.n = now->events;
			batches[t][i].ends = now->ends;
		}
}

static const char *end(void)
{
	for (unsigned t = 0; t < PUSHERS; t++)
		if (next[t] != now->each)
			return "a batch is left";
	if (w.queued || w.pushed != w.written)
		return "something is counted that is not there";
	if (most >= QUEUE_MAX + now->events + BATCH_EVENTS / 16)
		return "more was queued than there may be";
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct scenario all[] = {
		{"small batches", 2, BATCH_EVENTS, 3, false},
		{"whole blocks", 1, BLOCK_EVENTS, 2, true},
		{"more than there is room for", 1, QUEUE_MAX / 2, 3, true},
	};
	bool good = true;
	for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
		now = &all[i];
		most = 0;
		il_thread("pusher 0", push);
		il_thread("pusher 1", push);
		il_thread("writer", write_all);
		il_thread("stopper", stop);
		il.times_out = times_out;
		unsigned bound = now->bound + (argc > 1 ? (unsigned)atoi(argv[1]) : 0);
		unsigned long runs = il_explore(now->name, bound, begin_run, end);
		printf("%s: %lu runs with up to %u changes, %zu events queued\n", now->name, runs,
		       bound, most);
		good &= !il.failed;
	}
	return !good;
}
