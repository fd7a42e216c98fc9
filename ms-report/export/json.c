/* SPDX-License-Identifier: MIT
 * Writes the JSON report, which memscope-report.schema.json describes.
 */
#include "formats.h"

#include "ms-report/model/figures.h"
#include "libcommon/model/facts.h"
#include "ms-report/model/run.h"
#include "ms-report/output/out.h"
#include "ms-report/words/words.h"

#include "libcommon/base/json_writer.h"

#include <stdlib.h>
#include <string.h>

/* Writes the totals and the intervals of those that are estimates. Between the two, writes some
 * figures of `more`, unless it is NULL. */
static void put_totals(struct ms_json *j, const struct totals *t, const struct estimates *e,
		       const struct model *more)
{
	struct est_named v[EST_COUNT];
	size_t n = 0;
	ms_json_open(j, "totals", '{');
	for (size_t i = 0; i < figure_count; i++) {
		enum est_figure f = est_figure_of(figures[i].name);
		ms_json_number(j, figures[i].name, figure_at(t, figures[i].offset));
		if (f != EST_COUNT)
			v[n++] = (struct est_named){figures[i].name, f,
						    figure_at(t, figures[i].offset)};
	}
	if (more)
		MS_JSON_NUMBERS(j,
				{"peak_process",
				 images_row(more, more->peak_image, more->totals.peak_bytes)},
				{"unfreed_process",
				 images_row(more, more->end_image, more->totals.unfreed_bytes)});
	json_intervals(j, e, v, n);
	ms_json_close(j, '}');
}

static void live_intervals(struct ms_json *j, struct live live, const struct estimates *e)
{
	const struct est_named v[] = {{"live_bytes", EST_AT, live.bytes},
				      {"live_blocks", EST_AT_BLOCKS, live.blocks}};
	json_intervals(j, e, v, sizeof v / sizeof *v);
}

/* Writes the list "left_behind" of the process, if it has entries. */
static void put_left(struct model *m, struct ms_json *j, const struct process *p)
{
	bool any = false;
	sqlite3_stmt *st = model_ask(m,
				     "SELECT CAST(j.value AS INTEGER) FROM process p,"
				     " json_each(p.left_behind) j WHERE p.id = %lld ORDER BY 1",
				     (long long)p->id);
	while (model_next(&st)) {
		if (!any)
			ms_json_open(j, "left_behind", '[');
		any = true;
		ms_json_number(j, NULL, (uint64_t)sqlite3_column_int64(st, 0));
	}
	if (any)
		ms_json_close(j, ']');
}

/* Writes how memory was scanned at the end, or why it was not. */
static void put_scan(struct ms_json *j, const struct end_scan *s)
{
	if (!s->state) {
		ms_json_string(j, "leak_scan", NULL);
		return;
	}
	ms_json_format(j, "leak_scan:{state:%s", s->state);
	if (s->id >= 0)
		ms_json_format(j,
			       "align:%lu mask:%s ignored_blocks:%lu root_ranges:%lu "
			       "refused_root_ranges:%lu",
			       s->align, s->mask, s->ignored, s->roots, s->refused);
	ms_json_close(j, '}');
}

/* Writes "images_missed", the number of programs that could not be recorded, if it is not 0. */
static void put_missed(struct model *m, struct ms_json *j, const struct process *p)
{
	sqlite3_stmt *st = model_ask(m,
				     "SELECT images_missed FROM process WHERE id = %lld"
				     " AND images_missed > 0",
				     (long long)p->id);
	while (model_next(&st))
		ms_json_number(j, "images_missed", (uint64_t)sqlite3_column_int64(st, 0));
}

/* Writes the object "core" of a process whose blocks were read from a core dump. */
static void put_core(struct model *m, struct ms_json *j, const struct process *p)
{
	sqlite3_stmt *st = model_ask(m,
				     "SELECT core, core_trace, core_lacks FROM process"
				     " WHERE id = %lld AND core IS NOT NULL",
				     (long long)p->id);
	while (model_next(&st))
		ms_json_format(j, "core:{file:%s trace:%s lacks:%s}",
			       (const char *)sqlite3_column_text(st, 0),
			       (const char *)sqlite3_column_text(st, 1),
			       (const char *)sqlite3_column_text(st, 2));
}

static void put_process(struct model *m, struct ms_json *j, const char *key,
			const struct process *p, bool with_totals)
{
	ms_json_open(j, key, '{');
	MS_JSON_NUMBERS(j, {"id", (uint64_t)p->id}, {"pid", p->pid});
	const char **v;
	ms_json_open(j, "command", '[');
	size_t n = p->command ? command_arguments(m, p, &v) : 0;
	for (size_t i = 0; i < n; i++)
		ms_json_string(j, NULL, v[i]);
	ms_json_close(j, ']');
	ms_json_format(j, "exe:%s host:%s started:%s duration_ns:%lu", p->exe, p->host,
		       say_date(m, p->started_ns, true), p->duration_ns);
	if (p->exit_signal != UNKNOWN)
		ms_json_format(j, "exit:{signal:%lu}", p->exit_signal);
	else if (p->exit_status != UNKNOWN)
		ms_json_format(j, "exit:{status:%lu}", p->exit_status);
	else
		ms_json_string(j, "exit", NULL);
	ms_json_format(j, "end_reason:%s became:%lu allocator:%s trace:%s", p->end_reason,
		       p->became == NONE ? UNKNOWN : (uint64_t)p->became_row, p->allocator,
		       p->trace);
	put_left(m, j, p);
	put_missed(m, j, p);
	put_core(m, j, p);
	bool here = p->id <= m->processes.v[m->processes.n - 1].id;
	ms_json_string(j, "cut", here ? provenance_cut(m, (uint32_t)(p - m->processes.v)) : NULL);
	if (here)
		put_scan(j, &p->end_scan);
	if (with_totals)
		put_totals(j, &p->totals, p->est, NULL);
	if (!here)
		ms_json_number(j, "events_lost", p->quality.events_lost);
	ms_json_close(j, '}');
}

/* Writes the other processes of the run, whose sites are not in this report. */
static void put_run(struct model *m, struct ms_json *j, const struct run *r)
{
	int64_t id = m->processes.v[m->processes.n - 1].id;
	for (size_t i = 0; r && i < r->processes.n; i++) {
		const struct run_process *of = &r->processes.v[i];
		struct process p = {.id = id + (i < r->shown) + (int64_t)i,
				    .pid = of->pid,
				    .started_ns = UNKNOWN,
				    .duration_ns = UNKNOWN,
				    .exit_status = UNKNOWN,
				    .exit_signal = UNKNOWN,
				    .exe = of->exe,
				    .trace = basename(of->path),
				    .became = NONE};
		for (size_t k = 0; k < figure_count; k++)
			*(uint64_t *)(void *)((char *)&p.totals + figures[k].offset) = UNKNOWN;
		p.totals.peak_bytes = of->peak_bytes;
		p.totals.unfreed_bytes = of->unfreed_bytes;
		p.totals.unreachable_bytes = of->unreachable_bytes;
		p.quality.events_lost = of->events_lost;
		if (i != r->shown)
			put_process(m, j, NULL, &p, true);
	}
}

static void put_quality(struct model *m, struct ms_json *j)
{
	const struct quality *q = &m->quality;
	ms_json_open(j, "quality", '{');
	ms_json_bool(j, "complete", q->complete);
	ms_json_bool(j, "growing", q->growing);
	for (size_t i = 0; i < quality_figure_count - 1; i++) {
		const struct figure *f = &quality_figures[i];
		if (figure_at(q, f->offset) != UNKNOWN && f->unit == FIGURE_FLAG)
			ms_json_bool(j, f->name, figure_at(q, f->offset));
		else
			ms_json_number(j, f->name, figure_at(q, f->offset));
	}
	for (size_t i = 0; i < unrecorded_count; i++) {
		if (unrecorded[i].offset == offsetof(struct model, before.blocks))
			ms_json_string(j, "before", m->before.state);
		if (unrecorded[i].name)
			ms_json_number(j, unrecorded[i].name, figure_at(m, unrecorded[i].offset));
	}
	ms_json_string(j, "cut", provenance_cut(m, NONE));
	MS_JSON_NUMBERS(j, {"from_ns", m->from_ns}, {"to_ns", m->to_ns});
	ms_json_close(j, '}');
}

static void put_snapshots(const struct model *m, struct ms_json *j)
{
	ms_json_open(j, "snapshots", '[');
	for (size_t i = 0; i < m->snapshots.n; i++) {
		const struct snapshot *s = &m->snapshots.v[i];
		ms_json_format(j,
			       "{process:%lu label:%s time_ns:%lu live_bytes:%lu live_blocks:%lu "
			       "rss_bytes:%lu usable_bytes:%lu mapped_bytes:%lu",
			       (uint64_t)m->processes.v[s->process].id, s->label, s->time_ns,
			       s->live.bytes, s->live.blocks, s->rss_bytes, s->mmap.usable,
			       s->mmap.mapped);
		live_intervals(j, s->live, s->est);
		ms_json_close(j, '}');
	}
	ms_json_close(j, ']');
}

void json_frame(const struct model *m, struct ms_json *j, const struct frame *f)
{
	ms_json_open(j, NULL, '{');
	ms_json_string(j, "function", f->function);
	ms_json_string(j, "file", f->file);
	ms_json_number(j, "line", f->line ? f->line : UNKNOWN);
	ms_json_string(j, "module", f->module == NONE ? NULL : m->modules.v[f->module].path);
	if (f->address == UNKNOWN)
		ms_json_raw(j, "address", NULL);
	else
		ms_json_print(j, "address", "0x%llx", (unsigned long long)f->address);
	ms_json_bool(j, "inlined", f->inlined);
	ms_json_bool(j, "runtime", f->runtime);
	if (f->note)
		ms_json_string(j, "note", f->note);
	ms_json_close(j, '}');
}

static void put_site(struct model *m, struct ms_json *j, const struct json_stacks *stacks,
		     const struct site *s, bool detail)
{
	struct est_named v[TOLD_ESTIMATES];
	for (int k = 0; k < TOLD_ESTIMATES; k++) {
		bool known = m->peak.bytes != UNKNOWN || (k != TOLD_PEAK && k != TOLD_PEAK_BLOCKS);
		v[k] = (struct est_named){told[k].name, told[k].est,
					  known ? told_value((enum told)k, TOLD_OF_SITE, s)
						: UNKNOWN};
	}
	ms_json_open(j, NULL, '{');
	MS_JSON_NUMBERS(j, {"id", (uint64_t)s->id},
			{"process", (uint64_t)m->processes.v[s->process].id});
	for (int k = 0; k < TOLD_ESTIMATES; k++)
		ms_json_number(j, v[k].name, v[k].value);
	MS_JSON_NUMBERS(j, {"reallocations", s->reallocations},
			{"failed_allocations", s->failed_allocations}, {"temporary", s->temporary},
			{"usable_bytes", s->at_mmap.usable}, {"maps", s->maps},
			{"mapped_bytes", s->at_mmap.mapped});
	json_intervals(j, s->est, v, TOLD_ESTIMATES);
	if (verdicts_told(m, s))
		ms_json_string(j, "verdict", s->verdict);
	bool judged = m->processes.v[s->process].end_scan.id >= 0;
	MS_JSON_NUMBERS(j, {"direct_bytes", judged ? s->direct.bytes : UNKNOWN},
			{"direct_blocks", judged ? s->direct.blocks : UNKNOWN},
			{"retained_bytes", judged ? s->leak.bytes : UNKNOWN},
			{"retained_blocks", judged ? s->leak.blocks : UNKNOWN});
	ms_json_string(j, "one_time", s->one_time);
	if (stacks->keys)
		ms_json_string(j, "key", stacks->keys[s - m->sites.v]);
	json_stack(stacks, j, s->stack);
	ms_json_number(j, "user_frame", model_user_depth(m, s));
	if (detail)
		json_site_detail(m, j, s);
	ms_json_close(j, '}');
}

/* Writes the suppressions that matched more blocks than they may hide, if there are any. */
static void put_exceeded(struct model *m, struct ms_json *j)
{
	bool any = false;
	sqlite3_stmt *q =
		model_ask(m, "SELECT rule, most_blocks, met_blocks FROM suppression"
			     " WHERE met_blocks > most_blocks ORDER BY stage, file, line");
	for (; model_next(&q); any = true) {
		if (!any)
			ms_json_open(j, "exceeded", '[');
		ms_json_format(j, "{suppression:%s most_blocks:%lu met_blocks:%lu}",
			       (const char *)sqlite3_column_text(q, 0),
			       (uint64_t)sqlite3_column_int64(q, 1),
			       (uint64_t)sqlite3_column_int64(q, 2));
	}
	if (any)
		ms_json_close(j, ']');
}

static void put_sites(struct model *m, struct ms_json *j, const struct json_stacks *stacks,
		      const struct list *l, size_t limit, const struct site *only)
{
	struct live left = m->hidden.at;
	uint64_t count = m->hidden.sites;
	struct estimates rest = m->hidden.est ? *m->hidden.est : (struct estimates){0};
	ms_json_open(j, "sites", '[');
	for (size_t i = 0; i < l->n; i++) {
		if (only ? l->rows[i] == only : i < limit) {
			put_site(m, j, stacks, l->rows[i], only != NULL);
			continue;
		}
		left.bytes = figure_add(left.bytes, l->rows[i]->at.bytes);
		left.blocks = figure_add(left.blocks, l->rows[i]->at.blocks);
		count = figure_add(count, 1);
		for (int k = 0; l->rows[i]->est && k < EST_COUNT; k++)
			ms_spread_add(&rest.of[k], &l->rows[i]->est->of[k]);
	}
	ms_json_format(j, "] omitted:{sites:%lu live_bytes:%lu live_blocks:%lu", count, left.bytes,
		       left.blocks);
	live_intervals(j, left, m->est ? &rest : NULL);
	ms_json_format(j, "hidden_sites:%lu filters:%s", m->hidden.sites, m->hidden.filters);
	put_exceeded(m, j);
	ms_json_close(j, '}');
}

static void put_thread_figures(struct ms_json *j, const struct thread *t)
{
	ms_json_format(j,
		       "allocations:%lu frees:%lu allocated_bytes:%lu temporary:%lu peak_bytes:%lu "
		       "peak_blocks:%lu live_bytes:%lu live_blocks:%lu",
		       t->allocations, t->frees, t->allocated_bytes, t->temporary, t->peak.bytes,
		       t->peak.blocks, t->live.bytes, t->live.blocks);
	const struct est_named intervals[] = {
		{"allocations", EST_ALLOCATIONS, t->allocations},
		{"frees", EST_FREES, t->frees},
		{"allocated_bytes", EST_ALLOCATED, t->allocated_bytes},
		{"live_bytes", EST_END, t->live.bytes},
		{"live_blocks", EST_END_BLOCKS, t->live.blocks}};
	json_intervals(j, t->est, intervals, sizeof intervals / sizeof *intervals);
}

/* Adds what a thread did under labels to its own figures. */
static void add_thread(struct thread *to, const struct thread *x)
{
	to->allocations = figure_add(to->allocations, x->allocations);
	to->frees = figure_add(to->frees, x->frees);
	to->allocated_bytes = figure_add(to->allocated_bytes, x->allocated_bytes);
	to->temporary = figure_add(to->temporary, x->temporary);
	live_add(&to->peak, x->peak);
	live_add(&to->live, x->live);
	for (int k = 0; to->est && x->est && k < EST_COUNT; k++)
		ms_spread_add(&to->est->of[k], &x->est->of[k]);
}

/* Writes a thread, and below it what it did under each label; `first`: the first row that may have
 * one of these, NONE = no thread has labels. */
static void put_thread(const struct model *m, struct ms_json *j, const struct thread *t,
		       uint32_t first)
{
	struct thread sum = *t;
	struct estimates est = t->est ? *t->est : (struct estimates){0};
	sum.est = t->est ? &est : NULL;
	for (size_t i = first; i < m->threads.n; i++)
		if (m->threads.v[i].of_thread == (uint64_t)t->id)
			add_thread(&sum, &m->threads.v[i]);
	ms_json_format(j, "{process:%lu tid:%lu name:%s", (uint64_t)m->processes.v[t->process].id,
		       t->tid, t->name);
	put_thread_figures(j, &sum);
	bool any = false;
	for (size_t i = first; i < m->threads.n; i++) {
		const struct thread *x = &m->threads.v[i];
		if (x->of_thread != (uint64_t)t->id)
			continue;
		if (!any)
			ms_json_open(j, "labels", '[');
		any = true;
		ms_json_format(j, "{label:%s", x->label);
		put_thread_figures(j, x);
		ms_json_close(j, '}');
	}
	if (any)
		ms_json_close(j, ']');
	ms_json_close(j, '}');
}

static void put_threads(const struct model *m, struct ms_json *j)
{
	uint32_t first = NONE;
	for (uint32_t i = (uint32_t)m->threads.n; i-- > 0;)
		first = m->threads.v[i].of_thread == UNKNOWN ? first : i;
	ms_json_open(j, "threads", '[');
	for (size_t i = 0; i < m->threads.n; i++)
		if (m->threads.v[i].of_thread == UNKNOWN)
			put_thread(m, j, &m->threads.v[i], first);
	ms_json_close(j, ']');
}

void json_report(struct model *m, const struct run *run, struct out *o, enum metric metric,
		 size_t limit, const struct site *only, const struct json_view *views,
		 size_t view_count, bool compact)
{
	struct ms_json j = out_json(o);
	ms_json_format(&j, "{format:%s version:%lu", "memscope-report", UINT64_C(1) + compact);
	put_process(m, &j, "process", &m->processes.v[0], false);
	put_quality(m, &j);
	put_totals(&j, &m->totals, m->est, m);
	put_snapshots(m, &j);
	ms_json_string(&j, "at", m->at_label);
	struct list l = list_all(m, metric);
	struct json_stacks stacks = json_stacks_make(m, compact);
	for (size_t i = 0; compact && i < l.n; i++)
		if (only ? l.rows[i] == only : i < limit)
			json_stacks_need(&stacks, l.rows[i]->stack);
	for (size_t i = 0; compact && m->diff && i < m->diff->rows.n && i < limit; i++)
		json_stacks_need(&stacks, m->diff->rows.v[i].site->stack);
	if (compact)
		json_stacks_put(&stacks, &j);
	put_sites(m, &j, &stacks, &l, limit, only);
	json_groups(m, &j);
	struct one_time one_time = one_time_sum(m);
	ms_json_format(&j, "one_time:{sites:%lu live_bytes:%lu live_blocks:%lu} processes:[",
		       one_time.sites, one_time.live_bytes, one_time.live_blocks);
	for (size_t i = 0; i < m->processes.n; i++)
		put_process(m, &j, NULL, &m->processes.v[i], true);
	put_run(m, &j, run);
	ms_json_close(&j, ']');
	put_threads(m, &j);
	json_kept(m, &j);
	json_views(m, &j, views, view_count);
	json_skipped(m, &j);
	if (m->diff)
		json_diff(m, &j, limit, &stacks);
	json_stacks_free(&stacks);
	ms_json_close(&j, '}');
	out_char(o, '\n');
}
