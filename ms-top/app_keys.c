/* SPDX-License-Identifier: MIT
 * What keys do.
 */
#include <ncurses.h>
#include <stdio.h>
#include <string.h>

#include "app_private.h"
#include "keys.h"
#include "term.h"
#include "libcommon/err.h"

static struct list *list_of(struct app *a)
{
	return a->inspecting ? &a->regions : &a->list;
}

/* Rows in another order, or others, of the same look. */
static void again(struct app *a)
{
	if (!a->has_system)
		return;
	rows_make(&a->rows, &a->system, false);
	list_set(&a->list, a->rows.ids, a->rows.n);
}

static void show(struct app *a, enum rows_view view)
{
	a->rows.view = view;
	again(a);
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
	again(a);
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
		snprintf(a->message, sizeof a->message, "process %d has ended", (int)p->pid);
		return;
	}
	if (process_open(&a->process, a->opt->root, p->pid, &err) != 0) {
		process_close(&a->process);
		snprintf(a->message, sizeof a->message, "%.*s", (int)sizeof a->message - 1,
			 err.text);
		return;
	}
	a->inspecting = true;
	list_init(&a->regions);
	list_set(&a->regions, a->process.ids, a->process.regions.n);
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

static void search_from(struct app *a, size_t from)
{
	for (size_t i = 0; i < a->rows.n; i++) {
		size_t at = (from + i) % a->rows.n;
		if (pattern_matches(&a->search, a->rows.v[at])) {
			list_choose(&a->list, a->rows.ids[at]);
			return;
		}
	}
	snprintf(a->message, sizeof a->message, "no process matches '%.100s'", a->search.text);
}

static void new_baseline(struct app *a)
{
	for (size_t i = 0; i < a->system.n; i++)
		a->system.v[i]->history.first_bytes = a->system.v[i]->history.bytes;
	for (size_t i = 0; i < a->rows.group_n; i++)
		a->rows.groups[i]->history.first_bytes = a->rows.groups[i]->history.bytes;
	snprintf(a->message, sizeof a->message, "START counts from now on");
	again(a);
}

static void type(struct app *a, enum mode mode)
{
	a->mode = mode;
	snprintf(a->typed, sizeof a->typed, "%.*s", (int)sizeof a->typed - 1,
		 mode == MODE_FILTER ? a->rows.filter.text : "");
}

static void go(struct app *a, enum action act)
{
	struct list *l = list_of(a);
	long page = l->height > 1 ? (long)l->height - 1 : 1;
	switch (act) {
	case ACT_UP:
		list_move(l, -1);
		return;
	case ACT_DOWN:
		list_move(l, 1);
		return;
	case ACT_PAGE_UP:
		list_move(l, -page);
		return;
	case ACT_PAGE_DOWN:
		list_move(l, page);
		return;
	case ACT_FIRST:
		list_first(l);
		return;
	default:
		list_last(l);
		return;
	}
}

/* What changes the list of processes. */
static void change_list(struct app *a, enum action act)
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
		again(a);
		return;
	case ACT_KERNEL:
		a->rows.kernel = !a->rows.kernel;
		again(a);
		return;
	case ACT_BASELINE:
		new_baseline(a);
		return;
	case ACT_FILTER:
		type(a, MODE_FILTER);
		return;
	case ACT_SEARCH:
		type(a, MODE_SEARCH);
		return;
	case ACT_SEARCH_NEXT:
		search_from(a, a->list.at + 1);
		return;
	default:
		return;
	}
}

static void act_on(struct app *a, enum action act)
{
	switch (act) {
	case ACT_NONE:
		return;
	case ACT_HELP:
		a->mode = MODE_HELP;
		return;
	case ACT_COLUMNS:
		a->mode = MODE_COLUMNS;
		return;
	case ACT_QUIT:
		a->quit = true;
		return;
	case ACT_ENTER:
		enter(a);
		return;
	case ACT_BACK:
		back(a);
		return;
	case ACT_FREEZE:
		a->frozen = !a->frozen;
		return;
	case ACT_REFRESH:
		a->look = true;
		term_redraw();
		return;
	case ACT_UP:
	case ACT_DOWN:
	case ACT_PAGE_UP:
	case ACT_PAGE_DOWN:
	case ACT_FIRST:
	case ACT_LAST:
		go(a, act);
		return;
	default:
		change_list(a, act);
	}
}

/* A line being typed: the filter applies at once. */
static void typing(struct app *a, int code)
{
	size_t n = strlen(a->typed);
	if (code == 27 || code == '\n' || code == '\r' || code == KEY_ENTER) {
		if (a->mode == MODE_SEARCH && code != 27) {
			pattern_set(&a->search, a->typed);
			search_from(a, a->list.at);
		}
		if (a->mode == MODE_FILTER && code == 27)
			pattern_set(&a->rows.filter, "");
		a->mode = MODE_LIST;
		again(a);
		return;
	}
	if (code == KEY_BACKSPACE || code == 127 || code == 8) {
		/* a whole character */
		while (n && ((unsigned char)a->typed[n - 1] & 0xc0) == 0x80)
			n--;
		a->typed[n ? n - 1 : 0] = 0;
	} else if (code == 21) {
		a->typed[0] = 0;
	} else if (code >= ' ' && code < 256 && n + 1 < sizeof a->typed) {
		a->typed[n] = (char)code;
		a->typed[n + 1] = 0;
	}
	if (a->mode == MODE_FILTER) {
		pattern_set(&a->rows.filter, a->typed);
		again(a);
	}
}

static void toggle_column(struct app *a)
{
	enum column_id id = (enum column_id)a->column_at;
	struct column_set *s = &a->columns;
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i] == id) {
			if (s->n > 1)
				memmove(s->v + i, s->v + i + 1, (--s->n - i) * sizeof s->v[0]);
			return;
		}
	/* before the arguments, which take what is left */
	size_t at = s->n && s->v[s->n - 1] == COLUMN_COMMAND ? s->n - 1 : s->n;
	memmove(s->v + at + 1, s->v + at, (s->n++ - at) * sizeof s->v[0]);
	s->v[at] = id;
}

static void choosing(struct app *a, int code)
{
	switch (keys_find(code, IN_ALL)) {
	case ACT_UP:
		a->column_at -= a->column_at > 0;
		return;
	case ACT_DOWN:
		a->column_at += a->column_at < COLUMN_COUNT - 1;
		return;
	case ACT_FREEZE:
		toggle_column(a);
		return;
	default:
		a->mode = a->inspecting ? MODE_PROCESS : MODE_LIST;
	}
}

void app_key(struct app *a, int code)
{
	a->message[0] = 0;
	if (code == TERM_RESIZED)
		return;
	if (code == TERM_WHEEL_UP || code == TERM_WHEEL_DOWN) {
		list_move(list_of(a), code == TERM_WHEEL_UP ? -3 : 3);
		return;
	}
	switch (a->mode) {
	case MODE_HELP:
		a->mode = a->inspecting ? MODE_PROCESS : MODE_LIST;
		return;
	case MODE_COLUMNS:
		choosing(a, code);
		return;
	case MODE_FILTER:
	case MODE_SEARCH:
		typing(a, code);
		return;
	default:
		act_on(a, keys_find(code, a->inspecting ? IN_PROCESS : IN_LIST));
	}
}
