/* SPDX-License-Identifier: MIT
 * Writes frames as JSON: the figures of the plain frames, not rounded.
 */
#include "json.h"

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
	ms_json_format(&j, "{format:%s version:%lu mode:%s time_ns:%lu", "memscope-top",
		       UINT64_C(1), mode, ms_clock_ns(CLOCK_REALTIME));
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
	ms_json_format(j,
		       "verdict:%s bytes_per_minute:%.0f low_bytes_per_minute:%.0f "
		       "high_bytes_per_minute:%.0f confidence:%.2f",
		       verdict, known ? t->slope * 60 : NAN, known ? t->low * 60 : NAN,
		       known ? t->high * 60 : NAN, known ? t->confidence : NAN);
}

void json_forecast(struct ms_json *j, const struct forecast *f)
{
	ms_json_format(j,
		       "forecast:{limit:%s limit_bytes:%lu reached_in_s:%.0f soonest_s:%.0f "
		       "latest_s:%.0f}",
		       f->word, f->what ? f->limit : SOURCE_UNKNOWN, f->what ? f->seconds : NAN,
		       f->what ? f->soonest : NAN, f->what ? f->latest : NAN);
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
	ms_json_format(j, "pressure_some_percent:%.2f pressure_full_percent:%.2f}",
		       m->some < 0 ? NAN : m->some, m->full < 0 ? NAN : m->full);
}

static void put_rates(struct ms_json *j, const struct system_process *p)
{
	bool io = p->read_bytes != SYSTEM_UNKNOWN;
	ms_json_format(j,
		       "cpu_percent:%.1f faults_per_second:%.1f major_faults_per_second:%.1f "
		       "read_bytes_per_second:%.0f written_bytes_per_second:%.0f",
		       p->cpu * 100, p->fault_rate, p->major_rate, io ? p->read_rate : NAN,
		       io ? p->write_rate : NAN);
}

static void put_figures(struct ms_json *j, const struct system_process *p)
{
	ms_json_format(j,
		       "rss_bytes:%lu pss_bytes:%lu uss_bytes:%lu swap_bytes:%lu heap_bytes:%lu "
		       "vsz_bytes:%lu from:%s threads:%lu",
		       p->rss, p->figures.pss, p->figures.uss, p->figures.swap, p->figures.heap,
		       p->vsz, source_word(p->figures.source), (uint64_t)p->threads);
}

static void put_row(struct ms_json *j, struct system *s, struct system_process *p,
		    const struct rows *r, unsigned depth)
{
	bool group = r->view == ROWS_GROUPS;
	char state[2] = {p->state, 0};
	const char *verdict = system_verdict(s, p);
	ms_json_open(j, NULL, '{');
	if (group) {
		ms_json_format(j, "group:%s processes:%lu", p->command, (uint64_t)p->pid);
	} else {
		ms_json_format(j,
			       "pid:%lu parent:%lu name:%s command:%s cgroup:%s state:%s kernel:%d "
			       "ended:%d recorded:%d largest_rss_bytes:%lu",
			       (uint64_t)p->pid, (uint64_t)p->parent, p->name, p->command,
			       p->cgroup[0] ? p->cgroup : NULL, p->ended ? "x" : state, p->kernel,
			       p->ended, p->recorded && s->recordings.n, p->largest);
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
	ms_json_format(&j,
		       "host:%s up_s:%lu load:%.2f processes:%lu unreadable:%lu kernel_threads:%lu",
		       s->host, s->memory.up_s, s->memory.load[0], s->n - s->kernel - s->ended,
		       s->unreadable, s->kernel);
	put_memory(&j, &s->memory);
	ms_json_format(&j, "view:%s filter:%s hidden:%lu sort:%s reverse:%d rows:[", views[r->view],
		       r->filter.text[0] ? r->filter.text : NULL, r->hidden, columns[r->sort].title,
		       r->reverse);
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
	ms_json_format(j, "bytes:%lu change_bytes:%.0f seconds:%lu}",
		       known ? h->bytes : SYSTEM_UNKNOWN,
		       known ? (double)h->bytes - (double)h->first_bytes : NAN,
		       known ? (h->last_ns - h->first_ns) / 1000000000u : 0);
}

static void put_kinds(struct ms_json *j, const struct process *p)
{
	ms_json_open(j, "kinds", '[');
	for (int i = 0; i < MS_REGION_KINDS; i++) {
		const struct process_kind *k = &p->kinds[i];
		if (k->count)
			ms_json_format(j,
				       "{kind:%s regions:%lu size_bytes:%lu rss_bytes:%lu "
				       "pss_bytes:%lu swap_bytes:%lu}",
				       ms_region_word((enum ms_region_kind)i), (uint64_t)k->count,
				       k->size, k->memory.rss, k->memory.pss, k->memory.swap);
	}
	ms_json_close(j, ']');
}

/* Writes a region with the keys of libmemscope's regions. */
static void put_region(struct ms_json *j, const struct ms_region *r)
{
	const struct ms_proc_memory *m = &r->memory;
	ms_json_format(j,
		       "{start:%lx end:%lx kind:%s perms:%s size_bytes:%lu file_offset:%lu path:%s "
		       "rss_bytes:%lu pss_bytes:%lu"
		       " shared_clean_bytes:%lu shared_dirty_bytes:%lu private_clean_bytes:%lu "
		       "private_dirty_bytes:%lu swap_bytes:%lu}",
		       r->map.start, r->map.end, ms_region_word(r->kind), r->map.perms,
		       r->map.end - r->map.start, r->map.offset, r->map.path, m->rss, m->pss,
		       m->shared_clean, m->shared_dirty, m->private_clean, m->private_dirty,
		       m->swap);
}

void json_process(struct json_line *to, const struct process *p)
{
	struct ms_json j = json_begin(to, "process");
	char state[2] = {p->state, 0};
	ms_json_format(&j,
		       "pid:%lu name:%s command:%s state:%s ended:%d up_s:%lu threads:%lu "
		       "cpu_percent:%.1f vsz_bytes:%lu from:%s",
		       (uint64_t)p->proc.pid, p->proc.name, p->command, p->ended ? "x" : state,
		       p->ended, p->up_s, (uint64_t)p->threads, p->cpu * 100, p->statm.vsz,
		       source_word(p->figures.source));
	put_history(&j, "rss", &p->rss);
	put_history(&j, "pss", &p->pss);
	put_history(&j, "uss", &p->uss);
	put_history(&j, "heap", &p->heap);
	put_history(&j, "swap", &p->swap);
	ms_json_format(&j, "trend:{of:%s", p->trend_of_heap ? "heap" : "rss");
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
