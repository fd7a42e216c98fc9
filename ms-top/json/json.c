/* SPDX-License-Identifier: MIT
 * Writes frames as JSON: the figures of the plain frames, not rounded.
 */
#include "json.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ms-top/rows/columns.h"
#include "ms-top/proc/process.h"
#include "ms-top/rows/rows.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/json_writer.h"

static void put(void *to, const char *s, size_t n)
{
	struct json_line *l = to;
	l->v = ms_xgrow(l->v, &l->cap, l->n + n, 1);
	if (n)
		memcpy(l->v + l->n, s, n);
	l->n += n;
}

struct ms_json json_begin(struct json_line *to, const char *mode)
{
	struct ms_json j = {.put = put, .to = to};
	to->n = 0;
	ms_json_open(&j, NULL, '{');
	ms_json_string(&j, "format", "memscope-top");
	ms_json_number(&j, "version", 1);
	ms_json_string(&j, "mode", mode);
	ms_json_number(&j, "time_ns", ms_clock_ns(CLOCK_REALTIME));
	return j;
}

void json_end(struct ms_json *j)
{
	ms_json_close(j, '}');
	put(j->to, "\n", 1);
}

void json_free(struct json_line *to)
{
	free(to->v);
	*to = (struct json_line){0};
}

void json_trend(struct ms_json *j, const struct ms_trend *t, const char *verdict)
{
	bool known = t->kind != MS_TREND_SHORT;
	ms_json_string(j, "verdict", verdict);
	ms_json_real(j, "bytes_per_minute", known ? t->slope * 60 : NAN, 0);
	ms_json_real(j, "low_bytes_per_minute", known ? t->low * 60 : NAN, 0);
	ms_json_real(j, "high_bytes_per_minute", known ? t->high * 60 : NAN, 0);
	ms_json_real(j, "confidence", known ? t->confidence : NAN, 2);
}

void json_forecast(struct ms_json *j, const struct forecast *f)
{
	ms_json_open(j, "forecast", '{');
	ms_json_string(j, "limit", f->word);
	ms_json_number(j, "limit_bytes", f->what ? f->limit : SOURCE_UNKNOWN);
	ms_json_real(j, "reached_in_s", f->what ? f->seconds : NAN, 0);
	ms_json_real(j, "soonest_s", f->what ? f->soonest : NAN, 0);
	ms_json_real(j, "latest_s", f->what && isfinite(f->latest) ? f->latest : NAN, 0);
	ms_json_close(j, '}');
}

/* ---- the system ---- */

static void put_memory(struct ms_json *j, const struct system_memory *m)
{
	bool known = m->total != SYSTEM_UNKNOWN && m->available != SYSTEM_UNKNOWN;
	bool swap = m->swap_total != SYSTEM_UNKNOWN && m->swap_free != SYSTEM_UNKNOWN;
	ms_json_open(j, "memory", '{');
	MS_JSON_NUMBERS(j, {"total_bytes", m->total},
			{"used_bytes", known ? m->total - m->available : SYSTEM_UNKNOWN},
			{"available_bytes", m->available}, {"free_bytes", m->free},
			{"cached_bytes", m->cached}, {"swap_total_bytes", m->swap_total},
			{"swap_used_bytes", swap ? m->swap_total - m->swap_free : SYSTEM_UNKNOWN});
	ms_json_real(j, "pressure_some_percent", m->some < 0 ? NAN : m->some, 2);
	ms_json_real(j, "pressure_full_percent", m->full < 0 ? NAN : m->full, 2);
	ms_json_close(j, '}');
}

static void put_rates(struct ms_json *j, const struct system_process *p)
{
	bool io = p->read_bytes != SYSTEM_UNKNOWN;
	ms_json_real(j, "cpu_percent", p->cpu * 100, 1);
	ms_json_real(j, "faults_per_second", p->fault_rate, 1);
	ms_json_real(j, "major_faults_per_second", p->major_rate, 1);
	ms_json_real(j, "read_bytes_per_second", io ? p->read_rate : NAN, 0);
	ms_json_real(j, "written_bytes_per_second", io ? p->write_rate : NAN, 0);
}

static void put_figures(struct ms_json *j, const struct system_process *p)
{
	MS_JSON_NUMBERS(j, {"rss_bytes", p->rss}, {"pss_bytes", p->figures.pss},
			{"uss_bytes", p->figures.uss}, {"swap_bytes", p->figures.swap},
			{"heap_bytes", p->figures.heap}, {"vsz_bytes", p->vsz});
	ms_json_string(j, "from", source_word(p->figures.source));
	ms_json_number(j, "threads", p->threads);
}

static void put_row(struct ms_json *j, struct system *s, struct system_process *p,
		    const struct rows *r, unsigned depth)
{
	bool group = r->view == ROWS_GROUPS;
	char state[2] = {p->state, 0};
	const char *verdict = system_verdict(s, p);
	ms_json_open(j, NULL, '{');
	if (group) {
		ms_json_string(j, "group", p->command);
		ms_json_number(j, "processes", (uint64_t)p->pid);
	} else {
		ms_json_number(j, "pid", (uint64_t)p->pid);
		ms_json_number(j, "parent", (uint64_t)p->parent);
		ms_json_string(j, "name", p->name);
		ms_json_string(j, "command", p->command);
		ms_json_string(j, "cgroup", p->cgroup[0] ? p->cgroup : NULL);
		ms_json_string(j, "state", p->ended ? "x" : state);
		ms_json_bool(j, "kernel", p->kernel);
		ms_json_bool(j, "ended", p->ended);
		ms_json_bool(j, "recorded", p->recorded && s->recordings.n);
		ms_json_number(j, "largest_rss_bytes", p->largest);
	}
	if (r->view == ROWS_TREE)
		ms_json_number(j, "depth", depth);
	ms_json_string(j, "user", p->user[0] ? p->user : NULL);
	put_figures(j, p);
	put_rates(j, p);
	ms_json_real(j, "change_bytes", (double)p->history.bytes - (double)p->history.first_bytes,
		     0);
	json_trend(j, &p->trend, verdict);
	ms_json_close(j, '}');
}

void json_system(struct json_line *to, struct system *s, const struct rows *r)
{
	static const char *const views[] = {"processes", "groups", "tree"};
	struct ms_json j = json_begin(to, "system");
	ms_json_string(&j, "host", s->host);
	ms_json_number(&j, "up_s", s->memory.up_s);
	ms_json_real(&j, "load", s->memory.load[0], 2);
	MS_JSON_NUMBERS(&j, {"processes", s->n - s->kernel - s->ended},
			{"unreadable", s->unreadable}, {"kernel_threads", s->kernel});
	put_memory(&j, &s->memory);
	ms_json_string(&j, "view", views[r->view]);
	ms_json_string(&j, "filter", r->filter.text[0] ? r->filter.text : NULL);
	ms_json_number(&j, "hidden", r->hidden);
	ms_json_string(&j, "sort", columns[r->sort].title);
	ms_json_bool(&j, "reverse", r->reverse);
	ms_json_open(&j, "rows", '[');
	for (size_t i = 0; i < r->n; i++)
		put_row(&j, s, r->v[i], r, r->depth[i]);
	ms_json_close(&j, ']');
	json_end(&j);
}

/* ---- a process ---- */

static void put_history(struct ms_json *j, const char *key, const struct history *h)
{
	bool known = h->step != 0;
	ms_json_open(j, key, '{');
	ms_json_number(j, "bytes", known ? h->bytes : SYSTEM_UNKNOWN);
	ms_json_real(j, "change_bytes", known ? (double)h->bytes - (double)h->first_bytes : NAN, 0);
	ms_json_number(j, "seconds", known ? (h->last_ns - h->first_ns) / 1000000000u : 0);
	ms_json_close(j, '}');
}

static void put_kinds(struct ms_json *j, const struct process *p)
{
	ms_json_open(j, "kinds", '[');
	for (int i = 0; i < MS_REGION_KINDS; i++) {
		const struct process_kind *k = &p->kinds[i];
		if (!k->count)
			continue;
		ms_json_open(j, NULL, '{');
		ms_json_string(j, "kind", ms_region_word((enum ms_region_kind)i));
		MS_JSON_NUMBERS(j, {"regions", k->count}, {"size_bytes", k->size},
				{"rss_bytes", k->memory.rss}, {"pss_bytes", k->memory.pss},
				{"swap_bytes", k->memory.swap});
		ms_json_close(j, '}');
	}
	ms_json_close(j, ']');
}

/* Writes a region with the keys of libmemscope's regions. */
static void put_region(struct ms_json *j, const struct ms_region *r)
{
	ms_json_open(j, NULL, '{');
	ms_json_print(j, "start", "0x%" PRIx64, r->map.start);
	ms_json_print(j, "end", "0x%" PRIx64, r->map.end);
	ms_json_string(j, "kind", ms_region_word(r->kind));
	ms_json_string(j, "perms", r->map.perms);
	ms_json_number(j, "size_bytes", r->map.end - r->map.start);
	ms_json_number(j, "file_offset", r->map.offset);
	ms_json_string(j, "path", r->map.path);
	MS_JSON_NUMBERS(j, {"rss_bytes", r->memory.rss}, {"pss_bytes", r->memory.pss},
			{"shared_clean_bytes", r->memory.shared_clean},
			{"shared_dirty_bytes", r->memory.shared_dirty},
			{"private_clean_bytes", r->memory.private_clean},
			{"private_dirty_bytes", r->memory.private_dirty},
			{"swap_bytes", r->memory.swap});
	ms_json_close(j, '}');
}

void json_process(struct json_line *to, const struct process *p)
{
	struct ms_json j = json_begin(to, "process");
	char state[2] = {p->state, 0};
	ms_json_number(&j, "pid", (uint64_t)p->proc.pid);
	ms_json_string(&j, "name", p->proc.name);
	ms_json_string(&j, "command", p->command);
	ms_json_string(&j, "state", p->ended ? "x" : state);
	ms_json_bool(&j, "ended", p->ended);
	MS_JSON_NUMBERS(&j, {"up_s", p->up_s}, {"threads", p->threads});
	ms_json_real(&j, "cpu_percent", p->cpu * 100, 1);
	ms_json_number(&j, "vsz_bytes", p->statm.vsz);
	ms_json_string(&j, "from", source_word(p->figures.source));
	put_history(&j, "rss", &p->rss);
	put_history(&j, "pss", &p->pss);
	put_history(&j, "uss", &p->uss);
	put_history(&j, "heap", &p->heap);
	put_history(&j, "swap", &p->swap);
	ms_json_open(&j, "trend", '{');
	ms_json_string(&j, "of", p->trend_of_heap ? "heap" : "rss");
	json_trend(&j, &p->trend, history_word(&p->trend));
	ms_json_close(&j, '}');
	struct forecast f = limits_forecast(&p->limits, &p->trend);
	json_forecast(&j, &f);
	put_kinds(&j, p);
	ms_json_open(&j, "regions", '[');
	for (size_t i = 0; i < p->regions.n; i++)
		put_region(&j, &p->regions.v[p->order[i]]);
	ms_json_close(&j, ']');
	json_end(&j);
}
