/* SPDX-License-Identifier: MIT
 * Rows of what happened when: timeline, samples, marks, losses of one process.
 */
#include "format/trace.h"
#include "libcommon/replay/replay_mapped.h"
#include "snapshot_insert.h"
#include "snapshot_private.h"

struct times {
	struct ms_filling *f;
	const struct ms_kept_process *p;
	const struct ms_recording *t;
	const struct ms_replay *r;
	const int64_t *row_of_thread;
	uint64_t tick_ns;
};

static int fill_timeline(struct times *w)
{
	struct ms_insert in = ms_insert(w->f->db, "timeline", w->f->err);
	for (size_t i = w->r->from_tick / w->r->span_ticks; i <= w->r->span; i++) {
		const struct ms_replay_span *s = &w->r->spans[i];
		uint64_t tick = i * w->r->span_ticks;
		if (tick < w->r->from_tick)
			tick = w->r->from_tick;
		ms_put_row(&in, ms_int("process", w->p->id), ms_int("time_ns", tick * w->tick_ns),
			   ms_int("live_min", s->live_min), ms_int("live_max", s->live_max),
			   ms_int("live_last", s->live_last), ms_int("blocks_last", s->blocks_last),
			   ms_int("allocations", s->allocations), ms_int("frees", s->frees),
			   ms_int("allocated_bytes", s->bytes),
			   ms_int_if("mapped_last", w->r->beside && w->r->beside->mapped,
				     s->mapped_last));
	}
	return ms_insert_close(&in);
}

void ms_put_sample(struct ms_insert *in, const struct ms_row *s)
{
	ms_put(in, MS_FIELD("rss_bytes", s, MS_SAMPLE_RSS), MS_FIELD("pss_bytes", s, MS_SAMPLE_PSS),
	       MS_FIELD("private_bytes", s, MS_SAMPLE_PRIVATE),
	       MS_FIELD("swap_bytes", s, MS_SAMPLE_SWAP));
}

static int fill_samples(struct times *w)
{
	struct ms_insert in = ms_insert(w->f->db, "sample", w->f->err);
	uint64_t last = UINT64_MAX;
	for (size_t i = 0; i < w->t->samples.n; i++) {
		const struct ms_row *s = &w->t->samples.v[i];
		uint64_t time = s->number[MS_SAMPLE_TIME];
		if (last != UINT64_MAX && time <= last) /* one row a moment, in order */
			continue;
		last = time;
		ms_put(&in, ms_int("process", w->p->id), ms_int("time_ns", time));
		ms_put_sample(&in, s);
		ms_put_row(&in, MS_FIELD("vsz_bytes", s, MS_SAMPLE_VSZ),
			   MS_FIELD("minor_faults", s, MS_SAMPLE_MINFLT),
			   MS_FIELD("major_faults", s, MS_SAMPLE_MAJFLT),
			   MS_FIELD("user_ns", s, MS_SAMPLE_UTIME),
			   MS_FIELD("system_ns", s, MS_SAMPLE_STIME),
			   MS_FIELD("threads", s, MS_SAMPLE_THREADS),
			   MS_FIELD("heap_bytes", s, MS_SAMPLE_HEAP));
	}
	return ms_insert_close(&in);
}

static int64_t thread_row(const struct times *w, uint64_t index_plus_1)
{
	size_t n = w->r->thread_count > w->t->threads.n ? w->r->thread_count : w->t->threads.n;
	return index_plus_1 && index_plus_1 <= n ? w->row_of_thread[index_plus_1 - 1] : 0;
}

static int fill_marks(struct times *w)
{
	struct ms_insert in = ms_insert(w->f->db, "mark", w->f->err);
	for (size_t i = 0; i < w->t->marks.n; i++) {
		const struct ms_row *m = &w->t->marks.v[i];
		int64_t thread = thread_row(w, m->number[MS_MARK_THREAD]);
		ms_put_row(&in, ms_int("process", w->p->id), ms_int("seq", i + 1),
			   ms_text("name", m->text[MS_MARK_NAME - 2]),
			   ms_int("time_ns", m->number[MS_MARK_TIME]),
			   MS_FIELD("event", m, MS_MARK_EVENT),
			   ms_int_if("thread", thread != 0, thread));
	}
	return ms_insert_close(&in);
}

static int fill_losses(struct times *w)
{
	static const char *const reasons[] = {NULL,     "overflow", "no ring", "reentry",
					      "killed", "paused",   "limit"};
	struct ms_insert in = ms_insert(w->f->db, "loss", w->f->err);
	for (size_t i = 0; i < w->t->losses.n; i++) {
		const struct ms_row *l = &w->t->losses.v[i];
		int64_t thread = thread_row(w, l->number[MS_LOSS_THREAD]);
		uint64_t reason = l->number[MS_LOSS_REASON];
		bool told = reason < sizeof reasons / sizeof *reasons;
		ms_put_row(&in, ms_int("process", w->p->id), MS_FIELD("from_ns", l, MS_LOSS_FROM),
			   MS_FIELD("to_ns", l, MS_LOSS_TO), MS_FIELD("events", l, MS_LOSS_COUNT),
			   ms_text("reason", told ? reasons[reason] : NULL),
			   ms_int_if("thread", thread != 0, thread));
	}
	return ms_insert_close(&in);
}

int ms_fill_times(struct ms_filling *f, const struct ms_kept_process *p,
		  const int64_t *row_of_thread)
{
	const struct ms_recording *t = p->rec;
	struct times w = {f, p, t, &t->replay, row_of_thread, t->head->tick_ns};
	int rc = fill_timeline(&w) || fill_samples(&w) || fill_marks(&w) || fill_losses(&w);
	return rc ? -1 : 0;
}
