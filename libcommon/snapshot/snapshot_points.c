/* SPDX-License-Identifier: MIT
 * Finds the moments of a snapshot: which exist, where each lies in each trace, and which part of
 * a trace must be read for them.
 */
#include "snapshot_build.h"

#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/span.h"
#include "libcommon/base/units.h"
#include "format/trace.h"

#include <stdio.h>
#include <string.h>

#define EVERY_MOST 10000u
#define PART_EVENTS (UINT64_C(16) << 20) /* fewer events are replayed in less than a second */

/* ---- the requested points ---- */

static int parse_one(struct build *b, const char *text, const struct ms_point **out)
{
	if (!text)
		return 0;
	struct ms_point *p = ms_arena_alloc(&b->arena, sizeof *p);
	*out = p;
	return ms_point_parse(text, p, b->err);
}

static int parse_labels(struct build *b)
{
	b->points = ms_arena_alloc(&b->arena, (b->label_count + 1) * sizeof *b->points);
	for (size_t i = 0; i < b->label_count; i++)
		if (ms_point_parse(b->labels[i], &b->points[i], b->err) != 0)
			return -1;
	return 0;
}

int ms_points_parse(struct build *b)
{
	static const char *const usual[] = {"start", "peak", "end"};
	const struct ms_build_options *o = b->opt;
	unsigned skip = o->from || o->to ? 0 : 1;
	b->labels = o->point_count ? o->points : usual + skip;
	b->label_count = b->asked = o->point_count ? o->point_count : 3 - skip;
	if (parse_labels(b) != 0)
		return -1;
	return parse_one(b, o->from, &b->from) || parse_one(b, o->to, &b->to) ? -1 : 0;
}

static bool needs_marks_or_length(const struct ms_point *p)
{
	return p->kind == MS_POINT_BEFORE || p->kind == MS_POINT_CLOCK ||
	       p->kind == MS_POINT_MARK || p->kind == MS_POINT_SCAN;
}

static bool is_peak(const struct ms_point *p)
{
	return p && p->kind == MS_POINT_PEAK;
}

bool ms_points_need_glance(const struct build *b)
{
	bool need = b->opt->every_ns || (b->from && b->from->kind == MS_POINT_END) ||
		    is_peak(b->from) || is_peak(b->to) ||
		    (b->from && needs_marks_or_length(b->from)) ||
		    (b->to && needs_marks_or_length(b->to));
	for (size_t i = 0; i < b->label_count; i++)
		need |= needs_marks_or_length(&b->points[i]);
	return need;
}

static bool wants(const struct build *b, enum ms_point_kind kind)
{
	for (size_t i = 0; i < b->label_count; i++)
		if (b->points[i].kind == kind && i >= b->opt->usual_points)
			return true;
	return false;
}

/* ---- reading a trace in advance ---- */

/* Tells whether reading may begin at a checkpoint; false if a figure needs the whole history. */
static bool part_allowed(const struct build *b)
{
	bool asked = b->opt->point_count > b->opt->usual_points || b->opt->every_ns || b->from;
	return b->opt->read != MS_READ_ALL && asked &&
	       (b->from || (!b->to && !wants(b, MS_POINT_PEAK)));
}

static bool part_worth_it(const struct build *b, const struct ms_recording *glance)
{
	return b->opt->read == MS_READ_PART || glance->end.number[MS_END_EVENTS] > PART_EVENTS;
}

/* Opens p->glance, the trace read in advance, if it is needed. Returns 0 or -1. */
static int look(struct build *b, struct running *p)
{
	struct ms_err why = {0};
	if (p->glance || (!ms_points_need_glance(b) && !part_allowed(b)))
		return 0;
	p->glance = ms_recording_open_parts(p->path, &why);
	if (!p->glance && ms_points_need_glance(b))
		p->glance = ms_recording_glance(p->path, b->err);
	return p->glance || !ms_points_need_glance(b) ? 0 : -1;
}

/* ---- where a point lies ---- */

/* Describes where a point lies: in ns since the start of the recording, and as the `tick` and
 * `event` that ms_replay_moment takes. */
struct spot {
	enum ms_kept_kind kind;
	uint64_t ns, tick, event;
};

/* Returns where a moment at `ns` lies. The tick is one higher, so that the state includes every
 * event up to and including `ns`. */
static struct spot at_time(const struct running *p, uint64_t ns)
{
	return (struct spot){MS_KEPT_MOMENT, ns, ns / p->keep.rec->head->tick_ns + 1, MS_NEVER};
}

static struct spot at_mark(const struct running *p, const struct ms_point *want)
{
	const struct ms_recording *glance = p->glance;
	const struct ms_row *found = NULL;
	uint64_t nth = 0;
	for (size_t i = 0; i < glance->marks.n; i++) {
		const struct ms_row *m = &glance->marks.v[i];
		const char *name = m->text[MS_MARK_NAME - 2];
		if (!name || strlen(name) != (size_t)want->mark_length ||
		    memcmp(name, want->mark, (size_t)want->mark_length) != 0)
			continue;
		nth++;
		if (want->nth == 0 || nth == want->nth)
			found = m;
	}
	if (!found)
		return (struct spot){0};
	if (!ms_has(found, MS_MARK_EVENT))
		return at_time(p, found->number[MS_MARK_TIME]);
	return (struct spot){MS_KEPT_MOMENT, found->number[MS_MARK_TIME], MS_NEVER,
			     found->number[MS_MARK_EVENT]};
}

static struct spot at_scan(const struct ms_recording *glance, uint64_t number)
{
	const struct ms_verdict_scan *s = ms_recording_scan(glance, number);
	return s ? (struct spot){MS_KEPT_MOMENT, s->time_ns, MS_NEVER, s->event} : (struct spot){0};
}

/* Returns the first time `clock` (ns after midnight UTC) at or after the start, in ns since the
 * start. */
static uint64_t after_start(uint64_t start_wall, uint64_t clock)
{
	const uint64_t day = UINT64_C(86400000000000);
	uint64_t time_of_day = start_wall % day;
	return (clock + day - time_of_day) % day;
}

static struct spot find(const struct running *p, const struct ms_point *want)
{
	const struct ms_recording *glance = p->glance;
	uint64_t length = glance ? ms_recording_length(glance) : 0;
	switch (want->kind) {
	case MS_POINT_PEAK:
		return (struct spot){.kind = MS_KEPT_PEAK};
	case MS_POINT_END:
		return (struct spot){.kind = MS_KEPT_END};
	case MS_POINT_START:
		return (struct spot){.kind = MS_KEPT_START};
	case MS_POINT_AFTER:
		return at_time(p, want->ns);
	case MS_POINT_BEFORE:
		return want->ns <= length ? at_time(p, length - want->ns) : (struct spot){0};
	case MS_POINT_CLOCK:
		if (glance && ms_has(&glance->info, MS_INFO_START_WALL))
			return at_time(
				p, after_start(glance->info.number[MS_INFO_START_WALL], want->ns));
		break;
	case MS_POINT_MARK:
		if (glance)
			return at_mark(p, want);
		break;
	case MS_POINT_SCAN:
		if (glance)
			return at_scan(glance, want->nth);
		break;
	}
	return (struct spot){0};
}

/* Finds the peak of the whole recording, for --from and --to, by a separate replay. */
static int find_peak(struct build *b, const struct running *p, struct spot *s)
{
	uint64_t next;
	struct ms_recording *t = ms_recording_open(p->path, b->err);
	int rc = t ? 1 : -1;
	while (rc > 0)
		rc = ms_recording_run(t, UINT64_MAX, &next, b->err);
	if (rc == 0)
		*s = (struct spot){MS_KEPT_MOMENT, t->replay.peak_tick * t->head->tick_ns, MS_NEVER,
				   t->replay.peak_position};
	ms_recording_close(t);
	return rc;
}

/* Finds the moment of --from or --to. --from start and --to end limit nothing; with --from end or
 * --to start, no event remains. */
static int find_limit(struct build *b, struct running *p, const struct ms_point *want,
		      struct spot *s)
{
	*s = (struct spot){0};
	if (!want)
		return 0;
	*s = find(p, want);
	if (s->kind == MS_KEPT_END && want == b->from)
		*s = (struct spot){MS_KEPT_MOMENT, ms_recording_length(p->glance), MS_NEVER,
				   MS_NEVER - 1};
	if (s->kind == MS_KEPT_START && want == b->to)
		*s = (struct spot){MS_KEPT_MOMENT, 0, MS_NEVER, 0};
	return s->kind == MS_KEPT_PEAK ? find_peak(b, p, s) : 0;
}

/* Applies the limits of a trace that was cut out of another one as --from and --to, unless these
 * are given. */
static void cut_limits(const struct build *b, const struct running *p, struct spot *from,
		       struct spot *to)
{
	const struct ms_fields *i = &p->keep.rec->info;
	if (!b->from && ms_has(i, MS_INFO_CUT_FROM))
		*from = ms_has(i, MS_INFO_CUT_EVENT)
				? (struct spot){MS_KEPT_MOMENT, i->number[MS_INFO_CUT_FROM],
						MS_NEVER, i->number[MS_INFO_CUT_EVENT]}
				: at_time(p, i->number[MS_INFO_CUT_FROM]);
	if (!b->to && ms_has(i, MS_INFO_CUT_TO))
		*to = (struct spot){MS_KEPT_MOMENT, i->number[MS_INFO_CUT_TO], MS_NEVER, MS_NEVER};
}

static int take_end(struct build *b, struct running *p, const struct ms_point *want,
		    struct ms_span_end *end)
{
	char length[MS_UNIT_BUF];
	struct spot s;
	if (find_limit(b, p, want, &s) != 0)
		return -1;
	*end = (struct ms_span_end){s.kind == MS_KEPT_MOMENT, s.ns, s.tick, s.event};
	uint64_t most = ms_recording_length(p->glance);
	if (want && (s.kind == MS_KEPT_ABSENT || (s.kind == MS_KEPT_MOMENT && s.ns > most)))
		return ms_err_set(b->err, "no point '%s' in the recording: it lasted %s",
				  want->label, ms_format_duration(length, most));
	return 0;
}

int ms_span_find(const char *path, const char *from, const char *to, struct ms_span_end ends[2],
		 struct ms_err *err)
{
	static const struct ms_build_options none;
	struct ms_err why = {0};
	struct build b = {.opt = &none, .err = err};
	struct running p = {.path = path};
	int rc = parse_one(&b, from, &b.from) || parse_one(&b, to, &b.to) ? -1 : 0;
	if (rc == 0 && !(p.keep.rec = ms_recording_open(path, err)))
		rc = -1;
	if (rc == 0 && !(p.glance = ms_recording_open_parts(path, &why)))
		rc = (p.glance = ms_recording_glance(path, err)) ? 0 : -1;
	if (rc == 0)
		rc = take_end(&b, &p, b.from, &ends[0]) || take_end(&b, &p, b.to, &ends[1]) ? -1
											    : 0;
	if (rc == 0 && ends[0].given && ends[1].given && ends[0].ns > ends[1].ns)
		rc = ms_err_set(err, "--from '%s' is later than --to '%s'", from, to);
	ms_recording_close(p.glance);
	ms_recording_close(p.keep.rec);
	ms_arena_free(&b.arena);
	return rc;
}

/* ---- what must be read ---- */

struct plan {
	struct spot *spots; /* for each label: where its point lies */
	struct spot from, to;
	uint64_t first_tick,
		last_tick; /* range of ticks to read: from first_tick to before last_tick */
};

static uint64_t tick_of(const struct running *p, const struct spot *s)
{
	return s->ns / p->keep.rec->head->tick_ns;
}

/* Extends the range of ticks so that a moment can be computed: the state before first_tick must
 * precede every moment. */
static void widen(struct plan *plan, const struct running *p, const struct spot *s)
{
	uint64_t tick = tick_of(p, s), before = s->tick != MS_NEVER ? tick : tick ? tick - 1 : 0;
	plan->first_tick = before < plan->first_tick ? before : plan->first_tick;
	plan->last_tick = tick + 1 > plan->last_tick ? tick + 1 : plan->last_tick;
}

static void plan_reading(const struct build *b, const struct running *p, struct plan *plan)
{
	bool to_end = b->from != NULL;
	plan->first_tick = MS_NEVER;
	plan->last_tick = 0;
	for (size_t i = 0; i < b->label_count; i++) {
		if (plan->spots[i].kind == MS_KEPT_MOMENT)
			widen(plan, p, &plan->spots[i]);
		to_end |= plan->spots[i].kind == MS_KEPT_END && i >= b->opt->usual_points;
	}
	if (plan->from.kind == MS_KEPT_MOMENT)
		widen(plan, p, &plan->from);
	else if (b->from)
		plan->first_tick = 0;
	if (to_end)
		plan->last_tick = MS_NEVER;
}

/* Replaces p->keep.rec with a recording that starts at a checkpoint, if possible. */
static void read_part(struct build *b, struct running *p, const struct plan *plan)
{
	struct ms_recording *t = p->glance;
	struct ms_err why = {0};
	if (!t || !t->parts || !part_worth_it(b, t) || t->replay.sampled)
		return;
	p->glance = NULL;
	if (!ms_recording_start_at(t, plan->first_tick, &why)) {
		ms_recording_close(t);
		return;
	}
	ms_recording_close(p->keep.rec);
	p->keep.rec = t;
	if (plan->last_tick != MS_NEVER && plan->to.kind != MS_KEPT_MOMENT)
		ms_recording_stop_at(t, (plan->last_tick - 1) * t->head->tick_ns, plan->last_tick,
				     MS_NEVER);
}

/* ---- registering with the replay ---- */

static struct ms_kept_point keep(struct running *p, const struct spot *s)
{
	struct ms_kept_point k = {.kind = s->kind, .time_ns = s->ns};
	if (s->kind == MS_KEPT_MOMENT)
		k.moment = ms_replay_moment(&p->keep.rec->replay, s->tick, s->event);
	return k;
}

static int set_span(struct build *b, struct running *p, const struct plan *plan)
{
	struct ms_kept_process *k = &p->keep;
	const struct spot *from = &plan->from, *to = &plan->to;
	k->to_ns = MS_NEVER;
	if (from->kind == MS_KEPT_MOMENT && to->kind == MS_KEPT_MOMENT && from->ns > to->ns)
		return ms_err_set(b->err, "--from '%s' is later than --to '%s'",
				  b->from ? b->from->label : "(of the cut)",
				  b->to ? b->to->label : "(of the cut)");
	if (from->kind == MS_KEPT_MOMENT || (b->from && from->kind != MS_KEPT_START)) {
		/* a limit that is never reached, so nothing of this process counts */
		static const struct spot never = {MS_KEPT_MOMENT, 0, MS_NEVER, MS_NEVER - 1};
		struct ms_kept_point count = keep(p, from->kind == MS_KEPT_MOMENT ? from : &never);
		ms_replay_count_from(&k->rec->replay, count.moment);
		k->counted_from = true;
		if (from->kind == MS_KEPT_MOMENT)
			k->from = count;
		k->from_event = from->kind == MS_KEPT_MOMENT && from->event < MS_NEVER - 1;
	}
	if (to->kind == MS_KEPT_MOMENT) {
		ms_recording_stop_at(k->rec, to->ns, to->tick, to->event);
		k->to_ns = to->ns;
	}
	return 0;
}

int ms_points_set(struct build *b, struct running *p)
{
	struct plan plan = {0};
	if (look(b, p) != 0 || find_limit(b, p, b->from, &plan.from) != 0 ||
	    find_limit(b, p, b->to, &plan.to) != 0)
		return -1;
	cut_limits(b, p, &plan.from, &plan.to);
	plan.spots = ms_arena_alloc(&b->arena, (b->label_count + 1) * sizeof *plan.spots);
	for (size_t i = 0; i < b->label_count; i++)
		plan.spots[i] = find(p, &b->points[i]);
	plan_reading(b, p, &plan);
	if (part_allowed(b) && !ms_has(&p->keep.rec->info, MS_INFO_CUT))
		read_part(b, p, &plan);
	if (set_span(b, p, &plan) != 0)
		return -1;
	p->keep.points = ms_arena_alloc(&b->arena, (b->label_count + 1) * sizeof *p->keep.points);
	for (size_t i = 0; i < b->label_count; i++)
		if (!p->keep.rec->parts || i >= b->opt->usual_points)
			p->keep.points[i] = keep(p, &plan.spots[i]);
	ms_recording_close(p->glance);
	p->glance = NULL;
	return 0;
}

/* ---- --every ---- */

static uint64_t longest(const struct build *b)
{
	uint64_t most = 0;
	for (size_t i = 0; i < b->all.n; i++) {
		const struct running *p = b->all.v[i];
		uint64_t length = ms_recording_length(p->glance ? p->glance : p->keep.rec);
		most = length > most ? length : most;
	}
	return most;
}

/* Finds the time span of --from and --to over all processes, in ns. Sets *first, and lowers *last
 * if --to is earlier. */
static int limits(struct build *b, uint64_t *first, uint64_t *last)
{
	uint64_t from = MS_NEVER, to = 0;
	for (size_t i = 0; i < b->all.n; i++) {
		struct spot s;
		if (find_limit(b, b->all.v[i], b->from, &s) != 0)
			return -1;
		from = s.kind == MS_KEPT_MOMENT && s.ns < from ? s.ns : from;
		if (find_limit(b, b->all.v[i], b->to, &s) != 0)
			return -1;
		to = s.kind == MS_KEPT_MOMENT && s.ns > to ? s.ns : to;
	}
	*first = from == MS_NEVER ? 0 : from;
	*last = to && to < *last ? to : *last;
	return 0;
}

static bool has_label(const struct build *b, const char *label)
{
	for (size_t i = 0; i < b->label_count; i++)
		if (strcmp(b->labels[i], label) == 0)
			return true;
	return false;
}

/* Returns --every, or a round interval that makes about opt->spread points. */
static uint64_t every_ns(const struct build *b)
{
	struct running *p = b->all.n == 1 ? b->all.v[0] : NULL;
	struct ms_err why = {0};
	if (b->opt->every_ns || !b->opt->spread || !p || ms_recording_is_polled(p->keep.rec))
		return b->opt->every_ns;
	if (!p->glance)
		p->glance = ms_recording_open_parts(p->path, &why);
	return p->glance ? ms_round_down(ms_recording_length(p->glance) / b->opt->spread) : 0;
}

int ms_points_every(struct build *b)
{
	uint64_t every = every_ns(b), first, last;
	char buf[3][MS_UNIT_BUF];
	if (!every)
		return 0;
	for (size_t i = 0; i < b->all.n; i++)
		if (look(b, b->all.v[i]) != 0)
			return -1;
	last = longest(b);
	if (limits(b, &first, &last) != 0)
		return -1;
	uint64_t n = last / every + 1, i = (first + every - 1) / every;
	if (n > i && n - i > EVERY_MOST)
		return ms_err_set(
			b->err,
			"--every makes %s points of %s: use %s or more, or a part with --from and "
			"--to (at most 10,000 points)",
			ms_format_count(buf[0], n - i), ms_format_duration(buf[1], last - first),
			ms_format_seconds(buf[2],
					  ((last - first) / EVERY_MOST / 1000000 + 1) * 1000000));
	const char **labels = ms_arena_alloc(&b->arena, (b->label_count + (n > i ? n - i : 0) + 1) *
								sizeof *labels);
	size_t count = b->label_count;
	memcpy(labels, b->labels, count * sizeof *labels);
	for (; i < n; i++) {
		const char *label =
			ms_arena_strdup(&b->arena, ms_format_seconds(buf[0], i * every));
		if (!has_label(b, label))
			labels[count++] = label;
	}
	b->labels = labels;
	b->label_count = count;
	b->asked = b->opt->every_ns ? count : b->asked;
	return parse_labels(b);
}

/* ---- after the replay ---- */

void ms_points_ended(struct build *b, struct running *p)
{
	const struct ms_replay *r = &p->keep.rec->replay;
	for (size_t i = 0; i < b->label_count; i++) {
		struct ms_kept_point *k = &p->keep.points[i];
		if (k->kind == MS_KEPT_MOMENT &&
		    (!r->moments[k->moment].taken ||
		     k->time_ns > ms_recording_length(p->keep.rec) ||
		     (p->keep.to_ns != MS_NEVER && k->time_ns > p->keep.to_ns)))
			k->kind = MS_KEPT_ABSENT;
	}
	struct ms_kept_point *from = &p->keep.from;
	if (from->kind == MS_KEPT_MOMENT && !r->moments[from->moment].taken)
		from->kind = MS_KEPT_ABSENT;
	for (size_t i = 0; i < b->label_count; i++)
		if (p->keep.points[i].kind == MS_KEPT_START && p->keep.counted_from)
			p->keep.points[i] = *from;
}

static int no_such_mark(struct build *b, const struct ms_point *want)
{
	const struct ms_recording *t = b->all.v[0]->keep.rec;
	const char *names = "none";
	for (size_t m = 0; m < t->marks.n && m < 8; m++) {
		const char *name = t->marks.v[m].text[MS_MARK_NAME - 2];
		names = ms_arena_printf(&b->arena, "%s%s%s", m ? names : "", m ? ", " : "",
					name ? name : "");
	}
	return ms_err_set(b->err, "no point '%s' in the recording: its marks are: %s", want->label,
			  names);
}

/* Reports why no process has the point. Returns -1. */
static int no_such_point(struct build *b, const struct ms_point *want)
{
	char buf[2][MS_UNIT_BUF];
	uint64_t most = 0, dropped = 0, cut = 0, scans = 0;
	for (size_t i = 0; i < b->all.n; i++) {
		const struct ms_recording *t = b->all.v[i]->keep.rec;
		uint64_t length = ms_recording_length(t);
		most = length > most ? length : most;
		if (ms_has(&t->end, MS_END_DROPPED_UNTIL))
			dropped = t->end.number[MS_END_DROPPED_UNTIL];
		if (ms_has(&t->info, MS_INFO_CUT_FROM))
			cut = t->info.number[MS_INFO_CUT_FROM];
		while (ms_recording_scan(t, scans + 1))
			scans++;
	}
	if (want->kind == MS_POINT_SCAN && !b->from && !b->to)
		return scans ? ms_err_set(b->err,
					  "no point '%s' in the recording: its last scan is "
					  "scan:%llu",
					  want->label, (unsigned long long)scans)
			     : ms_err_set(b->err,
					  "no point '%s' in the recording: no scan was made",
					  want->label);
	if (want->kind == MS_POINT_MARK && (!b->to || want == b->from || want == b->to))
		return no_such_mark(b, want);
	if (b->to && want != b->from && want != b->to)
		return ms_err_set(b->err,
				  "no point '%s' in the span, which ends at --to '%s' (the "
				  "recording lasted %s)",
				  want->label, b->to->label, ms_format_duration(buf[0], most));
	if (cut)
		return ms_err_set(b->err,
				  "no point '%s' in this trace, which begins %s into a recording "
				  "that lasted %s",
				  want->label, ms_format_duration(buf[0], cut),
				  ms_format_duration(buf[1], most));
	if (dropped)
		return ms_err_set(b->err,
				  "no point '%s' in the recording: it lasted %s, and its events "
				  "before %s were dropped",
				  want->label, ms_format_duration(buf[0], most),
				  ms_format_duration(buf[1], dropped));
	return ms_err_set(b->err, "no point '%s' in the recording: it lasted %s", want->label,
			  ms_format_duration(buf[0], most));
}

/* Checks that each limit of the span lies in some process. */
static int check_limits(struct build *b)
{
	bool from = !b->from || b->from->kind == MS_POINT_START,
	     to = !b->to || b->to->kind == MS_POINT_END;
	for (size_t i = 0; i < b->all.n; i++) {
		const struct ms_kept_process *k = &b->all.v[i]->keep;
		from |= k->from.kind != MS_KEPT_ABSENT;
		to |= k->to_ns <= ms_recording_length(k->rec);
	}
	return !from ? no_such_point(b, b->from) : !to ? no_such_point(b, b->to) : 0;
}

int ms_points_check(struct build *b)
{
	if (check_limits(b) != 0)
		return -1;
	for (size_t i = b->opt->usual_points; i < b->asked; i++) {
		bool found = false;
		for (size_t k = 0; k < b->all.n; k++)
			found |= b->all.v[k]->keep.points[i].kind != MS_KEPT_ABSENT;
		if (!found)
			return no_such_point(b, &b->points[i]);
	}
	return 0;
}
