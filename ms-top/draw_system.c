/* SPDX-License-Identifier: MIT
 * The frame of all processes:
 *
 *   header      host, load, counts; memory and swap; pressure and what grows most
 *   views       which of them is shown, filter and order
 *   titles
 *   rows
 *   detail      of the selected row, when there is room
 *   last line   keys, or what is typed
 */
#include "draw.h"

#include <stdio.h>
#include <string.h>

#include "draw_private.h"
#include "grid.h"
#include "keys.h"
#include "words.h"

#define HEADER 3
#define DETAIL 4
#define DETAIL_FROM 22 /* rows of a screen that has room for it */
#define HEADER_FROM 14

static const char *const view_names[] = {"Processes", "Groups", "Tree"};
static const char *const group_names[] = {"executable", "user", "cgroup"};

static void draw_header(struct grid *g, const struct system *s)
{
	const struct system_memory *m = &s->memory;
	char up[WORDS_BUF], a[WORDS_BUF], b[WORDS_BUF], c[WORDS_BUF], d[WORDS_BUF], extra[96] = "";
	size_t n = s->n - s->kernel - s->ended;
	if (s->unreadable)
		snprintf(extra, sizeof extra, " (%zu unreadable: other users)", s->unreadable);
	grid_print(g, 0, 0, GRID_BOLD,
		   "%s   up %s   load %.2f   %zu processes%s   %zu kernel threads", s->host,
		   words_time(up, (double)m->up_s), m->load[0], n, extra, s->kernel);
	if (m->total == SYSTEM_UNKNOWN || m->available == SYSTEM_UNKNOWN) {
		grid_put(g, 1, 0, -1, GRID_DIM, "the kernel does not tell the memory in use");
		return;
	}
	uint64_t used = m->total - m->available;
	int bar = g->cols >= 100 ? 28 : g->cols >= 60 ? 12 : 0;
	int col = grid_print(g, 1, 0, GRID_PLAIN, "Mem %s  used ", words_size(a, m->total));
	grid_bar(g, 1, col, bar, (double)used > 0.9 * (double)m->total ? GRID_BAD : GRID_GOOD,
		 (double)used, (double)m->total);
	col += bar ? bar + 1 : 0;
	col += grid_print(g, 1, col, GRID_PLAIN, "%s   cache %s   free %s", words_size(b, used),
			  words_size(c, m->cached), words_size(d, m->free));
	if (m->swap_total != SYSTEM_UNKNOWN && m->swap_free != SYSTEM_UNKNOWN)
		grid_print(g, 1, col + 3, GRID_PLAIN, "Swap %s / %s",
			   words_size(a, m->swap_total - m->swap_free),
			   words_size(b, m->swap_total));
}

/* Who grew most, among all that are shown. */
static void draw_pressure(struct grid *g, const struct system *s)
{
	const struct system_process *most = NULL;
	double change = 0;
	char a[WORDS_BUF];
	for (size_t i = 0; i < s->n; i++) {
		const struct system_process *p = s->v[i];
		double d = (double)p->history.bytes - (double)p->history.first_bytes;
		if (!p->ended && !p->kernel && d > change) {
			change = d;
			most = p;
		}
	}
	int col = 0;
	if (s->memory.some >= 0)
		col = grid_print(g, 2, 0, GRID_PLAIN, "PSI mem some %.1f %%  full %.1f %%    ",
				 s->memory.some, s->memory.full < 0 ? 0 : s->memory.full);
	if (most)
		grid_print(g, 2, col, GRID_PLAIN, "most growth: %s %s", most->name,
			   words_change(a, change));
}

static void draw_views(struct grid *g, int row, const struct rows *r, const struct screen_state *st)
{
	int col = 0;
	for (int i = 0; i < ROWS_VIEWS; i++) {
		char text[48];
		bool now = (enum rows_view)i == r->view;
		snprintf(text, sizeof text, now ? "[%d %s]" : "%d %s", i + 1, view_names[i]);
		col += grid_put(g, row, col, -1, now ? GRID_BOLD : GRID_DIM, text) + 1;
	}
	if (r->view == ROWS_GROUPS)
		col += grid_print(g, row, col, GRID_PLAIN, "by %s", group_names[r->group]);
	char right[256];
	int n = snprintf(right, sizeof right, "%s%ssort %s%s  %zu", st->frozen ? "FROZEN  " : "",
			 r->filter.text[0] ? "" : "", r->reverse ? "-" : "", columns[r->sort].title,
			 r->n);
	if (r->filter.text[0]) {
		char with[sizeof right + 160];
		snprintf(with, sizeof with, "filter: %s (%zu hidden)   %s", r->filter.text,
			 r->hidden, right);
		snprintf(right, sizeof right, "%.*s", (int)sizeof right - 1, with);
		n = (int)strlen(right);
	}
	col += 2;
	if (n > 0 && col < g->cols)
		grid_put_right(g, row, col, g->cols - col, GRID_PLAIN, right);
}

/* Places of the columns on a row; the one without a width takes what is left. */
static void place(const struct column_set *set, int width, int *at, int *widths)
{
	int fixed = 2, open = 0;
	for (size_t i = 0; i < set->n; i++) {
		fixed += columns[set->v[i]].width ? columns[set->v[i]].width + 1 : 1;
		open += !columns[set->v[i]].width;
	}
	int col = 2;
	for (size_t i = 0; i < set->n; i++) {
		int w = columns[set->v[i]].width;
		at[i] = col;
		widths[i] = w ? w : width > fixed ? (width - fixed) / (open ? open : 1) + 1 : 1;
		col += widths[i] + 1;
	}
}

static void draw_titles(struct grid *g, int row, const struct column_set *set, const int *at,
			const int *widths, const struct rows *r)
{
	for (int i = 0; i < g->cols; i++)
		grid_put(g, row, i, 1, GRID_HEAD, " ");
	for (size_t i = 0; i < set->n; i++) {
		char title[24];
		snprintf(title, sizeof title, "%s%s", columns[set->v[i]].title,
			 set->v[i] == r->sort ? (r->reverse ? "^" : "v") : "");
		if (columns[set->v[i]].right)
			grid_put_right(g, row, at[i], widths[i], GRID_HEAD, title);
		else
			grid_put(g, row, at[i], widths[i], GRID_HEAD, title);
	}
}

static void draw_rows(struct grid *g, int from, int height, struct system *s, const struct rows *r,
		      const struct screen_state *st)
{
	struct column_set set = columns_fit(st->columns, g->cols);
	int at[COLUMN_COUNT], widths[COLUMN_COUNT];
	place(&set, g->cols, at, widths);
	draw_titles(g, from, &set, at, widths, r);
	size_t top = list_view(st->list, height > 1 ? (size_t)height - 1 : 0);
	for (int i = 1; i < height && top + (size_t)i - 1 < r->n; i++) {
		size_t row = top + (size_t)i - 1;
		struct system_process *p = r->v[row];
		bool here = st->list->has && st->list->selected == p->id;
		char indent[96];
		snprintf(indent, sizeof indent, "%*s", r->depth[row] * 2, "");
		grid_put(g, from + i, 0, 1, GRID_BOLD, here ? ">" : p->ended ? "x" : " ");
		for (size_t k = 0; k < set.n; k++)
			column_draw(g, from + i, at[k], widths[k], s, set.v[k], p, indent);
		if (here)
			grid_select(g, from + i);
	}
	if (!r->n)
		grid_put(g, from + 1, 2, -1, GRID_DIM,
			 r->hidden ? "no process matches the filter" : "no processes");
}

static void draw_detail(struct grid *g, int row, struct system *s, struct system_process *p,
			bool group)
{
	char title[600], a[WORDS_BUF], b[WORDS_BUF], c[WORDS_BUF], d[WORDS_BUF];
	if (group)
		snprintf(title, sizeof title, "%s: %d processes", p->command, (int)p->pid);
	else
		snprintf(title, sizeof title, "%d %s  %s  %u threads", (int)p->pid, p->command,
			 p->user, p->threads);
	grid_rule(g, row, title);
	const struct source_figures *f = &p->figures;
	if (f->source == SOURCE_STAT)
		grid_print(g, row + 1, 1, GRID_PLAIN, "RSS %s from stat", words_size(a, p->rss));
	else if (f->source == SOURCE_STATM)
		grid_print(
			g, row + 1, 1, GRID_PLAIN,
			"heap about %s   file %s   from statm: smaps_rollup and smaps %s be read",
			words_size(a, f->heap), words_size(b, f->file),
			f->denied ? "may not" : "cannot");
	else
		grid_print(g, row + 1, 1, GRID_PLAIN,
			   "heap %s   file %s   swap %s   PSS %s   from %s", words_size(a, f->heap),
			   words_size(b, f->file), words_size(c, f->swap), words_size(d, f->pss),
			   f->source == SOURCE_SMAPS ? "smaps" : "smaps_rollup");
	unsigned values[24];
	size_t n = history_values(&p->history, values, 24);
	int col = grid_print(g, row + 2, 1, GRID_PLAIN, "RSS  ");
	grid_spark(g, row + 2, 1 + col, 24, GRID_ACCENT, values, n);
	(void)system_verdict(s, p);
	if (p->trend.kind == MS_TREND_SHORT)
		grid_print(g, row + 2, col + 27, GRID_DIM, "too early to say whether it grows");
	else
		grid_print(g, row + 2, col + 27, GRID_PLAIN, "%s/min  confidence %.2f  %s",
			   words_change(a, p->trend.slope * 60), p->trend.confidence,
			   draw_verdict(&p->trend));
	grid_print(g, row + 3, 1, GRID_PLAIN, "faults %s/s, %s/s major   cpu %.1f %%   cgroup %s",
		   words_count(a, p->fault_rate), words_count(b, p->major_rate), p->cpu * 100,
		   p->cgroup[0] ? p->cgroup : "-");
}

int draw_system_rows(const struct rows *r)
{
	int rows = HEADER + 3 + (int)r->n;
	return rows > HEADER_FROM ? rows : HEADER_FROM;
}

void draw_system(struct grid *g, struct system *s, const struct rows *r,
		 const struct screen_state *st)
{
	int row = 0, end = g->rows - 1;
	if (g->rows >= HEADER_FROM) {
		draw_header(g, s);
		draw_pressure(g, s);
		row = HEADER;
	}
	draw_views(g, row++, r, st);
	struct system_process *p = st->list->has ? r->v[st->list->at] : NULL;
	if (g->rows >= DETAIL_FROM && p) {
		end -= DETAIL + 1;
		draw_detail(g, end, s, p, r->view == ROWS_GROUPS);
	}
	draw_rows(g, row, end - row, s, r, st);
	draw_last_line(g, IN_LIST, st);
}
