/* SPDX-License-Identifier: MIT
 * Does what --when says once a condition is true: marks, scans, the end of the recording.
 */
#include <stdlib.h>
#include <unistd.h>

#include "control.h"
#include "triggers.h"

bool triggers_acts(const struct control *c, uint32_t image, size_t index)
{
	const struct firing *f = c->acting.first;
	while (f && (f->image != image || f->index != index || f->due_ns))
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
	f->request = requests_add(&c->requests, s->image, t->text, t->actions & TRIGGER_CHECKPOINT);
	for (size_t i = 0; i < t->marks.n; i++)
		requests_add(&c->requests, s->image, t->marks.v[i], false);
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

/* Goes on with a firing. Returns true once nothing more is to be done before its command. */
static bool act(struct control *c, struct firing *f)
{
	const struct requests *r = &c->requests;
	const struct trigger *t = f->trigger;
	struct session *s = session_of(c, f->image);
	bool stops = t->actions & TRIGGER_STOP;
	if (f->request > r->merged || !scan(c, f, s))
		return false;
	if (!t->command && !stops)
		return true;
	if (f->scanned && !f->flushed) {
		f->flushed = true;
		f->request = requests_add(&c->requests, f->image, NULL, false);
	}
	if (f->request > r->written || (s && s->ending != SESSION_RUNS))
		return false;
	if (stops && !f->stopped) {
		f->stopped = true;
		control_stop(c, "--when");
	}
	return !t->command || !stops ||
	       (!c->sessions && (c->symbols_done || c->symbols_late || c->over));
}

/* Goes on with all that fired, and with their commands, unless these are not `wanted` any longer.
 * Returns whether commands are left. */
static bool act_on_all(struct control *c, bool wanted)
{
	bool left = false;
	requests_look(&c->requests, &c->drain, &c->writer);
	for (struct firing **at = &c->acting.first, *f; (f = *at);) {
		bool over = !f->due_ns && act(c, f);
		if (over && f->trigger->command)
			f->due_ns = clock_mono();
		if (f->due_ns)
			over = triggers_run(c, f, wanted);
		if (!over) {
			left |= f->due_ns != 0;
			at = &f->next;
			continue;
		}
		*at = f->next;
		MS_FREE(f->program, f->trace, f);
	}
	return left;
}

void triggers_act(struct control *c)
{
	act_on_all(c, true);
}

void triggers_end(struct control *c)
{
	while (act_on_all(c, !c->skip_symbols)) {
		control_read_signals(c);
		usleep(10000);
	}
}
