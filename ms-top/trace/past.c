/* SPDX-License-Identifier: MIT
 * Reads a trace up to an earlier moment, in a second thread.
 *
 * The thread takes the latest request, abandons it when there is a newer one, and passes the result
 * to the main thread, which then owns it.
 */
#include "trace.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/trace/recording.h"
#include "libcommon/replay/replay_cells.h"
#include "libcommon/replay/replay_growth.h"
#include "libcommon/base/thread.h"

#define STACK_BYTES (1u << 20)
#define WINDOW_NS 1000000000u

struct question {
	char path[4096];
	uint64_t ns;
	bool part;
};

struct past {
	pthread_t thread;
	bool started;
	struct past_state *state; /* owned by the main thread */

	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool stop, asked;
	_Atomic uint64_t asking; /* number of the latest request; it changes to abandon that */
	struct question question;
	struct past_state *found; /* result of the latest request */
};

static void free_state(struct past_state *s)
{
	if (!s)
		return;
	ms_recording_close(s->rec);
	MS_FREE(s->site_before, s->thread_before, s);
}

/* ---- the thread ---- */

/* Counts the allocations of each site and thread so far. */
static void count(struct past_state *s)
{
	struct ms_replay *r = &s->rec->replay;
	ms_replay_sum_cells(r);
	s->site_before = ms_xcalloc(r->site_count + 1, sizeof *s->site_before);
	s->thread_before = ms_xcalloc(r->thread_count + 1, sizeof *s->thread_before);
	s->site_count = r->site_count;
	s->thread_count = r->thread_count;
	for (size_t i = 0; i < r->site_count; i++)
		s->site_before[i] = r->sites[i].allocations;
	for (size_t i = 0; i < r->thread_count; i++)
		s->thread_before[i] = r->threads[i].allocations;
	s->before = trace_counts(r);
	s->before.ns = s->ns - s->window_ns;
}

/* Applies the events up to and including those at `ns`. Returns false if the request was abandoned,
 * or if reading failed and `err` is set. */
static bool run_to(struct past *p, uint64_t number, struct ms_recording *t, uint64_t ns,
		   struct ms_err *err)
{
	int rc = 1;
	t->stopped = false;
	ms_recording_stop_at(t, ns, ns / t->head->tick_ns + 1, MS_NEVER);
	for (unsigned i = 0; rc > 0; i++) {
		if (i % 64 == 0 && p->asking != number)
			return false;
		rc = ms_recording_step(t, err);
	}
	return rc == 0;
}

static struct ms_recording *open_part(const struct question *q, uint64_t from)
{
	struct ms_err why = {0};
	struct ms_recording *t = ms_recording_open_parts(q->path, &why);
	if (!t)
		t = ms_recording_open_present(q->path, &why);
	if (!t || t->replay.sampled || !ms_recording_start_at(t, from / t->head->tick_ns, &why)) {
		ms_recording_close(t);
		return NULL;
	}
	return t;
}

static struct past_state *find(struct past *p, uint64_t number, const struct question *q)
{
	struct ms_err err = {0};
	struct past_state *s = ms_xcalloc(1, sizeof *s);
	s->ns = q->ns;
	s->window_ns = q->ns < WINDOW_NS ? q->ns : WINDOW_NS;
	uint64_t from = q->ns - s->window_ns;
	if (q->part)
		s->rec = open_part(q, from);
	s->partial = s->rec && s->rec->skipped;
	if (!s->rec)
		s->rec = ms_recording_open(q->path, &err);
	bool good = s->rec && run_to(p, number, s->rec, from, &err);
	if (good) {
		count(s);
		good = run_to(p, number, s->rec, q->ns, &err);
	}
	if (good)
		ms_growth_due(&s->rec->replay, q->ns / s->rec->head->tick_ns);
	if (!good) {
		ms_recording_close(s->rec);
		s->rec = NULL;
		snprintf(s->why, sizeof s->why, "%.*s", (int)sizeof s->why - 1, err.text);
	}
	return s;
}

static void *work(void *arg)
{
	struct past *p = arg;
	pthread_mutex_lock(&p->lock);
	while (!p->stop) {
		if (!p->asked) {
			pthread_cond_wait(&p->changed, &p->lock);
			continue;
		}
		p->asked = false;
		struct question q = p->question;
		uint64_t number = p->asking;
		pthread_mutex_unlock(&p->lock);
		struct past_state *s = find(p, number, &q);
		pthread_mutex_lock(&p->lock);
		if (p->asking == number)
			p->found = s;
		else
			free_state(s);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- the main thread ---- */

struct past *past_new(void)
{
	struct past *p = ms_xcalloc(1, sizeof *p);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	return p;
}

/* Abandons the latest request, and wakes the thread. Call with the lock. */
static void abandon(struct past *p)
{
	p->asking++;
	free_state(p->found);
	p->found = NULL;
	pthread_cond_broadcast(&p->changed);
}

void past_ask(struct past *p, const char *path, uint64_t ns, bool part)
{
	pthread_mutex_lock(&p->lock);
	abandon(p);
	snprintf(p->question.path, sizeof p->question.path, "%s", path);
	p->question.ns = ns;
	p->question.part = part;
	p->asked = true;
	pthread_mutex_unlock(&p->lock);
	if (!p->started)
		p->started = ms_thread_start(&p->thread, STACK_BYTES, work, p) == 0;
}

const struct past_state *past_get(struct past *p)
{
	pthread_mutex_lock(&p->lock);
	struct past_state *s = p->found;
	p->found = NULL;
	pthread_mutex_unlock(&p->lock);
	if (s) {
		free_state(p->state);
		p->state = s;
	}
	return s;
}

void past_drop(struct past *p)
{
	pthread_mutex_lock(&p->lock);
	abandon(p);
	p->asked = false;
	pthread_mutex_unlock(&p->lock);
	free_state(p->state);
	p->state = NULL;
}

void past_free(struct past *p)
{
	if (!p)
		return;
	pthread_mutex_lock(&p->lock);
	p->stop = true;
	abandon(p);
	pthread_mutex_unlock(&p->lock);
	if (p->started)
		pthread_join(p->thread, NULL);
	past_drop(p);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}
