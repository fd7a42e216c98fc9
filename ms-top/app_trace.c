/* SPDX-License-Identifier: MIT
 * A trace as the source of figures: what keys do, and how it is drawn.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app_private.h"
#include "draw_trace.h"
#include "record.h"
#include "save.h"
#include "trace.h"
#include "libcommon/err.h"

/* ---- looking ---- */

static void tell(struct app *a)
{
	if (!a->trace->news[0])
		return;
	app_say(a, "%s", a->trace->news);
	a->trace->news[0] = 0;
	a->stale = true;
}

static int work(struct app *a, struct ms_err *err)
{
	struct trace *t = a->trace;
	bool pending, waited = t->waiting;
	int rc = trace_work(t, err);
	if (rc < 0)
		return -1;
	tell(a);
	/* what came meanwhile is shown at once */
	a->look |= waited && !t->waiting;
	a->stale |= ms_names_answers(t->names, &pending) != t->answers;
	a->hurry = pending || t->waiting;
	return rc;
}

/* Plain frames show all that is there, with its names. */
static int complete(struct app *a, struct ms_err *err)
{
	int rc = 1;
	while (rc > 0)
		rc = trace_work(a->trace, err);
	return rc;
}

static int look(struct app *a, struct ms_err *err)
{
	if (a->opt->batch && complete(a, err) != 0)
		return -1;
	trace_look(a->trace);
	if (a->trace->in_site) {
		static uint64_t numbers[4096];
		size_t n = trace_frame_count(a->trace, a->trace->detail.node);
		n = n < sizeof numbers / sizeof *numbers ? n : sizeof numbers / sizeof *numbers;
		for (size_t i = 0; i < n; i++)
			numbers[i] = i;
		list_set(&a->trace->frames, numbers, n);
	}
	tell(a);
	return 0;
}

static void draw(struct app *a, const struct screen_state *st)
{
	struct ms_names *names = a->trace->names;
	bool pending;
	uint64_t before = ms_names_answers(names, NULL);
	draw_trace(&a->grid, a->trace, st);
	if (!a->opt->batch)
		return;
	/* nobody looks at a plain frame again: it has all names, each of which may ask for more */
	while (ms_names_answers(names, &pending) != before || pending) {
		while (ms_names_answers(names, &pending), pending)
			usleep(1000);
		before = ms_names_answers(names, NULL);
		grid_begin(&a->grid, a->grid.rows, a->grid.cols);
		draw_trace(&a->grid, a->trace, st);
	}
}

static void json(struct app *a)
{
	json_trace(&a->json, a->trace);
}

static int rows(const struct app *a)
{
	return draw_trace_rows(a->trace);
}

static struct list *list_of(struct app *a)
{
	struct trace *t = a->trace;
	return t->in_site ? &t->frames : &t->lists[t->view];
}

static bool over(const struct app *a)
{
	const struct ms_follow *f = a->trace->follow;
	return f->caught_up && (f->file == MS_FILE_CUT || f->rec->state != MS_TRACE_GROWING) &&
	       !f->waits_for[0];
}

/* ---- keys ---- */

static void again(struct app *a)
{
	trace_rows(a->trace);
	if (a->trace->view == TRACE_TREE)
		tree_make(a->trace);
}

static void show(struct app *a, enum trace_view view)
{
	struct trace *t = a->trace;
	t->view = view;
	again(a);
	if (!t->lists[view].has || t->lists[view].follows)
		list_first(&t->lists[view]);
}

static void sort_by(struct app *a, int step)
{
	enum site_column all[SITE_COLUMNS];
	struct trace *t = a->trace;
	size_t n = site_columns_fit(t, 1000, all), at = 0;
	for (size_t i = 0; i < n; i++)
		if (all[i] == t->sort)
			at = i;
	if (!n)
		return;
	/* by name or by a line nothing can be sorted */
	do
		at = (at + n + (size_t)(step + (int)n)) % n;
	while (all[at] == SITE_NAME || all[at] == SITE_HISTORY);
	t->sort = all[at];
	again(a);
}

static void search(struct app *a, size_t from)
{
	struct trace *t = a->trace;
	bool pending;
	for (size_t i = 0; i < t->rows; i++) {
		size_t at = (from + i) % t->rows;
		if (trace_node_matches(t, (uint32_t)t->ids[at], &a->search)) {
			show(a, TRACE_SITES);
			list_choose(&t->lists[TRACE_SITES], t->ids[at]);
			return;
		}
	}
	ms_names_answers(t->names, &pending);
	app_say(a, "no site matches '%.100s'%s", a->search.text,
		pending ? ": not all names are known yet" : "");
}

static void open_site(struct app *a, uint32_t node)
{
	struct trace *t = a->trace;
	site_look(t, node);
	t->in_site = true;
	list_init(&t->frames);
	a->look = true;
}

static void enter(struct app *a)
{
	struct trace *t = a->trace;
	const struct list *l = &t->lists[t->view];
	if (!l->has)
		return;
	if (t->view == TRACE_SITES)
		open_site(a, (uint32_t)l->selected);
	else if (t->view == TRACE_TREE && !tree_toggle(t, l->at))
		open_site(a, (uint32_t)l->selected);
}

static void travel(struct app *a, int steps)
{
	struct trace *t = a->trace;
	uint64_t length = trace_length(t), step = trace_step(t),
		 now = t->in_past ? t->past_ns : length;
	/* whole steps, so that each moment can be come back to */
	uint64_t at = (now + (steps > 0 ? 0 : step - 1)) / step;
	if (steps < 0)
		at = at > (uint64_t)-steps ? at - (uint64_t)-steps : 0;
	else
		at += (uint64_t)steps;
	a->frozen = false;
	a->look = true;
	if (steps > 0 && !t->in_past)
		return;
	trace_travel(t, at * step);
}

static void live(struct app *a)
{
	struct trace *t = a->trace;
	if (!t->in_past) {
		list_last(list_of(a));
		return;
	}
	trace_travel(t, MS_NEVER);
	a->look = true;
}

static void save(struct app *a)
{
	struct trace *t = a->trace;
	char point[64];
	trace_point(t, point, sizeof point);
	if (t->waiting)
		app_say(a, "not there yet");
	else if (!t->follow->rec->replay.events)
		app_say(a, "nothing was recorded yet");
	else if (t->follow->file != MS_FILE_THERE)
		app_say(a, "the file is not there any more");
	else if (save_begin(t->save, t->follow->path, point))
		app_say(a, "writing %.150s.%s.db", t->follow->path, point);
	else
		app_say(a, "one snapshot is being written already");
}

static void back(struct app *a)
{
	struct trace *t = a->trace;
	if (t->in_site) {
		t->in_site = false;
		return;
	}
	if (!a->has_system && !a->inspecting) {
		a->quit = true;
		return;
	}
	app_say(a, "recorded to %.200s", t->follow->path);
	trace_close(t);
	a->trace = NULL;
	a->look = true;
}

static void reread(struct app *a)
{
	struct ms_err err = {0};
	enum ms_follow_file file = a->trace->follow->file;
	a->look = true;
	if ((file == MS_FILE_REPLACED || file == MS_FILE_CUT) && trace_again(a->trace, &err) != 0)
		app_say(a, "%.250s", err.text);
}

static void act(struct app *a, enum action act)
{
	struct trace *t = a->trace;
	/* figures that are about to be made anew are no base for anything */
	if (a->look)
		trace_look(t);
	switch (act) {
	case ACT_VIEW_1:
	case ACT_VIEW_2:
	case ACT_VIEW_3:
	case ACT_VIEW_4:
	case ACT_VIEW_5:
		show(a, (enum trace_view)(act - ACT_VIEW_1));
		return;
	case ACT_NEXT_VIEW:
		show(a, (enum trace_view)((t->view + 1) % TRACE_VIEWS));
		return;
	case ACT_SORT_NEXT:
		sort_by(a, 1);
		return;
	case ACT_SORT_PREVIOUS:
		sort_by(a, -1);
		return;
	case ACT_REVERSE:
		t->reverse = !t->reverse;
		again(a);
		return;
	case ACT_ENTER:
		enter(a);
		return;
	case ACT_BACK:
		back(a);
		return;
	case ACT_QUIT:
		a->quit = true;
		return;
	case ACT_BASELINE:
		trace_set_base(t);
		app_say(a, t->in_past ? "a baseline is of the latest moment: End"
				      : "BASE counts from now on");
		return;
	case ACT_EARLIER:
	case ACT_FAR_EARLIER:
		travel(a, act == ACT_EARLIER ? -1 : -10);
		return;
	case ACT_LATER:
	case ACT_FAR_LATER:
		travel(a, act == ACT_LATER ? 1 : 10);
		return;
	case ACT_LIVE:
		live(a);
		return;
	case ACT_WRITE:
		save(a);
		return;
	case ACT_REFRESH:
		reread(a);
		return;
	default:
		return;
	}
}

static struct pattern *filter(struct app *a)
{
	return &a->trace->filter;
}

static unsigned where(const struct app *a)
{
	return a->trace->in_site ? IN_SITE : IN_TRACE;
}

const struct subject subject_trace = {
	.where = where,
	.look = look,
	.work = work,
	.draw = draw,
	.json = json,
	.rows = rows,
	.list = list_of,
	.act = act,
	.filter = filter,
	.search = search,
	.again = again,
	.over = over,
};

/* ---- recording a process ---- */

void app_record(struct app *a, pid_t pid, const char *name)
{
	struct ms_err err = {0};
	if (a->recorder) {
		app_say(a, "a recording is being started already");
		return;
	}
	a->recorder = recorder_start(pid, name, &err);
	if (a->recorder)
		app_say(a, "attaching to process %d", (int)pid);
	else
		app_say(a, "%.250s", err.text);
}

void app_recording(struct app *a)
{
	struct ms_err why = {0};
	char text[250];
	if (recorder_started(a->recorder))
		a->trace = trace_open(recorder_trace(a->recorder), &why);
	if (a->trace) {
		a->trace->recorder = a->recorder;
		a->look = true;
		a->frozen = false;
	} else if (recorder_ended(a->recorder, text, sizeof text)) {
		app_say(a, "%s", text);
		recorder_stop(a->recorder);
	} else {
		return;
	}
	a->stale = true;
	a->recorder = NULL;
}
