/* SPDX-License-Identifier: MIT
 * The JSON report: a stable core, described by memscope-report.schema.json.
 */
#include "formats.h"

#include "beside.h"
#include "diff.h"
#include "gaps.h"
#include "inherited.h"

#include "figures.h"
#include "json_parts.h"
#include "json_writer.h"
#include "watched.h"
#include "names.h"
#include "noted.h"
#include "out.h"
#include "words.h"

#include <stdlib.h>

static void total_intervals(struct json *j, const struct totals *t, const struct estimates *e)
{
	const struct est_named v[] = {{"allocations", EST_ALLOCATIONS, t->allocations},
				      {"frees", EST_FREES, t->frees},
				      {"allocated_bytes", EST_ALLOCATED, t->allocated_bytes},
				      {"peak_bytes", EST_PEAK, t->peak_bytes},
				      {"peak_blocks", EST_PEAK_BLOCKS, t->peak_blocks},
				      {"unfreed_bytes", EST_END, t->unfreed_bytes},
				      {"unfreed_blocks", EST_END_BLOCKS, t->unfreed_blocks}};
	est_json(j, e, v, sizeof v / sizeof *v);
}

static void live_intervals(struct json *j, struct live live, const struct estimates *e)
{
	const struct est_named v[] = {{"live_bytes", EST_AT, live.bytes},
				      {"live_blocks", EST_AT_BLOCKS, live.blocks}};
	est_json(j, e, v, sizeof v / sizeof *v);
}

static void put_process(struct model *m, struct json *j, const char *key, const struct process *p,
			bool with_totals)
{
	json_open(j, key, '{');
	json_number(j, "id", (uint64_t)p->id);
	json_number(j, "pid", p->pid);
	const char **v;
	json_open(j, "command", '[');
	size_t n = p->command ? command_arguments(m, p, &v) : 0;
	for (size_t i = 0; i < n; i++)
		json_string(j, NULL, v[i]);
	json_close(j, ']');
	json_string(j, "exe", p->exe);
	json_string(j, "host", p->host);
	json_string(j, "started", say_date(m, p->started_ns, true));
	json_number(j, "duration_ns", p->duration_ns);
	if (p->exit_signal != UNKNOWN || p->exit_status != UNKNOWN) {
		bool signal = p->exit_signal != UNKNOWN;
		json_open(j, "exit", '{');
		json_number(j, signal ? "signal" : "status",
			    signal ? p->exit_signal : p->exit_status);
		json_close(j, '}');
	} else {
		json_string(j, "exit", NULL);
	}
	json_string(j, "end_reason", p->end_reason);
	json_string(j, "allocator", p->allocator);
	json_string(j, "trace", p->trace);
	json_string(j, "cut", noted_cut_of(m, (uint32_t)(p - m->processes.v)));
	if (with_totals) {
		json_open(j, "totals", '{');
		for (size_t i = 0; i < figure_count; i++)
			json_number(j, figures[i].name, figure_of(&p->totals, i));
		total_intervals(j, &p->totals, p->est);
		json_close(j, '}');
	}
	json_close(j, '}');
}

static void put_quality(struct model *m, struct json *j)
{
	const struct quality *q = &m->quality;
	json_open(j, "quality", '{');
	json_bool(j, "complete", q->complete);
	json_bool(j, "growing", q->growing);
	json_number(j, "events_lost", q->events_lost);
	json_number(j, "sampled_bytes", q->sampled_bytes);
	json_number(j, "stacks_cut", q->stacks_cut);
	json_number(j, "stacks_truncated", q->stacks_truncated);
	json_number(j, "stacks_not_taken", q->stacks_not_taken);
	json_key(j, "attached");
	out_str(j->o, q->attached == UNKNOWN ? "null" : q->attached ? "true" : "false");
	json_number(j, "inferred_frees", q->inferred_frees);
	json_number(j, "unknown_frees", q->unknown_frees);
	json_number(j, "damaged_bytes", q->damaged_bytes);
	json_number(j, "frames_without_symbol", q->frames_without_symbol);
	gaps_json(m, j);
	inherited_json(m, j);
	json_string(j, "cut", noted_cut_of(m, NONE));
	json_number(j, "from_ns", m->from_ns);
	json_number(j, "to_ns", m->to_ns);
	json_close(j, '}');
}

static void put_snapshots(const struct model *m, struct json *j)
{
	json_open(j, "snapshots", '[');
	for (size_t i = 0; i < m->snapshots.n; i++) {
		const struct snapshot *s = &m->snapshots.v[i];
		json_open(j, NULL, '{');
		json_number(j, "process", (uint64_t)m->processes.v[s->process].id);
		json_string(j, "label", s->label);
		json_number(j, "time_ns", s->time_ns);
		json_number(j, "live_bytes", s->live.bytes);
		json_number(j, "live_blocks", s->live.blocks);
		json_number(j, "rss_bytes", s->rss_bytes);
		json_number(j, "usable_bytes", s->beside.usable);
		json_number(j, "mapped_bytes", s->beside.mapped);
		live_intervals(j, s->live, s->est);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void json_frame(const struct model *m, struct json *j, const struct frame *f)
{
	json_open(j, NULL, '{');
	json_string(j, "function", f->function);
	json_string(j, "file", f->file);
	json_number(j, "line", f->line ? f->line : UNKNOWN);
	json_string(j, "module", f->module == NONE ? NULL : m->modules.v[f->module].path);
	json_key(j, "address");
	if (f->address == UNKNOWN)
		out_str(j->o, "null");
	else
		out_printf(j->o, "\"0x%llx\"", (unsigned long long)f->address);
	json_bool(j, "inlined", f->inlined);
	json_bool(j, "runtime", f->runtime);
	if (f->note)
		json_string(j, "note", f->note);
	json_close(j, '}');
}

/* The text of each frame, made once: sites share frames. */
struct frames {
	struct out text;
	size_t *begin;         /* frame_count + 1 */
	const char **one_time; /* by site */
};

static struct frames render_frames(struct model *m)
{
	struct frames f = {.text = {.fd = -1},
			   .begin = ms_xrealloc(NULL, m->frames.n + 1, sizeof *f.begin)};
	for (size_t i = 0; i < m->frames.n; i++) {
		struct json j = {.o = &f.text};
		f.begin[i] = f.text.n;
		json_frame(m, &j, &m->frames.v[i]);
	}
	f.begin[m->frames.n] = f.text.n;
	f.one_time = noted_names(m);
	return f;
}

static void put_site(struct model *m, struct json *j, const struct frames *f, const struct site *s,
		     bool detail)
{
	bool peak = m->peak.bytes != UNKNOWN;
	json_open(j, NULL, '{');
	json_number(j, "id", (uint64_t)s->id);
	json_number(j, "process", (uint64_t)m->processes.v[s->process].id);
	json_number(j, "live_bytes", s->at.bytes);
	json_number(j, "live_blocks", s->at.blocks);
	json_number(j, "peak_bytes", peak ? s->peak.bytes : UNKNOWN);
	json_number(j, "peak_blocks", peak ? s->peak.blocks : UNKNOWN);
	json_number(j, "allocated_bytes", s->allocated_bytes);
	json_number(j, "allocations", s->allocations);
	json_number(j, "frees", s->frees);
	json_number(j, "reallocations", s->reallocations);
	json_number(j, "failed_allocations", s->failed);
	json_number(j, "temporary", s->temporary);
	struct beside b = s->at_beside;
	json_number(j, "usable_bytes", b.usable);
	json_number(j, "maps", s->maps);
	json_number(j, "mapped_bytes", b.mapped);
	const struct est_named intervals[] = {
		{"live_bytes", EST_AT, s->at.bytes},
		{"live_blocks", EST_AT_BLOCKS, s->at.blocks},
		{"peak_bytes", EST_PEAK, peak ? s->peak.bytes : UNKNOWN},
		{"peak_blocks", EST_PEAK_BLOCKS, peak ? s->peak.blocks : UNKNOWN},
		{"allocated_bytes", EST_ALLOCATED, s->allocated_bytes},
		{"allocations", EST_ALLOCATIONS, s->allocations},
		{"frees", EST_FREES, s->frees}};
	est_json(j, s->est, intervals, sizeof intervals / sizeof *intervals);
	json_string(j, "verdict", s->verdict);
	json_string(j, "one_time", f->one_time[s - m->sites.v]);
	uint64_t depth = 0, user = UNKNOWN;
	json_open(j, "stack", '[');
	for (uint32_t n = s->stack; n != NONE; n = m->nodes.v[n].parent, depth++) {
		uint32_t i = m->nodes.v[n].frame;
		json_key(j, NULL);
		out_put(j->o, f->text.v + f->begin[i], f->begin[i + 1] - f->begin[i]);
		if (n == s->user)
			user = depth;
	}
	json_close(j, ']');
	json_number(j, "user_frame", user);
	if (detail)
		json_site_detail(m, j, s);
	json_close(j, '}');
}

static void put_sites(struct model *m, struct json *j, enum metric metric, size_t limit,
		      const struct site *only)
{
	struct list l = list_all(m, metric);
	struct frames f = render_frames(m);
	struct live left = m->hidden.at;
	uint64_t count = m->hidden.sites;
	struct estimates rest = m->hidden.est ? *m->hidden.est : (struct estimates){0};
	json_open(j, "sites", '[');
	for (size_t i = 0; i < l.n; i++) {
		if (only ? l.rows[i] == only : i < limit) {
			put_site(m, j, &f, l.rows[i], only != NULL);
			continue;
		}
		left.bytes = figure_add(left.bytes, l.rows[i]->at.bytes);
		left.blocks = figure_add(left.blocks, l.rows[i]->at.blocks);
		count = figure_add(count, 1);
		for (int k = 0; l.rows[i]->est && k < EST_COUNT; k++)
			ms_spread_add(&rest.of[k], &l.rows[i]->est->of[k]);
	}
	json_close(j, ']');
	json_open(j, "omitted", '{');
	json_number(j, "sites", count);
	json_number(j, "live_bytes", left.bytes);
	json_number(j, "live_blocks", left.blocks);
	live_intervals(j, left, m->est ? &rest : NULL);
	json_number(j, "hidden_sites", m->hidden.sites);
	json_string(j, "filters", m->hidden.filters);
	json_close(j, '}');
	free(f.begin);
	out_free(&f.text);
}

static void put_threads(const struct model *m, struct json *j)
{
	json_open(j, "threads", '[');
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct thread *t = &m->threads.v[i];
		json_open(j, NULL, '{');
		json_number(j, "process", (uint64_t)m->processes.v[t->process].id);
		json_number(j, "tid", t->tid);
		json_string(j, "name", t->name);
		json_number(j, "allocations", t->allocations);
		json_number(j, "frees", t->frees);
		json_number(j, "allocated_bytes", t->allocated_bytes);
		json_number(j, "temporary", t->temporary);
		json_number(j, "peak_bytes", t->peak.bytes);
		json_number(j, "peak_blocks", t->peak.blocks);
		json_number(j, "live_bytes", t->live.bytes);
		json_number(j, "live_blocks", t->live.blocks);
		const struct est_named intervals[] = {
			{"allocations", EST_ALLOCATIONS, t->allocations},
			{"frees", EST_FREES, t->frees},
			{"allocated_bytes", EST_ALLOCATED, t->allocated_bytes},
			{"live_bytes", EST_END, t->live.bytes},
			{"live_blocks", EST_END_BLOCKS, t->live.blocks}};
		est_json(j, t->est, intervals, sizeof intervals / sizeof *intervals);
		json_close(j, '}');
	}
	json_close(j, ']');
}

void json_report(struct model *m, struct out *o, enum metric metric, size_t limit,
		 const struct site *only, const struct json_view *views, size_t view_count)
{
	struct json j = {.o = o};
	json_open(&j, NULL, '{');
	json_string(&j, "format", "memscope-report");
	json_number(&j, "version", 1);
	put_process(m, &j, "process", &m->processes.v[0], false);
	put_quality(m, &j);
	json_open(&j, "totals", '{');
	for (size_t i = 0; i < figure_count; i++)
		json_number(&j, figures[i].name, figure_of(&m->totals, i));
	total_intervals(&j, &m->totals, m->est);
	json_close(&j, '}');
	put_snapshots(m, &j);
	json_string(&j, "at", m->at_label);
	put_sites(m, &j, metric, limit, only);
	struct noted noted = noted_sum(m);
	json_open(&j, "one_time", '{');
	json_number(&j, "sites", noted.sites);
	json_number(&j, "live_bytes", noted.live_bytes);
	json_number(&j, "live_blocks", noted.live_blocks);
	json_close(&j, '}');
	json_open(&j, "processes", '[');
	for (size_t i = 0; i < m->processes.n; i++)
		put_process(m, &j, NULL, &m->processes.v[i], true);
	json_close(&j, ']');
	put_threads(m, &j);
	json_views(m, &j, views, view_count);
	watched_json(m, &j);
	if (m->diff)
		diff_json(m, &j, limit);
	json_close(&j, '}');
	out_char(o, '\n');
}
