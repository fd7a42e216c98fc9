/* SPDX-License-Identifier: MIT
 * Handles keys.
 */
#include <ncurses.h>
#include <stdio.h>
#include <string.h>

#include "app_private.h"
#include "ms-top/term/term.h"
#include "ms-top/trace/trace.h"

static void again(struct app *a)
{
	if (app_subject(a)->again)
		app_subject(a)->again(a);
}

static void type(struct app *a, enum mode mode)
{
	const struct list *l = app_list(a);
	a->mode = mode;
	a->before_typing = l->has && !l->follows ? l->selected : 0;
	a->search_from = l->at;
	snprintf(a->before_search, sizeof a->before_search, "%.*s",
		 (int)sizeof a->before_search - 1, a->search.text);
	snprintf(a->typed, sizeof a->typed, "%.*s", (int)sizeof a->typed - 1,
		 mode == MODE_FILTER ? app_filter(a)->text : "");
}

static void go(struct app *a, enum action act)
{
	struct list *l = app_list(a);
	long page = l->height > 1 ? (long)l->height - 1 : 1;
	if (act == ACT_FIRST)
		list_first(l);
	else if (act == ACT_LAST)
		list_last(l);
	else
		list_move(l, act == ACT_UP        ? -1
			     : act == ACT_DOWN    ? 1
			     : act == ACT_PAGE_UP ? -page
						  : page);
}

bool app_find(struct app *a, struct list *l, size_t from, int step,
	      bool (*matches)(struct app *a, size_t row))
{
	for (size_t i = 0; i < l->n; i++) {
		size_t at = (from + (step > 0 ? i : l->n - i)) % l->n;
		if (matches(a, at))
			return list_choose(l, l->ids[at]);
	}
	return false;
}

int app_next(const int *all, size_t n, int now, int step)
{
	size_t at = 0;
	for (size_t i = 0; i < n; i++)
		if (all[i] == now)
			at = i;
	return n ? all[(at + n + (size_t)(step + (int)n)) % n] : now;
}

void app_quit(struct app *a, int arg)
{
	if (!arg && app_records(a))
		app_ask(a, app_quit, "quit, and end the recording? y: yes, any other key: no");
	else
		a->quit = true;
}

/* Runs the handler of an action, if the subject on the screen has one. */
static void act_there(struct app *a, enum action act)
{
	const struct subject *s = app_subject(a);
	if (s->before)
		s->before(a);
	for (const struct deed *d = s->deeds; d->act != ACT_NONE; d++)
		if (d->act == act) {
			d->run(a, d->arg);
			return;
		}
}

/* Rebuilds the rows after a change of the filter. A partly typed filter may have hidden the
 * selected row, which is then selected again. */
static void filtered(struct app *a)
{
	again(a);
	if (a->before_typing)
		list_choose(app_list(a), a->before_typing);
}

/* Leaves the innermost view, or undoes the latest setting. Never quits. */
static void undo(struct app *a)
{
	const struct trace *t = a->trace;
	bool behind = t ? a->has_system || a->inspecting : a->inspecting && a->has_system;
	if (t && t->in_site) {
		act_there(a, ACT_BACK);
	} else if (a->frozen) {
		a->frozen = false;
	} else if (t && t->in_past) {
		act_there(a, ACT_LIVE);
	} else if ((t || !a->inspecting) && app_filter(a)->text[0]) {
		const struct list *l = app_list(a);
		a->before_typing = l->has && !l->follows ? l->selected : 0;
		pattern_set(app_filter(a), "");
		filtered(a);
	} else if (behind) {
		act_there(a, ACT_BACK);
	} else {
		app_say(a, "q: quit");
	}
}

static void act_on(struct app *a, enum action act)
{
	switch (act) {
	case ACT_NONE:
		return;
	case ACT_HELP:
		a->mode = MODE_HELP;
		a->help_page = 0;
		return;
	case ACT_FREEZE:
		a->frozen = !a->frozen;
		return;
	case ACT_REFRESH:
		a->look = true;
		term_redraw();
		act_there(a, act);
		return;
	case ACT_UP:
	case ACT_DOWN:
	case ACT_PAGE_UP:
	case ACT_PAGE_DOWN:
	case ACT_FIRST:
	case ACT_LAST:
		go(a, act);
		return;
	case ACT_FILTER:
		type(a, MODE_FILTER);
		return;
	case ACT_SEARCH:
		type(a, MODE_SEARCH);
		return;
	case ACT_SEARCH_NEXT:
		app_subject(a)->search(a, app_list(a)->at + 1, 1);
		return;
	case ACT_SEARCH_PREVIOUS:
		app_subject(a)->search(a, app_list(a)->at + app_list(a)->n - 1, -1);
		return;
	case ACT_FOLLOW:
		app_say(a, list_keep(app_list(a))
				   ? "the selection now follows its row when sorting"
				   : "the selection now returns to the first row when sorting");
		return;
	case ACT_UNDO:
		undo(a);
		return;
	case ACT_COPY:
		app_copy(a);
		return;
	default:
		act_there(a, act);
	}
}

/* Tells whether rows are selected while the search text is typed. On other screens, selecting a row
 * would change the view. */
static bool searches_here(const struct app *a)
{
	return a->mode == MODE_SEARCH && app_where(a) & (IN_LIST | IN_PROCESS | IN_SITES);
}

/* Restores the selection from before the search, and searches for `text` from there. */
static void search_typed(struct app *a, const char *text)
{
	pattern_set(&a->search, text);
	if (!searches_here(a))
		return;
	if (!a->before_typing || !list_choose(app_list(a), a->before_typing))
		list_first(app_list(a));
	if (a->typed[0])
		app_subject(a)->search(a, a->search_from, 1);
}

/* Edits the line being typed, and applies it at once. */
static void typing(struct app *a, int code)
{
	size_t n = strlen(a->typed);
	if (code == 27 || code == '\n' || code == '\r' || code == KEY_ENTER) {
		if (a->mode == MODE_SEARCH && code != 27) {
			pattern_set(&a->search, a->typed);
			app_subject(a)->search(a, a->search_from, 1);
		}
		if (a->mode == MODE_SEARCH && code == 27) {
			a->typed[0] = 0;
			search_typed(a, a->before_search);
		}
		if (a->mode == MODE_FILTER && code == 27)
			pattern_set(app_filter(a), "");
		if (a->mode == MODE_FILTER)
			filtered(a);
		a->mode = MODE_LIST;
		return;
	}
	if (code == KEY_BACKSPACE || code == 127 || code == 8) {
		/* remove a whole UTF-8 character */
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
		pattern_set(app_filter(a), a->typed);
		filtered(a);
	} else {
		search_typed(a, a->typed);
	}
}

static void toggle_column(struct app *a)
{
	int id = a->column_at;
	struct column_set *s = &a->columns;
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i] == id) {
			if (s->n > 1)
				memmove(s->v + i, s->v + i + 1, (--s->n - i) * sizeof s->v[0]);
			return;
		}
	/* inserts the column before the arguments, which must be last: they fill the row */
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
	case ACT_SORT_NEXT:
		a->rows.sort = (enum column_id)a->column_at;
		again(a);
		list_sorted(app_list(a));
		return;
	default:
		a->mode = MODE_LIST;
	}
}

/* Handles a click: a title sorts by its column, or reverses the order; a view is shown; a row is
 * selected, or entered if it was selected already. */
static void clicked(struct app *a)
{
	int row, col;
	struct list *l = app_list(a);
	const struct subject *s = app_subject(a);
	term_clicked(&row, &col);
	unsigned meaning = grid_clicked(&a->grid, row, col);
	size_t at = row >= l->row ? (size_t)(row - l->row) : l->height;
	if (meaning >= GRID_SORT) {
		if (s->sort)
			s->sort(a, (int)(meaning - GRID_SORT));
	} else if (meaning) {
		act_on(a, keys_find('1' + (int)(meaning - GRID_VIEW), app_where(a)));
	} else if (at < l->height && l->top + at < l->n) {
		uint64_t id = l->ids[l->top + at];
		if (l->has && !l->follows && l->selected == id)
			act_on(a, keys_find('\n', app_where(a)));
		else
			list_choose(l, id);
	}
}

static void answered(struct app *a, int code)
{
	if (code < 0)
		return;
	a->mode = MODE_LIST;
	if (code == 'y' || code == 'Y')
		a->confirmed(a, 1);
}

void app_key(struct app *a, int code)
{
	a->message[0] = 0;
	if (code == TERM_RESIZED)
		return;
	if (a->mode == MODE_QUESTION) {
		answered(a, code);
		return;
	}
	if (code == TERM_WHEEL_UP || code == TERM_WHEEL_DOWN) {
		list_move(app_list(a), code == TERM_WHEEL_UP ? -3 : 3);
		return;
	}
	if (code == TERM_CLICK && a->mode == MODE_LIST) {
		clicked(a);
		return;
	}
	switch (a->mode) {
	case MODE_HELP:
		if (++a->help_page >= a->help_pages)
			a->mode = MODE_LIST;
		return;
	case MODE_COLUMNS:
		choosing(a, code);
		return;
	case MODE_FILTER:
	case MODE_SEARCH:
		typing(a, code);
		return;
	default:
		act_on(a, keys_find(code, app_where(a)));
	}
}
