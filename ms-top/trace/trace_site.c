/* SPDX-License-Identifier: MIT
 * All about one site: its blocks by size, age and thread.
 */
#include <string.h>

#include "trace.h"
#include "libcommon/base/clock.h"
#include "libcommon/replay/replay_cells.h"

#define AGES_PART 50u /* of the time, for looking at every live block */

/* The threads with most, in order; there is room for eight. */
static void add_thread(struct site_detail *d, const struct ms_replay_cell *c)
{
	size_t n = d->thread_count < 8 ? d->thread_count : 8, i = 0;
	while (i < n && d->threads[i].thread != c->thread)
		i++;
	if (i == n && d->thread_count++ >= 8)
		return;
	struct site_thread *x = &d->threads[i];
	if (i == n)
		*x = (struct site_thread){.thread = c->thread};
	x->live_bytes += c->live.bytes;
	x->allocations += c->allocations;
}

static void add_cells(struct site_detail *d, const struct ms_replay *r, uint32_t site)
{
	for (size_t i = 0; i < r->cell_count; i++) {
		const struct ms_replay_cell *c = &r->cells[i];
		if (c->site != site)
			continue;
		d->size_blocks[c->class] += c->live.blocks;
		d->size_bytes[c->class] += c->live.bytes;
		d->size_calls[c->class] += c->allocations;
		add_thread(d, c);
	}
	size_t n = d->thread_count < 8 ? d->thread_count : 8;
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k && d->threads[k].live_bytes > d->threads[k - 1].live_bytes;
		     k--) {
			struct site_thread x = d->threads[k];
			d->threads[k] = d->threads[k - 1];
			d->threads[k - 1] = x;
		}
}

struct survey {
	struct site_detail *d;
	const struct ms_replay *r;
	uint32_t site;
	uint64_t now; /* tick */
};

static void look(void *arg, uint64_t number, const struct ms_live_block *b)
{
	struct survey *s = arg;
	(void)number;
	if (s->r->cells[b->owner].site != s->site)
		return;
	uint64_t age = s->now > b->tick ? s->now - b->tick : 0;
	s->d->age_blocks[ms_age_class(&s->r->by_ticks, age)]++;
}

static void add_ages(struct trace *t, struct site_detail *d, const struct ms_replay *r,
		     uint32_t site)
{
	uint64_t start = ms_clock_ns(CLOCK_MONOTONIC);
	struct survey s = {d, r, site, t->total.ns / t->shown->head->tick_ns};
	if (r->sampled)
		return; /* one block that was recorded stands for others of unknown age */
	memset(d->age_blocks, 0, sizeof d->age_blocks);
	ms_blocks_each(&r->blocks, look, &s);
	uint64_t end = ms_clock_ns(CLOCK_MONOTONIC);
	d->ages_ns = t->total.ns;
	d->next_ages_ns = end + (end - start) * AGES_PART;
}

void site_look(struct trace *t, uint32_t node)
{
	struct site_detail *d = &t->detail;
	const struct ms_replay *r = &t->shown->replay;
	bool same = d->of_look && d->node == node;
	if (same && d->of_look == t->looks)
		return;
	uint32_t site = node < r->node_count ? r->site_of_node[node] : 0;
	struct site_detail old = *d;
	*d = (struct site_detail){.node = node, .of_look = t->looks};
	if (!site)
		return;
	const struct ms_replay_site *s = &r->sites[site - 1];
	add_cells(d, r, site - 1);
	if (same && ms_clock_ns(CLOCK_MONOTONIC) < old.next_ages_ns && old.ages_ns <= t->total.ns) {
		memcpy(d->age_blocks, old.age_blocks, sizeof d->age_blocks);
		d->ages_ns = old.ages_ns;
		d->next_ages_ns = old.next_ages_ns;
	} else {
		add_ages(t, d, r, site - 1);
	}
	if (s->ages)
		memcpy(d->lived, r->ages[s->ages - 1].time, sizeof d->lived);
	d->reallocations = s->reallocations;
	d->failed = s->failed;
}
