/* SPDX-License-Identifier: MIT
 * Draws the frame of all processes:
 *
 *   header      host, load, counts; memory and swap; pressure and what grows most
 *   views       names of the views, filter and order
 *   titles
 *   rows
 *   detail      of the selected row, if there is room
 *   last line   keys, or what is typed
 */
#include "draw.h"

#include <stdio.h>

#include "ms-top/proc/system.h"
#include "ms-top/cells/grid.h"
#include "ms-top/cells/words.h"

#define HEADER 3
#define DETAIL 5
#define DETAIL_FROM 22 /* minimum rows of a screen with the detail of a row */
#define HEADER_FROM 14
#define HISTORY_MORE 9   /* additional rows for the history if they are free */
#define COMMAND_LEAST 19 /* minimum columns of the command */

static const char *const view_names[] = {"Processes", "Groups", "Tree"};
static const char *const group_names[] = {"executable", "user", "cgroup"};

/* Puts a text only if all of it fits. */
static void put_whole(struct grid *g, int row, int col, enum grid_style style, const char *text)
{
	if (grid_width(g, text) <= g->cols - col)
		grid_put(g, row, col, -1, style, text);
}

static void draw_header(struct grid *g, const struct system *s, bool kernel)
{
	const struct system_memory *m = &s->memory;
	const char *extra = "";
	size_t n = s->n - s->kernel - s->ended;
	if (s->unreadable)
		extra = words_print(" (%zu of other users, not readable)", s->unreadable);
	int width =
		grid_print(g, 0, 0, GRID_BOLD, "%s   up %s   load %.2f   %zu process%s%s", s->host,
			   words_time((double)m->up_s), m->load[0], n, n == 1 ? "" : "es", extra);
	put_whole(g, 0, width, GRID_BOLD,
		  words_print("   %zu kernel thread%s%s", s->kernel, s->kernel == 1 ? "" : "s",
			      kernel || !s->kernel ? "" : " hidden"));
	if (m->total == SYSTEM_UNKNOWN || m->available == SYSTEM_UNKNOWN) {
		grid_put(g, 1, 0, -1, GRID_DIM, "the kernel does not report the memory in use");
		return;
	}
	uint64_t used = m->total - m->available;
	int bar = g->cols - 78; /* room beside the figures */
	bar = bar < 8 ? 0 : bar > 28 ? 28 : bar;
	int col = grid_print(g, 1, 0, GRID_PLAIN, "Mem %s  used ", words_size(m->total));
	grid_gauge(g, 1, col, bar, (double)used > 0.9 * (double)m->total ? GRID_BAD : GRID_GOOD,
		   (double)used, (double)m->total);
	col += bar ? bar + 1 : 0;
	col += grid_print(g, 1, col, GRID_PLAIN, "%s   cache %s   free %s", words_size(used),
			  words_size(m->cached), words_size(m->free));
	if (m->swap_total != SYSTEM_UNKNOWN && m->swap_free != SYSTEM_UNKNOWN)
		put_whole(g, 1, col, GRID_PLAIN,
			  words_print("   Swap %s / %s", words_size(m->swap_total - m->swap_free),
				      words_size(m->swap_total)));
}

/* Draws memory pressure, and the process that grew most of all visible ones. */
static void draw_pressure(struct grid *g, const struct system *s, double delay_s)
{
	const struct system_process *most = NULL;
	double change = 0;
	for (size_t i = 0; i < s->n; i++) {
		const struct system_process *p = s->v[i];
		double d = (double)p->history.bytes - (double)p->history.first_bytes;
		if (!p->ended && !p->kernel && d > change) {
			change = d;
			most = p;
		}
	}
	int col = 0;
	/* if there is room for only one of the two, the process is shown */
	if (s->memory.some >= 0 && (!most || g->cols >= 72))
		col = grid_print(g, 2, 0, GRID_PLAIN, "PSI mem 10s: some %.1f %%, full %.1f %%   ",
				 s->memory.some, s->memory.full < 0 ? 0 : s->memory.full);
	if (most)
		col += grid_print(g, 2, col, GRID_PLAIN, "most growth in %s: %s %s    ",
				  words_time((double)(s->now_ns - most->history.first_ns) / 1e9),
				  most->name, words_change(change));
	const char *every =
		words_print("history %s, every %g s",
			    words_time((double)(s->now_ns - s->first_ns) / 1e9), delay_s);
	if (s->now_ns > s->first_ns && g->cols - col >= grid_width(g, every))
		grid_put_right(g, 2, col, g->cols - col, GRID_DIM, every);
}

static void draw_views(struct grid *g, int row, const struct rows *r, const struct screen_state *st)
{
	int col = draw_tabs(g, row, view_names, ROWS_VIEWS, (int)r->view);
	if (r->view == ROWS_GROUPS)
		col += grid_print(g, row, col, GRID_PLAIN, "by %s", group_names[r->group]);
	const char *right = words_print("%ssort %s%s  %zu", st->frozen ? "FROZEN  " : "",
					r->reverse ? "-" : "", columns[r->sort].title, r->n);
	if (r->filter.text[0])
		right = words_print("filter: %s (%zu hidden)   %s", r->filter.text, r->hidden,
				    right);
	col += 2;
	if (col < g->cols)
		grid_put_right(g, row, col, g->cols - col, GRID_PLAIN, right);
}

/* Draws the number of rows that are not visible. */
static void draw_rest(struct grid *g, int row, const struct rows *r, size_t top, size_t shown)
{
	size_t unreadable = 0;
	for (size_t i = 0; i < r->n; i++)
		unreadable += (i < top || i >= top + shown) && r->v[i]->figures.denied;
	int col = grid_print(g, row, 2, GRID_DIM, "%5zu more", r->n - shown);
	if (unreadable)
		grid_print(g, row, 2 + col, GRID_DIM, " (%zu of other users, not readable)",
			   unreadable);
}

static void draw_rows(struct grid *g, int from, int height, struct system *s, const struct rows *r,
		      const struct screen_state *st)
{
	struct column_places p =
		columns_fit(columns, *st->columns, (int)r->sort, g->cols, COMMAND_LEAST);
	draw_titles(g, from, columns, &p, (int)r->sort, r->reverse);
	bool rest = height > 3 && r->n > (size_t)height - 1;
	height -= rest;
	st->list->row = from + 1;
	size_t top = list_view(st->list, height > 1 ? (size_t)height - 1 : 0);
	if (rest)
		draw_rest(g, from + height, r, top, (size_t)height - 1);
	for (int i = 1; i < height && top + (size_t)i - 1 < r->n; i++) {
		size_t row = top + (size_t)i - 1;
		struct system_process *x = r->v[row];
		bool here = st->list->has && st->list->selected == x->id;
		char indent[96];
		snprintf(indent, sizeof indent, "%*s", r->depth[row] * 2, "");
		grid_put(g, from + i, 0, 1, GRID_BOLD, here ? ">" : x->ended ? "x" : " ");
		for (size_t k = 0; k < p.set.n; k++)
			column_draw(g, from + i, p.at[k], p.width[k], s, (enum column_id)p.set.v[k],
				    x, indent);
		if (here)
			grid_select(g, from + i);
	}
	if (!r->n)
		grid_put(g, from + 1, 2, -1, GRID_DIM,
			 r->hidden ? "no process matches the filter" : "no processes");
}

/* Draws the title of the detail: the process, and how much of its cgroup's limit is used. */
static void draw_detail_title(struct grid *g, int row, const struct system_process *p,
			      const struct chosen *c)
{
	char title[700];
	const char *limit = "";
	if (!c)
		snprintf(title, sizeof title, "%s: %d process%s", p->command, (int)p->pid,
			 p->pid == 1 ? "" : "es");
	else {
		if (c->limits.group_max != SOURCE_UNKNOWN)
			limit = words_print(" %s of %s", words_size(c->limits.group_now),
					    words_size(c->limits.group_max));
		char rest[400];
		snprintf(rest, sizeof rest, "  %s  cgroup %s%s  %u thread%s", p->user,
			 p->cgroup[0] ? p->cgroup : "-", limit, p->threads,
			 p->threads == 1 ? "" : "s");
		/* long arguments are cut, to leave room for the rest */
		int room = g->cols - 14 - grid_width(g, rest);
		room = room > 20 ? room : 20;
		bool cut = grid_width(g, p->command) > room;
		int n = (int)grid_fit(g, p->command, cut ? room - 1 : room);
		snprintf(title, sizeof title, "%d %.*s%s%s", (int)p->pid, n, p->command,
			 !cut       ? ""
			 : g->ascii ? "~"
				    : "…",
			 rest);
	}
	grid_rule(g, row, title);
}

static void draw_figures(struct grid *g, int row, const struct system_process *p,
			 const struct chosen *c)
{
	const struct source_figures *f = &p->figures;
	int bar = g->cols >= 100 ? 24 : 0, col = 1;
	if (f->source == SOURCE_STAT) {
		grid_print(g, row, 1, GRID_PLAIN, "RSS %s from stat", words_size(p->rss));
		return;
	}
	if (f->source == SOURCE_STATM) {
		grid_print(g, row, 1, GRID_PLAIN, "heap about %s   file %s   from statm (%s smaps)",
			   words_size(f->heap), words_size(f->file),
			   f->denied ? "no permission to read" : "cannot read");
		return;
	}
	bool shared = c && c->shared != SOURCE_UNKNOWN && f->file != SOURCE_UNKNOWN;
	col += grid_print(g, row, col, GRID_PLAIN, "heap %s  ", words_size(f->heap));
	if (bar && f->heap != SOURCE_UNKNOWN)
		grid_gauge(g, row, col, bar, GRID_GOOD, (double)f->heap, (double)p->rss);
	col += bar ? bar + 2 : 1;
	col += grid_print(
		g, row, col, GRID_PLAIN, "file %s   ",
		words_size(shared && f->file > c->shared ? f->file - c->shared : f->file));
	if (shared)
		col += grid_print(g, row, col, GRID_PLAIN, "shm %s   ", words_size(c->shared));
	grid_print(g, row, col, GRID_PLAIN, "swap %s   from %s", words_size(f->swap),
		   f->source == SOURCE_SMAPS ? "smaps" : "smaps_rollup");
}

/* Draws the history of the RSS. Returns the rows used. */
static int draw_history(struct grid *g, int row, int height, struct system *s,
			struct system_process *p)
{
	unsigned values[HISTORY_SAMPLES];
	int col = 1 + grid_print(g, row, 1, GRID_PLAIN, "RSS  ");
	int width = g->cols >= 120 ? g->cols / 2 : g->cols >= 80 ? 24 : 8;
	width = width < (int)HISTORY_SAMPLES ? width : (int)HISTORY_SAMPLES;
	size_t n = history_values(&p->history, values, (size_t)width);
	height = grid_chart(g, row, height, col, width, GRID_ACCENT, values, n);
	col += width + 2;
	(void)system_verdict(s, p);
	if (p->trend.kind == MS_TREND_SHORT) {
		grid_put(g, row, col, -1, GRID_DIM, "too early to say whether it grows");
		return height;
	}
	col += grid_print(g, row, col, GRID_PLAIN, "%s/min  %s", words_change(p->trend.slope * 60),
			  draw_verdict(&p->trend));
	if (p->trend.kind == MS_TREND_GROWING)
		grid_print(g, row, col, GRID_PLAIN, ", confidence %.2f", p->trend.confidence);
	return height;
}

/* Draws the limit that the trend will reach, and whether the process can be recorded. */
static void draw_outlook(struct grid *g, int row, const struct system_process *p,
			 const struct chosen *c)
{
	struct forecast f = {0};
	if (!p->ended)
		f = limits_forecast(&c->limits, &p->trend);
	int col = 1 + grid_put(g, row, 1, -1, GRID_BAD, limits_words(&f));
	const char *record = c->may_record ? words_print("can be recorded with r (%s)", c->record)
					   : words_print("cannot be recorded: %s", c->record);
	col += f.what ? 3 : 0;
	if (c->record[0] && (!f.what || grid_width(g, record) <= g->cols - col))
		grid_put(g, row, col, -1, GRID_DIM, record);
}

static void draw_faults(struct grid *g, int row, const struct system_process *p,
			const struct chosen *c)
{
	int col = 1 + grid_print(g, row, 1, GRID_PLAIN, "faults %s/s, %s/s major   cpu %.1f %%",
				 words_count(p->fault_rate), words_count(p->major_rate),
				 p->cpu * 100);
	if (c && c->oom_score >= 0)
		col += grid_print(g, row, col, GRID_PLAIN, "   oom_score %d", c->oom_score);
	if (c && c->allocator[0])
		grid_print(g, row, col, GRID_PLAIN, "   allocator %s", c->allocator);
}

/* Draws the detail of a row. `c`: figures of the selected process; NULL = it is a group. `more`:
 * free rows. */
static void draw_detail(struct grid *g, int row, int more, struct system *s,
			struct system_process *p, const struct chosen *c)
{
	draw_detail_title(g, row, p, c);
	draw_figures(g, row + 1, p, c);
	row += 2 + draw_history(g, row + 2, 1 + more, s, p);
	draw_faults(g, row, p, c);
	if (c)
		draw_outlook(g, row + 1, p, c);
}

int draw_system_rows(const struct rows *r)
{
	int rows = HEADER + 3 + (int)r->n;
	return rows > HEADER_FROM ? rows : HEADER_FROM;
}

void draw_system(struct grid *g, struct system *s, const struct rows *r, const struct chosen *c,
		 const struct screen_state *st)
{
	int row = 0, end = g->rows - 1;
	if (g->rows >= HEADER_FROM) {
		draw_header(g, s, r->kernel);
		draw_pressure(g, s, st->delay_s);
		row = HEADER;
	}
	draw_views(g, row++, r, st);
	struct system_process *p = st->list->has ? r->v[st->list->at] : NULL;
	int more = end - DETAIL - row - 2 - (int)(r->n < 1000 ? r->n : 1000);
	if ((g->rows >= DETAIL_FROM || more >= 0) && p) {
		more = more < 0 ? 0 : more < HISTORY_MORE ? more : HISTORY_MORE;
		end -= DETAIL + more;
		draw_detail(g, end, more, s, p, p->group ? NULL : c);
	}
	draw_rows(g, row, end - row, s, r, st);
	draw_last_line(g, st);
}
