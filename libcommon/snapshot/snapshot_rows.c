/* SPDX-License-Identifier: MIT
 * Writes the rows of a replayed trace: sites and threads, the requested moments, sizes, and the
 * history: timeline, samples, marks, losses.
 */
#include "snapshot_private.h"
#include "libcommon/base/order.h"
#include "libcommon/base/progress.h"
#include "libcommon/replay/replay_mapped.h"

#include "libcommon/base/arena.h"
#include "libcommon/replay/replay_cells.h"
#include "libcommon/names/one_time.h"
#include "snapshot_insert.h"
#include "format/trace.h"

#include <stdlib.h>

struct ms_insert ms_rows(const struct ms_fill *w, const char *table)
{
	struct ms_insert in = ms_insert(w->f->db, table, w->f->err);
	in.unknown = w->unknown;
	in.none = ms_needs_of(table, NULL) & w->unknown;
	return in;
}

struct ms_insert ms_large_rows(const struct ms_fill *w, const char *table)
{
	struct ms_insert in = ms_rows(w, table);
	in.taker = w->f->taker;
	return in;
}

/* ---- sites ---- */

static uint64_t peak_of(const struct ms_replay *r, const struct ms_replay_site *s)
{
	uint64_t bytes, blocks;
	ms_replay_at_peak(r, &s->live, &bytes, &blocks);
	return bytes;
}

/* Orders sites: most live bytes at the end first, then at the peak, then most blocks, then first
 * seen. */
static int by_weight(const void *a, const void *b, void *replay)
{
	const struct ms_replay *r = replay;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct ms_replay_site *x = &r->sites[i], *y = &r->sites[k];
	return MS_ORDER(y->live.bytes, x->live.bytes) ?:
	       MS_ORDER(peak_of(r, y), peak_of(r, x)) ?:
	       MS_ORDER(y->max_live_blocks, x->max_live_blocks) ?:
	       MS_ORDER(i, k);
}

static void order_sites(struct ms_fill *w)
{
	size_t n = w->r->site_count;
	w->order = ms_xrealloc(NULL, n, sizeof *w->order);
	w->row_of_site = ms_xrealloc(NULL, n, sizeof *w->row_of_site);
	for (size_t i = 0; i < n; i++)
		w->order[i] = (uint32_t)i;
	qsort_r(w->order, n, sizeof *w->order, by_weight, (void *)w->r);
	for (size_t i = 0; i < n; i++)
		w->row_of_site[w->order[i]] = ++w->f->sites;
}

static void count_soon(struct ms_fill *w)
{
	const struct ms_replay *r = w->r;
	if (r->brief)
		return;
	w->soon = ms_xcalloc(r->site_count, sizeof *w->soon);
	for (size_t s = 0; s < r->site_count; s++) {
		const struct ms_replay_ages ages = ms_replay_ages_of(r, &r->sites[s]);
		for (size_t i = 0; ms_age_allocations[i] < MS_FREED_SOON; i++)
			w->soon[s] += ages.allocations[i];
	}
}

const char *ms_one_time_of(const struct ms_fill *w, uint32_t i)
{
	const struct ms_replay_site *s = &w->r->sites[i];
	struct ms_signs signs = w->stacks.of_site[i].signs;
	bool some = s->allocations != 0;
	struct ms_one_time_site known = {.min_size = some ? s->min_size : 0,
					 .max_size = some ? s->max_size : 0,
					 .blocks = s->max_live_blocks,
					 .user = signs.user};
	return signs.signs ? ms_one_time(signs.signs, &known) : NULL;
}

static void put_site(struct ms_fill *w, struct ms_insert *in, uint32_t i, const char *verdict)
{
	const struct ms_replay_site *s = &w->r->sites[i];
	int64_t stack = w->stacks.of_site[i].row, user = w->stacks.of_site[i].user;
	struct ms_signs signs = w->stacks.of_site[i].signs;
	bool some = s->allocations != 0, timed = s->first_tick != MS_NEVER;
	bool brief = w->r->brief;
	const struct ms_replay_rare *rare = ms_replay_rare_of(w->r, s);
	const struct ms_replay_lifetimes *lived = ms_replay_lifetimes_of(w->r, s);
	if (signs.signs && w->corrected)
		*MS_PUSH(&w->f->signs) = (struct ms_site_signs){w->row_of_site[i], signs};
	const char *entry = w->stacks.entry_of_site ? w->stacks.entry_of_site[i] : NULL;
	char key[33] = "";
	if (stack && w->stacks.key_of_node)
		ms_key_text(w->stacks.key_of_node[s->node], key);
	ms_put(in, ms_int("id", w->row_of_site[i]), ms_int("process", w->p->id),
	       ms_int_if("stack", stack != 0, stack),
	       ms_int_if("user_frame", stack != 0, user ? user : stack),
	       ms_int("allocations", s->allocations), ms_int_if("frees", !brief, rare->frees),
	       ms_int_if("reallocations", !brief, rare->reallocations),
	       ms_int_if("failed_allocations", !brief, rare->failed),
	       ms_int("allocated_bytes", s->bytes), ms_int("temporary", s->temporary),
	       ms_int_if("min_size", some, s->min_size), ms_int_if("max_size", some, s->max_size),
	       ms_int("max_live_bytes", s->max_live_bytes),
	       ms_int("max_live_blocks", s->max_live_blocks),
	       ms_int_if("first_ns", timed, s->first_tick * w->tick_ns),
	       ms_int_if("last_ns", timed, s->last_tick * w->tick_ns),
	       ms_int_if("lifetime_ns", !brief && lived->ticks <= INT64_MAX / w->tick_ns,
			 lived->ticks * w->tick_ns),
	       ms_int_if("lifetime_allocations", !brief, lived->allocations),
	       ms_int("freed_soon", brief ? s->soon : w->soon[i]),
	       ms_int_if("marked", !brief, rare->marked), ms_text("verdict", verdict),
	       ms_text("one_time", w->corrected ? NULL : ms_one_time_of(w, i)),
	       ms_text("key", *key ? key : NULL), ms_text("entry", entry));
	ms_put_beside_site(in, w->t, i);
	ms_end_row(in);
	uint32_t thread = brief ? ms_replay_thread_of(s) : UINT32_MAX;
	if (in->taker && thread != UINT32_MAX)
		in->taker->thread(in->taker->arg, w->row_of_site[i], w->row_of_thread[thread]);
}

static int fill_sites(struct ms_fill *w)
{
	struct ms_insert in = ms_large_rows(w, "site");
	const char **verdicts = ms_end_verdicts(w);
	bool *shown = ms_shown_sites(w);
	for (size_t i = 0; i < w->r->site_count; i++) {
		uint32_t site = w->order[i];
		bool row = !shown || shown[site] || verdicts[site];
		if (row || !ms_take_gone(w, site))
			put_site(w, &in, site, verdicts[site]);
	}
	MS_FREE(verdicts, shown);
	/* later tables need only row_of_node of w->stacks */
	struct ms_stack_rows *s = &w->stacks;
	MS_FREE(s->of_site, s->key_of_node, s->entry_of_site);
	*s = (struct ms_stack_rows){.row_of_node = s->row_of_node,
				    .without_symbol = s->without_symbol};
	return ms_insert_close(&in);
}

static int by_rows(const void *a, const void *b, void *arg)
{
	const struct ms_fill *w = arg;
	const struct ms_replay_site_thread *x = &w->r->records[*(const uint32_t *)a],
					   *y = &w->r->records[*(const uint32_t *)b];
	return MS_ORDER(w->row_of_site[x->site], w->row_of_site[y->site])
		       ?: MS_ORDER(w->row_of_thread[x->thread], w->row_of_thread[y->thread]);
}

/* Writes the rows of site_thread that a brief replay knows, of sites with one thread; a taker has got
 * these already. */
static int fill_only_threads(struct ms_fill *w)
{
	struct ms_insert in = ms_rows(w, "site_thread");
	for (size_t i = 0; i < w->r->site_count && !w->f->taker; i++) {
		const struct ms_replay_site *s = &w->r->sites[w->order[i]];
		uint32_t thread = ms_replay_thread_of(s);
		if (thread != UINT32_MAX)
			ms_put_row(&in, ms_int("site", w->row_of_site[w->order[i]]),
				   ms_int("thread", w->row_of_thread[thread]),
				   ms_int("allocations", s->allocations));
	}
	return ms_insert_close(&in);
}

/* Writes site_thread in the order of its key, since inserting in key order is fastest. */
static int fill_site_threads(struct ms_fill *w)
{
	if (w->f->no_site_details && w->f->one_process && w->f->threads <= 1)
		return 0;
	if (w->r->brief)
		return fill_only_threads(w);
	struct ms_insert in = ms_rows(w, "site_thread");
	size_t n = w->r->record_count;
	uint32_t *order = ms_xrealloc(NULL, n, sizeof *order);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, n, sizeof *order, by_rows, w);
	for (size_t i = 0; i < n; i++) {
		const struct ms_replay_site_thread *s = &w->r->records[order[i]];
		ms_put_row(&in, ms_int("site", w->row_of_site[s->site]),
			   ms_int("thread", w->row_of_thread[s->thread]),
			   ms_int("allocations", s->allocations),
			   ms_int("allocated_bytes", s->bytes), ms_int("live_bytes", s->live_bytes),
			   ms_int("live_blocks", s->live_blocks));
	}
	free(order);
	return ms_insert_close(&in);
}

/* ---- threads ---- */

static int fill_threads(struct ms_fill *w)
{
	const struct ms_recording *t = w->t;
	size_t n = w->r->thread_count > t->threads.n ? w->r->thread_count : t->threads.n;
	w->row_of_thread = ms_xrealloc(NULL, n, sizeof *w->row_of_thread);
	struct ms_insert in = ms_rows(w, "thread");
	for (size_t i = 0; i < n; i++) {
		static const struct ms_row nobody;
		static const struct ms_replay_thread idle;
		const struct ms_row *own = i < t->threads.n ? &t->threads.v[i] : &nobody;
		const struct ms_row *m = own == &nobody ? own : &t->threads.v[ms_thread_of(t, i)];
		const struct ms_replay_thread *s =
			i < w->r->thread_count ? &w->r->threads[i] : &idle;
		w->row_of_thread[i] = 0;
		if (!own->known && !s->seen)
			continue;
		w->row_of_thread[i] = ++w->f->threads;
		uint64_t start = own == m && ms_has(m, MS_THREAD_START)
					 ? m->number[MS_THREAD_START]
					 : s->first_tick * w->tick_ns;
		ms_put(&in, ms_int("id", w->f->threads), ms_int("process", w->p->id),
		       ms_int_if("of_thread", own != m,
				 own == m ? 0 : w->row_of_thread[m - t->threads.v]),
		       ms_text("label", own == m ? NULL : own->text[MS_THREAD_NAME - 2]),
		       MS_FIELD("tid", m, MS_THREAD_TID),
		       ms_text("name", m->text[MS_THREAD_NAME - 2]), ms_int("start_ns", start),
		       MS_FIELD("end_ns", m, MS_THREAD_END), ms_int("frees", s->frees));
		if (!w->r->brief) {
			ms_put(&in, ms_int("allocations", s->allocations),
			       ms_int("allocated_bytes", s->bytes),
			       ms_int("temporary", s->temporary));
			ms_put_level(&in, w->r, &s->live);
		}
		ms_put_row(&in, ms_int("events_lost", m->number[MS_THREAD_EVENTS_LOST]),
			   ms_int("waited_ns", m->number[MS_THREAD_WAITED]));
	}
	return ms_insert_close(&in);
}

/* ---- moments ---- */

/* Returns the /proc sample nearest in time, or one without figures if there is none. */
static const struct ms_row *sample_near(const struct ms_recording *t, uint64_t time_ns)
{
	static const struct ms_row none;
	const struct ms_row *best = &none;
	uint64_t least = UINT64_MAX;
	for (size_t i = 0; i < t->samples.n; i++) {
		uint64_t at = t->samples.v[i].number[MS_SAMPLE_TIME],
			 far = at > time_ns ? at - time_ns : time_ns - at;
		if (far < least) {
			least = far;
			best = &t->samples.v[i];
		}
	}
	return best;
}

struct ms_live *ms_live_add(struct ms_live_sites *l, size_t site)
{
	if (!l->index[site]) {
		l->index[site] = (uint32_t)l->v.n;
		*MS_PUSH(&l->v) = (struct ms_live){.oldest_tick = MS_NEVER};
	}
	return &l->v.v[l->index[site]];
}

void ms_live_free(struct ms_live_sites *l)
{
	MS_FREE(l->index, l->v.v);
}

/* Adds what each site has live at the peak, or at the end. */
static void add_levels(const struct ms_replay *r, bool end, struct ms_live_sites *l)
{
	for (size_t i = 0; i < r->site_count; i++) {
		const struct ms_level *level = &r->sites[i].live;
		uint64_t bytes = level->bytes, blocks = level->blocks;
		if (!end)
			ms_replay_at_peak(r, level, &bytes, &blocks);
		if (!bytes && !blocks)
			continue;
		struct ms_live *v = ms_live_add(l, i);
		v->bytes = bytes;
		v->blocks = blocks;
		v->oldest_tick = end && r->oldest ? r->oldest[i] : MS_NEVER;
	}
}

struct ms_live_sites ms_live_at(const struct ms_recording *t, const struct ms_kept_point *point)
{
	const struct ms_replay *r = &t->replay;
	struct ms_live_sites l = {.index = ms_xcalloc(r->site_count, sizeof *l.index)};
	*MS_PUSH(&l.v) = (struct ms_live){.oldest_tick = MS_NEVER};
	if (point->kind == MS_KEPT_PEAK || point->kind == MS_KEPT_END)
		add_levels(r, point->kind == MS_KEPT_END, &l);
	if (point->kind == MS_KEPT_PEAK)
		l.all = (struct ms_live){.bytes = r->peak_bytes, .blocks = r->peak_blocks};
	if (point->kind == MS_KEPT_END)
		l.all = (struct ms_live){.bytes = r->live_bytes, .blocks = r->live_blocks};
	if (point->kind == MS_KEPT_MOMENT) {
		const struct ms_replay_moment *m = &r->moments[point->moment];
		l.all = (struct ms_live){.bytes = m->live_bytes, .blocks = m->live_blocks};
		for (size_t i = 0; i < m->figure_count; i++) {
			const struct ms_replay_figure *f = &m->figures[i];
			*ms_live_add(&l, f->site) = (struct ms_live){.bytes = f->live_bytes,
								     .blocks = f->live_blocks,
								     .oldest_tick = f->oldest_tick};
		}
	}
	ms_live_beside(t, point, &l);
	return l;
}

/* Appends the resident, proportional, private and swapped bytes of a sample to a row. */
static void put_sample(struct ms_insert *in, const struct ms_row *s)
{
	ms_put(in, MS_FIELD("rss_bytes", s, MS_SAMPLE_RSS), MS_FIELD("pss_bytes", s, MS_SAMPLE_PSS),
	       MS_FIELD("private_bytes", s, MS_SAMPLE_PRIVATE),
	       MS_FIELD("swap_bytes", s, MS_SAMPLE_SWAP));
}

static int put_moment(struct ms_fill *w, const char *label, uint64_t time_ns,
		      const struct ms_live *all)
{
	struct ms_insert in = ms_large_rows(w, "snapshot");
	in.both = true;
	w->f->snapshots++;
	ms_put(&in, ms_int("id", w->f->snapshots), ms_int("process", w->p->id),
	       ms_text("label", label), ms_int("time_ns", time_ns),
	       ms_int("live_bytes", all->bytes), ms_int("live_blocks", all->blocks));
	put_sample(&in, sample_near(w->t, time_ns));
	ms_put_beside_live(&in, all);
	ms_end_row(&in);
	return ms_insert_close(&in);
}

/* Writes site_stat in the order of its key, since inserting in key order is fastest. */
static int put_stats(struct ms_fill *w, uint64_t time_ns, const struct ms_live_sites *l)
{
	struct ms_insert in = ms_large_rows(w, "site_stat");
	for (size_t n = 0; n < w->r->site_count; n++) {
		uint32_t site = w->order[n];
		const struct ms_live *s = ms_live_of(l, site);
		bool known = s->oldest_tick != MS_NEVER;
		uint64_t born = known ? s->oldest_tick * w->tick_ns : 0;
		if (!s->blocks && !s->mapped_bytes)
			continue;
		ms_put(&in, ms_int("snapshot", w->f->snapshots),
		       ms_int("site", w->row_of_site[site]), ms_int("live_bytes", s->bytes),
		       ms_int("live_blocks", s->blocks),
		       ms_int_if("oldest_ns", known, time_ns > born ? time_ns - born : 0));
		ms_put_beside_live(&in, s);
		ms_end_row(&in);
	}
	return ms_insert_close(&in);
}

static int fill_moment(struct ms_fill *w, const char *label, const struct ms_kept_point *point)
{
	if (point->kind == MS_KEPT_ABSENT)
		return 0;
	uint64_t time_ns = point->kind == MS_KEPT_PEAK     ? w->r->peak_tick * w->tick_ns
			   : point->kind == MS_KEPT_END    ? ms_recording_reached(w->t)
			   : point->kind == MS_KEPT_MOMENT ? point->time_ns
							   : 0;
	struct ms_live_sites l = ms_live_at(w->t, point);
	int rc = put_moment(w, label, time_ns, &l.all) || put_stats(w, time_ns, &l);
	ms_live_free(&l);
	return rc ? -1 : 0;
}

static int fill_moments(struct ms_fill *w)
{
	int rc = 0;
	for (size_t i = 0; i < w->f->label_count && rc == 0; i++)
		rc = fill_moment(w, w->f->labels[i], &w->p->points[i]);
	return rc;
}

/* ---- sizes ---- */

static int fill_sizes(struct ms_fill *w)
{
	struct ms_insert in = ms_rows(w, "size_class");
	for (unsigned i = 0; i < MS_SIZE_CLASSES && !in.none; i++) {
		const struct ms_replay_size *c = &w->r->sizes[i];
		/* with --from, all blocks of a class may have been allocated and freed before */
		if (!c->allocations && !c->live.blocks && !c->live.at_peak_blocks)
			continue;
		ms_put(&in, ms_int("process", w->p->id));
		ms_put_class(&in, w->r, i, c);
	}
	return ms_insert_close(&in);
}

/* ---- history ---- */

static int fill_timeline(struct ms_fill *w)
{
	struct ms_insert in = ms_rows(w, "timeline");
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
			   ms_int("mapped_last", s->mapped_last));
	}
	return ms_insert_close(&in);
}

static int fill_samples(struct ms_fill *w)
{
	struct ms_insert in = ms_rows(w, "sample");
	uint64_t last = UINT64_MAX;
	for (size_t i = 0; i < w->t->samples.n; i++) {
		const struct ms_row *s = &w->t->samples.v[i];
		uint64_t time = s->number[MS_SAMPLE_TIME];
		if (last != UINT64_MAX && time <= last) /* the table has one row per time, in
							   ascending order */
			continue;
		last = time;
		ms_put(&in, ms_int("process", w->p->id), ms_int("time_ns", time));
		put_sample(&in, s);
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

static int64_t thread_row(const struct ms_fill *w, uint64_t index_plus_1)
{
	size_t n = w->r->thread_count > w->t->threads.n ? w->r->thread_count : w->t->threads.n;
	return index_plus_1 && index_plus_1 <= n ? w->row_of_thread[index_plus_1 - 1] : 0;
}

static int fill_marks(struct ms_fill *w)
{
	struct ms_insert in = ms_rows(w, "mark");
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

static int fill_losses(struct ms_fill *w)
{
	static const char *const reasons[] = {NULL,     "overflow", "no ring", "reentry",
					      "killed", "paused",   "limit"};
	struct ms_insert in = ms_rows(w, "loss");
	for (size_t i = 0; i < w->t->losses.n; i++) {
		const struct ms_row *l = &w->t->losses.v[i];
		int64_t thread = thread_row(w, l->number[MS_LOSS_THREAD]);
		ms_put_row(&in, ms_int("process", w->p->id), MS_FIELD("from_ns", l, MS_LOSS_FROM),
			   MS_FIELD("to_ns", l, MS_LOSS_TO), MS_FIELD("events", l, MS_LOSS_COUNT),
			   ms_text("reason", MS_WORD(reasons, l->number[MS_LOSS_REASON])),
			   ms_int_if("thread", thread != 0, thread));
	}
	return ms_insert_close(&in);
}

/* ---- */

/* Tells whether events are missing (sampled, lost or damaged): then some blocks are unknown, and so
 * are the events between two recorded events of a thread. */
static bool some_events_missing(const struct ms_recording *t)
{
	const struct ms_fields *i = &t->info, *e = &t->end;
	uint64_t places = 0, bytes = ms_trace_damaged_bytes(t->file, &places);
	for (size_t k = 0; k < t->losses.n; k++)
		if (ms_gap_is_between(t, &t->losses.v[k]))
			return true;
	return ms_has(i, MS_INFO_CUT_SOME) || i->number[MS_INFO_SAMPLE_BYTES] != 0 ||
	       e->number[MS_END_LOST] != 0 || bytes || places || t->bad_blocks ||
	       t->replay.bad_events;
}

/* Returns which data of a process is unknown, as enum ms_needs. */
static unsigned not_known(const struct ms_kept_process *p)
{
	const struct ms_recording *t = p->rec;
	bool headless = ms_part_is_headless(p);
	return (some_events_missing(t) ? MS_NEEDS_BETWEEN : 0) |
	       (t->replay.sampled ? MS_NEEDS_EXACT : 0) | (headless ? MS_NEEDS_HISTORY : 0) |
	       (headless && t->parts ? MS_NEEDS_END : 0) |
	       (ms_recording_is_polled(t) ? MS_NEEDS_EVENTS : 0) | ms_beside_not_known(t);
}

int ms_fill_process(struct ms_filling *f, const struct ms_kept_process *p)
{
	/* the order matters: some steps need ids that earlier ones assign */
	static int (*const steps[])(struct ms_fill * w) = {
		ms_fill_stacks,    ms_fill_process_row, fill_threads,     fill_sites,
		fill_site_threads, ms_fill_before,      fill_moments,     ms_fill_classes,
		ms_fill_heaps,     ms_fill_frees,       fill_sizes,       fill_timeline,
		fill_samples,      fill_marks,          fill_losses,      ms_fill_sampled,
		ms_fill_verdicts,  ms_fill_retention,   ms_fill_resident, ms_fill_growth,
		ms_fill_cohorts,   ms_fill_site,        ms_fill_part,     ms_fill_polled};
	struct ms_fill w = {.f = f,
			    .p = p,
			    .t = p->rec,
			    .r = &p->rec->replay,
			    .tick_ns = p->rec->head->tick_ns,
			    .unknown = not_known(p),
			    .corrected = ms_is_corrected(p),
			    .first_snapshot = f->snapshots + 1};
	int rc = 0;
	order_sites(&w);
	count_soon(&w);
	if (f->no_site_details)
		ms_replay_forget_classes(&p->rec->replay);
	const size_t n = sizeof steps / sizeof *steps;
	for (size_t i = 0; i < n && rc == 0; i++) {
		if (f->one_process && i) /* the first step reports its own progress */
			ms_progress("filling tables", "tables", i, n, NULL);
		rc = steps[i](&w);
	}
	MS_FREE(w.stacks.row_of_node, w.stacks.of_site, w.stacks.key_of_node,
		w.stacks.entry_of_site, w.soon, w.order, w.row_of_site, w.row_of_thread);
	return rc;
}
