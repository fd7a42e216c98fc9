/* SPDX-License-Identifier: MIT
 * A trace as a source of figures: handles its keys, and draws it.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "app_private.h"
#include "ms-top/view/draw.h"
#include "ms-top/trace/trace.h"
#include "libcommon/base/err.h"
#include "libcommon/base/units.h"
#include "format/trace.h"

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
	/* draw at once when the moment of the past that was waited for is available */
	a->look |= waited && !t->waiting;
	a->stale |= ms_names_answers(t->names, &pending) != t->answers;
	a->hurry = pending || t->waiting;
	return rc;
}

/* Reads the whole trace, for plain frames (screens printed as text), which show all its names. */
static int complete(struct app *a, struct ms_err *err)
{
	int rc = 1;
	while (rc > 0)
		rc = trace_work(a->trace, err);
	return rc;
}

/* Waits for all names and trends, which affect filter and order. Used for a plain frame (screen
 * printed as text), which is not updated later. */
static void settle(struct trace *t)
{
	for (uint64_t seen = UINT64_MAX; trace_names_came(t, &seen);) {
		for (size_t i = 0; i < t->site_count; i++)
			trace_trend(t, &t->sites[i]);
		trace_rows(t);
	}
}

/* Makes the list of the open site's frames. */
static void list_frames(struct trace *t)
{
	static uint64_t rows[4096];
	struct trace_stack s = {.t = t, .node = t->detail.node};
	struct trace_stack_row r;
	size_t n = 0;
	while (n < sizeof rows / sizeof *rows && trace_next_row(&s, &r))
		rows[n++] = r.number;
	list_set(&t->frames, rows, n);
}

static int look(struct app *a, struct ms_err *err)
{
	if (a->opt->batch && complete(a, err) != 0)
		return -1;
	trace_look(a->trace);
	if (a->opt->batch && (a->trace->filter.text[0] || a->trace->sort != SITE_LIVE))
		settle(a->trace);
	if (a->trace->in_site)
		list_frames(a->trace);
	tell(a);
	return 0;
}

static void draw(struct app *a, const struct screen_state *st)
{
	if (!a->opt->batch)
		draw_trace(&a->grid, a->trace, st);
	/* a plain frame (screen printed as text) is not updated later, so it waits for all names */
	for (uint64_t seen = UINT64_MAX; a->opt->batch && trace_names_came(a->trace, &seen);) {
		grid_begin(&a->grid, a->grid.rows, a->grid.cols);
		draw_trace(&a->grid, a->trace, st);
	}
}

/* ---- keys ---- */

static void again(struct app *a)
{
	trace_rows(a->trace);
	if (a->trace->view == TRACE_TREE)
		tree_make(a->trace);
	if (a->trace->view == TRACE_KEPT)
		kept_make(a->trace);
}

static void show(struct app *a, int view)
{
	struct trace *t = a->trace;
	t->view = (enum trace_view)view;
	again(a);
	if (!t->lists[view].has || t->lists[view].follows)
		list_first(&t->lists[view]);
}

static void next_view(struct app *a, int step)
{
	show(a, ((int)a->trace->view + step) % TRACE_VIEWS);
}

static void sorted(struct app *a)
{
	again(a);
	list_sorted(app_list(a));
}

static void sort_by(struct app *a, int step)
{
	struct trace *t = a->trace;
	struct column_set all = site_columns_shown(t);
	size_t n = 0;
	/* leaves out the columns that rows cannot be sorted by: names and sparklines */
	for (size_t i = 0; i < all.n; i++)
		if (all.v[i] != SITE_NAME && all.v[i] != SITE_HISTORY)
			all.v[n++] = all.v[i];
	t->sort_open = false;
	t->sort = (enum site_column)app_next(all.v, n, (int)t->sort, step);
	sorted(a);
}

static void sort_clicked(struct app *a, int column)
{
	struct trace *t = a->trace;
	if (column == SITE_NAME || column == SITE_HISTORY)
		return;
	t->reverse = t->sort == (enum site_column)column && !t->reverse;
	t->sort_open = false;
	t->sort = (enum site_column)column;
	sorted(a);
}

/* Reverses the order. In a tree, which has a fixed order, switches between rows of functions and
 * rows of lines. */
static void reverse(struct app *a, int arg)
{
	(void)arg;
	struct trace *t = a->trace;
	if (t->view == TRACE_TREE)
		tree_lines(t);
	else
		t->reverse = !t->reverse;
	sorted(a);
}

static bool site_matches(struct app *a, size_t row)
{
	return trace_node_matches(a->trace, (uint32_t)a->trace->ids[row], &a->search);
}

static void search(struct app *a, size_t from, int step)
{
	bool pending;
	if (app_find(a, &a->trace->lists[TRACE_SITES], from, step, site_matches)) {
		show(a, TRACE_SITES);
		return;
	}
	ms_names_answers(a->trace->names, &pending);
	app_say(a, "no site matches '%.100s'%s", a->search.text,
		pending ? "; function names are still being looked up" : "");
}

static void open_site(struct app *a, uint32_t node)
{
	struct trace *t = a->trace;
	site_look(t, node);
	t->in_site = true;
	list_init(&t->frames);
	a->look = true;
}

static void enter(struct app *a, int arg)
{
	(void)arg;
	struct trace *t = a->trace;
	const struct list *l = &t->lists[t->view];
	if (!l->has)
		return;
	if (t->view == TRACE_SITES) {
		open_site(a, (uint32_t)l->selected);
	} else if (t->view == TRACE_KEPT && !kept_toggle(t, l->at)) {
		uint32_t row = t->kept.tree.b.v[t->kept.rows.v[l->at]].row;
		uint32_t node = kept_node(t, kept_row(t, row)->stack);
		if (node)
			open_site(a, node);
	} else if (t->view == TRACE_TREE && !tree_toggle(t, l->at)) {
		const struct trace_branch *b = &t->tree.b.v[t->tree.rows.v[l->at]];
		open_site(a, b->site);
		if (b->sites > 1)
			app_say(a, "opened the largest of the %u sites in that row", b->sites);
	}
}

static void travel(struct app *a, int steps)
{
	struct trace *t = a->trace;
	uint64_t length = ms_follow_reached(t->follow), step = trace_step(t),
		 now = t->in_past ? t->past_ns : length;
	/* whole steps, so that each moment can be reached again */
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

static void live(struct app *a, int arg)
{
	(void)arg;
	struct trace *t = a->trace;
	if (!t->in_past) {
		list_last(app_list(a));
		return;
	}
	trace_travel(t, MS_NEVER);
	a->look = true;
}

static void save(struct app *a, int arg)
{
	(void)arg;
	struct trace *t = a->trace;
	char point[MS_UNIT_BUF];
	trace_point(t, point);
	if (t->waiting)
		app_say(a, "not there yet");
	else if (!t->follow->rec->replay.events)
		app_say(a, "nothing recorded yet");
	else if (t->follow->file != MS_FILE_THERE)
		app_say(a, "the trace file no longer exists");
	else if (save_begin(t->save, t->follow->path, point))
		app_say(a, "writing %.150s.%s.db", t->follow->path, point);
	else
		app_say(a, "a snapshot is already being written");
}

/* Asks the recorder for a retention scan, whose answer is shown as a message. */
static void scan(struct app *a, int arg)
{
	(void)arg;
	struct trace *t = a->trace;
	struct ms_err err = {0};
	pid_t pid = (pid_t)t->follow->rec->info.number[MS_INFO_PID];
	a->frozen = false;
	if (t->asking)
		app_say(a, "a retention scan is already being made");
	else if (ms_recording_is_polled(t->follow->rec))
		app_say(a, "allocations were not recorded: there is nothing to scan");
	else if (t->follow->file != MS_FILE_THERE)
		app_say(a, "the trace file no longer exists");
	else if ((t->asking = recorder_tell(t->follow->path, pid, "retention", &err)))
		app_say(a, "scanning for what keeps blocks alive");
	else
		app_say(a, "%.250s", err.text);
}

static void back(struct app *a, int confirmed)
{
	struct trace *t = a->trace;
	if (t->in_site) {
		t->in_site = false;
		return;
	}
	if (!a->has_system && !a->inspecting) {
		app_quit(a, 0);
		return;
	}
	if (!confirmed && app_records(a)) {
		app_ask(a, back, "end the recording? y: yes, any other key: no");
		return;
	}
	app_say(a, "recorded to %.200s", t->follow->path);
	trace_close(t);
	a->trace = NULL;
	a->look = true;
}

static void reread(struct app *a, int arg)
{
	(void)arg;
	struct ms_err err = {0};
	enum ms_follow_file file = a->trace->follow->file;
	a->look = true;
	if ((file == MS_FILE_REPLACED || file == MS_FILE_CUT) && trace_again(a->trace, &err) != 0)
		app_say(a, "%.250s", err.text);
}

static void baseline(struct app *a, int arg)
{
	(void)arg;
	trace_set_base(a->trace);
	app_say(a, a->trace->in_past
			   ? "cannot set a baseline in the past: press End for the latest moment"
			   : "BASE now shows the change in LIVE since this moment");
}

/* Updates figures that are out of date, before an action uses them. */
static void before(struct app *a)
{
	if (a->look)
		trace_look(a->trace);
}

static const struct deed deeds[] = {
	{ACT_VIEW_1, show, TRACE_SITES},
	{ACT_VIEW_2, show, TRACE_TREE},
	{ACT_VIEW_3, show, TRACE_THREADS},
	{ACT_VIEW_4, show, TRACE_TIMELINE},
	{ACT_VIEW_5, show, TRACE_SIZES},
	{ACT_VIEW_6, show, TRACE_KEPT},
	{ACT_NEXT_VIEW, next_view, 1},
	{ACT_SORT_NEXT, sort_by, 1},
	{ACT_SORT_PREVIOUS, sort_by, -1},
	{ACT_REVERSE, reverse, 0},
	{ACT_ENTER, enter, 0},
	{ACT_BACK, back, 0},
	{ACT_QUIT, app_quit, 0},
	{ACT_BASELINE, baseline, 0},
	{ACT_EARLIER, travel, -1},
	{ACT_FAR_EARLIER, travel, -10},
	{ACT_LATER, travel, 1},
	{ACT_FAR_LATER, travel, 10},
	{ACT_LIVE, live, 0},
	{ACT_WRITE, save, 0},
	{ACT_SCAN, scan, 0},
	{ACT_REFRESH, reread, 0},
	{ACT_NONE, NULL, 0},
};

struct copying {
	char *text;
	size_t n, room;
	unsigned number;
};

static void __attribute__((format(printf, 2, 3))) put(struct copying *c, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(c->text + c->n, c->room - c->n, fmt, ap);
	va_end(ap);
	c->n += n > 0 && (size_t)n < c->room - c->n ? (size_t)n : 0;
}

/* Adds a frame in one line, whatever its name contains. */
static void put_frame(struct copying *c, const struct trace_frame *f)
{
	char name[2048];
	size_t from = c->n;
	put(c, "%3u  %s", c->number,
	    f->full && f->full[0] && !f->note ? f->full : trace_frame_name(f, name, sizeof name));
	if (f->path && f->line)
		put(c, "  %.1000s:%u", f->path, f->line);
	else
		put(c, "  %s", trace_frame_place(f, name, sizeof name));
	for (; from < c->n; from++)
		if ((unsigned char)c->text[from] < ' ' || c->text[from] == 127)
			c->text[from] = '?';
	put(c, "%s\n", f->inlined ? "  [inlined]" : "");
}

/* Copies the stack of the open or selected site, with its live bytes. */
static size_t copy(struct app *a, char *text, size_t room)
{
	struct trace *t = a->trace;
	const struct list *l = &t->lists[t->view];
	struct copying c = {.text = text, .room = room};
	char live[MS_UNIT_BUF], count[MS_UNIT_BUF], when[MS_UNIT_BUF];
	uint32_t node = t->detail.node;
	if (!t->in_site && t->view == TRACE_SITES && l->has)
		node = (uint32_t)l->selected;
	else if (!t->in_site)
		return 0;
	const struct trace_site *s = trace_find(t, node);
	trace_point(t, when);
	if (s)
		put(&c, "%s in %s block%s, %.100s at %s\n", ms_format_size(live, s->sum.live_bytes),
		    ms_format_count(count, s->sum.live_blocks), s->sum.live_blocks == 1 ? "" : "s",
		    t->process, when);
	struct trace_stack stack = {.t = t, .node = node};
	for (struct trace_frame f; trace_next_frame(&stack, &f); c.number++)
		put_frame(&c, &f);
	return c.n;
}

const struct subject subject_trace = {
	.look = look,
	.work = work,
	.draw = draw,
	.deeds = deeds,
	.before = before,
	.search = search,
	.copy = copy,
	.sort = sort_clicked,
	.again = again,
};

/* ---- recording a process ---- */

bool app_records(const struct app *a)
{
	return a->recorder || (a->trace && recorder_works(a->trace->recorder));
}

bool app_may_record(struct app *a)
{
	if (a->recorder)
		app_say(a, "a recording is already being started");
	else if (strcmp(a->opt->root, "/proc") != 0)
		app_say(a, "with --proc-root nothing can be recorded: its PIDs are not valid here");
	else
		return true;
	return false;
}

void app_record(struct app *a, pid_t pid, const char *name)
{
	struct ms_err err = {0};
	if (!app_may_record(a))
		return;
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
	const char *path = recorder_started(a->recorder);
	if (path)
		a->trace = trace_open(path, &a->opt->wrappers, &why);
	if (a->trace) {
		a->trace->recorder = a->recorder;
		a->trace->full_names = a->opt->full_names;
		app_say(a, "recording to %.200s until q", path);
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
