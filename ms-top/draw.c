/* SPDX-License-Identifier: MIT
 * What frames have in common: the last line, help, the choice of columns.
 */
#include "draw.h"

#include <stdio.h>
#include <string.h>

#include "draw_private.h"
#include "grid.h"
#include "keys.h"

void draw_last_line(struct grid *g, unsigned where, const struct screen_state *st)
{
	int row = g->rows - 1, col = 0;
	if (st->typed) {
		col = grid_print(g, row, 0, GRID_BOLD, "%s%s", st->message, st->typed);
		grid_put(g, row, col, 1, GRID_HEAD, " ");
		return;
	}
	if (st->message) {
		grid_put(g, row, 0, -1, GRID_WARN, st->message);
		return;
	}
	for (size_t i = 0; i < key_count; i++) {
		const char *text = keys[i].brief;
		if (!text || !(keys[i].where & where))
			continue;
		int w = grid_width(g, text);
		if (col + w > g->cols)
			return;
		grid_put(g, row, col, -1, GRID_DIM, text);
		col += w + 2;
	}
}

#define HELP_WIDTH 40 /* of a key and what it does */

int draw_help(struct grid *g, unsigned where, int page)
{
	int n = 0, at = 0, room = g->rows > 2 ? g->rows - 2 : 1;
	for (size_t i = 0; i < key_count; i++)
		n += keys[i].help && keys[i].where & where;
	/* as many columns as are needed, and fit; else several pages */
	int across = n > room ? (n + room - 1) / room : 1, fit = g->cols / HELP_WIDTH;
	across = across < fit ? across : fit > 1 ? fit : 1;
	int width = g->cols / across, pages = (n + room * across - 1) / (room * across);
	grid_rule(g, 0, "keys");
	for (size_t i = 0; i < key_count; i++) {
		if (!keys[i].help || !(keys[i].where & where))
			continue;
		int place = at++ - page * room * across;
		if (place < 0 || place >= room * across)
			continue;
		int row = 1 + place % room, col = place / room * width;
		grid_put(g, row, col, 8, GRID_BOLD, keys[i].name);
		grid_put(g, row, col + 9, width - 10, GRID_PLAIN, keys[i].help);
	}
	if (page + 1 < pages)
		grid_print(g, g->rows - 1, 0, GRID_DIM, "any key: more (%d of %d)", page + 1,
			   pages);
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
			shown |= set->v[k] == (enum column_id)i;
		grid_print(g, 1 + i - top, 0, GRID_PLAIN, "%c[%c] %-8s %s%s", i == at ? '>' : ' ',
			   shown ? 'x' : ' ', columns[i].title, columns[i].help,
			   (enum column_id)i == sort ? "; sorted by" : "");
		if (i == at)
			grid_select(g, 1 + i - top);
	}
	grid_put(g, g->rows - 1, 0, -1, GRID_DIM,
		 "Space: show or hide   s: sort by it   Enter: done");
}

const char *draw_verdict(const struct ms_trend *t)
{
	switch (t->kind) {
	case MS_TREND_SHORT:
		return "too early to say";
	case MS_TREND_GROWING:
		return t->confidence >= HISTORY_SURE ? "growing" : "maybe growing";
	case MS_TREND_FILLING:
		return "filled: it grew ever more slowly";
	case MS_TREND_STEP:
		return "one step, not a steady growth";
	default:
		return ms_trend_word(t->kind);
	}
}
