/* SPDX-License-Identifier: MIT
 * Draws the frame of a trace:
 *
 *   header      the process, the state of the recording; live, peak, RSS, rates
 *   views       names of the views, baseline, number of sites
 *   the view    for sites: a table, and a preview of the selected one if there is room
 *   last line   keys, or what is typed
 */
#include "draw.h"

#include <stdio.h>
#include <string.h>

#include "ms-top/cells/grid.h"
#include "ms-top/trace/trace.h"
#include "ms-top/cells/words.h"
#include "libcommon/replay/replay_growth.h"
#include "libcommon/replay/replay_sampled.h"
#include "libcommon/base/units.h"
#include "format/trace.h"

#define HEADER 3
#define HEADER_FROM 12
#define SURE_FROM 110 /* minimum columns for the confidence of a forecast */
#define GLIMPSE_FROM 26
#define NAME_LEAST 34 /* least columns of a site's name, place and distinguishing part */

static const char *const view_names[] = {"Sites",    "Tree",  "Threads",
					 "Timeline", "Sizes", "Kept by"};

/* ---- header ---- */

static void draw_quality(const struct trace *t, char *text, size_t room)
{
	const struct ms_recording *rec = t->follow->rec;
	const struct ms_sampled *sampled = rec->replay.sampled;
	uint64_t lost = ms_recording_lost(rec);
	if (ms_recording_is_polled(rec))
		snprintf(text, room, "figures from /proc only: allocations were not recorded");
	else if (sampled)
		snprintf(text, room, "sampled every %s: estimates", words_size(sampled->mean));
	else
		snprintf(text, room, "every event%s%s",
			 rec->info.number[MS_INFO_ATTACHED] ? " since the attach" : "",
			 trace_paused(rec) ? " except during pauses" : "");
	size_t n = sampled || !lost ? strlen(text) : 0;
	if (lost)
		n += (size_t)snprintf(text + n, room - n, "%s%llu EVENT%s LOST", n ? ", " : "",
				      (unsigned long long)lost, lost == 1 ? "" : "S");
	for (size_t i = 0; i < rec->allocators.n && n < room; i++)
		n += (size_t)snprintf(text + n, room - n, "%s%s", i ? " + " : "   ",
				      rec->allocators.v[i]);
}

static void draw_what(struct grid *g, const struct trace *t, const struct screen_state *st)
{
	const struct ms_recording *rec = t->follow->rec;
	char when[MS_UNIT_BUF], quality[256], name[64];
	const char *lag = "";
	bool trouble;
	const char *state = trace_state(t, &trouble);
	uint64_t behind = ms_follow_lag(t->follow);
	if (behind != UINT64_MAX && rec->state == MS_TRACE_GROWING)
		lag = words_print("   lag %.1f s", (double)behind / 1e9);
	draw_quality(t, quality, sizeof quality);
	snprintf(name, sizeof name, "%.*s", (int)sizeof name - 1, t->process);
	name[strcspn(name, " ")] = 0;
	int col = grid_print(g, 0, 0, GRID_BOLD, "%s (%llu)   %s   ", name,
			     (unsigned long long)rec->info.number[MS_INFO_PID],
			     basename(t->follow->path));
	if (st->frozen)
		col += grid_print(g, 0, col, GRID_WARN, "FROZEN   ");
	if (t->in_past)
		col += grid_print(g, 0, col, GRID_WARN, "%s %s of ",
				  t->waiting ? "going to" : "PAST, at",
				  ms_format_duration(when, t->past_ns));
	else
		col += grid_print(g, 0, col, trouble ? GRID_BAD : GRID_PLAIN, "%s   ", state);
	col += grid_print(g, 0, col, GRID_PLAIN, "%s",
			  ms_format_duration(when, ms_follow_reached(t->follow)));
	if (!t->follow->caught_up && t->follow->size)
		col += grid_print(g, 0, col, GRID_WARN, "   read %.0f %%",
				  100 * (double)ms_recording_offset(rec) / (double)t->follow->size);
	const char *last = strstr(quality, "   ");
	if (last && col + grid_width(g, lag) + 3 + grid_width(g, quality) > g->cols)
		quality[last - quality] = 0;
	grid_print(g, 0, col, GRID_PLAIN, "%s   %s%s%s", lag, quality,
		   t->follow->waits_for[0] ? "   after exec: " : "",
		   t->follow->waits_for[0] ? t->follow->waits_for : "");
}

static int spark_width(const struct grid *g)
{
	return g->cols >= 120 ? 24 : g->cols >= 90 ? 14 : g->cols >= 64 ? 8 : 0;
}

/* Draws the RSS from the recorder's samples, up to now. */
static void draw_rss(struct grid *g, int row, int col, const struct trace *t)
{
	const struct ms_recording *rec = t->follow->rec;
	unsigned values[64];
	int width = spark_width(g);
	size_t n = rec->samples.n, k = 0;
	/* the last sample of a finished program may have no RSS */
	while (n && (rec->samples.v[n - 1].number[MS_SAMPLE_TIME] > t->total.ns ||
		     !ms_has(&rec->samples.v[n - 1], MS_SAMPLE_RSS)))
		n--;
	for (size_t i = 0; i < (size_t)width && i < n; i++)
		values[k++] = (unsigned)(rec->samples
						 .v[n <= (size_t)width
							    ? i
							    : i * (n - 1) / ((size_t)width - 1)]
						 .number[MS_SAMPLE_RSS] >>
					 10);
	col += grid_print(g, row, col, GRID_BOLD, "RSS ");
	col += grid_print(g, row, col, GRID_PLAIN, "%7s ", words_size(t->total.rss));
	grid_spark(g, row, col, width, GRID_ACCENT, values, k);
}

static void draw_memory(struct grid *g, const struct trace *t)
{
	char when[MS_UNIT_BUF];
	bool polled = ms_recording_is_polled(t->follow->rec);
	int width = spark_width(g);
	int col = grid_print(g, 1, 0, GRID_BOLD, "Live  ");
	col += grid_print(g, 1, col, GRID_PLAIN, "%7s ",
			  words_size(polled ? UINT64_MAX : t->total.live_bytes));
	if (!polled)
		draw_trace_history(g, 1, 1, col, width, t, UINT32_MAX);
	col += width + (width ? 2 : 1);
	/* a trace read from a checkpoint on: the peak before that is unknown */
	if (!t->partial && !polled)
		col += grid_print(g, 1, col, GRID_PLAIN, "peak %s at %s   ",
				  words_size(t->total.peak_bytes),
				  ms_format_duration(when, t->total.peak_ns));
	draw_rss(g, 1, col > 50 || g->cols < 64 ? col : 50, t);
}

/* Draws allocations over time, up to now. */
static void draw_calls(struct grid *g, int row, int col, int width, const struct trace *t)
{
	const struct ms_replay *r = &t->shown->replay;
	unsigned values[64];
	size_t n = r->span < (size_t)width ? r->span : (size_t)width;
	if (t->partial || !n)
		return;
	for (size_t i = 0; i < n; i++) {
		uint64_t sum = 0;
		size_t from = i * r->span / n, to = (i + 1) * r->span / n;
		for (size_t k = from; k < to; k++)
			sum += r->spans[k].allocations;
		sum /= to > from ? to - from : 1;
		values[i] = (unsigned)(sum < UINT32_MAX ? sum : UINT32_MAX);
	}
	grid_spark(g, row, col, width, GRID_ACCENT, values, n);
}

static void draw_rates(struct grid *g, const struct trace *t)
{
	const struct trace_rates *r = &t->rates;
	if (ms_recording_is_polled(t->follow->rec))
		return;
	int col = grid_print(g, 2, 0, GRID_BOLD, "Alloc ");
	int width = g->cols >= 120 ? 24 : g->cols >= 98 ? 8 : 0;
	col += grid_print(g, 2, col, GRID_PLAIN, "%7s/s ", words_count(r->allocations));
	draw_calls(g, 2, col, width, t);
	col += width + (width > 0);
	col += grid_print(g, 2, col, GRID_PLAIN, "%s/s",
			  words_size(r->bytes > 0 ? (uint64_t)r->bytes : 0));
	if (!t->shown->replay.sampled)
		col += grid_print(g, 2, col, GRID_PLAIN, ", %.0f %% temp", r->temporary * 100);
	/* a narrow screen has shorter labels and gaps */
	bool wide = g->cols >= 98;
	const char *gap = wide ? "   " : "  ";
	col += grid_print(g, 2, col, GRID_BOLD, "%sFree ", gap);
	col += grid_print(g, 2, col, GRID_PLAIN, "%s/s", words_count(r->frees));
	const char *const parts[] = {
		words_print("%s%s %s/s", gap, words_count(r->events), wide ? "events" : "ev"),
		r->average ? " on average" : "",
		t->total.rss != UINT64_MAX && t->total.rss > t->total.live_bytes
			? words_print("%snot heap %s", gap,
				      words_size(t->total.rss - t->total.live_bytes))
			: ""};
	for (int i = 0; i < 3 && grid_width(g, parts[i]) <= g->cols - col; i++)
		col += grid_put(g, 2, col, -1, GRID_PLAIN, parts[i]);
}

const char *draw_trace_flags(const struct grid *g, const struct trace *t,
			     const struct screen_state *st)
{
	char when[MS_UNIT_BUF];
	bool trouble;
	const char *state = trace_state(t, &trouble), *past = "";
	if (g->rows >= HEADER_FROM)
		return "";
	if (t->in_past)
		past = words_print("PAST %s  ", ms_format_duration(when, t->past_ns));
	return words_print("%s%s%.*s%s", st->frozen ? "FROZEN  " : "", past,
			   trouble ? (int)strcspn(state, ":") : 0, state, trouble ? "  " : "");
}

/* Draws the names of the views, the number of rows, filter, baseline and order. */
static void draw_views(struct grid *g, int row, const struct trace *t,
		       const struct screen_state *st)
{
	int col = draw_tabs(g, row, view_names, TRACE_VIEWS, (int)t->view);
	char when[MS_UNIT_BUF], count[MS_UNIT_BUF];
	const char *flags = draw_trace_flags(g, t, st), *filter = "", *base = "", *sort = "";
	if (t->filter.text[0] && t->view == TRACE_SITES)
		filter = words_print("filter: %s (%zu hidden)   ", t->filter.text, t->hidden);
	if (t->has_base)
		base = words_print("baseline %s   ", ms_format_duration(when, t->base.ns));
	if (t->view == TRACE_SITES && !*flags)
		sort = words_print("sort %s%s   ", t->reverse ? "-" : "",
				   site_columns[t->sort].title);
	/* only the list of sites is filtered */
	size_t rows = t->view == TRACE_THREADS ? t->thread_rows.n
		      : t->view == TRACE_KEPT  ? t->kept.rows.n ? t->kept.top : 0
		      : t->view == TRACE_SITES ? t->rows.n
					       : t->rows.n + t->hidden;
	const char *right = words_print("%s%s%s", flags, filter, base),
		   *many = words_print("%s %s%s", ms_format_count(count, rows),
				       t->view == TRACE_THREADS ? "thread"
				       : t->view == TRACE_KEPT  ? "keeper"
								: "site",
				       rows == 1 ? "" : "s");
	bool fits =
		grid_width(g, right) + grid_width(g, sort) + grid_width(g, many) < g->cols - col;
	if (col < g->cols)
		grid_put_right(g, row, col, g->cols - col, GRID_PLAIN,
			       words_print("%s%s%s", right, fits ? sort : "", many));
}

/* ---- the table of sites ---- */

void draw_trace_mark(struct grid *g, int row, const struct screen_state *st, uint64_t id)
{
	if (!st->list->has || st->list->selected != id)
		return;
	grid_put(g, row, 0, 1, GRID_BOLD, ">");
	grid_select(g, row);
}

void draw_trace_history(struct grid *g, int row, int height, int col, int width,
			const struct trace *t, uint32_t site)
{
	const struct ms_growth *h = t->shown->replay.growth;
	float room[MS_GROWTH_SAMPLES];
	const float *v = ms_growth_samples(h, site, room);
	unsigned values[128];
	size_t n = h->count < (size_t)width ? h->count : (size_t)width;
	if (!v || t->partial || width < 1)
		return;
	n = n < 127 ? n : 127;
	for (size_t i = 0; i < n; i++) {
		size_t from = i * h->count / n, to = (i + 1) * h->count / n;
		float most = v[from];
		for (size_t k = from; k < to; k++)
			most = v[k] > most ? v[k] : most;
		values[i] = (unsigned)(most / 1024);
	}
	/* includes the present value, which is newer than the latest sample */
	uint64_t now = site == UINT32_MAX ? t->total.live_bytes : t->sites[site].sum.live_bytes;
	if (n && now / 1024 > values[n - 1])
		values[n - 1] = (unsigned)(now / 1024);
	grid_chart(g, row, height, col, width, GRID_ACCENT, values, n);
}

static void draw_number(struct grid *g, int row, int col, int width, const struct trace *t,
			enum site_column id, struct trace_site *s)
{
	const struct trace_sum *x = &s->sum;
	bool no_history = t->partial, sampled = t->shown->replay.sampled != NULL;
	const char *text = "-";
	if (id == SITE_LIVE)
		text = words_size(x->live_bytes);
	else if (id == SITE_PEAK)
		text = words_size(s->peak_bytes);
	else if (id == SITE_BASE)
		text = words_change(trace_since_base(t, s));
	else if (id == SITE_BLOCKS)
		text = words_count((double)x->live_blocks);
	else if (id == SITE_CALLS)
		text = words_count(x->per_second);
	else if (id == SITE_ALLOCATED && !no_history)
		text = words_size(x->bytes);
	else if (id == SITE_RATE && !no_history && trace_trend(t, s).kind != MS_TREND_SHORT)
		text = words_change(s->trend.trend.slope * 60);
	else if (id == SITE_TEMPORARY && !no_history && !sampled && x->allocations)
		text = words_print("%.0f %%", 100 * (double)x->temporary / (double)x->allocations);
	grid_put_right(g, row, col, width, GRID_PLAIN, text);
}

static enum grid_style verdict_style(const char *word)
{
	if (!strcmp(word, "growing") || !strcmp(word, "unreachable"))
		return GRID_BAD;
	return !strcmp(word, "maybe") || !strcmp(word, "doubling") || !strcmp(word, "indirect")
		       ? GRID_WARN
		       : GRID_PLAIN;
}

static void draw_site_row(struct grid *g, int row, struct trace *t, size_t at,
			  const struct column_places *p)
{
	struct trace_site *s = &t->sites[t->rows.v[at]];
	for (size_t i = 0; i < p->set.n; i++) {
		int col = p->at[i], width = p->width[i], id = p->set.v[i];
		if (id == SITE_HISTORY)
			draw_trace_history(g, row, 1, col, width, t, t->rows.v[at]);
		else if (id == SITE_VERDICT) {
			const char *word = trace_verdict(t, s);
			grid_put(g, row, col, width, verdict_style(word), word);
		} else if (id != SITE_NAME)
			draw_number(g, row, col, width, t, (enum site_column)id, s);
	}
}

/* Draws a row with the sums of all sites that are not visible. */
static void draw_rest(struct grid *g, int row, struct trace *t, size_t top, size_t shown,
		      const struct column_places *p)
{
	char count[MS_UNIT_BUF];
	struct trace_site rest = {0};
	int col = 2;
	for (size_t i = 0; i < t->rows.n; i++) {
		const struct trace_sum *x = &t->sites[t->rows.v[i]].sum;
		if (i >= top && i < top + shown)
			continue;
		rest.sum.live_bytes += x->live_bytes;
		rest.peak_bytes += t->sites[t->rows.v[i]].peak_bytes;
		rest.sum.live_blocks += x->live_blocks;
		rest.sum.allocations += x->allocations;
		rest.sum.temporary += x->temporary;
		rest.sum.bytes += x->bytes;
		rest.sum.per_second += x->per_second;
	}
	for (size_t i = 0; i < p->set.n && t->rows.n > shown; i++) {
		int id = p->set.v[i];
		if (id == SITE_LIVE || id == SITE_PEAK || id == SITE_BLOCKS || id == SITE_CALLS ||
		    id == SITE_ALLOCATED || id == SITE_TEMPORARY)
			draw_number(g, row, p->at[i], p->width[i], t, (enum site_column)id, &rest);
		if (id == SITE_NAME)
			col = p->at[i] + 1 +
			      grid_print(g, row, p->at[i], GRID_DIM, "%s more site%s",
					 ms_format_count(count, t->rows.n - shown),
					 t->rows.n - shown == 1 ? "" : "s");
	}
	if (t->hidden)
		grid_print(g, row, t->rows.n > shown ? col + 1 : 2, GRID_DIM,
			   "%s live hidden by the filter", words_size(t->hidden_bytes));
}

static void draw_sites(struct grid *g, int row, int end, struct trace *t,
		       const struct screen_state *st)
{
	int open = g->cols >= 60 ? NAME_LEAST : NAME_LEAST - 6;
	struct column_places p =
		columns_fit(site_columns, site_columns_shown(t), (int)t->sort, g->cols, open);
	size_t shown = 0;
	int room = end - row - 1;
	bool rest = t->hidden || (room > 1 && t->rows.n > (size_t)room);
	draw_titles(g, row++, site_columns, &p, (int)t->sort, t->reverse);
	st->list->row = row;
	size_t top = list_view(st->list, room > rest ? (size_t)(room - rest) : 0);
	for (; row < end - rest && top + shown < t->rows.n; row++, shown++) {
		draw_site_row(g, row, t, top + shown, &p);
		draw_trace_mark(g, row, st, t->ids[top + shown]);
	}
	for (size_t i = 0; i < p.set.n; i++)
		if (p.set.v[i] == SITE_NAME)
			draw_trace_names(g, row - (int)shown, p.at[i], t, top, shown);
	if (rest)
		draw_rest(g, row, t, top, shown, &p);
	if (!t->rows.n)
		grid_put(g, row, 2, -1, GRID_DIM,
			 t->hidden                                ? "no site matches the filter"
			 : ms_recording_is_polled(t->follow->rec) ? "allocations were not recorded"
			 : t->follow->caught_up                   ? "no allocations yet"
								  : "reading");
}

/* ---- all of it ---- */

int draw_trace_rows(const struct trace *t)
{
	size_t n = t->view == TRACE_SITES     ? t->rows.n
		   : t->view == TRACE_TREE    ? t->tree.rows.n
		   : t->view == TRACE_THREADS ? t->thread_rows.n
		   : t->view == TRACE_SIZES   ? t->size_rows.n
					      : 16;
	int rows = HEADER + 3 + (int)(n < 100000 ? n : 100000);
	return rows > HEADER_FROM ? rows : HEADER_FROM;
}

/* Draws a row with the limit that the live heap will reach, if any. Returns the rows drawn. */
static int draw_outlook(struct grid *g, int row, const struct trace *t)
{
	if (!t->forecast.what)
		return 0;
	const char *sure = "";
	if (g->cols >= SURE_FROM)
		sure = words_print(" (confidence %.2f)", t->whole.trend.confidence);
	grid_print(g, row, 1, GRID_BAD, "at this rate%s live heap %s", sure,
		   limits_words(&t->forecast));
	return 1;
}

static void draw_view(struct grid *g, int row, int end, struct trace *t,
		      const struct screen_state *st)
{
	switch (t->view) {
	case TRACE_TREE:
		draw_trace_tree(g, row, end, t, st);
		return;
	case TRACE_THREADS:
		draw_trace_threads(g, row, end, t, st);
		return;
	case TRACE_TIMELINE:
		draw_trace_timeline(g, row, end, t);
		return;
	case TRACE_SIZES:
		draw_trace_sizes(g, row, end, t, st);
		return;
	case TRACE_KEPT:
		draw_trace_kept(g, row, end, t, st);
		return;
	default:
		break;
	}
	if (g->rows >= GLIMPSE_FROM && st->list->has && t->rows.n) {
		end -= draw_outlook(g, end - 1, t);
		int table = 1 + (int)(t->rows.n < 1000 ? t->rows.n : 1000) + (t->hidden > 0);
		int rows = draw_trace_glimpse_rows(g->rows, end - row - table);
		end -= rows;
		draw_trace_glimpse(g, end, end + rows, t, (uint32_t)st->list->selected);
	}
	draw_sites(g, row, end, t, st);
}

void draw_trace(struct grid *g, struct trace *t, const struct screen_state *st)
{
	int row = 0;
	draw_trace_names_begin();
	if (g->rows >= HEADER_FROM) {
		draw_what(g, t, st);
		draw_memory(g, t);
		draw_rates(g, t);
		row = HEADER;
	}
	if (t->in_site) {
		draw_trace_site(g, row, g->rows - 1, t, st);
		draw_last_line(g, st);
		return;
	}
	draw_views(g, row++, t, st);
	draw_view(g, row, g->rows - 1, t, st);
	draw_last_line(g, st);
}
