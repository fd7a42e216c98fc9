/* SPDX-License-Identifier: MIT
 * Memory recorded beside the heap: applies its events.
 */
#include "replay_mapped.h"

#include "libcommon/base/arena.h"
#include "replay_private.h"
#include "format/trace.h"

#include <stdlib.h>

#define HEAPS_MOST 4096u /* limit, as an invalid trace may have any number of heaps */

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
	ms_blocks_free(&b->slacks);
	ms_ranges_free(&b->ranges);
	MS_FREE(b->held.v, b->frees.v, b->free_index.slots, b->sites, b);
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

static void set_bytes(const struct ms_replay *r, struct ms_level *l, uint64_t bytes)
{
	ms_replay_touch(l, r->peak_epoch);
	l->bytes = bytes;
}

static void change_slack(struct ms_replay *r, uint32_t site, uint64_t by)
{
	struct ms_level *l = &site_of(r->beside, site)->slack;
	r->beside->slack_bytes += by;
	set_bytes(r, l, l->bytes + by);
}

static void change_mapped(struct ms_replay *r, uint32_t site, uint64_t by)
{
	struct ms_level *l = &site_of(r->beside, site)->mapped;
	r->beside->mapped_bytes += by;
	set_bytes(r, l, l->bytes + by);
}

/* ---- blocks ---- */

void ms_beside_added(struct ms_replay *r, uint64_t number, uint32_t slack, uint32_t site)
{
	struct ms_beside *b = r->beside;
	b->usable |= slack != 0;
	if (slack <= 1)
		return;
	if (!b->slacks.window)
		ms_blocks_init(&b->slacks);
	ms_blocks_add(&b->slacks, number, slack - 1, 0, site);
	change_slack(r, site, slack - 1);
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

/* Removes the slack of a freed block, and counts the free at its stack. A block freed by realloc
 * was freed at the stack of the new block. */
void ms_beside_removed(struct ms_replay *r, const struct ms_event *ev, uint32_t site, uint64_t size)
{
	struct ms_beside *b = r->beside;
	struct ms_live_block slack;
	if (b->slacks.window && ms_blocks_take(&b->slacks, ev->freed, &slack))
		change_slack(r, slack.owner, -slack.size);
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

static void cut_piece(void *arg, const struct ms_range *piece)
{
	struct cutting *c = arg;
	uint64_t bytes = piece->end - piece->start;
	if (c->hold)
		*MS_PUSH(&c->r->beside->held) =
			(struct ms_beside_held){c->thread, piece->owner, bytes};
	else
		change_mapped(c->r, piece->owner, -bytes);
}

static uint64_t end_of(const struct ms_event *ev)
{
	return ev->size < UINT64_MAX - ev->address ? ev->address + ev->size : UINT64_MAX;
}

/* Removes the range of the event from the mapped ranges; `hold`: the bytes removed remain
 * counted. */
static bool cut(struct ms_replay *r, const struct ms_event *ev, bool hold)
{
	struct cutting c = {r, ev->thread, hold};
	return ms_ranges_cut(&r->beside->ranges, ev->address, end_of(ev), cut_piece, &c) != 0;
}

/* Stops counting the bytes that the thread's last UNMAP of an mremap held back. */
static void give_held(struct ms_replay *r, uint32_t thread)
{
	struct ms_beside *b = r->beside;
	size_t kept = 0;
	for (size_t i = 0; i < b->held.n; i++) {
		struct ms_beside_held h = b->held.v[i];
		if (h.thread == thread)
			change_mapped(r, h.site, -h.bytes);
		else
			b->held.v[kept++] = h;
	}
	b->held.n = kept;
}

static void map(struct ms_replay *r, const struct ms_event *ev)
{
	struct ms_beside *b = r->beside;
	uint64_t end = end_of(ev), bytes = end - ev->address;
	uint32_t site = ms_replay_site_of(r, ev->stack);
	if (b->held.n && ev->freed & MS_MAP_REMAP)
		give_held(r, ev->thread);
	cut(r, ev, false);
	if (!bytes)
		return;
	ms_ranges_add(&b->ranges, ev->address, end, site);
	change_mapped(r, site, bytes);
	struct ms_beside_site *s = site_of(b, site);
	s->maps++;
	s->mapped_bytes += bytes;
	b->maps++;
	b->taken_bytes += bytes;
	if (b->mapped_bytes <= b->most_bytes)
		return;
	b->most_bytes = b->mapped_bytes;
	b->most_tick = ev->time_ticks;
}

void ms_beside_mapped(struct ms_replay *r, const struct ms_event *ev)
{
	beside(r)->mapped = true;
	if (ev->ext == MS_EXT_MAP)
		map(r, ev);
	else
		r->beside->unmaps += cut(r, ev, ev->freed & MS_MAP_REMAP);
}

/* ---- set to a state ---- */

void ms_beside_restore(struct ms_replay *r)
{
	struct ms_beside *b = r->beside;
	for (size_t i = 0; i < b->site_count; i++) {
		set_bytes(r, &b->sites[i].slack, 0);
		set_bytes(r, &b->sites[i].mapped, 0);
	}
	ms_blocks_clear(&b->slacks);
	ms_ranges_free(&b->ranges);
	b->slack_bytes = b->mapped_bytes = 0;
	b->held.n = 0;
}

void ms_beside_restore_range(struct ms_replay *r, const struct ms_checkpoint_range *range)
{
	uint32_t site = ms_replay_site_of(r, range->stack);
	ms_ranges_add(&r->beside->ranges, range->address, range->address + range->bytes, site);
	change_mapped(r, site, range->bytes);
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

void ms_beside_moment(const struct ms_beside *b, struct ms_beside_moment *m)
{
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

/* Stops counting all held bytes: a recording may end between the two events of an mremap. */
void ms_beside_finish(struct ms_replay *r)
{
	while (r->beside->held.n)
		give_held(r, r->beside->held.v[0].thread);
}

/* ---- backing ---- */

static struct ms_backing *backing_of(struct ms_replay *r, uint32_t node)
{
	for (size_t i = 0; i < r->backing.n; i++)
		if (r->backing.v[i].node == node)
			return &r->backing.v[i];
	if (r->backing.n == HEAPS_MOST)
		return &r->backing.v[0];
	struct ms_backing *b = MS_PUSH(&r->backing);
	*b = (struct ms_backing){.node = node};
	return b;
}

void ms_backing_event(struct ms_replay *r, const struct ms_event *ev)
{
	struct ms_backing *b = backing_of(r, ev->stack < r->node_count ? ev->stack : 0);
	if (ev->ext == MS_EXT_UNBACKING) {
		b->bytes -= ev->size < b->bytes ? ev->size : b->bytes;
		b->blocks -= b->blocks != 0;
		return;
	}
	b->bytes += ev->size;
	b->blocks++;
	b->taken++;
	b->most_bytes = b->bytes > b->most_bytes ? b->bytes : b->most_bytes;
}
