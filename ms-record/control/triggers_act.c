/* SPDX-License-Identifier: MIT
 * Does what --when says once a condition is true: marks, scans, the end of the recording.
 */
#include <stdlib.h>
#include <unistd.h>

#include "control.h"
#include "triggers.h"

/* Holds a trigger that has fired, until its last action has begun. */
struct firing {
	struct firing *next;
	const struct trigger *trigger;
	size_t index;
	uint32_t image;
	pid_t pid;
	uint64_t rss;
	char *program, *trace;
	uint64_t request; /* number of the request that has its marks */
	unsigned scans;   /* actions that are scans and not over */
	uint64_t asked;   /* ticket of the current scan; 0 = none */
	bool scanned, flushed, stopped;
};

/* ---- requests to the draining thread ---- */

/* Adds a mark to the next request, and returns the number of that request. */
static uint64_t add_mark(struct acting *a, uint32_t image, const char *name, bool checkpoint)
{
	*MS_PUSH(&a->next) = (struct drain_mark){image, name, checkpoint};
	return a->collected;
}

/* Sends the marks that were collected, unless the draining thread has a request already; it takes
 * one at a time. */
static void send_marks(struct control *c)
{
	struct acting *a = &c->acting;
	if (a->requested || !a->next.n || tell_requests(&c->tell))
		return;
	struct drain_marks swap = a->sent;
	a->sent = a->next;
	a->next = swap;
	a->next.n = 0;
	a->collected++;
	a->requested = true;
	a->request.kind = DRAIN_MARKS;
	a->request.marks = &a->sent;
	drain_requests_send(&c->drain, &a->request);
}

bool triggers_request(const struct control *c)
{
	const struct acting *a = &c->acting;
	return a->requested && c->drain.started &&
	       !__atomic_load_n(&a->request.done, __ATOMIC_ACQUIRE);
}

/* Looks how far the request in progress is. */
static void follow_marks(struct control *c)
{
	struct acting *a = &c->acting;
	if (!c->drain.started) { /* nothing more is merged, and all is written */
		a->requested = false;
		a->merged = a->written = UINT64_MAX;
		return;
	}
	if (a->requested && !triggers_request(c)) {
		a->requested = false;
		a->merged = a->collected - 1;
	}
	if (a->written < a->merged && writer_reached(&c->writer, a->request.ticket))
		a->written = a->merged;
}

/* ---- firings ---- */

bool triggers_acts(const struct control *c, uint32_t image, size_t index)
{
	const struct firing *f = c->acting.first;
	while (f && (f->image != image || f->index != index))
		f = f->next;
	return f != NULL;
}

void triggers_fire(struct control *c, struct session *s, size_t index, uint64_t rss)
{
	const struct trigger *t = &c->opt->triggers.v[index];
	struct firing **last = &c->acting.first, *f = ms_xcalloc(1, sizeof *f);
	while (*last)
		last = &(*last)->next;
	*last = f;
	*f = (struct firing){.trigger = t,
			     .index = index,
			     .image = s->image,
			     .pid = s->process.pid,
			     .rss = rss,
			     .program = ms_xstrdup(s->name),
			     .trace = ms_xstrdup(s->out->path),
			     .scans = t->actions & (TRIGGER_SCAN | TRIGGER_RESIDENT)};
	if (t->actions & TRIGGER_START)
		control_resume(c);
	if (t->label || s->ending != SESSION_RUNS)
		return;
	f->request = add_mark(&c->acting, s->image, t->text, t->actions & TRIGGER_CHECKPOINT);
	for (size_t i = 0; i < t->marks.n; i++)
		add_mark(&c->acting, s->image, t->marks.v[i], false);
}

/* Returns the session of a program image; NULL = its trace is closed. */
static struct session *session_of(const struct control *c, uint32_t image)
{
	struct session *s = c->sessions;
	while (s && s->image != image)
		s = s->next;
	return s;
}

/* Has the process scanned, for one action after the other. Returns whether all are over. */
static bool scan(struct control *c, struct firing *f, struct session *s)
{
	while (f->scans) {
		unsigned one = f->scans & TRIGGER_SCAN ? TRIGGER_SCAN : TRIGGER_RESIDENT;
		if (!s || s->ending != SESSION_RUNS)
			return true;
		if (!f->asked) {
			bool mark = !f->trigger->label;
			f->asked = scanner_ask_one(c->scanner, s, mark ? "mark" : NULL,
						   mark ? f->trigger->text : f->trigger->label,
						   one == TRIGGER_RESIDENT);
			c->acting.counts[f->index].unscanned += !f->asked;
		}
		if (f->asked && !scanner_did_one(c->scanner, s, f->asked))
			return false;
		f->scanned |= f->asked != 0;
		f->scans &= ~one;
		f->asked = 0;
	}
	return true;
}

/* Goes on with a firing. Returns true once nothing more is to be done. */
static bool act(struct control *c, struct firing *f)
{
	struct acting *a = &c->acting;
	const struct trigger *t = f->trigger;
	struct session *s = session_of(c, f->image);
	bool stops = t->actions & TRIGGER_STOP;
	if (f->request > a->merged || !scan(c, f, s))
		return false;
	if (!t->command && !stops)
		return true;
	if (f->scanned && !f->flushed) {
		f->flushed = true;
		f->request = add_mark(a, f->image, NULL, false);
	}
	if (f->request > a->written || (s && s->ending != SESSION_RUNS))
		return false;
	if (stops && !f->stopped) {
		f->stopped = true;
		control_stop(c, "--when");
	}
	if (!t->command)
		return true;
	if (stops && (c->sessions || !(c->symbols_done || c->symbols_late || c->over)))
		return false;
	triggers_run(c, f->index, f->program, f->pid, f->rss, f->trace);
	return true;
}

void triggers_act(struct control *c)
{
	follow_marks(c);
	for (struct firing **at = &c->acting.first, *f; (f = *at);) {
		if (!act(c, f)) {
			at = &f->next;
			continue;
		}
		*at = f->next;
		MS_FREE(f->program, f->trace, f);
	}
	send_marks(c);
	triggers_runs(c);
}

void triggers_end(struct control *c)
{
	if (c->opt->triggers.n)
		triggers_act(c);
	while (triggers_runs(c)) {
		control_read_signals(c);
		if (c->skip_symbols)
			triggers_kill(c);
		usleep(10000);
	}
}
