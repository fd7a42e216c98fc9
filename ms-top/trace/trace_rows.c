/* SPDX-License-Identifier: MIT
 * Sorted rows of a trace's views: sites, threads, sizes.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/err.h"
#include "libcommon/base/order.h"
#include "format/verdict.h"

const struct column site_columns[SITE_COLUMNS] = {
	[SITE_LIVE] = {"LIVE", "live bytes", 7, true, false, 100},
	[SITE_PEAK] = {"PEAK", "bytes live at the peak", 7, true, false, 90},
	[SITE_BASE] = {"BASE", "change in LIVE since baseline", 7, true, false, 80},
	[SITE_RATE] = {"/MIN", "live bytes gained per minute", 7, true, false, 85},
	[SITE_BLOCKS] = {"BLOCKS", "live blocks", 6, true, false, 60},
	[SITE_CALLS] = {"ALLOC/S", "allocations per second", 7, true, false, 70},
	[SITE_ALLOCATED] = {"TOTAL", "bytes allocated in all", 6, true, false, 40},
	[SITE_TEMPORARY] = {"TEMP", "share freed immediately", 5, true, false, 45},
	[SITE_HISTORY] = {"HISTORY", "live bytes since the start", 8, false, false, 50, true},
	[SITE_VERDICT] = {"VERDICT", "trend, or result of leak scan", 11, false, false, 86},
	[SITE_NAME] = {"SITE", "first frame of your code", 0, false, true, 99},
};

int site_column_find(const char *name, struct ms_err *err)
{
	char all[128] = "";
	if (strcasecmp(name, "ALLOCD") == 0) /* its title in older versions */
		return SITE_ALLOCATED;
	for (int i = 0; i < SITE_COLUMNS; i++) {
		if (i == SITE_BASE || i == SITE_HISTORY || i == SITE_NAME)
			continue;
		if (strcasecmp(site_columns[i].title, name) == 0)
			return i;
		snprintf(all + strlen(all), sizeof all - strlen(all), "%s%s", i ? ", " : "",
			 site_columns[i].title);
	}
	return ms_err_set(err, "a trace cannot be sorted by '%s': choose from %s", name, all);
}

bool trace_has_peak(const struct trace *t)
{
	return !t->in_past && t->follow->caught_up && t->shown->state != MS_TRACE_GROWING;
}

struct column_set site_columns_shown(const struct trace *t)
{
	struct column_set set = {.n = 0};
	for (int i = 0; i < SITE_COLUMNS; i++)
		if ((i != SITE_BASE || t->has_base) && (i != SITE_PEAK || trace_has_peak(t)))
			set.v[set.n++] = i;
	return set;
}

/* ---- sorting ---- */

static double key_of(const struct trace *t, const struct trace_site *s)
{
	const struct trace_sum *x = &s->sum;
	bool lost;
	switch (t->sort) {
	case SITE_PEAK:
		return (double)s->peak_bytes;
	case SITE_BASE:
		return trace_since_base(t, s);
	case SITE_RATE:
		return s->trend.trend.kind == MS_TREND_SHORT ? 0 : s->trend.trend.slope;
	case SITE_BLOCKS:
		return (double)x->live_blocks;
	case SITE_CALLS:
		return x->per_second;
	case SITE_ALLOCATED:
		return (double)x->bytes;
	case SITE_TEMPORARY:
		return x->allocations ? (double)x->temporary / (double)x->allocations : 0;
	case SITE_VERDICT:
		/* lost blocks first, by size, whether they grow or not */
		lost = s->scan && s->scan <= MS_VERDICT_IS_INDIRECT + 1;
		return (s->scan ? 20 - 2 * s->scan : 0) +
		       (!lost && s->trend.trend.kind == MS_TREND_GROWING ? s->trend.trend.confidence
									 : 0);
	default:
		return (double)x->live_bytes;
	}
}

/* Compares sites. Ties are broken by live bytes, then by age, so that the order is stable. */
static int compare_sites(const void *a, const void *b, void *trace)
{
	const struct trace *t = trace;
	const struct trace_site *x = &t->sites[*(const uint32_t *)a],
				*y = &t->sites[*(const uint32_t *)b];
	double k = key_of(t, x), l = key_of(t, y);
	bool by_peak = t->ties_by_peak && trace_has_peak(t);
	return (t->reverse ? MS_ORDER(k, l) : MS_ORDER(l, k))
		       ?: MS_ORDER(y->sum.live_bytes, x->sum.live_bytes)
		       ?: (by_peak ? MS_ORDER(y->peak_bytes, x->peak_bytes) : 0)
		       ?: MS_ORDER(x->node, y->node);
}

static int compare_threads(const void *a, const void *b, void *trace)
{
	const struct trace *t = trace;
	const struct trace_sum *x = &t->threads[*(const uint64_t *)a],
			       *y = &t->threads[*(const uint64_t *)b];
	return MS_ORDER(y->live_bytes, x->live_bytes)
		       ?: MS_ORDER(y->allocations, x->allocations)
		       ?: MS_ORDER(x, y);
}

/* ---- rows ---- */

/* Updates the trends of some sites per screen update: sorting by trends needs those of all sites,
 * and one costs as much as a thousand comparisons. */
static void renew_trends(struct trace *t)
{
	if (t->sort != SITE_RATE && t->sort != SITE_VERDICT)
		return;
	for (size_t i = 0; i < TRACE_TRENDS && i < t->site_count; i++) {
		t->trend_turn = (t->trend_turn + 1) % t->site_count;
		trace_trend(t, &t->sites[t->trend_turn]);
	}
}

static void make_sites(struct trace *t)
{
	t->rows.n = t->hidden = 0;
	t->hidden_bytes = 0;
	for (size_t i = 0; i < t->site_count; i++) {
		const struct trace_site *s = &t->sites[i];
		if (!s->sum.allocations && !s->sum.live_blocks)
			continue;
		if (trace_node_matches(t, s->node, &t->filter)) {
			*MS_PUSH(&t->rows) = (uint32_t)i;
		} else {
			t->hidden++;
			t->hidden_bytes += s->sum.live_bytes;
		}
	}
	renew_trends(t);
	MS_SORT_R(t->rows.v, t->rows.n, compare_sites, t);
	t->ids = ms_xgrow(t->ids, &t->ids_room, t->rows.n, sizeof *t->ids);
	for (size_t i = 0; i < t->rows.n; i++)
		t->ids[i] = t->sites[t->rows.v[i]].node;
	list_set(&t->lists[TRACE_SITES], t->ids, t->rows.n);
}

static void make_threads(struct trace *t)
{
	t->thread_rows.n = 0;
	for (size_t i = 0; i < t->thread_count; i++)
		if (t->shown->replay.threads[i].seen)
			*MS_PUSH(&t->thread_rows) = i;
	MS_SORT_R(t->thread_rows.v, t->thread_rows.n, compare_threads, t);
	list_set(&t->lists[TRACE_THREADS], t->thread_rows.v, t->thread_rows.n);
}

static void make_sizes(struct trace *t)
{
	t->size_rows.n = 0;
	for (size_t i = 0; i < MS_SIZE_CLASSES; i++)
		if (t->sizes[i].allocations || t->sizes[i].live_blocks)
			*MS_PUSH(&t->size_rows) = i;
	list_set(&t->lists[TRACE_SIZES], t->size_rows.v, t->size_rows.n);
}

void trace_rows(struct trace *t)
{
	make_sites(t);
	make_threads(t);
	make_sizes(t);
}
