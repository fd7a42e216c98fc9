/* SPDX-License-Identifier: MIT
 * Reads the estimates of a sampled recording with their 95 % intervals, and sums over estimates.
 */
#include "rows.h"

#include <math.h>
#include <string.h>

const struct ms_spread *est_of(const struct estimates *e, enum est_figure figure)
{
	return e ? &e->of[figure] : NULL;
}

enum est_figure est_figure_of(const char *figure)
{
	static const struct {
		const char *name;
		enum est_figure figure;
	} names[] = {{"allocated_bytes", EST_ALLOCATED},
		     {"allocations", EST_ALLOCATIONS},
		     {"frees", EST_FREES},
		     {"peak_bytes", EST_PEAK},
		     {"peak_blocks", EST_PEAK_BLOCKS},
		     {"unfreed_bytes", EST_END},
		     {"unfreed_blocks", EST_END_BLOCKS},
		     {"live_bytes", EST_END},
		     {"live_blocks", EST_END_BLOCKS}};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(figure, names[i].name) == 0)
			return names[i].figure;
	return EST_COUNT;
}

static void add_to(struct model *m, struct estimates **e, enum est_figure figure,
		   const struct ms_spread *x)
{
	if (!*e)
		*e = ms_arena_alloc(&m->arena, sizeof **e);
	ms_spread_add(&(*e)->of[figure], x);
}

/* Adds the estimated live figure of a snapshot. One label can stand for both the moment of --at and
 * the end or the peak. */
static void add_live(struct model *m, struct estimates **e, const char *label, bool blocks,
		     const struct ms_spread *x)
{
	if (strcmp(label, "end") == 0)
		add_to(m, e, EST_END + blocks, x);
	if (strcmp(label, "peak") == 0)
		add_to(m, e, EST_PEAK + blocks, x);
	if (strcmp(label, m->at_label) == 0)
		add_to(m, e, EST_AT + blocks, x);
}

/* Adds the estimated live figure of all sites of a process at a snapshot. */
static void add_snapshot(struct model *m, struct snapshot *s, bool blocks,
			 const struct ms_spread *x)
{
	add_to(m, &s->est, EST_AT + blocks, x);
	if (strcmp(s->label, m->at_label) == 0)
		add_to(m, &m->est, EST_AT + blocks, x);
}

static void add_row(struct reader *r)
{
	struct model *m = r->m;
	int64_t ids[4];
	for (int i = 0; i < 4; i++)
		ids[i] = reader_id(r);
	const char *figure = (const char *)sqlite3_column_text(r->st, 4);
	struct ms_spread x = {
		fabs(sqlite3_column_double(r->st, 5)), fabs(sqlite3_column_double(r->st, 6)),
		fabs(sqlite3_column_double(r->st, 7)), fabs(sqlite3_column_double(r->st, 8))};
	uint32_t process = MODEL_FIND(m->processes, ids[0]),
		 snapshot = MODEL_FIND(m->snapshots, ids[1]), site = MODEL_FIND(m->sites, ids[2]),
		 thread = MODEL_FIND(m->threads, ids[3]);
	if (process == NONE || !figure || (ids[1] && snapshot == NONE))
		return;
	struct estimates **e = ids[3] > 0   ? (thread == NONE ? NULL : &m->threads.v[thread].est)
			       : ids[2] > 0 ? (site == NONE ? NULL : &m->sites.v[site].est)
			       : ids[2] < 0 ? &m->hidden.est
					    : &m->processes.v[process].est;
	bool blocks = strcmp(figure, "live_blocks") == 0;
	if (!e)
		return;
	if (ids[1] && ids[2])
		add_live(m, e, m->snapshots.v[snapshot].label, blocks, &x);
	else if (ids[1])
		add_snapshot(m, &m->snapshots.v[snapshot], blocks, &x);
	else if (est_figure_of(figure) != EST_COUNT)
		add_to(m, e, est_figure_of(figure), &x);
	if (!ids[1] && !ids[2] && !ids[3] && est_figure_of(figure) != EST_COUNT)
		add_to(m, &m->est, est_figure_of(figure), &x);
}

/* Sets the sampling step of live figures without a sample to that of the whole run, because blocks
 * that were not sampled may be live. */
static void complete(struct estimates *e)
{
	for (int i = EST_END; e && i <= EST_AT_BLOCKS; i++) {
		const struct ms_spread *all = &e->of[i & 1 ? EST_ALLOCATIONS : EST_ALLOCATED];
		if (e->of[i].step == 0) {
			e->of[i].step = all->step;
			e->of[i].step_variance = all->step_variance;
		}
	}
}

/* Replaces the peak or the end of the whole run by the sum over the snapshots with that label, if
 * there are any. */
static void sum_snapshots(struct model *m, const char *label, enum est_figure figure)
{
	struct ms_spread sum[2] = {{0}};
	for (size_t i = 0; i < m->snapshots.n; i++) {
		const struct snapshot *s = &m->snapshots.v[i];
		for (int k = 0; s->est && strcmp(s->label, label) == 0 && k < 2; k++)
			ms_spread_add(&sum[k], &s->est->of[EST_AT + k]);
	}
	if (m->est && sum[0].step > 0)
		memcpy(&m->est->of[figure], sum, sizeof sum);
}

int estimates_read(struct model *m, struct ms_err *err)
{
	static const char sql[] =
		"SELECT process, snapshot, site, thread, figure, seen, variance, step,"
		" step_variance FROM estimate";
	if (reader_read(m, add_row, sql, err) != 0)
		return -1;
	sum_snapshots(m, "peak", EST_PEAK);
	sum_snapshots(m, "end", EST_END);
	for (size_t i = 0; i < m->sites.n; i++)
		complete(m->sites.v[i].est);
	for (size_t i = 0; i < m->threads.n; i++) {
		struct estimates *e = m->threads.v[i].est;
		complete(e);
		for (int k = 0; e && k < 2; k++)
			e->of[EST_AT + k] = e->of[EST_END + k];
	}
	return 0;
}
