/* SPDX-License-Identifier: MIT
 * Draws the common parts of frames: the last line, help, the dialog for choosing columns.
 */
#include "draw.h"

#include <stdio.h>
#include <string.h>

#include "ms-top/cells/grid.h"
#include "ms-top/cells/words.h"
#include "ms-top/term/term.h"
#include "ms-top/trace/trace.h"

/* Draws a message in as many of the last rows as it needs. */
static void draw_message(struct grid *g, const char *text)
{
	char line[1024];
	int width = g->cols > 10 ? g->cols : 10, need = grid_width(g, text) / width + 1;
	int from = g->rows - (need < g->rows / 2 ? need : g->rows / 2 + 1);
	for (int row = from < 0 ? 0 : from; row < g->rows && *text; row++) {
		/* break at the last blank that fits */
		size_t n = 0, end = 0, all = strlen(text);
		for (; n < all && n < sizeof line - 1 && n < (size_t)width; n++)
			if (text[n] == ' ')
				end = n;
		if (n == all || row + 1 == g->rows || !end)
			end = row + 1 == g->rows ? all : n;
		snprintf(line, sizeof line, "%.*s", (int)end, text);
		grid_fill(g, row, GRID_PLAIN);
		grid_put(g, row, 0, -1, GRID_WARN, line);
		text += end;
		text += *text == ' ';
	}
}

/* Draws the most important keys that fit, and the key for leaving this screen. */
static void draw_keys(struct grid *g, unsigned where)
{
	int row = g->rows - 1, col = 0, out = g->cols;
	size_t leave = key_count;
	for (size_t i = 0; i < key_count; i++)
		if (keys[i].brief && keys[i].where & where &&
		    (keys[i].action == ACT_QUIT || keys[i].action == ACT_BACK))
			leave = i;
	if (leave < key_count)
		out -= grid_width(g, keys[leave].brief);
	for (size_t i = 0; i < key_count; i++) {
		const char *text = keys[i].brief;
		if (!text || !(keys[i].where & where) || i == leave)
			continue;
		int w = grid_width(g, text);
		if (col + w + 2 > out)
			break;
		grid_put(g, row, col, -1, GRID_DIM, text);
		col += w + 2;
	}
	if (leave < key_count)
		grid_put(g, row, col, -1, GRID_DIM, keys[leave].brief);
}

void draw_last_line(struct grid *g, const struct screen_state *st)
{
	int row = g->rows - 1;
	if (st->typed) {
		/* the end of the text is visible, where the next character goes */
		int col = grid_put(g, row, 0, -1, GRID_BOLD, st->message);
		col += grid_put_end(g, row, col, g->cols - 1 - col, GRID_BOLD, st->typed);
		grid_put(g, row, col, 1, GRID_HEAD, " ");
	} else if (st->message) {
		draw_message(g, st->message);
	} else {
		draw_keys(g, st->where);
	}
}

/* Least columns for the names of `n` views. */
#define NAMES_FROM(n) ((n) > 5 ? 68 : 60)
#define HELP_WIDTH (KEYS_NAME + 1 + KEYS_HELP + 1) /* columns of a key and its help */

enum { HELP_LINES = 96 };
struct help_line {
	const char *name, *text;
};

/* Fills `v` with the keys that have a meaning on the screens `where`, and for the list of sites
 * with its columns, which are explained nowhere else. Returns the number of lines. */
static int help_lines(unsigned where, struct help_line v[HELP_LINES])
{
	int n = 0;
	for (size_t i = 0; i < key_count && n < HELP_LINES; i++)
		if (keys[i].help && keys[i].where & where)
			v[n++] = (struct help_line){keys[i].name, keys[i].help};
	for (int i = 0; where == IN_SITES && i < SITE_COLUMNS && n < HELP_LINES; i++)
		v[n++] = (struct help_line){site_columns[i].title, site_columns[i].help};
	return n;
}

int draw_help(struct grid *g, unsigned where, int page)
{
	struct help_line v[HELP_LINES] = {0};
	int n = help_lines(where, v), room = g->rows > 2 ? g->rows - 2 : 1;
	/* as many columns as are needed, and fit; else several pages */
	int across = n > room ? (n + room - 1) / room : 1, fit = g->cols / HELP_WIDTH;
	across = across < fit ? across : fit > 1 ? fit : 1;
	int width = g->cols / across, pages = (n + room * across - 1) / (room * across);
	/* the screen may be larger than when the page was chosen */
	page = page < pages ? page : pages - 1;
	grid_rule(g, 0, "keys");
	for (int i = page * room * across, at = 0; i < n && at < room * across; i++, at++) {
		int row = 1 + at % room, col = at / room * width;
		grid_put(g, row, col, KEYS_NAME, GRID_BOLD, v[i].name);
		grid_put(g, row, col + KEYS_NAME + 1, width - KEYS_NAME - 2, GRID_PLAIN, v[i].text);
	}
	if (page + 1 < pages)
		grid_print(g, g->rows - 1, 0, GRID_DIM, "page %d of %d; any key: next page",
			   page + 1, pages);
	else
		grid_put(g, g->rows - 1, 0, -1, GRID_DIM, "any key: back");
	return pages;
}

void draw_columns(struct grid *g, const struct column_set *set, int at, enum column_id sort)
{
	int room = g->rows - 2, top = at >= room ? at - room + 1 : 0;
	grid_rule(g, 0, "columns");
	for (int i = top; i < COLUMN_COUNT && i - top < room; i++) {
		bool shown = false;
		for (size_t k = 0; k < set->n; k++)
			shown |= set->v[k] == i;
		grid_print(g, 1 + i - top, 0, GRID_PLAIN, "%c[%c] %-8s %s%s", i == at ? '>' : ' ',
			   shown ? 'x' : ' ', columns[i].title, columns[i].help,
			   (enum column_id)i == sort ? "; sorted by" : "");
		if (i == at)
			grid_select(g, 1 + i - top);
	}
	grid_put(g, g->rows - 1, 0, -1, GRID_DIM,
		 "Space: show or hide   s: sort by it   Enter: done");
}

int draw_tabs(struct grid *g, int row, const char *const *names, int n, int now)
{
	int col = 0;
	for (int i = 0; i < n; i++) {
		const char *text = i == now ? words_print("[%d %s]", i + 1, names[i])
				   : g->cols >= NAMES_FROM(n)
					   ? words_print("%d %s", i + 1, names[i])
					   : words_print("%d", i + 1);
		int width = grid_put(g, row, col, -1, i == now ? GRID_BOLD : GRID_DIM, text);
		grid_click(g, row, col, width, GRID_VIEW + (unsigned)i);
		col += width + 1;
	}
	return col;
}

void draw_titles(struct grid *g, int row, const struct column *c, const struct column_places *p,
		 int sort, bool reverse)
{
	grid_fill(g, row, GRID_HEAD);
	for (size_t i = 0; i < p->set.n; i++) {
		int id = p->set.v[i];
		const char *mark = reverse ? "^" : "v";
		const char *title = words_print("%s%s", c[id].title, id == sort ? mark : "");
		if (c[id].right)
			grid_put_right(g, row, p->at[i], p->width[i], GRID_HEAD, title);
		else
			grid_put(g, row, p->at[i], p->width[i], GRID_HEAD, title);
		grid_click(g, row, p->at[i], p->width[i], GRID_SORT + (unsigned)id);
	}
}

const char *draw_verdict(const struct ms_trend *t)
{
	switch (t->kind) {
	case MS_TREND_GROWING:
		return t->confidence >= HISTORY_SURE ? "growing" : "maybe growing";
	case MS_TREND_DOUBLING:
		return MS_TREND_DOUBLINGS;
	case MS_TREND_FILLING:
		return "filled: growth has slowed or stopped";
	case MS_TREND_STEP:
		return "one step, not steady growth";
	default:
		return ms_trend_word(t->kind);
	}
}
