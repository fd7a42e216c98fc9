/* SPDX-License-Identifier: MIT
 * Draws the other views of a trace: tree, threads, sizes, timeline.
 */
#include <stdio.h>
#include <stdlib.h>

#include "draw.h"
#include "ms-top/cells/grid.h"
#include "ms-top/trace/trace.h"
#include "ms-top/cells/words.h"
#include "libcommon/base/units.h"
#include "format/trace.h"

static void draw_head(struct grid *g, int row, const char *text)
{
	grid_fill(g, row, GRID_HEAD);
	grid_put(g, row, 0, -1, GRID_HEAD, text);
}

/* ---- tree ---- */

/* Returns the column of a branch's name. The indentation of deep branches starts again at the
 * left. */
static int branch_column(const struct grid *g, const struct trace_branch *b)
{
	int wrap = g->cols > 60 ? g->cols - 40 : 20;
	return 27 + (int)b->depth % wrap;
}

/* Returns the names of `n` branches from row `top` on. If the frames of a branch are on several
 * lines, its place is only the file. */
static struct draw_name *name_branches(const struct grid *g, const struct trace *t, size_t top,
				       size_t n)
{
	struct draw_name *v = ms_xrealloc(NULL, n + 1, sizeof *v);
	for (size_t i = 0; i < n; i++) {
		const struct trace_branch *b = &t->tree.b.v[t->tree.rows.v[top + i]];
		v[i] = (struct draw_name){.frame = trace_part(t, b->frame, b->part),
					  .group = b->parent,
					  .room = g->cols - branch_column(g, b) - 1};
		if (b->several)
			v[i].frame.line = 0;
	}
	draw_names(t, v, n);
	return v;
}

static void draw_branch(struct grid *g, int row, int col, const struct draw_name *x)
{
	col += grid_put(g, row, col, -1, x->frame.runtime ? GRID_DIM : GRID_PLAIN, x->name);
	col += grid_put_end(g, row, col + 1, g->cols - col - 1, GRID_DIM, x->place) + 1;
	if (x->frame.inlined)
		grid_put(g, row, col + 1, -1, GRID_DIM, "[inlined]");
}

void draw_trace_tree(struct grid *g, int row, int end, struct trace *t,
		     const struct screen_state *st)
{
	const struct trace_tree *tree = &t->tree;
	draw_head(g, row++,
		  tree->lines ? "     LIVE     %  BLOCKS  FUNCTION:LINE, callees included"
			      : "     LIVE     %  BLOCKS  FUNCTION, callees included");
	st->list->row = row;
	size_t rows = end > row ? (size_t)(end - row) : 0, top = list_view(st->list, rows),
	       n = tree->rows.n - top < rows ? tree->rows.n - top : rows;
	struct draw_name *names = name_branches(g, t, top, n);
	for (size_t i = 0; i < n; i++, row++, top++) {
		const struct trace_branch *b = &tree->b.v[tree->rows.v[top]];
		double part = t->total.live_bytes
				      ? 100 * (double)b->bytes / (double)t->total.live_bytes
				      : 0;
		grid_print(g, row, 0, GRID_PLAIN, "  %7s %5.1f %7s  ", words_size(b->bytes), part,
			   words_count((double)b->blocks));
		int col = branch_column(g, b);
		grid_put(g, row, col - 2, 2, GRID_DIM,
			 !b->first      ? "  "
			 : b->open == 2 ? "- "
					: "+ ");
		draw_branch(g, row, col, &names[i]);
		draw_trace_mark(g, row, st, b->id);
	}
	free(names);
	if (!tree->rows.n)
		grid_put(g, row, 2, -1, GRID_DIM, "nothing is live");
}

/* ---- threads ---- */

static const char *percent(uint64_t part, uint64_t whole, bool known)
{
	return known && whole ? words_print("%.0f %%", 100 * (double)part / (double)whole) : "-";
}

static const char *count(uint64_t n, bool known)
{
	return known ? words_count((double)n) : "-";
}

void draw_trace_threads(struct grid *g, int row, int end, struct trace *t,
			const struct screen_state *st)
{
	bool sampled = t->shown->replay.sampled, known = !t->partial && !sampled;
	draw_head(g, row++,
		  "     LIVE  BLOCKS ALLOC/S   TOTAL   CALLS  FREES  TEMP     TID  THREAD");
	st->list->row = row;
	size_t top = list_view(st->list, end > row ? (size_t)(end - row) : 0);
	for (; row < end && top < t->thread_rows.n; row++, top++) {
		char name[64];
		uint32_t i = (uint32_t)t->thread_rows.v[top];
		const struct trace_sum *x = &t->threads[i];
		const struct ms_recording *rec = t->follow->rec;
		unsigned long long tid =
			i < rec->threads.n ? rec->threads.v[i].number[MS_THREAD_TID] : 0;
		grid_print(g, row, 0, GRID_PLAIN, "  %7s %7s %7s %7s %7s %6s %5s %7llu  %s",
			   words_size(x->live_bytes), count(x->live_blocks, !sampled),
			   words_count(x->per_second),
			   words_size(t->partial ? UINT64_MAX : x->bytes),
			   count(x->allocations, !t->partial), count(x->frees, !t->partial),
			   percent(x->temporary, x->allocations, known), tid,
			   trace_thread_name(t, i, name, sizeof name));
		draw_trace_mark(g, row, st, i);
	}
}

/* ---- sizes ---- */

void draw_trace_sizes(struct grid *g, int row, int end, struct trace *t,
		      const struct screen_state *st)
{
	uint64_t most = 0;
	bool sampled = t->shown->replay.sampled, known = !t->partial && !sampled;
	for (unsigned i = 0; i < MS_SIZE_CLASSES; i++)
		most = t->sizes[i].live_bytes > most ? t->sizes[i].live_bytes : most;
	draw_head(g, row++, "     FROM        TO     LIVE  BLOCKS   CALLS  TEMP");
	st->list->row = row;
	size_t top = list_view(st->list, end > row ? (size_t)(end - row) : 0);
	for (; row < end && top < t->size_rows.n; row++, top++) {
		unsigned class = (unsigned)t->size_rows.v[top];
		const struct trace_sum *x = &t->sizes[class];
		uint64_t from = class ? UINT64_C(1) << (class - 1) : 0,
			 to = class ? from * 2 - 1 : 0;
		int col = grid_print(g, row, 0, GRID_PLAIN, "  %7s - %7s  %7s %7s %7s %5s",
				     words_size(from), words_size(to), words_size(x->live_bytes),
				     count(x->live_blocks, !sampled),
				     count(x->allocations, !t->partial),
				     percent(x->temporary, x->allocations, known));
		int width = g->cols - col - 3;
		if (width > 4)
			grid_bar(g, row, col + 2, width < 50 ? width : 50, GRID_ACCENT,
				 (double)x->live_bytes, (double)most);
		draw_trace_mark(g, row, st, class);
	}
}

/* ---- timeline ---- */

struct chart {
	struct grid *g;
	int top, height, left, width;
	double most;
	uint64_t length; /* ns */
};

static int column_of(const struct chart *c, uint64_t ns)
{
	int col = c->length ? (int)((double)ns / (double)c->length * c->width) : 0;
	return col < c->width ? col : c->width - 1;
}

/* Returns the most live bytes during the time of a column. */
static double most_of(const struct ms_replay *r, const struct chart *c, int col, uint64_t tick_ns)
{
	double from = (double)c->length * col / c->width,
	       to = (double)c->length * (col + 1) / c->width;
	double span = (double)r->span_ticks * (double)tick_ns, most = 0;
	size_t first = (size_t)(from / span), last = (size_t)(to / span);
	for (size_t i = first; i <= last && i <= r->span; i++) {
		double v = (double)r->spans[i].live_max;
		/* a span that begins where the column ends belongs to the next column */
		if (i == last && i > first && to - span * (double)i < span / 1000)
			continue;
		most = v > most ? v : most;
	}
	return last > r->span && first > r->span ? (double)r->live_bytes : most;
}

static void draw_axis(const struct chart *c, const struct trace *t, int row)
{
	char when[MS_UNIT_BUF];
	const struct ms_recording *rec = t->follow->rec;
	for (int i = 0; i < c->width; i++)
		grid_put(c->g, row, c->left + i, 1, GRID_DIM, c->g->ascii ? "-" : "─");
	for (size_t i = 0; i < rec->marks.n; i++)
		grid_put(c->g, row, c->left + column_of(c, rec->marks.v[i].number[MS_MARK_TIME]), 1,
			 GRID_WARN, "|");
	grid_put(c->g, row + 1, c->left, -1, GRID_PLAIN, "0");
	grid_put_right(c->g, row + 1, c->left, c->width, GRID_PLAIN,
		       ms_format_duration(when, c->length));
	/* draw the names of marks that do not overlap */
	int free_from = c->left + 2;
	for (size_t i = 0; i < rec->marks.n; i++) {
		const struct ms_row *m = &rec->marks.v[i];
		const char *name = m->text[MS_MARK_NAME - 2];
		int col = c->left + column_of(c, m->number[MS_MARK_TIME]);
		int width = name ? grid_width(c->g, name) : 0;
		col = col < free_from && col + 3 > free_from ? free_from : col;
		if (!name || col < free_from || col + width > c->left + c->width - 12)
			continue;
		grid_put(c->g, row + 1, col, -1, GRID_WARN, name);
		free_from = col + width + 1;
	}
}

void draw_trace_timeline(struct grid *g, int row, int end, struct trace *t)
{
	const struct ms_recording *rec = t->follow->rec;
	const struct ms_replay *r = &rec->replay;
	char when[MS_UNIT_BUF], text[128];
	struct chart c = {.g = g,
			  .top = row + 1,
			  .height = end - row - 3,
			  .left = 9,
			  .width = g->cols - 10,
			  .most = (double)r->peak_bytes,
			  .length = ms_follow_reached(t->follow)};
	if (c.height < 2 || c.width < 10)
		return;
	int peak = column_of(&c, r->peak_tick * rec->head->tick_ns),
	    here = column_of(&c, t->total.ns);
	for (int col = 0; col < c.width; col++) {
		double most = most_of(r, &c, col, rec->head->tick_ns);
		if (most > 0)
			grid_column(g, c.top, c.height, c.left + col,
				    t->in_past && col == here ? GRID_BAD
				    : col == peak             ? GRID_WARN
							      : GRID_ACCENT,
				    most / c.most);
	}
	snprintf(text, sizeof text, "%s peak %s at %s", g->ascii ? "v" : "▼",
		 words_size(r->peak_bytes),
		 ms_format_duration(when, r->peak_tick * rec->head->tick_ns));
	int width = grid_width(g, text), col = c.left + peak;
	if (col + width > g->cols) {
		snprintf(text, sizeof text, "peak %s at %s %s", words_size(r->peak_bytes), when,
			 g->ascii ? "v" : "▼");
		col = c.left + peak - width + 1;
	}
	grid_put(g, row, col > 0 ? col : 0, -1, GRID_WARN, text);
	grid_put_right(g, c.top, 0, 8, GRID_PLAIN, words_size(r->peak_bytes));
	grid_put_right(g, c.top + c.height / 2, 0, 8, GRID_PLAIN, words_size(r->peak_bytes / 2));
	grid_put_right(g, c.top + c.height - 1, 0, 8, GRID_PLAIN, "0");
	draw_axis(&c, t, c.top + c.height);
	if (t->in_past)
		grid_put(g, c.top + c.height, c.left + here, 1, GRID_BAD, g->ascii ? "^" : "▲");
}
