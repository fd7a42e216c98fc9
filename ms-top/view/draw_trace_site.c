/* SPDX-License-Identifier: MIT
 * Draws one site: its call stack, and its blocks by size, age and thread.
 */
#include <stdio.h>
#include <string.h>

#include "draw.h"
#include "ms-top/cells/grid.h"
#include "ms-top/trace/trace.h"
#include "ms-top/cells/words.h"
#include "format/trace.h"

/* Number of bars in a preview, and of frames on a screen with up to GLIMPSE_MORE rows. */
#define GLIMPSE_FRAMES 4
#define GLIMPSE_MORE 40
#define THREAD_LABEL 15
#define HISTORY_MORE 9 /* additional rows for the history if they are free */

/* ---- the stack ---- */

struct frames {
	struct grid *g;
	const struct trace *t;
	const struct screen_state *st; /* NULL = no selection */
	int row, end;
	size_t top; /* index of the first visible row */
};

static void draw_frame(struct frames *x, const struct trace_stack_row *r)
{
	struct grid *g = x->g;
	const struct trace_frame *f = &r->frame;
	char place[300];
	if (r->more)
		snprintf(place, sizeof place, "and %zu more runtime frame%s", r->more,
			 r->more == 1 ? "" : "s");
	else if (f->path && f->line)
		snprintf(place, sizeof place, "%.250s:%u", f->path, f->line);
	else
		trace_frame_place(f, place, sizeof place);
	bool inlined = f->inlined && !r->more;
	grid_print(g, x->row, 1, GRID_DIM, "%3zu", r->number);
	int right = grid_width(g, place) + (inlined ? 10 : 0);
	int room = g->cols - 6 - (right < g->cols / 2 ? right : g->cols / 2) - 2;
	room = room > 10 ? room : 10;
	int col = 6 + grid_put(g, x->row, 6, room, f->runtime ? GRID_DIM : GRID_PLAIN,
			       draw_frame_name(x->t, f, room));
	int at = g->cols / 2 > col + 2 && g->cols / 2 + right <= g->cols ? g->cols / 2 : col + 2;
	at += grid_put_end(g, x->row, at, g->cols - at - (inlined ? 10 : 0), GRID_DIM, place);
	if (inlined)
		grid_put(g, x->row, at + 1, -1, GRID_DIM, "[inlined]");
	if (x->st)
		draw_trace_mark(g, x->row, x->st, r->number);
	x->row++;
}

static void draw_stack(struct frames *x, uint32_t node)
{
	struct trace_stack s = {.t = x->t, .node = node};
	struct trace_stack_row r;
	for (size_t i = 0; x->row < x->end && trace_next_row(&s, &r); i++)
		if (i >= x->top)
			draw_frame(x, &r);
}

/* ---- bars ---- */

/* Describes a part of the screen that is filled from the top. */
struct box {
	struct grid *g;
	int row, end, col, width;
};

static void draw_bar(struct box *b, const char *label, int label_width, uint64_t part,
		     uint64_t whole, const char *more)
{
	if (b->row >= b->end || !whole)
		return;
	grid_put(b->g, b->row, b->col, label_width, GRID_PLAIN, label);
	int col = b->col + label_width + 1, bar = b->width - label_width - 8 - (int)strlen(more);
	bar = bar > 20 ? 20 : bar;
	if (bar > 0)
		grid_bar(b->g, b->row, col, bar, GRID_ACCENT, (double)part, (double)whole);
	col += bar > 0 ? bar + 1 : 0;
	grid_put(b->g, b->row, col, b->col + b->width - col, GRID_PLAIN,
		 words_print("%3.0f %% %s", 100 * (double)part / (double)whole, more));
	b->row++;
}

static void title(struct box *b, const char *text)
{
	/* a title needs a row below it */
	if (b->row + 1 < b->end)
		grid_put(b->g, b->row++, b->col, b->width, GRID_BOLD, text);
}

static const char *class_name(unsigned class)
{
	uint64_t from = UINT64_C(1) << (class ? class - 1 : 0);
	if (class == 0)
		return "0";
	return words_print("%s-%s", words_size(from),
			   class < MS_SIZE_CLASSES - 1 ? words_size(from * 2) : "");
}

/* Returns how many of the parts are larger, or equal and earlier. */
static int rank(const uint64_t *parts, unsigned n, unsigned at)
{
	int before = 0;
	for (unsigned i = 0; i < n; i++)
		before += parts[i] > parts[at] || (parts[i] == parts[at] && i < at);
	return before;
}

/* Adds up the figures of all sizes, which are also the totals of all threads. */
static void total_of(const struct site_detail *d, uint64_t *live, uint64_t *calls)
{
	*live = *calls = 0;
	for (unsigned i = 0; i < MS_SIZE_CLASSES; i++) {
		*live += d->size_bytes[i];
		*calls += d->size_calls[i];
	}
}

/* Draws the sizes in order; if not all fit, the largest. The number of blocks that samples of a
 * size represent is not known. */
static void draw_sizes(struct box *b, const struct trace *t, const struct site_detail *d)
{
	uint64_t live, calls;
	total_of(d, &live, &calls);
	title(b, !live                      ? "allocations by size"
		 : t->shown->replay.sampled ? "live bytes by size"
					    : "live bytes by size; blocks");
	const uint64_t *parts = live ? d->size_bytes : d->size_calls;
	int room = b->end - b->row;
	for (unsigned i = 0; i < MS_SIZE_CLASSES; i++) {
		uint64_t part = parts[i];
		if (part && rank(parts, MS_SIZE_CLASSES, i) < room)
			draw_bar(b, class_name(i), 13, part, live ? live : calls,
				 !live ? words_count((double)part)
				 : t->shown->replay.sampled
					 ? ""
					 : words_count((double)d->size_blocks[i]));
	}
}

static const char *const age_names[MS_AGES] = {"< 1 ms",  "1-10 ms", "10-100 ms",
					       "0.1-1 s", "1-10 s",  "10-60 s",
					       "1-10 m",  "10-60 m", "> 1 h"};

static void draw_ages(struct box *b, const char *text, const uint64_t *blocks)
{
	uint64_t all = 0;
	for (unsigned i = 0; i < MS_AGES; i++)
		all += blocks[i];
	if (all)
		title(b, text);
	int room = b->end - b->row;
	for (unsigned i = 0; i < MS_AGES; i++)
		if (blocks[i] && rank(blocks, MS_AGES, i) < room)
			draw_bar(b, age_names[i], 9, blocks[i], all, "");
}

/* Returns a thread's name, with its number if several threads have that name; if cut, the number is
 * kept. */
static const char *thread_label(const struct trace *t, uint32_t thread, char name[64])
{
	char other[64];
	const struct ms_recording *rec = t->follow->rec;
	bool alone = true;
	trace_thread_name(t, thread, name, 64);
	for (size_t i = 0; i < rec->threads.n && alone; i++)
		alone = i == thread ||
			strcmp(trace_thread_name(t, (uint32_t)i, other, sizeof other), name) != 0;
	if (alone || thread >= rec->threads.n)
		return name;
	const char *tid = words_print(
		" %llu", (unsigned long long)rec->threads.v[thread].number[MS_THREAD_TID]);
	return words_print("%.*s%s", THREAD_LABEL - (int)strlen(tid), name, tid);
}

static void draw_threads(struct box *b, const struct trace *t, const struct site_detail *d)
{
	uint64_t live, calls;
	size_t n = d->thread_count < 8 ? d->thread_count : 8;
	total_of(d, &live, &calls);
	title(b, live ? "live bytes by thread" : "allocations by thread");
	for (size_t i = 0; i < n; i++) {
		char name[64];
		const struct site_thread *x = &d->threads[i];
		draw_bar(b, thread_label(t, x->thread, name), THREAD_LABEL,
			 live ? x->live_bytes : x->allocations, live ? live : calls, "");
	}
	if (d->thread_count > 8 && b->row < b->end)
		grid_print(b->g, b->row++, b->col, GRID_DIM, "and more threads");
}

/* Draws the boxes side by side if they fit, else below each other. */
static void draw_boxes(struct grid *g, int row, int end, const struct trace *t)
{
	const struct site_detail *d = &t->detail;
	int across = g->cols >= 100 ? 3 : g->cols >= 66 ? 2 : 1, pitch = (g->cols - 1) / across;
	int width = pitch - (across > 1 ? 3 : 1);
	struct box b = {g, row, end, 1, width};
	draw_sizes(&b, t, d);
	if (across > 1)
		b = (struct box){g, row, end, 1 + pitch, width};
	draw_ages(&b, "live blocks by age", d->age_blocks);
	draw_ages(&b, "freed blocks by lifetime", d->lived);
	if (across > 2)
		b = (struct box){g, row, end, 1 + 2 * pitch, width};
	draw_threads(&b, t, d);
}

static int count_of(const uint64_t *parts, unsigned n)
{
	int count = 0;
	for (unsigned i = 0; i < n; i++)
		count += parts[i] > 0;
	return count ? count + 1 : 0;
}

/* Returns the rows that the boxes need, with titles, in the layout for this width. Without `all`,
 * threads are omitted unless they fit beside the others. */
static int box_rows(const struct grid *g, const struct trace *t, bool all)
{
	const struct site_detail *d = &t->detail;
	int sizes = count_of(d->size_calls, MS_SIZE_CLASSES),
	    ages = count_of(d->age_blocks, MS_AGES) + count_of(d->lived, MS_AGES),
	    threads = 1 + (d->thread_count < 8 ? (int)d->thread_count : 9);
	if (g->cols < 66)
		return sizes + ages + (all ? threads : 0);
	ages += all && g->cols < 100 ? threads : 0;
	threads = g->cols >= 100 ? threads : 0;
	return sizes > ages ? sizes > threads ? sizes : threads : ages > threads ? ages : threads;
}

/* Tells whether the history changes visibly. */
static bool moves(const struct trace *t, struct trace_site *s)
{
	struct ms_trend trend = trace_trend(t, s);
	return trend.low < 0 || trend.high > 0;
}

/* ---- the preview below the table ---- */

static int glimpse_frames(int rows)
{
	return GLIMPSE_FRAMES + (rows > GLIMPSE_MORE ? (rows - GLIMPSE_MORE) / 5 : 0);
}

int draw_trace_glimpse_rows(int rows, int free)
{
	int least = 1 + glimpse_frames(rows) + GLIMPSE_FRAMES +
		    (glimpse_frames(rows) - GLIMPSE_FRAMES) / 2;
	return free > least ? free : least;
}

void draw_trace_glimpse(struct grid *g, int row, int end, struct trace *t, uint32_t node)
{
	char name[512];
	struct trace_site_name n = trace_site_name(t, node);
	site_look(t, node);
	snprintf(name, sizeof name, "%s",
		 draw_frame_name(t, &n.user, g->cols >= 80 ? g->cols - 46 : g->cols - 6));
	grid_rule(g, row, name);
	const char *hint = " Enter: whole screen   y: copy ";
	if (g->cols >= 80)
		grid_put_right(g, row, g->cols - 40, 38, GRID_DIM, hint);
	row++;
	/* the stack gets half of the rows, and those that the bars do not need */
	int bars = box_rows(g, t, false), frames = end - row - bars, half = (end - row) / 2;
	int least = glimpse_frames(g->rows) > half ? glimpse_frames(g->rows) : half;
	struct frames x = {
		.g = g, .t = t, .row = row, .end = row + (frames > least ? frames : least)};
	draw_stack(&x, node);
	draw_boxes(g, x.row, end, t);
	row = x.row + box_rows(g, t, true) + 1;
	struct trace_site *s = trace_find(t, node);
	if (!s || t->partial || end - row < 3 || !moves(t, s))
		return;
	grid_put(g, row++, 1, -1, GRID_BOLD, "live bytes since the start");
	draw_trace_history(g, row, end - row < HISTORY_MORE ? end - row : HISTORY_MORE, 1,
			   g->cols - 2, t, (uint32_t)(s - t->sites));
}

/* ---- the whole screen ---- */

static void draw_figures(struct grid *g, int row, struct trace *t, struct trace_site *s)
{
	const struct trace_sum *x = &s->sum;
	const struct site_detail *detail = &t->detail;
	int col = grid_print(g, row, 1, GRID_PLAIN, "live %s in %s block%s   ",
			     words_size(x->live_bytes), words_count((double)x->live_blocks),
			     x->live_blocks == 1 ? "" : "s");
	if (t->has_base)
		col += grid_print(g, row, 1 + col, GRID_PLAIN, "%s since the baseline   ",
				  words_change(trace_since_base(t, s)));
	if (t->partial)
		return;
	/* as many complete figures as fit */
	const char *const parts[] = {
		words_print("allocated %s in %s call%s", words_size(x->bytes),
			    words_count((double)x->allocations), x->allocations == 1 ? "" : "s"),
		words_print(", %.0f %% temporary",
			    x->allocations ? 100 * (double)x->temporary / (double)x->allocations
					   : 0),
		words_print(", %llu realloc", (unsigned long long)detail->reallocations),
		words_print(", %llu failed", (unsigned long long)detail->failed)};
	/* in a sampled recording, only the first figure is known */
	int known = t->shown->replay.sampled ? 1 : 4;
	for (int i = 0; i < known && grid_width(g, parts[i]) <= g->cols - 1 - col; i++)
		col += grid_put(g, row, 1 + col, -1, GRID_PLAIN, parts[i]);
}

static void draw_trend(struct grid *g, int row, int height, struct trace *t, struct trace_site *s)
{
	int width = g->cols >= 120 ? 48 : g->cols >= 100 ? 30 : g->cols >= 60 ? 16 : 8;
	const char *word = trace_verdict(t, s);
	draw_trace_history(g, row, height, 1, width, t, (uint32_t)(s - t->sites));
	int col = 1 + width + 2;
	if (t->partial)
		grid_put(g, row, 1, -1, GRID_DIM,
			 "read from a checkpoint: what came before it is not known");
	else if (s->trend.trend.kind == MS_TREND_SHORT)
		grid_print(g, row, col, GRID_DIM, "too %s to say whether it grows",
			   trace_has_peak(t) ? "short a run" : "early");
	else {
		col += grid_print(g, row, col, GRID_PLAIN, "%s: %s/min (%s to %s)", word,
				  words_change(s->trend.trend.slope * 60),
				  words_change(s->trend.trend.low * 60),
				  words_change(s->trend.trend.high * 60));
		if (s->trend.trend.kind == MS_TREND_GROWING)
			col += grid_print(g, row, col, GRID_PLAIN, ", confidence %.2f",
					  s->trend.trend.confidence);
		if (s->trend.trend.teardown > 0)
			grid_print(g, row, col, GRID_DIM, ", until %s, when freeing at exit begins",
				   words_time(s->trend.trend.teardown));
	}
}

void draw_trace_site(struct grid *g, int row, int end, struct trace *t,
		     const struct screen_state *st)
{
	char name[640];
	uint32_t node = t->detail.node;
	struct trace_site_name n = trace_site_name(t, node);
	struct trace_site *s = trace_find(t, node);
	int flags = snprintf(name, sizeof name, "%.127s", draw_trace_flags(g, t, st));
	trace_frame_name(&n.user, name + flags, sizeof name - (size_t)flags);
	grid_rule(g, row++, name);
	if (s) {
		/* the history gets the rows that the stack and the bars do not need */
		int more = end - row - 2 - (int)st->list->n - box_rows(g, t, true);
		int height = 1 + (more < 0 || !moves(t, s) ? 0
				  : more < HISTORY_MORE    ? more
							   : HISTORY_MORE);
		draw_figures(g, row++, t, s);
		draw_trend(g, row, height, t, s);
		row += height;
	} else {
		grid_put(g, row++, 1, -1, GRID_DIM, "this site had allocated nothing yet");
	}
	row = draw_trace_keepers(g, row, row + (end - row) / 3, t, node);
	int room = end - row, boxes = box_rows(g, t, true);
	boxes = boxes < room / 2 ? boxes : room / 2;
	struct frames x = {.g = g, .t = t, .st = st, .row = row, .end = end - boxes};
	st->list->row = row;
	x.top = list_view(st->list, x.end > row ? (size_t)(x.end - row) : 0);
	draw_stack(&x, node);
	if (s)
		draw_boxes(g, x.row + (x.row + boxes < end), end, t);
}
