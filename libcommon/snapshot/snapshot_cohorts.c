/* SPDX-License-Identifier: MIT
 * Writes the rows of cohort: what was allocated in each part of a run, between marks and under
 * labels, and what of that was live at the end of each part.
 */
#include "libcommon/base/order.h"
#include "libcommon/replay/replay_cohorts.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

#include <stdlib.h>
#include <string.h>

/* Holds what the rows of one cohort share. */
struct cohort {
	const char *kind, *mark, *label;
	int64_t site;
	uint64_t part, from_tick, to_tick; /* ticks: MS_NEVER = null */
	struct ms_cohort_sum allocated;
	bool first; /* the next row is its first */
	bool lives; /* something was live of it in the last row */
};

/* Returns the tick at which a part ends. */
static uint64_t end_of(const struct ms_fill *w, const struct ms_cohorts *c, size_t part)
{
	return part < c->current ? c->parts[part + 1].tick
				 : ms_recording_reached(w->t) / w->tick_ns;
}

/* Writes what is live of a cohort at the end of part `end` of a division. Once nothing is, the other
 * ends but the last have no rows. */
static void put_row(const struct ms_fill *w, struct ms_insert *in, struct cohort *c,
		    const struct ms_cohorts *by, size_t end, struct ms_cohort_sum live)
{
	if (!live.blocks && !c->lives && !c->first && end < by->current)
		return;
	c->lives = live.blocks != 0;
	bool times = c->from_tick != MS_NEVER;
	ms_put_row(in, ms_int("process", w->p->id), ms_int("site", c->site),
		   ms_text("kind", c->kind), ms_int("part", c->part), ms_text("mark", c->mark),
		   ms_text("label", c->label),
		   ms_int_if("from_ns", times, c->from_tick * w->tick_ns),
		   ms_int_if("to_ns", times, c->to_tick * w->tick_ns),
		   ms_int_if("allocated_bytes", c->first, c->allocated.bytes),
		   ms_int_if("allocated_blocks", c->first, c->allocated.blocks),
		   ms_int("at_part", end), ms_int("at_ns", end_of(w, by, end) * w->tick_ns),
		   ms_int("live_bytes", live.bytes), ms_int("live_blocks", live.blocks));
	c->first = false;
}

static const char *mark_name(const struct ms_recording *t, uint64_t number)
{
	const char *name = number && number <= t->marks.n
				   ? t->marks.v[number - 1].text[MS_MARK_NAME - 2]
				   : NULL;
	return name ? name : number ? "" : NULL;
}

/* Writes the rows of the parts of one division. A part in which nothing was allocated has none. */
static void put_parts(const struct ms_fill *w, struct ms_insert *in, int64_t site, bool marks)
{
	const struct ms_cohorts *c =
		&w->r->cohorts->of[marks ? MS_COHORTS_BY_MARK : MS_COHORTS_BY_TIME];
	if (marks && c->current == 1 && !c->parts[1].at)
		return; /* no mark was set */
	for (size_t i = 0; i <= c->current; i++) {
		const struct ms_cohort_part *p = &c->parts[i];
		struct cohort x = {.site = site,
				   .kind = marks ? "mark" : "time",
				   .mark = marks && i ? mark_name(w->t, p->at) : NULL,
				   .part = i,
				   .from_tick = i ? p->tick : 0,
				   .to_tick = i ? end_of(w, c, i) : c->parts[1].tick,
				   .allocated = p->allocated,
				   .first = true};
		bool any = i ? p->allocated.blocks : ms_cohort_live(c, 0, 1)->blocks;
		for (size_t end = i ? i : 1; end <= c->current && any; end++)
			put_row(w, in, &x, c, end, *ms_cohort_live(c, i, end));
	}
}

/* ---- labels ---- */

/* Compares labels; no label is less than any. */
static int by_text(const char *x, const char *y)
{
	return strcmp(x ? x : "", y ? y : "");
}

static int by_label(const void *a, const void *b, void *recording)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;
	return by_text(ms_label_of(recording, x), ms_label_of(recording, y)) ?: MS_ORDER(x, y);
}

/* Writes the rows of the `n` threads at `v`, which have one label. */
static void put_label(const struct ms_fill *w, struct ms_insert *in, struct cohort *x,
		      const size_t *v, size_t n)
{
	const struct ms_cohorts *c = &w->r->cohorts->of[MS_COHORTS_BY_TIME];
	x->lives = false;
	for (size_t i = 0; i < n; i++) {
		x->allocated.bytes += w->r->threads[v[i]].bytes;
		x->allocated.blocks += w->r->threads[v[i]].allocations;
	}
	for (size_t end = 1; end <= c->current; end++) {
		const struct ms_cohort_threads *at = &w->r->cohorts->threads[end];
		struct ms_cohort_sum live = {0};
		for (size_t i = 0; i < n; i++) {
			live.bytes += v[i] < at->n ? at->v[v[i]].bytes : 0;
			live.blocks += v[i] < at->n ? at->v[v[i]].blocks : 0;
		}
		if (live.blocks || x->allocated.blocks)
			put_row(w, in, x, c, end, live);
	}
}

static void put_labels(const struct ms_fill *w, struct ms_insert *in, int64_t site)
{
	size_t n = w->r->thread_count, *v = ms_xrealloc(NULL, n, sizeof *v);
	struct cohort x = {.site = site, .kind = "label", .from_tick = MS_NEVER};
	for (size_t i = 0; i < n; i++)
		v[i] = i;
	qsort_r(v, n, sizeof *v, by_label, (void *)w->t);
	for (size_t i = 0, k; i < n; i = k) {
		x.label = ms_label_of(w->t, v[i]);
		for (k = i + 1; k < n && by_text(x.label, ms_label_of(w->t, v[k])) == 0;)
			k++;
		x.allocated = (struct ms_cohort_sum){0};
		x.part++;
		x.first = true;
		put_label(w, in, &x, v + i, k - i);
	}
	free(v);
}

void ms_put_cohorts(const struct ms_fill *w, struct ms_insert *in, int64_t site)
{
	put_parts(w, in, site, false);
	put_parts(w, in, site, true);
	if (w->r->cohorts->labels)
		put_labels(w, in, site);
}

int ms_fill_cohorts(struct ms_fill *w)
{
	struct ms_insert in = ms_rows(w, "cohort");
	if (!w->r->brief && !in.none)
		ms_put_cohorts(w, &in, 0);
	return ms_insert_close(&in);
}
