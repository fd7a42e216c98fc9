/* SPDX-License-Identifier: MIT
 * What is recorded beside the heap: what each event does to it.
 */
#include "replay_mapped.h"

#include "libcommon/base/arena.h"
#include "replay_private.h"
#include "format/trace.h"

#include <stdlib.h>

#define HEAPS_MOST 4096u /* of a trace that is not good there may be any number */

static struct ms_beside *beside(struct ms_replay *r)
{
	if (!r->beside)
		r->beside = ms_xcalloc(1, sizeof *r->beside);
	return r->beside;
}

void ms_beside_start(struct ms_replay *r, uint64_t options)
{
	if (!(options & (MS_OPTION_MMAP | MS_OPTION_USABLE | MS_OPTION_FREE_STACKS)))
		return;
	struct ms_beside *b = beside(r);
	b->mapped = options & MS_OPTION_MMAP;
	b->asked_usable = options & MS_OPTION_USABLE;
	b->free_stacks = options & MS_OPTION_FREE_STACKS;
}

void ms_beside_free(struct ms_beside *b)
{
	if (!b)
		return;
	for (size_t i = 0; i < b->moments.n; i++)
		free(b->moments.v[i].figures);
	ms_blocks_free(&b->slacks);
	ms_ranges_free(&b->ranges);
	MS_FREE(b->moments.v, b->held.v, b->frees.v, b->free_index.slots, b->sites, b);
}

static struct ms_beside_site *site_of(struct ms_beside *b, uint32_t site)
{
	b->sites = ms_xgrow(b->sites, &b->site_count, (size_t)site + 1, sizeof *b->sites);
	return &b->sites[site];
}

const struct ms_beside_site *ms_beside_site(const struct ms_beside *b, uint32_t site)
{
	static const struct ms_beside_site none;
	return site < b->site_count ? &b->sites[site] : &none;
}

static void add(const struct ms_replay *r, struct ms_level *l, uint64_t bytes)
{
	ms_replay_touch(r, l);
	l->bytes += bytes;
}

static void subtract(const struct ms_replay *r, struct ms_level *l, uint64_t bytes)
{
	ms_replay_touch(r, l);
	l->bytes -= bytes;
}

/* ---- blocks ---- */

void ms_beside_added(struct ms_replay *r, const struct ms_event *ev, uint32_t site)
{
	struct ms_beside *b = r->beside;
	if (!ev->slack)
		return;
	b->usable = true;
	uint64_t slack = ev->slack - 1;
	if (!slack)
		return;
	if (!b->slacks.window)
		ms_blocks_init(&b->slacks);
	ms_blocks_add(&b->slacks, ev->number, slack, 0, site);
	b->slack_bytes += slack;
	add(r, &site_of(b, site)->slack, slack);
}

static struct ms_beside_free *free_of(struct ms_beside *b, uint32_t site, uint32_t stack)
{
	uint32_t hash = ms_hash(site, stack), n;
	for (size_t at = hash; (n = ms_lookup_next(&b->free_index, hash, &at));)
		if (b->frees.v[n - 1].site == site && b->frees.v[n - 1].stack == stack)
			return &b->frees.v[n - 1];
	*MS_PUSH(&b->frees) = (struct ms_beside_free){.site = site, .stack = stack};
	ms_lookup_add(&b->free_index, hash, (uint32_t)b->frees.n);
	return &b->frees.v[b->frees.n - 1];
}

/* What a realloc replaced was freed where the new block was made. */
void ms_beside_removed(struct ms_replay *r, const struct ms_event *ev, uint32_t site, uint64_t size)
{
	struct ms_beside *b = r->beside;
	struct ms_live_block slack;
	if (b->slacks.window && ms_blocks_take(&b->slacks, ev->freed, &slack)) {
		b->slack_bytes -= slack.size;
		subtract(r, &site_of(b, slack.owner)->slack, slack.size);
	}
	if (!b->free_stacks || ev->kind == MS_EV_FREE_INFERRED)
		return;
	struct ms_beside_free *f = free_of(b, site, ev->stack < r->node_count ? ev->stack : 0);
	f->frees++;
	f->bytes += size;
}

void ms_beside_peak(struct ms_replay *r)
{
	r->beside->peak_slack_bytes = r->beside->slack_bytes;
	r->beside->peak_mapped_bytes = r->beside->mapped_bytes;
}

/* ---- mapped ---- */

struct cutting {
	struct ms_replay *r;
	uint32_t thread;
	bool hold;
};

static void give(struct ms_replay *r, uint32_t site, uint64_t bytes)
{
	r->beside->mapped_bytes -= bytes;
	subtract(r, &site_of(r->beside, site)->mapped, bytes);
}

static void cut_piece(void *arg, const struct ms_range *piece)
{
	struct cutting *c = arg;
	uint64_t bytes = piece->end - piece->start;
	if (c->hold)
		*MS_PUSH(&c->r->beside->held) =
			(struct ms_beside_held){c->thread, piece->owner, bytes};
	else
		give(c->r, piece->owner, bytes);
}

static uint64_t end_of(const struct ms_event *ev)
{
	return ev->size < UINT64_MAX - ev->address ? ev->address + ev->size : UINT64_MAX;
}

/* Takes the range out of what is mapped; `hold`: its bytes stay counted. */
static bool cut(struct ms_replay *r, const struct ms_event *ev, bool hold)
{
	struct cutting c = {r, ev->thread, hold};
	return ms_ranges_cut(&r->beside->ranges, ev->address, end_of(ev), cut_piece, &c) != 0;
}

/* What the thread's last UNMAP took away for an mremap is not counted any more. */
static void give_held(struct ms_replay *r, uint32_t thread)
{
	struct ms_beside *b = r->beside;
	size_t kept = 0;
	for (size_t i = 0; i < b->held.n; i++) {
		struct ms_beside_held h = b->held.v[i];
		if (h.thread == thread)
			give(r, h.site, h.bytes);
		else
			b->held.v[kept++] = h;
	}
	b->held.n = kept;
}

void ms_beside_map(struct ms_replay *r, const struct ms_event *ev, uint32_t site)
{
	struct ms_beside *b = beside(r);
	uint64_t end = end_of(ev), bytes = end - ev->address;
	b->mapped = true;
	if (b->held.n && ev->freed & MS_MAP_REMAP)
		give_held(r, ev->thread);
	cut(r, ev, false);
	if (!bytes)
		return;
	ms_ranges_add(&b->ranges, ev->address, end, site);
	struct ms_beside_site *s = site_of(b, site);
	s->maps++;
	s->mapped_bytes += bytes;
	add(r, &s->mapped, bytes);
	b->maps++;
	b->taken_bytes += bytes;
	b->mapped_bytes += bytes;
	if (b->mapped_bytes <= b->most_bytes)
		return;
	b->most_bytes = b->mapped_bytes;
	b->most_tick = ev->time_ticks;
}

void ms_beside_unmap(struct ms_replay *r, const struct ms_event *ev)
{
	struct ms_beside *b = beside(r);
	b->mapped = true;
	b->unmaps += cut(r, ev, ev->freed & MS_MAP_REMAP);
}

/* ---- set to a state ---- */

static void forget(const struct ms_replay *r, struct ms_level *l)
{
	ms_replay_touch(r, l);
	l->bytes = 0;
}

void ms_beside_restore(struct ms_replay *r)
{
	struct ms_beside *b = r->beside;
	for (size_t i = 0; i < b->site_count; i++) {
		forget(r, &b->sites[i].slack);
		forget(r, &b->sites[i].mapped);
	}
	ms_blocks_clear(&b->slacks);
	ms_ranges_free(&b->ranges);
	b->slack_bytes = b->mapped_bytes = 0;
	b->held.n = 0;
}

void ms_beside_restore_block(struct ms_replay *r, const struct ms_checkpoint_block *block,
			     uint32_t site)
{
	struct ms_beside *b = r->beside;
	b->usable |= block->slack != 0;
	if (block->slack <= 1)
		return;
	uint64_t slack = block->slack - 1;
	ms_blocks_add(&b->slacks, block->number, slack, 0, site);
	b->slack_bytes += slack;
	add(r, &site_of(b, site)->slack, slack);
}

void ms_beside_restore_range(struct ms_replay *r, const struct ms_checkpoint_range *range,
			     uint32_t site)
{
	struct ms_beside *b = r->beside;
	ms_ranges_add(&b->ranges, range->address, range->address + range->bytes, site);
	b->mapped_bytes += range->bytes;
	add(r, &site_of(b, site)->mapped, range->bytes);
}

void ms_beside_begin(struct ms_replay *r, uint64_t tick)
{
	struct ms_beside *b = r->beside;
	for (size_t i = 0; i < b->site_count; i++)
		b->sites[i].maps = b->sites[i].mapped_bytes = 0;
	b->maps = b->unmaps = b->taken_bytes = 0;
	b->most_bytes = b->mapped_bytes;
	b->most_tick = tick;
	b->frees.n = 0;
	ms_lookup_clear(&b->free_index);
	ms_beside_peak(r);
}

/* ---- moments ---- */

void ms_beside_moment(struct ms_replay *r, size_t number)
{
	struct ms_beside *b = r->beside;
	while (b->moments.n <= number)
		*MS_PUSH(&b->moments) = (struct ms_beside_moment){0};
	struct ms_beside_moment *m = &b->moments.v[number];
	m->slack_bytes = b->slack_bytes;
	m->mapped_bytes = b->mapped_bytes;
	m->figures = ms_xrealloc(NULL, b->site_count, sizeof *m->figures);
	for (size_t i = 0; i < b->site_count; i++) {
		const struct ms_beside_site *s = &b->sites[i];
		if (s->slack.bytes || s->mapped.bytes)
			m->figures[m->count++] = (struct ms_beside_figure){
				(uint32_t)i, s->slack.bytes, s->mapped.bytes};
	}
	m->figures = ms_xrealloc(m->figures, m->count, sizeof *m->figures);
}

/* A recording may end between the halves of an mremap. */
void ms_beside_finish(struct ms_replay *r)
{
	while (r->beside->held.n)
		give_held(r, r->beside->held.v[0].thread);
}

/* ---- backing ---- */

static struct ms_backing_heap *heap_of(struct ms_backing *b, uint32_t node)
{
	for (size_t i = 0; i < b->heaps.n; i++)
		if (b->heaps.v[i].node == node)
			return &b->heaps.v[i];
	if (b->heaps.n == HEAPS_MOST)
		return &b->heaps.v[0];
	struct ms_backing_heap *h = MS_PUSH(&b->heaps);
	*h = (struct ms_backing_heap){.node = node};
	return h;
}

void ms_backing_event(struct ms_replay *r, const struct ms_event *ev)
{
	if (!r->backing)
		r->backing = ms_xcalloc(1, sizeof *r->backing);
	struct ms_backing_heap *h = heap_of(r->backing, ev->stack < r->node_count ? ev->stack : 0);
	if (ev->ext == MS_EXT_UNBACKING) {
		h->bytes -= ev->size < h->bytes ? ev->size : h->bytes;
		h->blocks -= h->blocks != 0;
		return;
	}
	h->bytes += ev->size;
	h->blocks++;
	h->taken++;
	h->most_bytes = h->bytes > h->most_bytes ? h->bytes : h->most_bytes;
}

void ms_backing_free(struct ms_backing *b)
{
	if (b)
		free(b->heaps.v);
	free(b);
}
