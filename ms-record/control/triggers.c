/* SPDX-License-Identifier: MIT
 * Judges the conditions of --when and --retention-at.
 */
#include "triggers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control.h"
#include "ms-record/base/descriptor.h"
#include "ms-record/session/samples.h"

/* A level must be a tenth of the limit away before it counts as reached again. */
#define BACK 0.1L
/* An event counts as one with those that come within this time. */
#define EVENT_APART_NS UINT64_C(1000000000)
#define CGROUP_AGE_NS UINT64_C(20000000) /* figures of a control group are read again after this */
#define CGROUP_MOVED_NS UINT64_C(1000000000) /* a process may have moved to another group */
#define PARTS 64u                            /* parts of the time in which a figure grows */

/* Holds what is known of a trigger in one program image. */
struct trigger_state {
	bool begun, armed; /* armed: a level may be reached */
	uint64_t fired;
	uint64_t last, last_ns; /* last event count, and time of the last event or firing */
	/* Least value of the figure in each part of the time in which it may grow; the part of
	 * `part_ns` is the newest. */
	uint64_t *least, part_ns;
	unsigned part;
};

struct trigger_states {
	char *cgroup; /* path of the process's control group; NULL = not known */
	uint64_t cgroup_ns;
	struct trigger_state v[];
};

/* ---- figures ---- */

/* Finds the control group of a session's process, again from time to time. */
static void find_cgroup(struct session *s, struct trigger_states *t, uint64_t now)
{
	char path[MS_CGROUP_PATH];
	if (t->cgroup_ns && now - t->cgroup_ns < CGROUP_MOVED_NS)
		return;
	t->cgroup_ns = now;
	if (!ms_cgroup_find(s->process.folder, path) || (t->cgroup && !strcmp(t->cgroup, path)))
		return;
	free(t->cgroup);
	t->cgroup = ms_xstrdup(path);
}

/* Returns the figures of the control group that a session's process is in, which are read once for
 * all of its processes; NULL = not known. */
static const struct cgroup *cgroup_of(struct control *c, struct session *s,
				      struct trigger_states *t, uint64_t now)
{
	size_t i = 0;
	find_cgroup(s, t, now);
	if (!t->cgroup)
		return NULL;
	while (i < c->acting.cgroups.n && strcmp(c->acting.cgroups.v[i].path, t->cgroup) != 0)
		i++;
	if (i == c->acting.cgroups.n)
		*MS_PUSH(&c->acting.cgroups) = (struct cgroup){.path = ms_xstrdup(t->cgroup)};
	struct cgroup *g = &c->acting.cgroups.v[i];
	if (now - g->read_ns > CGROUP_AGE_NS) {
		cgroup_read(g, MS_CGROUP_ROOT);
		g->read_ns = now;
	}
	return g;
}

/* Holds the figures of a process at one time. */
struct now {
	uint64_t ns, rss, live, failed;
	const struct cgroup *cgroup; /* NULL = not known, or no trigger needs it */
};

/* Stores the figure that a trigger is about, and its limit. Returns false if it is not known. */
static bool figure(const struct trigger *t, const struct now *n, long double *v, long double *limit)
{
	const struct cgroup *g = n->cgroup;
	*limit = (long double)t->limit;
	switch (t->figure) {
	case TRIGGER_RSS:
		*v = (long double)n->rss;
		return n->rss != 0;
	case TRIGGER_CGROUP:
		if (!g || (t->percent ? g->bytes : g->own_bytes) == UINT64_MAX)
			return false;
		*v = (long double)(t->percent ? g->bytes : g->own_bytes);
		if (t->percent)
			*limit *= (long double)g->limit / 100;
		return !t->percent || g->limit != UINT64_MAX;
	default:
		*v = (long double)n->live;
		return true;
	}
}

/* ---- conditions ---- */

/* Tells whether a level was reached: after it was, not again before the figure has gone back. */
static bool reaches(const struct trigger *t, struct trigger_state *st, long double v,
		    long double limit)
{
	bool is = ms_op_holds(t->op, v, limit), up = t->op == MS_OP_GT || t->op == MS_OP_GE;
	if (!st->begun) /* a figure that begins below a limit has not fallen below it */
		st->armed = up || !is;
	st->begun = true;
	if (is && st->armed) {
		st->armed = false;
		return true;
	}
	st->armed |= up ? v <= limit * (1 - BACK) : v >= limit * (1 + BACK);
	return false;
}

/* Begins the parts up to `now`, with the value `v`. */
static void begin_parts(const struct trigger *t, struct trigger_state *st, uint64_t v, uint64_t now)
{
	uint64_t step = t->ns / PARTS;
	if (!st->least) {
		st->least = ms_xrealloc(NULL, PARTS, sizeof *st->least);
		memset(st->least, 0xff, PARTS * sizeof *st->least);
		st->part_ns = now;
		if (t->figure == TRIGGER_LIVE) /* nothing was live when the recording began */
			st->least[0] = 0;
	}
	for (unsigned i = 0; i < PARTS && now - st->part_ns >= step; i++) {
		st->part = (st->part + 1) % PARTS;
		st->part_ns += step;
		st->least[st->part] = UINT64_MAX;
	}
	if (now - st->part_ns >= step)
		st->part_ns = now;
	if (v < st->least[st->part])
		st->least[st->part] = v;
}

/* Tells whether the figure has grown enough. What it has grown by then is not counted again. */
static bool grows(const struct trigger *t, struct trigger_state *st, uint64_t v, uint64_t now)
{
	uint64_t least = UINT64_MAX;
	begin_parts(t, st, v, now);
	for (unsigned i = 0; i < PARTS; i++)
		least = st->least[i] < least ? st->least[i] : least;
	if (v - least < t->limit)
		return false;
	memset(st->least, 0xff, PARTS * sizeof *st->least);
	st->least[st->part] = v;
	return true;
}

/* Tells whether events have come, after some time without one. */
static bool happens(struct trigger_state *st, uint64_t count, uint64_t now)
{
	bool more = count > st->last;
	bool first = more && (!st->last_ns || now - st->last_ns >= EVENT_APART_NS);
	st->last = count;
	st->last_ns = more ? now : st->last_ns;
	return first;
}

static bool passes(const struct trigger *t, struct trigger_state *st, uint64_t now)
{
	if (!st->last_ns)
		st->last_ns = now;
	if (!t->ns || now - st->last_ns < t->ns)
		return false;
	st->last_ns += (now - st->last_ns) / t->ns * t->ns;
	return true;
}

/* Judges memory.events, of which only what comes from now on counts. */
static bool happens_to_group(const struct trigger *t, struct trigger_state *st, const struct now *n)
{
	if (!n->cgroup)
		return false;
	if (!st->begun)
		st->last = n->cgroup->events[t->event];
	st->begun = true;
	return happens(st, n->cgroup->events[t->event], n->ns);
}

static bool is_true(const struct trigger *t, struct trigger_state *st, const struct now *n)
{
	long double v, limit;
	if (t->kind == TRIGGER_EVERY)
		return passes(t, st, n->ns);
	if (t->kind == TRIGGER_EVENT)
		return t->figure == TRIGGER_FAILED ? happens(st, n->failed, n->ns)
						   : happens_to_group(t, st, n);
	if (!figure(t, n, &v, &limit))
		return false;
	return t->kind == TRIGGER_GROWS ? grows(t, st, (uint64_t)v, n->ns)
					: reaches(t, st, v, limit);
}

/* ---- one session ---- */

static bool needs(const struct triggers *t, enum trigger_figure figure)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].figure == figure || (figure == TRIGGER_RSS && t->v[i].command))
			return true;
	return false;
}

static void judge_one(struct control *c, struct session *s, size_t i, const struct now *n)
{
	const struct trigger *t = &c->opt->triggers.v[i];
	struct trigger_state *st = &s->triggers->v[i];
	struct trigger_count *count = &c->acting.counts[i];
	if (t->figure == TRIGGER_CGROUP) {
		count->judged |= n->cgroup && n->cgroup->own_bytes != UINT64_MAX;
		count->unlimited |= n->cgroup && n->cgroup->limit == UINT64_MAX;
	}
	if (!is_true(t, st, n) || (t->times && st->fired == t->times) ||
	    triggers_acts(c, s->image, i))
		return;
	uint64_t at = n->ns - c->start_ns;
	count->images += !st->fired++;
	count->first_ns = count->fired++ ? count->first_ns : at;
	count->last_ns = at;
	triggers_fire(c, s, i, n->rss);
}

static void begin(const struct triggers *t, struct session *s)
{
	if (!s->triggers)
		s->triggers =
			ms_xcalloc(1, sizeof *s->triggers + t->n * sizeof(struct trigger_state));
}

static void judge(struct control *c, struct session *s, uint64_t ns)
{
	const struct triggers *t = &c->opt->triggers;
	struct now n = {.ns = ns};
	begin(t, s);
	scan_figures(s->scan, &n.live, &n.failed);
	if (needs(t, TRIGGER_RSS))
		n.rss = samples_rss(s);
	if (needs(t, TRIGGER_CGROUP))
		n.cgroup = cgroup_of(c, s, s->triggers, ns);
	for (size_t i = 0; i < t->n; i++)
		judge_one(c, s, i, &n);
}

void triggers_over(struct control *c, struct session *s)
{
	const struct triggers *t = &c->opt->triggers;
	uint64_t at_ns;
	struct now n = {.ns = clock_mono(),
			.failed = s->stats.failed,
			.rss = samples_rss_at(s, s->end.ns, &at_ns)};
	if (!t->n)
		return;
	begin(t, s);
	for (size_t i = 0; i < t->n; i++) {
		if (t->v[i].figure == TRIGGER_FAILED && !c->stopped)
			judge_one(c, s, i, &n);
		free(s->triggers->v[i].least);
	}
	MS_FREE(s->triggers->cgroup, s->triggers);
	s->triggers = NULL;
}

/* ---- all ---- */

void triggers_start(struct control *c)
{
	c->acting.log = -1;
	c->acting.counts = ms_xcalloc(c->opt->triggers.n + 1, sizeof *c->acting.counts);
}

uint64_t triggers_next(const struct control *c)
{
	return c->opt->triggers.n ? c->acting.look_ns : UINT64_MAX;
}

void triggers_turn(struct control *c)
{
	uint64_t now = clock_mono();
	if (!c->opt->triggers.n)
		return;
	if (now >= c->acting.look_ns) {
		c->acting.look_ns = now + TRIGGER_LOOK_NS;
		for (struct session *s = c->sessions; s && !c->stopped; s = s->next)
			if (s->ending == SESSION_RUNS)
				judge(c, s, now);
	}
	triggers_act(c);
}

void triggers_done(struct control *c)
{
	struct acting *a = &c->acting;
	for (size_t i = 0; i < a->cgroups.n; i++)
		free(a->cgroups.v[i].path);
	if (a->counts) /* else triggers_start was not called, and `log` is not set */
		descriptor_close(a->log);
	MS_FREE(a->counts, a->cgroups.v, a->log_path);
	*a = (struct acting){.log = -1};
}
