/* SPDX-License-Identifier: MIT
 * Draws the frame of one process: figures and their history, regions by kind, the largest regions.
 */
#include "draw.h"

#include <stdio.h>

#include "ms-top/cells/grid.h"
#include "ms-top/proc/process.h"
#include "ms-top/cells/words.h"

#define KINDS_FROM 28 /* minimum rows of a screen that lists kinds of regions */
#define ALL_FROM 16   /* minimum rows of a screen with one line per figure */
#define FIGURES 16    /* maximum rows above the list of kinds, with charts one row high */

/* Draws a figure: its share of resident and swapped memory, its history, its change. If the chart
 * is more than a row high, also the value of its largest bar. */
static void draw_figure(struct grid *g, int row, int height, const char *name,
			const struct history *h, double whole)
{
	unsigned values[HISTORY_SAMPLES], most = 0;
	int bar = g->cols >= 100 ? 24 : g->cols >= 60 ? 10 : 0;
	int width = g->cols >= 100 ? g->cols - 62 : g->cols >= 60 ? 16 : 8, col = 14;
	width = width < (int)HISTORY_SAMPLES ? width : (int)HISTORY_SAMPLES;
	grid_put(g, row, 0, 5, GRID_BOLD, name);
	if (!h->step) {
		grid_put_right(g, row, 5, 7, GRID_DIM, "-");
		return;
	}
	grid_put_right(g, row, 5, 7, GRID_PLAIN, words_size(h->bytes));
	grid_gauge(g, row, col, bar, GRID_GOOD, (double)h->bytes, whole);
	col += bar ? bar + 2 : 0;
	size_t n = history_values(h, values, (size_t)width);
	grid_chart(g, row, height, col, width, GRID_ACCENT, values, n);
	for (size_t i = 0; i < n; i++)
		most = values[i] > most ? values[i] : most;
	if (height > 1)
		grid_put_right(g, row + 1, 0, 12, GRID_DIM,
			       words_print("most %s", words_size((uint64_t)most << 10)));
	grid_print(g, row, col + width + 2, GRID_PLAIN, "%s in %s",
		   words_change((double)h->bytes - (double)h->first_bytes),
		   words_time((double)(h->last_ns - h->first_ns) / 1e9));
}

/* Returns the height of the charts of RSS and heap: higher on high screens, and if regions leave
 * rows unused. */
static int chart_height(const struct grid *g, const struct process *p)
{
	int spare = g->rows - draw_process_rows(p);
	int least = g->rows >= 48 ? 4 : g->rows >= 36 ? 3 : g->rows >= 30 ? 2 : 1;
	int height = least + (spare > 0 ? spare / 2 : 0);
	return height < 8 ? height : 8;
}

static void draw_figures(struct grid *g, int *row, const struct process *p)
{
	const struct {
		const char *name;
		const struct history *h;
		bool brief; /* shown on small screens, too */
	} all[] = {{"RSS", &p->rss, true},
		   {"HEAP", &p->heap, true},
		   {"PSS", &p->pss, false},
		   {"USS", &p->uss, false},
		   {"SWAP", &p->swap, false}};
	double whole = (double)p->rss.bytes + (p->swap.step ? (double)p->swap.bytes : 0);
	int high = chart_height(g, p);
	for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
		if (all[i].brief || g->rows >= ALL_FROM) {
			int height = all[i].brief && all[i].h->step ? high : 1;
			draw_figure(g, *row, height, all[i].name, all[i].h, whole);
			*row += height;
		}
	if (g->rows < ALL_FROM) {
		grid_print(g, (*row)++, 0, GRID_PLAIN, "PSS %s  USS %s  swap %s",
			   words_size(p->figures.pss), words_size(p->figures.uss),
			   words_size(p->figures.swap));
	}
}

/* Draws the source of the figures below RSS, and their age. */
static void draw_source(struct grid *g, int row, const struct process *p)
{
	char cost[96] = "";
	double old_s = (double)(p->now_ns - p->dear_ns) / 1e9;
	if (old_s >= 1)
		snprintf(cost, sizeof cost, ", read %s ago (rarely, since each read takes %.0f ms)",
			 words_time(old_s), (double)p->dear_cost_ns / 1e6);
	switch (p->figures.source) {
	case SOURCE_STAT:
		grid_put(g, row, 0, -1, GRID_DIM, "a kernel thread has no memory of its own");
		return;
	case SOURCE_STATM:
		grid_print(g, row, 0, GRID_WARN,
			   "%s smaps: HEAP is RSS minus files, from statm; regions unknown",
			   p->figures.denied ? "no permission to read" : "cannot read");
		return;
	default:
		grid_print(g, row, 0, GRID_DIM, "HEAP, PSS, USS, SWAP from %s%s%s",
			   p->figures.source == SOURCE_SMAPS ? "smaps" : "smaps_rollup", cost,
			   p->has_regions ? "" : "; regions unknown");
	}
}

static void draw_trend(struct grid *g, int row, const struct process *p)
{
	const struct ms_trend *t = &p->trend;
	const char *what = p->trend_of_heap ? "heap" : "RSS";
	enum grid_style style = t->kind == MS_TREND_GROWING ? GRID_BAD : GRID_PLAIN;
	if (t->kind == MS_TREND_SHORT)
		grid_print(g, row, 0, GRID_DIM, "%s: too early to say whether it grows", what);
	else {
		int col = grid_print(g, row, 0, style, "%s: %s, %s/min (%s to %s)", what,
				     draw_verdict(t), words_change(t->slope * 60),
				     words_change(t->low * 60), words_change(t->high * 60));
		if (t->kind == MS_TREND_GROWING)
			grid_print(g, row, col, style, ", confidence %.2f", t->confidence);
	}
}

/* Draws the limit that the trend will reach, in a row. Returns the number of rows, 0 = none. */
static int draw_outlook(struct grid *g, int row, const struct process *p)
{
	struct forecast f = limits_forecast(&p->limits, &p->trend);
	if (p->ended || !f.what)
		return 0;
	grid_print(g, row, 0, GRID_BAD, "at this rate it %s", limits_words(&f));
	return 1;
}

static void draw_kinds(struct grid *g, int *row, const struct process *p)
{
	grid_print(g, (*row)++, 0, GRID_HEAD, "%-12s %6s %8s %8s %8s %8s", "KIND", "COUNT", "SIZE",
		   "RSS", "PSS", "SWAP");
	for (int i = 0; i < MS_REGION_KINDS; i++) {
		const struct process_kind *k = &p->kinds[i];
		if (!k->count)
			continue;
		int col = grid_print(g, *row, 0, GRID_PLAIN, "%-12s %6llu %8s %8s %8s %8s",
				     ms_region_word((enum ms_region_kind)i),
				     (unsigned long long)k->count, words_size(k->size),
				     words_size(k->memory.rss), words_size(k->memory.pss),
				     words_size(k->memory.swap));
		if (g->cols - col > 12)
			grid_bar(g, *row, col + 2, g->cols - col - 4 < 30 ? g->cols - col - 4 : 30,
				 GRID_ACCENT, (double)k->memory.rss, (double)p->memory.rss);
		(*row)++;
	}
	(*row)++;
}

/* Draws the cells of a region. Paths are cut at the front, since their ends distinguish files. */
static void draw_cells(struct grid *g, int row, enum grid_style style, const char *const *text)
{
	static const struct {
		int width; /* 0 = the rest of the row */
		bool right;
		int from; /* least columns of a screen for this cell */
	} cells[] = {{12, false, 0}, {8, true, 60},   {8, true, 0},    {8, true, 72},
		     {8, true, 100}, {5, false, 100}, {11, false, 52}, {0, false, 0}};
	for (int i = 0, col = 2; i < (int)(sizeof cells / sizeof cells[0]); i++) {
		int width = i == 0 && g->cols >= 100 ? 16 : cells[i].width;
		if (g->cols < cells[i].from)
			continue;
		if (!width)
			grid_put_end(g, row, col, g->cols - col, style, text[i]);
		else if (cells[i].right)
			grid_put_right(g, row, col, width, style, text[i]);
		else
			grid_put(g, row, col, width, style, text[i]);
		col += width + 1;
	}
}

static void draw_regions(struct grid *g, int row, int end, const struct process *p,
			 struct list *list)
{
	char first[32];
	snprintf(first, sizeof first, "%zu REGIONS", p->regions.n);
	grid_fill(g, row, GRID_HEAD);
	draw_cells(g, row++, GRID_HEAD,
		   (const char *[]){first, "SIZE", "RSS", "PSS", "SWAP", "PERM", "KIND", "FILE"});
	list->row = row;
	size_t top = list_view(list, end > row ? (size_t)(end - row) : 0);
	for (; row < end && top < p->regions.n; row++, top++) {
		const struct ms_region *r = &p->regions.v[p->order[top]];
		bool here = list->has && list->selected == r->map.start;
		snprintf(first, sizeof first, "%llx", (unsigned long long)r->map.start);
		draw_cells(g, row, GRID_PLAIN,
			   (const char *[]){first, words_size(r->map.end - r->map.start),
					    words_size(r->memory.rss), words_size(r->memory.pss),
					    words_size(r->memory.swap), r->map.perms,
					    ms_region_word(r->kind), r->map.path});
		if (here) {
			grid_put(g, row, 0, 1, GRID_PLAIN, ">");
			grid_select(g, row);
		}
	}
}

int draw_process_rows(const struct process *p)
{
	return FIGURES + 4 + MS_REGION_KINDS + (int)p->regions.n;
}

void draw_process(struct grid *g, const struct process *p, const struct screen_state *st)
{
	int row = 0;
	grid_print(g, row, 0, GRID_BOLD, "%d %s", (int)p->proc.pid, p->command);
	row++;
	grid_print(g, row++, 0, p->ended ? GRID_BAD : GRID_PLAIN,
		   "%s%s%c   up %s   %u thread%s   cpu %.1f %%   address space %s",
		   st->frozen ? "FROZEN   " : "", p->ended ? "ended; last seen: state " : "state ",
		   p->state ? p->state : '?', words_time((double)p->up_s), p->threads,
		   p->threads == 1 ? "" : "s", p->cpu * 100, words_size(p->statm.vsz));
	draw_figures(g, &row, p);
	draw_trend(g, row++, p);
	if (g->rows >= ALL_FROM)
		row += draw_outlook(g, row, p);
	if (g->rows >= ALL_FROM || !p->has_regions)
		draw_source(g, row++, p);
	if (p->has_regions) {
		if (g->rows >= KINDS_FROM)
			draw_kinds(g, &row, p);
		draw_regions(g, row, g->rows - 1, p, st->list);
	}
	draw_last_line(g, st);
}
