/* SPDX-License-Identifier: MIT
 * Replay of a sampled recording: scales samples up.
 */
#include "replay_sampled.h"

#include "libcommon/base/arena.h"
#include "replay_cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void ms_sampled_start(struct ms_replay *r, uint64_t mean_bytes)
{
	if (r->sampled || r->events || r->live_blocks)
		return;
	struct ms_sampled *s = ms_xcalloc(1, sizeof *s);
	s->mean = mean_bytes < MS_SAMPLE_MOST ? mean_bytes : MS_SAMPLE_MOST;
	s->total.smallest = UINT64_MAX;
	r->sampled = s;
	r->brief = false;
}

void ms_sampled_free(struct ms_sampled *s)
{
	if (!s)
		return;
	MS_FREE(s->sites, s->threads, s->allocations, s->records, s);
}

static struct ms_sampled_site *site_of(struct ms_sampled *s, size_t i)
{
	s->sites = ms_xgrow(s->sites, &s->site_cap, i + 1, sizeof *s->sites);
	for (; s->site_count <= i; s->site_count++)
		s->sites[s->site_count].smallest = UINT64_MAX;
	return &s->sites[i];
}

static struct ms_sampled_thread *thread_of(struct ms_sampled *s, size_t i)
{
	size_t before = s->thread_count;
	s->threads = ms_xgrow(s->threads, &s->thread_count, i + 1, sizeof *s->threads);
	for (; before < s->thread_count; before++)
		s->threads[before].smallest = UINT64_MAX;
	return &s->threads[i];
}

/* ---- one block ---- */

static struct ms_sampled_sum one(const struct ms_sampled *s, uint64_t number, uint64_t size)
{
	double p = ms_sample_chance(size, s->mean), part = 1 / p - floor(1 / p);
	double variance = (1 - p) / (p * p), x = (double)size;
	return (struct ms_sampled_sum){1, ms_sample_blocks(size, s->mean, number), size,
				       variance + part * (1 - part), x * x * variance};
}

static void add(struct ms_sampled_sum *to, const struct ms_sampled_sum *x)
{
	to->samples += x->samples;
	to->blocks += x->blocks;
	to->bytes += x->bytes;
	to->blocks_variance += x->blocks_variance;
	to->bytes_variance += x->bytes_variance;
}

static void take(struct ms_sampled_sum *from, const struct ms_sampled_sum *x)
{
	from->samples -= x->samples;
	from->blocks -= x->blocks;
	from->bytes -= x->bytes;
	from->blocks_variance -= x->blocks_variance;
	from->bytes_variance -= x->bytes_variance;
	if (!from->samples) /* removes what rounding errors have left */
		*from = (struct ms_sampled_sum){0};
}

/* ---- events ---- */

/* Saves a site's sum at the peak before the first event after the peak changes the live sum. */
static void touch(const struct ms_replay *r, struct ms_sampled_site *site)
{
	if (site->epoch == r->peak_epoch)
		return;
	site->epoch = r->peak_epoch;
	site->at_peak = site->live;
}

static void smaller(uint64_t *smallest, uint64_t size)
{
	if (size < *smallest)
		*smallest = size;
}

void ms_sampled_removed(struct ms_replay *r, const struct ms_event *ev,
			const struct ms_live_block *b)
{
	struct ms_sampled *s = r->sampled;
	struct ms_sampled_sum x = one(s, ev->freed, b->size);
	struct ms_sampled_site *both[] = {&s->total, site_of(s, r->cells[b->owner].site)};
	for (int i = 0; i < 2; i++) {
		touch(r, both[i]);
		take(&both[i]->live, &x);
		if (ev->kind != MS_EV_FREE_INFERRED)
			add(&both[i]->freed, &x);
	}
	struct ms_sampled_thread *t = thread_of(s, ev->thread);
	if (ev->kind != MS_EV_FREE_INFERRED)
		add(&t->freed, &x);
	else
		s->inferred_frees += x.blocks;
	smaller(&t->smallest, b->size);
}

void ms_sampled_added(struct ms_replay *r, const struct ms_event *ev, uint32_t cell)
{
	struct ms_sampled *s = r->sampled;
	struct ms_sampled_sum x = one(s, ev->number, ev->size);
	struct ms_sampled_site *both[] = {&s->total, site_of(s, r->cells[cell].site)};
	for (int i = 0; i < 2; i++) {
		touch(r, both[i]);
		add(&both[i]->live, &x);
		add(&both[i]->all, &x);
		smaller(&both[i]->smallest, ev->size);
	}
	struct ms_sampled_thread *t = thread_of(s, ev->thread);
	add(&t->all, &x);
	smaller(&t->smallest, ev->size);
	s->allocations =
		ms_xgrow(s->allocations, &s->cell_count, (size_t)cell + 1, sizeof *s->allocations);
	s->allocations[cell] += x.blocks;
}

void ms_sampled_moment(const struct ms_sampled *s, struct ms_sampled_moment *m)
{
	*m = (struct ms_sampled_moment){.total = s->total.live, .site_count = s->site_count};
	m->sites = ms_xrealloc(NULL, s->site_count, sizeof *m->sites);
	for (size_t k = 0; k < s->site_count; k++)
		m->sites[k] = s->sites[k].live;
}

/* ---- set to a state ---- */

void ms_sampled_put(void *arg, uint64_t number, const struct ms_live_block *b)
{
	const struct ms_replay *r = arg;
	struct ms_sampled *s = r->sampled;
	struct ms_sampled_sum x = one(s, number, b->size);
	struct ms_sampled_site *both[] = {&s->total, site_of(s, r->cells[b->owner].site)};
	for (int i = 0; i < 2; i++) {
		touch(r, both[i]);
		add(&both[i]->live, &x);
		smaller(&both[i]->smallest, b->size);
	}
}

static void forget_live(const struct ms_replay *r, struct ms_sampled_site *site)
{
	touch(r, site);
	site->live = (struct ms_sampled_sum){0};
}

void ms_sampled_restore(struct ms_replay *r)
{
	struct ms_sampled *s = r->sampled;
	forget_live(r, &s->total);
	for (size_t i = 0; i < s->site_count; i++)
		forget_live(r, &s->sites[i]);
}

void ms_sampled_begin(struct ms_replay *r)
{
	struct ms_sampled *s = r->sampled;
	for (size_t i = 0; i < s->site_count; i++)
		s->sites[i] = (struct ms_sampled_site){.smallest = UINT64_MAX};
	s->total = (struct ms_sampled_site){.smallest = UINT64_MAX};
	s->inferred_frees = 0;
	for (size_t i = 0; i < s->thread_count; i++)
		s->threads[i] = (struct ms_sampled_thread){.smallest = UINT64_MAX};
	if (s->cell_count)
		memset(s->allocations, 0, s->cell_count * sizeof *s->allocations);
	ms_blocks_each(&r->blocks, ms_sampled_put, r);
}

static void count_live(void *arg, uint64_t number, const struct ms_live_block *b)
{
	const struct ms_replay *r = arg;
	struct ms_sampled *s = r->sampled;
	struct ms_sampled_sum x = one(s, number, b->size);
	add(&thread_of(s, r->cells[b->owner].thread)->live, &x);
	s->records[r->cells[b->owner].record].live_blocks += x.blocks;
}

void ms_sampled_finish(struct ms_replay *r)
{
	struct ms_sampled *s = r->sampled;
	s->record_count = 0;
	s->records = ms_xgrow(s->records, &s->record_count, r->record_count, sizeof *s->records);
	for (size_t i = 0; i < s->cell_count && i < r->cell_count; i++)
		if (r->cells[i].record != UINT32_MAX)
			s->records[r->cells[i].record].allocations += s->allocations[i];
	ms_blocks_each(&r->blocks, count_live, r);
	s->peak_epoch = r->peak_epoch;
}

/* ---- what it comes to ---- */

struct ms_sampled_sum ms_sampled_at_peak(const struct ms_sampled *s, size_t site)
{
	const struct ms_sampled_site *x = site < s->site_count ? &s->sites[site] : &s->total;
	return x->epoch == s->peak_epoch ? x->at_peak : x->live;
}

struct ms_spread ms_sampled_bytes(const struct ms_sampled *s, const struct ms_sampled_sum *sum)
{
	struct ms_spread x = ms_spread_of_bytes(0, s->mean);
	x.seen = (double)sum->bytes;
	x.variance = sum->bytes_variance;
	return x;
}

struct ms_spread ms_sampled_blocks(const struct ms_sampled *s, const struct ms_sampled_sum *sum,
				   uint64_t smallest)
{
	/* no block was recorded, so blocks of any size may have been missed */
	struct ms_spread x = ms_spread_of_block(smallest != UINT64_MAX ? smallest : 1, s->mean);
	x.seen = (double)sum->samples;
	x.variance = sum->blocks_variance;
	return x;
}
