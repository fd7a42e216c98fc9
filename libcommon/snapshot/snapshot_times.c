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
	struct ms_insert in;
	ms_insert_open(&in, w->f->db, "timeline",
		       "process, time_ns, live_min, live_max, live_last, blocks_last, allocations, "
		       "frees, allocated_bytes, mapped_last",
		       w->f->err);
	for (size_t i = w->r->from_tick / w->r->span_ticks; i <= w->r->span; i++) {
		const struct ms_replay_span *s = &w->r->spans[i];
		uint64_t tick = i * w->r->span_ticks;
		ms_put(&in, (uint64_t)w->p->id);
		ms_put(&in, (tick < w->r->from_tick ? w->r->from_tick : tick) * w->tick_ns);
		ms_put(&in, s->live_min);
		ms_put(&in, s->live_max);
		ms_put(&in, s->live_last);
		ms_put(&in, s->blocks_last);
		ms_put(&in, s->allocations);
		ms_put(&in, s->frees);
		ms_put(&in, s->bytes);
		ms_put_if(&in, w->r->beside && w->r->beside->mapped, s->mapped_last);
		ms_put_row(&in);
	}
	return ms_insert_close(&in);
}

static int fill_samples(struct times *w)
{
	static const unsigned fields[] = {MS_SAMPLE_RSS,     MS_SAMPLE_PSS,   MS_SAMPLE_PRIVATE,
					  MS_SAMPLE_SWAP,    MS_SAMPLE_VSZ,   MS_SAMPLE_MINFLT,
					  MS_SAMPLE_MAJFLT,  MS_SAMPLE_UTIME, MS_SAMPLE_STIME,
					  MS_SAMPLE_THREADS, MS_SAMPLE_HEAP};
	struct ms_insert in;
	uint64_t last = UINT64_MAX;
	ms_insert_open(&in, w->f->db, "sample",
		       "process, time_ns, rss_bytes, pss_bytes, private_bytes, swap_bytes, "
		       "vsz_bytes, minor_faults, major_faults, user_ns, "
		       "system_ns, threads, heap_bytes",
		       w->f->err);
	for (size_t i = 0; i < w->t->samples.n; i++) {
		const struct ms_row *s = &w->t->samples.v[i];
		uint64_t time = s->number[MS_SAMPLE_TIME];
		if (last != UINT64_MAX && time <= last) /* one row a moment, in order */
			continue;
		last = time;
		ms_put(&in, (uint64_t)w->p->id);
		ms_put(&in, time);
		for (unsigned k = 0; k < sizeof fields / sizeof *fields; k++)
			ms_put_if(&in, ms_has(s, fields[k]), s->number[fields[k]]);
		ms_put_row(&in);
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
	struct ms_insert in;
	ms_insert_open(&in, w->f->db, "mark", "process, seq, name, time_ns, event, thread",
		       w->f->err);
	for (size_t i = 0; i < w->t->marks.n; i++) {
		const struct ms_row *m = &w->t->marks.v[i];
		int64_t thread = thread_row(w, m->number[MS_MARK_THREAD]);
		ms_put(&in, (uint64_t)w->p->id);
		ms_put(&in, i + 1);
		ms_put_text(&in, m->text[MS_MARK_NAME - 2]);
		ms_put(&in, m->number[MS_MARK_TIME]);
		ms_put_if(&in, ms_has(m, MS_MARK_EVENT), m->number[MS_MARK_EVENT]);
		ms_put_if(&in, thread != 0, (uint64_t)thread);
		ms_put_row(&in);
	}
	return ms_insert_close(&in);
}

static int fill_losses(struct times *w)
{
	static const char *const reasons[] = {NULL,     "overflow", "no ring", "reentry",
					      "killed", "paused",   "limit"};
	struct ms_insert in;
	ms_insert_open(&in, w->f->db, "loss", "process, from_ns, to_ns, events, reason, thread",
		       w->f->err);
	for (size_t i = 0; i < w->t->losses.n; i++) {
		const struct ms_row *l = &w->t->losses.v[i];
		int64_t thread = thread_row(w, l->number[MS_LOSS_THREAD]);
		uint64_t reason = l->number[MS_LOSS_REASON];
		ms_put(&in, (uint64_t)w->p->id);
		ms_put_if(&in, ms_has(l, MS_LOSS_FROM), l->number[MS_LOSS_FROM]);
		ms_put_if(&in, ms_has(l, MS_LOSS_TO), l->number[MS_LOSS_TO]);
		ms_put_if(&in, ms_has(l, MS_LOSS_COUNT), l->number[MS_LOSS_COUNT]);
		ms_put_text(&in,
			    reason < sizeof reasons / sizeof *reasons ? reasons[reason] : NULL);
		ms_put_if(&in, thread != 0, (uint64_t)thread);
		ms_put_row(&in);
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
