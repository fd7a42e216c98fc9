/* SPDX-License-Identifier: MIT
 * Writes the timeline as JSON of Chrome's trace viewer, for ui.perfetto.dev and chrome://tracing.
 */
#include "export.h"

#include "ms-report/words/names.h"

#include "libcommon/base/json_writer.h"

#include <stdio.h>

struct chrome {
	struct model *m;
	struct ms_json j;
};

/* Writes a time in microseconds, with a fraction so that it is exact. */
static void put_time(struct chrome *c, const char *key, uint64_t ns)
{
	char buf[32];
	snprintf(buf, sizeof buf, "%llu.%03llu", (unsigned long long)(ns / 1000),
		 (unsigned long long)(ns % 1000));
	ms_json_raw(&c->j, key, buf);
}

/* Opens an event; the caller adds members and closes it. */
static void begin(struct chrome *c, const char *ph, const char *name, uint32_t process)
{
	ms_json_format(&c->j, "{ph:%s name:%s pid:%lu", ph, name_clean(&c->m->arena, name, false),
		       figure_or_0(c->m->processes.v[process].pid));
}

static void counter(struct chrome *c, const char *name, uint32_t process, uint64_t time_ns,
		    const char *key, uint64_t v)
{
	if (v == UNKNOWN || time_ns == UNKNOWN)
		return;
	begin(c, "C", name, process);
	put_time(c, "ts", time_ns);
	ms_json_open(&c->j, "args", '{');
	ms_json_number(&c->j, key, v);
	ms_json_format(&c->j, "}}");
}

static void named(struct chrome *c, const char *what, uint32_t process, uint64_t tid,
		  const char *name)
{
	begin(c, "M", what, process);
	ms_json_format(&c->j, "tid:%lu args:{name:%s}}", figure_or_0(tid),
		       name_clean(&c->m->arena, name, false));
}

/* Writes a moment as a line across the whole process. */
static void instant(struct chrome *c, const char *name, uint32_t process, uint64_t time_ns)
{
	begin(c, "i", name, process);
	ms_json_format(&c->j, "tid:%lu s:%s", figure_or_0(c->m->processes.v[process].pid), "p");
	put_time(c, "ts", time_ns);
	ms_json_close(&c->j, '}');
}

/* Writes a thread as a bar from its start to its end. */
static void put_thread(struct chrome *c, const struct thread *t)
{
	const struct process *p = &c->m->processes.v[t->process];
	uint64_t from = figure_add(t->start_ns, p->offset_ns);
	uint64_t to = figure_add(t->end_ns != UNKNOWN ? t->end_ns : p->duration_ns, p->offset_ns);
	const char *name = t->name && *t->name ? t->name : "thread";
	named(c, "thread_name", t->process, t->tid, name);
	if (from == UNKNOWN || to == UNKNOWN)
		return;
	begin(c, "X", name, t->process);
	ms_json_number(&c->j, "tid", figure_or_0(t->tid));
	put_time(c, "ts", from);
	put_time(c, "dur", figure_sub(to, from));
	ms_json_format(&c->j,
		       "args:{allocations:%lu allocated_bytes:%lu peak_bytes:%lu live_bytes:%lu}}",
		       t->allocations, t->allocated_bytes, t->peak.bytes, t->live.bytes);
}

/* Writes the points of a process, with the peak inserted at its exact time and size. */
static void put_points(struct chrome *c, uint32_t process)
{
	struct model *m = c->m;
	const struct process *p = &m->processes.v[process];
	uint64_t peak_ns = figure_add(p->totals.peak_time_ns, p->offset_ns);
	bool peaked = peak_ns == UNKNOWN || p->totals.peak_bytes == UNKNOWN;
	for (size_t i = 0; i < m->points.n; i++) {
		const struct point *q = &m->points.v[i];
		if (q->process != process)
			continue;
		bool last = i + 1 == m->points.n || m->points.v[i + 1].process != process;
		uint64_t end = last ? figure_add(p->duration_ns, p->offset_ns)
				    : m->points.v[i + 1].time_ns;
		if (!peaked && peak_ns <= end) {
			counter(c, "live", process, peak_ns, "bytes", p->totals.peak_bytes);
			instant(c, "peak", process, peak_ns);
			peaked = true;
		}
		counter(c, "live", process, end, "bytes", q->live_last);
		counter(c, "live bytes, maximum in interval", process, q->time_ns, "bytes",
			q->live_max);
		counter(c, "live blocks", process, end, "blocks", q->blocks_last);
		counter(c, "allocations in interval", process, q->time_ns, "calls", q->allocations);
		counter(c, "allocated in interval", process, q->time_ns, "bytes",
			q->allocated_bytes);
	}
}

static void put_events(struct chrome *c)
{
	struct model *m = c->m;
	for (uint32_t i = 0; i < m->processes.n; i++) {
		const char *exe = m->processes.v[i].exe;
		named(c, "process_name", i, m->processes.v[i].pid, exe ? base_name(exe) : "?");
		put_points(c, i);
	}
	for (size_t i = 0; i < m->samples.n; i++)
		counter(c, "RSS", m->samples.v[i].process, m->samples.v[i].time_ns, "bytes",
			m->samples.v[i].rss_bytes);
	for (size_t i = 0; i < m->marks.n; i++)
		instant(c, m->marks.v[i].name, m->marks.v[i].process, m->marks.v[i].time_ns);
	for (size_t i = 0; i < m->threads.n; i++)
		if (m->threads.v[i].of_thread == UNKNOWN)
			put_thread(c, &m->threads.v[i]);
}

void export_chrome(struct export *x, struct out *o)
{
	struct chrome c = {.m = x->m, .j = out_json(o)};
	ms_json_format(&c.j, "{otherData:{command:%s started:%s notes:[", x->command,
		       say_date(x->m, x->m->processes.v[0].started_ns, true));
	for (size_t i = 0; i < x->notes.n; i++)
		ms_json_string(&c.j, NULL, x->notes.v[i]);
	ms_json_format(&c.j, "]} traceEvents:[");
	put_events(&c);
	ms_json_format(&c.j, "]}");
	out_char(o, '\n');
}
