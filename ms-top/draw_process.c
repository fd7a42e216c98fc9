/* SPDX-License-Identifier: MIT
 * The frame of one process: figures and their history, regions by kind, the largest regions.
 */
#include "draw.h"

#include <stdio.h>
#include <string.h>

#include "draw_private.h"
#include "grid.h"
#include "keys.h"
#include "process.h"
#include "words.h"

#define FIGURES 6 /* rows before the regions */
#define KINDS_FROM 24

static void draw_history(struct grid *g, int row, const char *name, const struct history *h)
{
	char a[WORDS_BUF], b[WORDS_BUF];
	unsigned values[48];
	int width = g->cols >= 100 ? 48 : g->cols >= 60 ? 20 : 8;
	size_t n = history_values(h, values, (size_t)width);
	grid_put(g, row, 0, 5, GRID_BOLD, name);
	grid_put_right(g, row, 5, 7, GRID_PLAIN, words_size(a, h->bytes));
	grid_spark(g, row, 14, width, GRID_ACCENT, values, n);
	grid_print(g, row, 14 + width + 2, GRID_PLAIN, "%s in %s",
		   words_change(a, (double)h->bytes - (double)h->first_bytes),
		   words_time(b, (double)(h->last_ns - h->first_ns) / 1e9));
}

static void draw_sums(struct grid *g, int row, const struct process *p)
{
	char a[WORDS_BUF], b[WORDS_BUF], c[WORDS_BUF], d[WORDS_BUF];
	if (p->has_regions)
		grid_print(g, row, 0, GRID_PLAIN, "PSS %s   USS %s   swap %s   address space %s",
			   words_size(a, p->memory.pss),
			   words_size(b, p->memory.private_clean + p->memory.private_dirty),
			   words_size(c, p->memory.swap), words_size(d, p->statm.vsz));
	else
		grid_print(g, row, 0, GRID_PLAIN, "address space %s   %s",
			   words_size(a, p->statm.vsz),
			   p->denied ? "smaps may not be read: no regions"
				     : "no regions: it has no memory of its own");
}

static void draw_trend(struct grid *g, int row, const struct process *p)
{
	char a[WORDS_BUF], low[WORDS_BUF], high[WORDS_BUF];
	const struct ms_trend *t = &p->trend;
	const char *what = p->has_regions ? "heap" : "RSS";
	enum grid_style style = t->kind == MS_TREND_GROWING ? GRID_BAD : GRID_PLAIN;
	if (t->kind == MS_TREND_SHORT)
		grid_print(g, row, 0, GRID_DIM, "%s: too early to say whether it grows", what);
	else
		grid_print(g, row, 0, style, "%s: %s, %s/min (%s to %s), confidence %.2f", what,
			   draw_verdict(t), words_change(a, t->slope * 60),
			   words_change(low, t->low * 60), words_change(high, t->high * 60),
			   t->confidence);
}

static void draw_kinds(struct grid *g, int *row, const struct process *p)
{
	char a[WORDS_BUF], b[WORDS_BUF], c[WORDS_BUF], d[WORDS_BUF];
	grid_print(g, (*row)++, 0, GRID_HEAD, "%-12s %6s %8s %8s %8s %8s", "KIND", "COUNT", "SIZE",
		   "RSS", "PSS", "SWAP");
	for (int i = 0; i < MS_REGION_KINDS; i++) {
		const struct process_kind *k = &p->kinds[i];
		if (!k->count)
			continue;
		int col = grid_print(g, *row, 0, GRID_PLAIN, "%-12s %6llu %8s %8s %8s %8s",
				     ms_region_word((enum ms_region_kind)i),
				     (unsigned long long)k->count, words_size(a, k->size),
				     words_size(b, k->memory.rss), words_size(c, k->memory.pss),
				     words_size(d, k->memory.swap));
		if (g->cols - col > 12)
			grid_bar(g, *row, col + 2, g->cols - col - 4 < 30 ? g->cols - col - 4 : 30,
				 GRID_ACCENT, (double)k->memory.rss, (double)p->memory.rss);
		(*row)++;
	}
	(*row)++;
}

static void draw_regions(struct grid *g, int row, int end, const struct process *p,
			 struct list *list)
{
	char a[WORDS_BUF], b[WORDS_BUF], c[WORDS_BUF], d[WORDS_BUF], title[32];
	snprintf(title, sizeof title, "%zu REGIONS", p->regions.n);
	grid_print(g, row++, 0, GRID_HEAD, "  %-16s %8s %8s %8s %8s %-5s %-11s %s", title, "SIZE",
		   "RSS", "PSS", "SWAP", "PERM", "KIND", "FILE");
	size_t top = list_view(list, end > row ? (size_t)(end - row) : 0);
	for (; row < end && top < p->regions.n; row++, top++) {
		const struct ms_region *r = &p->regions.v[p->order[top]];
		bool here = list->has && list->selected == r->map.start;
		grid_print(g, row, 0, GRID_PLAIN, "%c %-16llx %8s %8s %8s %8s %-5s %-11s %s",
			   here ? '>' : ' ', (unsigned long long)r->map.start,
			   words_size(a, r->map.end - r->map.start), words_size(b, r->memory.rss),
			   words_size(c, r->memory.pss), words_size(d, r->memory.swap),
			   r->map.perms, ms_region_word(r->kind), r->map.path);
		if (here)
			grid_select(g, row);
	}
}

int draw_process_rows(const struct process *p)
{
	return FIGURES + 4 + MS_REGION_KINDS + (int)p->regions.n;
}

void draw_process(struct grid *g, const struct process *p, const struct screen_state *st)
{
	char up[WORDS_BUF];
	int row = 0;
	grid_print(g, row, 0, GRID_BOLD, "%d %s", (int)p->proc.pid, p->command);
	row++;
	grid_print(g, row++, 0, p->ended ? GRID_BAD : GRID_PLAIN,
		   "%s%s%c   up %s   %u threads   cpu %.1f %%", st->frozen ? "FROZEN   " : "",
		   p->ended ? "ended; last seen: state " : "state ", p->state ? p->state : '?',
		   words_time(up, (double)p->up_s), p->threads, p->cpu * 100);
	draw_history(g, row++, "RSS", &p->rss);
	if (p->has_regions)
		draw_history(g, row++, "HEAP", &p->heap_history);
	draw_sums(g, row++, p);
	draw_trend(g, row++, p);
	if (p->has_regions) {
		if (g->rows >= KINDS_FROM)
			draw_kinds(g, &row, p);
		draw_regions(g, row, g->rows - 1, p, st->list);
	}
	draw_last_line(g, IN_PROCESS, st);
}
