/* SPDX-License-Identifier: MIT
 * Details of one site: its blocks by size, age and thread.
 */
#include <string.h>

#include "trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/clock.h"
#include "libcommon/base/order.h"
#include "libcommon/replay/replay_cells.h"

#define AGES_PART 50u /* visiting all live blocks takes at most 1/AGES_PART of the time */

#define THREADS (sizeof((struct site_detail *)0)->threads / sizeof(struct site_thread))

static int larger_first(const void *a, const void *b)
{
	const struct site_thread *x = a, *y = b;
	return MS_ORDER(y->live_bytes, x->live_bytes) ?: MS_ORDER(y->allocations, x->allocations)
			?: MS_ORDER(x->thread, y->thread);
}

static void add_cells(struct trace *t, struct site_detail *d, const struct ms_replay *r,
		      uint32_t site)
{
	struct site_thread *v = t->site_threads = ms_xgrow(
		t->site_threads, &t->site_threads_room, r->thread_count, sizeof *t->site_threads);
	for (size_t i = 0; i < r->thread_count; i++)
		v[i] = (struct site_thread){.thread = (uint32_t)i};
	for (size_t i = 0; i < r->cell_count; i++) {
		const struct ms_replay_cell *c = &r->cells[i];
		if (c->site != site)
			continue;
		d->size_blocks[c->class] += c->live.blocks;
		d->size_bytes[c->class] += c->live.bytes;
		d->size_calls[c->class] += ms_replay_calls(r, i);
		size_t own = ms_thread_of(t->follow->rec, c->thread);
		v[own].live_bytes += c->live.bytes;
		v[own].allocations += ms_replay_calls(r, i);
	}
	for (size_t i = 0; i < r->thread_count; i++)
		if (v[i].live_bytes || v[i].allocations)
			v[d->thread_count++] = v[i];
	MS_SORT(v, d->thread_count, larger_first);
	for (size_t i = 0; i < THREADS && i < d->thread_count; i++)
		d->threads[i] = v[i];
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
		return; /* the ages of blocks that a sample represents are unknown */
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
	add_cells(t, d, r, site - 1);
	if (same && ms_clock_ns(CLOCK_MONOTONIC) < old.next_ages_ns && old.ages_ns <= t->total.ns) {
		memcpy(d->age_blocks, old.age_blocks, sizeof d->age_blocks);
		d->ages_ns = old.ages_ns;
		d->next_ages_ns = old.next_ages_ns;
	} else {
		add_ages(t, d, r, site - 1);
	}
	const struct ms_replay_ages ages = ms_replay_ages_of(r, s);
	memcpy(d->lived, ages.time, sizeof d->lived);
	d->reallocations = r->rare[site - 1].reallocations;
	d->failed = r->rare[site - 1].failed;
}
