/* SPDX-License-Identifier: MIT
 * Writes frames about a trace as JSON.
 */

#include "json.h"

#include <math.h>

#include "ms-top/trace/trace.h"
#include "libcommon/replay/replay_sampled.h"
#include "format/trace.h"

static uint64_t known(const struct trace *t, uint64_t v)
{
	return t->partial || ms_recording_is_polled(t->follow->rec) ? UINT64_MAX : v;
}

static void put_process(struct ms_json *j, struct trace *t)
{
	const struct ms_recording *rec = t->follow->rec;
	bool trouble;
	uint64_t lag = ms_follow_lag(t->follow);
	const char *state = trace_state(t, &trouble);
	ms_json_format(j,
		       "trace:%s pid:%lu command:%s state:%s trouble:%d attached:%d "
		       "sampled_bytes:%lu events_lost:%lu moment_ns:%lu lag_ns:%lu",
		       t->follow->path, rec->info.number[MS_INFO_PID], t->process, state, trouble,
		       rec->info.number[MS_INFO_ATTACHED] != 0,
		       rec->replay.sampled ? rec->replay.sampled->mean : 0, ms_recording_lost(rec),
		       t->total.ns, lag);
}

static void put_total(struct ms_json *j, const struct trace *t)
{
	const struct trace_total *x = &t->total;
	const struct trace_rates *r = &t->rates;
	bool polled = ms_recording_is_polled(t->follow->rec);
	double rate = polled ? NAN : 0;
	bool sampled = t->shown->replay.sampled != NULL;
	MS_JSON_NUMBERS(j, {"live_bytes", polled ? UINT64_MAX : x->live_bytes},
			{"live_blocks", polled ? UINT64_MAX : x->live_blocks},
			{"peak_bytes", known(t, x->peak_bytes)},
			{"peak_time_ns", known(t, x->peak_ns)}, {"rss_bytes", x->rss},
			{"events", known(t, x->events)}, {"allocations", known(t, x->allocations)},
			{"frees", known(t, x->frees)}, {"allocated_bytes", known(t, x->bytes)},
			{"temporary_allocations", sampled ? UINT64_MAX : known(t, x->temporary)});
	ms_json_format(j,
		       "rates:{seconds:%.3f allocations_per_second:%.1f frees_per_second:%.1f "
		       "bytes_per_second:%.0f events_per_second:%.1f}",
		       r->seconds, r->allocations + rate, r->frees + rate, r->bytes + rate,
		       r->events + rate);
}

/* Writes a call-stack frame; NULL is written as null. */
static void put_frame(struct ms_json *j, const char *key, const struct trace_frame *f)
{
	char name[512];
	if (!f) {
		ms_json_raw(j, key, NULL);
		return;
	}
	ms_json_open(j, key, '{');
	ms_json_format(j, "name:%s function:%s file:%s line:%lu module:%s}",
		       trace_frame_name(f, name, sizeof name),
		       f->full && f->full[0] ? f->full : NULL, f->file,
		       f->line ? f->line : UINT64_MAX, f->module);
}

static void put_site(struct ms_json *j, struct trace *t, struct trace_site *s)
{
	const struct trace_sum *x = &s->sum;
	bool sampled = t->shown->replay.sampled != NULL;
	struct trace_site_name n = trace_site_name(t, s->node);
	struct ms_trend trend = trace_trend(t, s);
	ms_json_open(j, NULL, '{');
	MS_JSON_NUMBERS(j, {"stack", s->node}, {"live_bytes", x->live_bytes},
			{"live_blocks", x->live_blocks}, {"allocations", known(t, x->allocations)},
			{"allocated_bytes", known(t, x->bytes)},
			{"temporary", sampled ? UINT64_MAX : known(t, x->temporary)});
	ms_json_real(j, "allocations_per_second", x->per_second, 1);
	json_trend(j, &trend, trace_verdict(t, s));
	put_frame(j, "site", &n.user);
	put_frame(j, "called", n.has_called ? &n.called : NULL);
	put_frame(j, "caller", n.has_caller ? &n.caller : NULL);
	ms_json_close(j, '}');
}

static void put_threads(struct ms_json *j, const struct trace *t)
{
	const struct ms_recording *rec = t->follow->rec;
	ms_json_open(j, "threads", '[');
	for (size_t i = 0; i < t->thread_rows.n; i++) {
		uint32_t n = (uint32_t)t->thread_rows.v[i];
		const struct trace_sum *x = &t->threads[n];
		char name[64];
		ms_json_format(j,
			       "{tid:%lu name:%s live_bytes:%lu live_blocks:%lu allocations:%lu "
			       "allocated_bytes:%lu}",
			       n < rec->threads.n ? rec->threads.v[n].number[MS_THREAD_TID] : 0,
			       trace_thread_name(t, n, name, sizeof name), x->live_bytes,
			       t->shown->replay.sampled ? UINT64_MAX : x->live_blocks,
			       known(t, x->allocations), known(t, x->bytes));
	}
	ms_json_close(j, ']');
}

static void put_sites(struct ms_json *j, struct trace *t)
{
	ms_json_open(j, "sites", '[');
	for (size_t i = 0; i < t->rows.n; i++)
		put_site(j, t, &t->sites[t->rows.v[i]]);
	ms_json_close(j, ']');
}

/* Writes what keeps blocks alive, as of the last retention scan, with the keys of ms-report --json. */
static void put_retention(struct ms_json *j, struct trace *t)
{
	const struct ms_retention_head *h = kept_head(t);
	uint64_t known = kept_unknown(t) ? UINT64_MAX : 0; /* OR-ed with figures, makes them null */
	struct ms_arena a = {0};
	if (!h)
		return;
	ms_json_format(j,
		       "retention:{scans:[{scan:%lu label:%s time_ns:%lu state:%s live_bytes:%lu"
		       " kept_bytes:%lu unreachable_bytes:%lu}] keepers:[",
		       h->scan, t->kept.label, t->kept.ns, t->kept.state, h->live_bytes | known,
		       h->kept_bytes | known, h->unreachable_bytes | known);
	kept_make(t);
	const struct ms_kept_branch *v = t->kept.tree.b.v, *x;
	for (uint32_t b = t->kept.rows.n ? v[0].first : 0; b; b = x->next) {
		x = &v[b];
		const struct ms_retention_row *row = kept_row(t, x->row);
		struct keeper k = kept_name(t, &a, row);
		ms_json_format(j,
			       "{keeper:%s name:%s module:%s thread:%s file:%s line:%lu type:%s"
			       " retained_bytes:%lu retained_blocks:%lu observers:%lu}",
			       *k.kind ? k.kind : NULL, k.name, k.module, k.thread, k.file, k.line,
			       k.type, x->bytes, x->blocks,
			       row->root ? kept_observed(t, row->root).n : UINT64_MAX);
	}
	ms_json_format(j, "]}");
	ms_arena_free(&a);
}

void json_trace(struct json_line *to, struct trace *t)
{
	for (uint64_t seen = UINT64_MAX; trace_names_came(t, &seen);) {
		struct ms_json j = json_begin(to, "trace");
		put_process(&j, t);
		put_total(&j, t);
		json_forecast(&j, &t->forecast);
		ms_json_number(&j, "hidden", t->hidden);
		put_sites(&j, t);
		put_threads(&j, t);
		put_retention(&j, t);
		json_end(&j);
	}
}
