/* SPDX-License-Identifier: MIT
 * Two sources of figures: all processes, and one process.
 */
#include <stdio.h>
#include <string.h>

#include "app_private.h"
#include "libcommon/base/err.h"

#define DETAIL_ROWS 24 /* rows whose costly figures are read if no row is visible */

/* ---- all processes ---- */

/* Reads the costly figures of the visible rows (of the first ones if nothing was drawn yet). Reads
 * those of all rows if the order or a sum depends on them. */
static void look_closer(struct app *a)
{
	bool groups = a->rows.view == ROWS_GROUPS, all = a->opt->batch;
	bool every = groups || column_is_dear(a->rows.sort);
	struct system_process *const *v = groups ? a->system.v : a->rows.v;
	size_t from = 0, n = groups ? a->system.n : a->rows.n;
	if (!every && !all) {
		size_t height = a->list.height ? a->list.height : DETAIL_ROWS;
		from = a->list.top < n ? a->list.top : 0;
		n = height < n - from ? height : n - from;
	}
	if (n)
		system_details(&a->system, v + from, n, all);
	if (every)
		rows_make(&a->rows, &a->system, false);
}

/* Reads the limits of the selected process, and whether it can be recorded. Not for groups. */
static void look_at_chosen(struct app *a)
{
	struct system_process *p = a->list.has ? a->rows.v[a->list.at] : NULL;
	chosen_look(&a->chosen, &a->system, p && !p->group ? p : NULL,
		    strcmp(a->opt->root, "/proc") != 0);
}

static int system_look_all(struct app *a, struct ms_err *err)
{
	/* a row that the user has selected stays when its process ends */
	a->system.pinned = a->list.has && !a->list.follows ? a->list.selected : 0;
	if (system_look(&a->system, err) != 0)
		return -1;
	rows_make(&a->rows, &a->system, true);
	look_closer(a);
	list_set(&a->list, a->rows.ids, a->rows.n);
	look_at_chosen(a);
	return 0;
}

static void system_draw(struct app *a, const struct screen_state *st)
{
	/* the selection may have changed since the last update */
	if (a->list.has && a->list.selected != a->chosen.id)
		look_at_chosen(a);
	draw_system(&a->grid, &a->system, &a->rows, &a->chosen, st);
}

/* Rebuilds the rows in another order or selection, without new figures. */
static void system_again(struct app *a)
{
	if (!a->has_system)
		return;
	rows_make(&a->rows, &a->system, false);
	list_set(&a->list, a->rows.ids, a->rows.n);
}

/* Shows another view. Groups and processes are different rows, so the selection from before groups
 * is restored. */
static void show(struct app *a, int view)
{
	bool was_group = a->list.has && a->rows.v[a->list.at]->group;
	if (a->rows.view != ROWS_GROUPS && view == ROWS_GROUPS)
		a->before_groups = a->list.follows ? 0 : a->list.selected;
	a->rows.view = (enum rows_view)view;
	system_again(a);
	if (was_group && view != ROWS_GROUPS)
		list_choose(&a->list, a->before_groups);
	if (!a->list.has || a->list.follows)
		list_first(&a->list);
}

static void next_view(struct app *a, int step)
{
	show(a, ((int)a->rows.view + step) % ROWS_VIEWS);
}

static void group(struct app *a, int step)
{
	if (a->rows.view == ROWS_GROUPS)
		a->rows.group = (enum rows_group)(((int)a->rows.group + step) % ROWS_GROUPINGS);
	show(a, ROWS_GROUPS);
}

static void sorted(struct app *a)
{
	system_again(a);
	list_sorted(&a->list);
}

static void sort_by(struct app *a, int step)
{
	a->rows.sort =
		(enum column_id)app_next(a->columns.v, a->columns.n, (int)a->rows.sort, step);
	sorted(a);
}

static void sort_clicked(struct app *a, int column)
{
	a->rows.reverse = a->rows.sort == (enum column_id)column && !a->rows.reverse;
	a->rows.sort = (enum column_id)column;
	sorted(a);
}

static void reverse(struct app *a, int arg)
{
	(void)arg;
	a->rows.reverse = !a->rows.reverse;
	sorted(a);
}

static void kernel_threads(struct app *a, int arg)
{
	(void)arg;
	a->rows.kernel = !a->rows.kernel;
	system_again(a);
}

/* Shows all processes; called again, restores the settings from before. */
static void show_all(struct app *a, int arg)
{
	(void)arg;
	struct rows *r = &a->rows;
	uint64_t chosen = a->list.has && !a->list.follows ? a->list.selected : 0;
	bool back = a->all && r->kernel && !r->filter.text[0];
	a->all = !back;
	if (back) {
		r->kernel = a->all_kernel;
		pattern_set(&r->filter, a->all_filter);
	} else {
		a->all_kernel = r->kernel;
		snprintf(a->all_filter, sizeof a->all_filter, "%s", r->filter.text);
		r->kernel = true;
		pattern_set(&r->filter, "");
	}
	system_again(a);
	if (chosen)
		list_choose(&a->list, chosen);
	app_say(a, !back       ? "showing all processes and kernel threads; a again: as before"
		   : r->kernel ? "filter as before; kernel threads are shown"
			       : "filter as before; kernel threads are hidden");
}

static void enter(struct app *a, int arg)
{
	(void)arg;
	struct ms_err err = {0};
	if (!a->list.has)
		return;
	struct system_process *p = a->rows.v[a->list.at];
	if (p->group) {
		p->open = !p->open;
		a->list.follows = false; /* keep the group selected at its new position */
		system_again(a);
		return;
	}
	if (p->ended) {
		app_say(a, "process %d has ended", (int)p->pid);
		return;
	}
	if (process_open(&a->process, a->opt->root, p->pid, &p->history, &err) != 0) {
		process_close(&a->process);
		app_say(a, "%s", err.text);
		return;
	}
	a->inspecting = true;
	list_init(&a->regions);
	list_set(&a->regions, a->process.ids, a->process.regions.n);
}

static bool row_matches(struct app *a, size_t row)
{
	return pattern_matches(&a->search, &a->system, a->rows.v[row]);
}

static void system_search(struct app *a, size_t from, int step)
{
	if (!app_find(a, &a->list, from, step, row_matches))
		app_say(a, "no process matches '%.100s'", a->search.text);
}

static void choose_columns(struct app *a, int arg)
{
	(void)arg;
	a->mode = MODE_COLUMNS;
}

static void ask_to_record(struct app *a, void (*confirmed)(struct app *a, int arg), pid_t pid,
			  const char *name)
{
	if (app_may_record(a))
		app_ask(a, confirmed,
			"attach to %.64s (%d) and record it? y: yes, any other key: no", name,
			(int)pid);
}

/* Returns the selected process; with `confirmed`, the one selected when the question was asked. */
static const struct system_process *to_record(const struct app *a, bool confirmed)
{
	if (!confirmed)
		return a->list.has ? a->rows.v[a->list.at] : NULL;
	for (size_t i = 0; i < a->system.n; i++)
		if (a->system.v[i]->id == a->asked_of)
			return a->system.v[i];
	return NULL;
}

static void record(struct app *a, int confirmed)
{
	const struct system_process *p = to_record(a, confirmed);
	if (!p && confirmed)
		app_say(a, "that process has ended");
	else if (!p || p->group)
		app_say(a, "select a process to record");
	else if (p->kernel)
		app_say(a, "%s is a kernel thread", p->name);
	else if (p->ended)
		app_say(a, "process %d has ended", (int)p->pid);
	else if (confirmed)
		app_record(a, p->pid, p->name);
	else {
		a->asked_of = p->id;
		ask_to_record(a, record, p->pid, p->name);
	}
}

static void new_baseline(struct app *a, int arg)
{
	(void)arg;
	for (size_t i = 0; i < a->system.n; i++)
		a->system.v[i]->history.first_bytes = a->system.v[i]->history.bytes;
	for (size_t i = 0; i < a->rows.group_n; i++)
		a->rows.groups[i]->history.first_bytes = a->rows.groups[i]->history.bytes;
	app_say(a, "START now shows the change in RSS since this moment");
	system_again(a);
}

static const struct deed system_deeds[] = {
	{ACT_VIEW_1, show, ROWS_PROCESSES},
	{ACT_VIEW_2, show, ROWS_GROUPS},
	{ACT_VIEW_3, show, ROWS_TREE},
	{ACT_NEXT_VIEW, next_view, 1},
	{ACT_GROUP, group, 1},
	{ACT_SORT_NEXT, sort_by, 1},
	{ACT_SORT_PREVIOUS, sort_by, -1},
	{ACT_REVERSE, reverse, 0},
	{ACT_KERNEL, kernel_threads, 0},
	{ACT_ALL, show_all, 0},
	{ACT_BASELINE, new_baseline, 0},
	{ACT_ENTER, enter, 0},
	{ACT_RECORD, record, 0},
	{ACT_COLUMNS, choose_columns, 0},
	{ACT_QUIT, app_quit, 0},
	{ACT_NONE, NULL, 0},
};

const struct subject subject_system = {
	.look = system_look_all,
	.draw = system_draw,
	.deeds = system_deeds,
	.search = system_search,
	.sort = sort_clicked,
	.again = system_again,
};

/* ---- one process ---- */

static int process_look_one(struct app *a, struct ms_err *err)
{
	(void)err;
	process_look(&a->process);
	list_set(&a->regions, a->process.ids, a->process.regions.n);
	return 0;
}

static void process_draw(struct app *a, const struct screen_state *st)
{
	draw_process(&a->grid, &a->process, st);
}

static void back(struct app *a, int arg)
{
	(void)arg;
	if (!a->has_system) {
		app_quit(a, 0);
		return;
	}
	process_close(&a->process);
	a->inspecting = false;
}

static void record_it(struct app *a, int confirmed)
{
	const struct ms_proc *p = &a->process.proc;
	if (a->process.ended)
		app_say(a, "process %d has ended", (int)p->pid);
	else if (confirmed)
		app_record(a, p->pid, p->name);
	else
		ask_to_record(a, record_it, p->pid, p->name);
}

static const struct deed process_deeds[] = {
	{ACT_BACK, back, 0},
	{ACT_QUIT, app_quit, 0},
	{ACT_RECORD, record_it, 0},
	{ACT_NONE, NULL, 0},
};

static bool region_matches(struct app *a, size_t row)
{
	const struct process *p = &a->process;
	const struct ms_region *r = &p->regions.v[p->order[row]];
	return pattern_matches_text(&a->search, r->map.path) ||
	       pattern_matches_text(&a->search, ms_region_word(r->kind));
}

static void process_search(struct app *a, size_t from, int step)
{
	if (!app_find(a, &a->regions, from, step, region_matches))
		app_say(a, "no region matches '%.100s'", a->search.text);
}

const struct subject subject_process = {
	.look = process_look_one,
	.draw = process_draw,
	.deeds = process_deeds,
	.search = process_search,
};
