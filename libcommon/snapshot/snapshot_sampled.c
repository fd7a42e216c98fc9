/* SPDX-License-Identifier: MIT
 * Writes the rows of a sampled recording: estimated numbers of blocks and calls, and table
 * estimate with the 95 % intervals.
 *
 * This runs last: the tables already have the model's figures, its bytes as estimates, its
 * numbers as those of the samples, and null for figures that samples cannot give.
 */
#include "snapshot_private.h"

#include "libcommon/replay/replay_sampled.h"
#include "snapshot_insert.h"

/* Key in table estimate for the whole run, and for all sites or threads together. */
#define WHOLE 0

struct fill {
	const struct ms_fill *to;
	const struct ms_sampled *s;
	struct ms_insert estimates;
	int64_t snapshot, site, thread; /* keys of the estimates that are written next */
};

static struct ms_insert update(struct fill *w, const char *table, size_t keys)
{
	struct ms_insert u = ms_rows(w->to, table);
	u.keys = keys;
	return u;
}

/* ---- estimates ---- */

static uint64_t usual(uint64_t smallest)
{
	return smallest == UINT64_MAX || smallest < MS_SMALLEST_USUAL ? smallest
								      : MS_SMALLEST_USUAL;
}

static void put_estimate(struct fill *w, const char *figure, uint64_t value, struct ms_spread x)
{
	uint64_t low, high;
	if (ms_needs_of("process", figure) & w->to->unknown & MS_NEEDS_HISTORY)
		return;
	ms_interval_whole(value, &x, &low, &high);
	ms_put_row(&w->estimates, ms_int("process", w->to->p->id), ms_int("snapshot", w->snapshot),
		   ms_int("site", w->site), ms_int("thread", w->thread), ms_text("figure", figure),
		   ms_int("low", low), ms_int("high", high), ms_int("seen", (uint64_t)x.seen),
		   ms_real("variance", x.variance), ms_real("step", x.step),
		   ms_real("step_variance", x.step_variance));
}

/* Writes the estimates of two figures of `sum`: its bytes, which the replay estimates as `bytes`,
 * and its number of blocks. */
static void put_pair(struct fill *w, const char *const figures[2], uint64_t bytes,
		     const struct ms_sampled_sum *sum, uint64_t smallest)
{
	put_estimate(w, figures[0], bytes, ms_sampled_bytes(w->s, sum));
	put_estimate(w, figures[1], sum->blocks, ms_sampled_blocks(w->s, sum, smallest));
}

static const char *const allocated[] = {"allocated_bytes", "allocations"};
static const char *const live[] = {"live_bytes", "live_blocks"};
static const char *const peak[] = {"peak_bytes", "peak_blocks"};
static const char *const unfreed[] = {"unfreed_bytes", "unfreed_blocks"};

static void put_calls(struct fill *w, uint64_t bytes, const struct ms_sampled_sum *all,
		      const struct ms_sampled_sum *freed, uint64_t smallest)
{
	put_pair(w, allocated, bytes, all, smallest);
	put_estimate(w, "frees", freed->blocks, ms_sampled_blocks(w->s, freed, smallest));
}

/* ---- the tables ---- */

static int fill_process(struct fill *w)
{
	const struct ms_replay *r = w->to->r;
	const struct ms_sampled_site *t = &w->s->total;
	struct ms_sampled_sum top = ms_sampled_at_peak(w->s, w->s->site_count);
	struct ms_insert u = update(w, "process", 1);
	ms_put_row(&u, ms_int("allocations", t->all.blocks), ms_int("frees", t->freed.blocks),
		   ms_int("inferred_frees", w->s->inferred_frees),
		   ms_int("peak_blocks", top.blocks), ms_int("unfreed_blocks", t->live.blocks),
		   ms_int("id", w->to->p->id));
	w->snapshot = w->site = w->thread = WHOLE;
	put_calls(w, r->bytes, &t->all, &t->freed, usual(t->smallest));
	put_pair(w, peak, r->peak_bytes, &top, usual(t->smallest));
	put_pair(w, unfreed, r->live_bytes, &t->live, usual(t->smallest));
	return ms_insert_close(&u);
}

static int fill_sites(struct fill *w)
{
	const struct ms_replay *r = w->to->r;
	struct ms_insert u = update(w, "site", 1);
	static const struct ms_sampled_site none = {.smallest = UINT64_MAX};
	w->snapshot = w->thread = WHOLE;
	for (size_t i = 0; i < r->site_count; i++) {
		const struct ms_sampled_site *s = i < w->s->site_count ? &w->s->sites[i] : &none;
		w->site = w->to->row_of_site[i];
		ms_put_row(&u, ms_int("allocations", s->all.blocks),
			   ms_int("frees", s->freed.blocks), ms_int("id", w->site));
		put_calls(w, r->sites[i].bytes, &s->all, &s->freed, s->smallest);
	}
	return ms_insert_close(&u);
}

static int fill_threads(struct fill *w)
{
	const struct ms_replay *r = w->to->r;
	struct ms_insert u = update(w, "thread", 1);
	w->snapshot = w->site = WHOLE;
	for (size_t i = 0; i < r->thread_count; i++) {
		static const struct ms_sampled_thread idle = {.smallest = UINT64_MAX};
		const struct ms_sampled_thread *t =
			i < w->s->thread_count ? &w->s->threads[i] : &idle;
		w->thread = w->to->row_of_thread[i];
		if (!w->thread)
			continue;
		ms_put_row(&u, ms_int("allocations", t->all.blocks),
			   ms_int("frees", t->freed.blocks), ms_int("live_blocks", t->live.blocks),
			   ms_int("id", w->thread));
		put_calls(w, r->threads[i].bytes, &t->all, &t->freed, usual(t->smallest));
		put_pair(w, live, r->threads[i].live.bytes, &t->live, usual(t->smallest));
	}
	return ms_insert_close(&u);
}

static int fill_site_threads(struct fill *w)
{
	const struct ms_replay *r = w->to->r;
	struct ms_insert u = update(w, "site_thread", 2);
	for (size_t i = 0; i < r->record_count; i++) {
		static const struct ms_sampled_record none;
		const struct ms_sampled_record *x =
			i < w->s->record_count ? &w->s->records[i] : &none;
		ms_put_row(&u, ms_int("allocations", x->allocations),
			   ms_int("live_blocks", x->live_blocks),
			   ms_int("site", w->to->row_of_site[r->records[i].site]),
			   ms_int("thread", w->to->row_of_thread[r->records[i].thread]));
	}
	return ms_insert_close(&u);
}

static int fill_timeline(struct fill *w)
{
	const struct ms_replay *r = w->to->r;
	struct ms_insert u = update(w, "timeline", 2);
	for (size_t i = r->from_tick / r->span_ticks; i <= r->span; i++) {
		struct ms_spread x = ms_sampled_bytes(w->s, &r->spans[i].sampled_last);
		uint64_t low, high, tick = i * r->span_ticks; /* key of the row in table timeline */
		tick = tick < r->from_tick ? r->from_tick : tick;
		ms_interval_whole(r->spans[i].live_last, &x, &low, &high);
		ms_put_row(&u, ms_int("live_low", low), ms_int("live_high", high),
			   ms_int("process", w->to->p->id),
			   ms_int("time_ns", tick * w->to->tick_ns));
	}
	return ms_insert_close(&u);
}

/* ---- moments ---- */

/* Returns the sum of the live blocks at a point, of `site`, or of the whole process if `site` is
 * the replay's site_count. */
static struct ms_sampled_sum live_at(const struct fill *w, const struct ms_kept_point *p,
				     size_t site)
{
	const struct ms_sampled *s = w->s;
	bool whole = site == w->to->r->site_count;
	if (!whole && site >= s->site_count)
		return (struct ms_sampled_sum){0};
	if (p->kind == MS_KEPT_END)
		return whole ? s->total.live : s->sites[site].live;
	if (p->kind == MS_KEPT_PEAK)
		return ms_sampled_at_peak(s, whole ? s->site_count : site);
	if (p->kind != MS_KEPT_MOMENT)
		return (struct ms_sampled_sum){0};
	const struct ms_sampled_moment *m = &w->to->t->replay.moments[p->moment].sampled;
	if (whole)
		return m->total;
	return site < m->site_count ? m->sites[site] : (struct ms_sampled_sum){0};
}

static int fill_moment(struct fill *w, const struct ms_kept_point *p)
{
	const struct ms_replay *r = w->to->r;
	struct ms_sampled_sum all = live_at(w, p, r->site_count);
	struct ms_live_sites bytes = ms_live_at(w->to->t, p); /* as estimated by the replay */
	struct ms_insert u = update(w, "snapshot", 1);
	ms_put_row(&u, ms_int("live_blocks", all.blocks), ms_int("id", w->snapshot));
	w->site = w->thread = WHOLE;
	if (p->kind != MS_KEPT_START)
		put_pair(w, live, bytes.all.bytes, &all, usual(w->s->total.smallest));
	int rc = ms_insert_close(&u);
	u = update(w, "site_stat", 2);
	for (size_t i = 0; i < r->site_count; i++) {
		struct ms_sampled_sum x = live_at(w, p, i);
		if (!x.samples)
			continue;
		w->site = w->to->row_of_site[i];
		ms_put_row(&u, ms_int("live_blocks", x.blocks), ms_int("snapshot", w->snapshot),
			   ms_int("site", w->site));
		put_pair(w, live, ms_live_of(&bytes, i)->bytes, &x, w->s->sites[i].smallest);
	}
	ms_live_free(&bytes);
	return ms_insert_close(&u) || rc ? -1 : 0;
}

int ms_fill_sampled(struct ms_fill *to)
{
	if (!to->r->sampled)
		return 0;
	struct fill w = {.to = to, .s = to->r->sampled, .estimates = ms_rows(to, "estimate")};
	int rc = fill_process(&w) || fill_sites(&w) || fill_threads(&w) || fill_site_threads(&w) ||
		 fill_timeline(&w);
	int64_t snapshot = to->first_snapshot;
	for (size_t i = 0; i < to->f->label_count && rc == 0; i++) {
		if (to->p->points[i].kind == MS_KEPT_ABSENT)
			continue;
		w.snapshot = snapshot++;
		rc = fill_moment(&w, &to->p->points[i]);
	}
	return ms_insert_close(&w.estimates) || rc ? -1 : 0;
}
