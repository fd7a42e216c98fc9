/* SPDX-License-Identifier: MIT
 * Two sources of figures: all processes, and one of them.
 */
#include <stdio.h>
#include <string.h>

#include "app_private.h"
#include "libcommon/err.h"

#define DETAIL_ROWS 24 /* read in turn, of those that are not in view */

/* ---- all processes ---- */

/* Reads what is dear: of the rows in view (else from the front), or of all that have a part in the
 * order or in a sum. */
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

static int system_look_all(struct app *a, struct ms_err *err)
{
	/* the row that somebody chose since stays when its process ends */
	a->system.pinned = a->list.has && !a->list.follows ? a->list.selected : 0;
	if (system_look(&a->system, err) != 0)
		return -1;
	rows_make(&a->rows, &a->system, true);
	look_closer(a);
	list_set(&a->list, a->rows.ids, a->rows.n);
	return 0;
}

static void system_json(struct app *a)
{
	json_system(&a->json, &a->system, &a->rows);
}

static void system_draw(struct app *a, const struct screen_state *st)
{
	draw_system(&a->grid, &a->system, &a->rows, st);
}

static int system_rows(const struct app *a)
{
	return draw_system_rows(&a->rows);
}

static struct list *system_list(struct app *a)
{
	return &a->list;
}

static unsigned system_where(const struct app *a)
{
	(void)a;
	return IN_LIST;
}

static struct pattern *system_filter(struct app *a)
{
	return &a->rows.filter;
}

static bool system_over(const struct app *a)
{
	(void)a;
	return false;
}

/* Rows in another order, or others, of the same look. */
static void system_again(struct app *a)
{
	if (!a->has_system)
		return;
	rows_make(&a->rows, &a->system, false);
	list_set(&a->list, a->rows.ids, a->rows.n);
}

/* Another view. Groups are other rows than processes: the one that was selected comes back. */
static void show(struct app *a, enum rows_view view)
{
	bool were_groups = a->rows.view == ROWS_GROUPS;
	if (!were_groups && view == ROWS_GROUPS)
		a->before_groups = a->list.follows ? 0 : a->list.selected;
	a->rows.view = view;
	system_again(a);
	if (were_groups && view != ROWS_GROUPS)
		list_choose(&a->list, a->before_groups);
	if (!a->list.has || a->list.follows)
		list_first(&a->list);
}

static void sort_by(struct app *a, int step)
{
	size_t at = 0, n = a->columns.n;
	for (size_t i = 0; i < n; i++)
		if (a->columns.v[i] == a->rows.sort)
			at = i;
	if (!n)
		return;
	a->rows.sort = a->columns.v[(at + n + (size_t)(step + (int)n)) % n];
	system_again(a);
}

static void enter(struct app *a)
{
	struct ms_err err = {0};
	if (!a->list.has)
		return;
	if (a->rows.view == ROWS_GROUPS) {
		/* its members */
		pattern_set(&a->rows.filter, a->rows.v[a->list.at]->command);
		show(a, ROWS_PROCESSES);
		return;
	}
	struct system_process *p = a->rows.v[a->list.at];
	if (p->ended) {
		app_say(a, "process %d has ended", (int)p->pid);
		return;
	}
	if (process_open(&a->process, a->opt->root, p->pid, &err) != 0) {
		process_close(&a->process);
		app_say(a, "%s", err.text);
		return;
	}
	a->inspecting = true;
	list_init(&a->regions);
	list_set(&a->regions, a->process.ids, a->process.regions.n);
}

static void system_search(struct app *a, size_t from)
{
	for (size_t i = 0; i < a->rows.n; i++) {
		size_t at = (from + i) % a->rows.n;
		if (pattern_matches(&a->search, a->rows.v[at])) {
			list_choose(&a->list, a->rows.ids[at]);
			return;
		}
	}
	app_say(a, "no process matches '%.100s'", a->search.text);
}

static void record(struct app *a)
{
	const struct system_process *p = a->list.has ? a->rows.v[a->list.at] : NULL;
	if (!p || a->rows.view == ROWS_GROUPS)
		app_say(a, "choose a process to record");
	else if (p->ended)
		app_say(a, "process %d has ended", (int)p->pid);
	else
		app_record(a, p->pid, p->name);
}

static void new_baseline(struct app *a)
{
	for (size_t i = 0; i < a->system.n; i++)
		a->system.v[i]->history.first_bytes = a->system.v[i]->history.bytes;
	for (size_t i = 0; i < a->rows.group_n; i++)
		a->rows.groups[i]->history.first_bytes = a->rows.groups[i]->history.bytes;
	app_say(a, "START counts from now on");
	system_again(a);
}

static void system_act(struct app *a, enum action act)
{
	switch (act) {
	case ACT_VIEW_1:
	case ACT_VIEW_2:
	case ACT_VIEW_3:
		show(a, (enum rows_view)(act - ACT_VIEW_1));
		return;
	case ACT_NEXT_VIEW:
		show(a, (enum rows_view)((a->rows.view + 1) % ROWS_VIEWS));
		return;
	case ACT_GROUP:
		if (a->rows.view == ROWS_GROUPS)
			a->rows.group = (enum rows_group)((a->rows.group + 1) % ROWS_GROUPINGS);
		show(a, ROWS_GROUPS);
		return;
	case ACT_SORT_NEXT:
		sort_by(a, 1);
		return;
	case ACT_SORT_PREVIOUS:
		sort_by(a, -1);
		return;
	case ACT_REVERSE:
		a->rows.reverse = !a->rows.reverse;
		system_again(a);
		return;
	case ACT_KERNEL:
		a->rows.kernel = !a->rows.kernel;
		system_again(a);
		return;
	case ACT_BASELINE:
		new_baseline(a);
		return;
	case ACT_ENTER:
		enter(a);
		return;
	case ACT_RECORD:
		record(a);
		return;
	case ACT_COLUMNS:
		a->mode = MODE_COLUMNS;
		return;
	case ACT_QUIT:
		a->quit = true;
		return;
	default:
		return;
	}
}

const struct subject subject_system = {
	.where = system_where,
	.look = system_look_all,
	.draw = system_draw,
	.json = system_json,
	.rows = system_rows,
	.list = system_list,
	.act = system_act,
	.filter = system_filter,
	.search = system_search,
	.again = system_again,
	.over = system_over,
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

static void process_json(struct app *a)
{
	json_process(&a->json, &a->process);
}

static int process_rows(const struct app *a)
{
	return draw_process_rows(&a->process);
}

static struct list *process_list(struct app *a)
{
	return &a->regions;
}

static void back(struct app *a)
{
	if (!a->has_system) {
		a->quit = true;
		return;
	}
	process_close(&a->process);
	a->inspecting = false;
}

static void process_act(struct app *a, enum action act)
{
	if (act == ACT_BACK)
		back(a);
	else if (act == ACT_QUIT)
		a->quit = true;
	else if (act == ACT_RECORD && a->process.ended)
		app_say(a, "process %d has ended", (int)a->process.proc.pid);
	else if (act == ACT_RECORD)
		app_record(a, a->process.proc.pid, a->process.proc.name);
}

static void process_search(struct app *a, size_t from)
{
	const struct process *p = &a->process;
	for (size_t i = 0; i < p->regions.n; i++) {
		size_t at = (from + i) % p->regions.n;
		const struct ms_region *r = &p->regions.v[p->order[at]];
		if (pattern_matches_text(&a->search, r->map.path) ||
		    pattern_matches_text(&a->search, ms_region_word(r->kind))) {
			list_choose(&a->regions, p->ids[at]);
			return;
		}
	}
	app_say(a, "no region matches '%.100s'", a->search.text);
}

static unsigned process_where(const struct app *a)
{
	(void)a;
	return IN_PROCESS;
}

static bool process_over(const struct app *a)
{
	return a->process.ended;
}

const struct subject subject_process = {
	.where = process_where,
	.look = process_look_one,
	.draw = process_draw,
	.json = process_json,
	.rows = process_rows,
	.list = process_list,
	.act = process_act,
	.search = process_search,
	.over = process_over,
};
