/* SPDX-License-Identifier: MIT
 * Finds growing sites: samples all sites, ever less densely, and judges their trends at the end.
 */
#include "replay_growth.h"

#include "libcommon/base/arena.h"
#include "replay_cells.h"

#include <stdlib.h>
#include <string.h>

static const uint64_t FIRST_NS = 1000000000, EVERY_NS = 100000000;

static uint64_t ticks(const struct ms_growth *g, uint64_t ns)
{
	uint64_t n = (uint64_t)((double)ns / 1e9 / g->tick_seconds);
	return n ? n : 1;
}

void ms_growth_start(struct ms_replay *r, uint64_t tick_ns)
{
	if (!r->growth)
		r->growth = ms_xrealloc(NULL, 1, sizeof *r->growth);
	*r->growth = (struct ms_growth){.tick_seconds = (double)tick_ns / 1e9};
	ms_growth_begin(r, 0);
}

static void drop_rows(struct ms_growth *g)
{
	for (size_t i = 0; i < g->row_count; i++)
		free(g->rows[i]);
	free(g->rows);
	g->rows = NULL;
	g->row_count = 0;
}

void ms_growth_begin(struct ms_replay *r, uint64_t tick)
{
	struct ms_growth *g = r->growth;
	drop_rows(g);
	if (r->site_count)
		memset(r->touched, 1, r->site_count);
	g->count = 0;
	g->every = ticks(g, EVERY_NS);
	g->first = g->next = tick + ticks(g, FIRST_NS);
}

/* Drops every other sample of a row: of those that become one, the last change counts. A change at
 * the last sample, which is dropped, becomes one at the next sample that will be taken. */
static void thin_out_row(struct ms_growth_row *row)
{
	uint8_t n = 0;
	for (uint8_t i = 0; i < row->n; i++) {
		struct ms_growth_change c = {row->v[i].value, (uint8_t)((row->v[i].at + 1) / 2)};
		n -= n && row->v[n - 1].at == c.at;
		row->v[n++] = c;
	}
	row->n = n;
}

static void thin_out(struct ms_growth *g)
{
	g->count /= 2;
	g->every *= 2;
	for (size_t k = 0; k < g->count; k++)
		g->total[k] = g->total[2 * k];
	for (size_t i = 0; i < g->row_count; i++)
		if (g->rows[i])
			thin_out_row(g->rows[i]);
}

/* Adds the sample that is being taken to a row, if it differs from the last one. */
static void add_change(struct ms_growth_row **row, size_t at, float value)
{
	struct ms_growth_row *w = *row;
	struct ms_growth_change *last = w && w->n ? &w->v[w->n - 1] : NULL;
	if (last && last->at == at)
		last->value = value;
	if (last && last->value == value)
		return;
	if (!last && value == 0)
		return;
	if (!w || w->n == w->room) {
		unsigned room = w ? w->room * 2u : 2;
		room = room < MS_GROWTH_SAMPLES ? room : MS_GROWTH_SAMPLES;
		w = ms_xrealloc(w, 1, sizeof *w + room * sizeof *w->v);
		w->n = *row ? w->n : 0;
		w->room = (uint8_t)room;
		*row = w;
	}
	w->v[w->n++] = (struct ms_growth_change){value, (uint8_t)at};
}

static void take_sample(struct ms_replay *r)
{
	struct ms_growth *g = r->growth;
	g->rows = ms_xgrow(g->rows, &g->row_count, r->site_count, sizeof *g->rows);
	g->total[g->count] = (float)r->live_bytes;
	for (size_t i = 0; i < r->site_count; i++) {
		const uint8_t *next = memchr(r->touched + i, 1, r->site_count - i);
		if (!next)
			break;
		i = (size_t)(next - r->touched);
		r->touched[i] = 0;
		add_change(&g->rows[i], g->count, (float)r->sites[i].live.bytes);
	}
	if (++g->count == MS_GROWTH_SAMPLES)
		thin_out(g);
	g->next = g->first + g->count * g->every;
}

uint64_t ms_growth_due(struct ms_replay *r, uint64_t tick)
{
	while (r->growth->next <= tick)
		take_sample(r);
	return r->growth->next;
}

const float *ms_growth_samples(const struct ms_growth *g, uint32_t site,
			       float room[MS_GROWTH_SAMPLES])
{
	if (site == UINT32_MAX)
		return g->total;
	const struct ms_growth_row *row = site < g->row_count ? g->rows[site] : NULL;
	float value = 0;
	if (!row)
		return NULL;
	for (size_t k = 0, i = 0; k < MS_GROWTH_SAMPLES; k++) {
		for (; i < row->n && row->v[i].at == k; i++)
			value = row->v[i].value;
		room[k] = k < g->count ? value : 0;
	}
	return room;
}

struct ms_trend ms_growth_trend(const struct ms_growth *g, uint32_t site)
{
	float room[MS_GROWTH_SAMPLES];
	const float *v = ms_growth_samples(g, site, room);
	struct ms_trend_sample s[MS_GROWTH_SAMPLES];
	if (!v)
		return (struct ms_trend){.kind = MS_TREND_SHORT, .p = 1};
	for (size_t i = 0; i < g->count; i++)
		s[i] = (struct ms_trend_sample){(double)(g->first + i * g->every) * g->tick_seconds,
						(double)v[i]};
	return ms_trend_until(s, g->count, g->teardown);
}

/* Returns the start of teardown in the whole heap, from the timeline, which is finer than the
 * samples. */
static double find_teardown(const struct ms_replay *r, uint64_t end)
{
	struct ms_trend_span v[MS_TIMELINE_SPANS];
	double tick = r->growth->tick_seconds;
	size_t n = 0, first = (size_t)(r->from_tick / r->span_ticks);
	for (size_t i = first; i <= r->span; i++) {
		const struct ms_replay_span *s = &r->spans[i];
		/* the last span may still be open, and is then completed here */
		const struct ms_replay_span *open = i == r->span ? &r->open : NULL;
		uint64_t from = i * r->span_ticks, to = from + r->span_ticks;
		uint64_t allocations = open ? r->allocations - open->allocations : 0,
			 frees = open ? r->frees - open->frees : 0;
		v[n++] = (struct ms_trend_span){(double)from * tick,
						(double)(to < end ? to : end) * tick,
						(double)s->live_min,
						(double)s->live_max,
						(double)(open ? r->live_bytes : s->live_last),
						(double)(s->allocations + allocations),
						(double)(s->frees + frees)};
	}
	double at = ms_trend_teardown(v, n), peak = (double)r->peak_tick * tick;
	bool in_span = peak >= at && peak <= at + (double)r->span_ticks * tick;
	return at > 0 && in_span ? peak : at;
}

static void add_grown(struct ms_growth *g, uint32_t site, struct ms_trend t)
{
	struct ms_grown *w = MS_APPEND(g->grown, g->grown_count, g->grown_cap);
	*w = (struct ms_grown){.site = site, .trend = t};
}

/* Counts live blocks of growing sites by age, to find the share of blocks of an age that
 * survive. */
struct survey {
	struct ms_replay *r;
	uint64_t now;
	uint32_t *of_site; /* index in growth->grown, 0 = none */
	uint64_t (*live)[MS_AGES];
};

static void count_age(void *arg, uint64_t number, const struct ms_live_block *b)
{
	struct survey *s = arg;
	uint32_t n = s->of_site[ms_replay_site_of_block(s->r, b)];
	(void)number;
	s->live[n][ms_age_class(&s->r->by_ticks, s->now - b->tick)]++;
}

static void judge_survival(const struct survey *s, struct ms_grown *w, const uint64_t live[MS_AGES])
{
	const struct ms_replay_site *site = &s->r->sites[w->site];
	const struct ms_replay_ages ages = ms_replay_ages_of(s->r, site);
	uint64_t older = 0, freed = 0;
	for (unsigned class = MS_AGES - 1; class > 0; class --) {
		older += live[class];
		freed += ages.time[class];
		if (older * 2 < site->live.blocks)
			continue;
		w->survival_ns = ms_age_ns[class];
		w->survivors = older;
		w->victims = freed;
		return;
	}
}

static void find_survival(struct ms_replay *r, uint64_t now)
{
	struct ms_growth *g = r->growth;
	struct survey s = {.r = r, .now = now};
	s.of_site = ms_xcalloc(r->site_count, sizeof *s.of_site);
	s.live = ms_xcalloc(g->grown_count, sizeof *s.live);
	for (size_t i = 1; i < g->grown_count; i++)
		s.of_site[g->grown[i].site] = (uint32_t)i;
	ms_blocks_each(&r->blocks, count_age, &s);
	for (size_t i = 1; i < g->grown_count; i++)
		judge_survival(&s, &g->grown[i], s.live[i]);
	free(s.of_site);
	free(s.live);
}

void ms_growth_end(struct ms_replay *r, uint64_t tick)
{
	ms_growth_due(r, tick);
	r->growth->teardown = r->growth->exits ? find_teardown(r, tick) : 0;
}

void ms_growth_finish(struct ms_replay *r, uint64_t tick)
{
	struct ms_growth *g = r->growth;
	ms_growth_end(r, tick);
	add_grown(g, UINT32_MAX, ms_growth_trend(g, UINT32_MAX));
	for (size_t i = 0; i < g->row_count; i++) {
		struct ms_trend t = ms_growth_trend(g, (uint32_t)i);
		if (t.kind == MS_TREND_GROWING || t.kind == MS_TREND_DOUBLING ||
		    t.kind == MS_TREND_FILLING || t.kind == MS_TREND_STEP)
			add_grown(g, (uint32_t)i, t);
	}
	drop_rows(g);
	if (g->grown_count > 1 && !r->brief)
		find_survival(r, tick);
}

void ms_growth_free(struct ms_growth *g)
{
	if (!g)
		return;
	drop_rows(g);
	free(g->grown);
	free(g);
}
