/* SPDX-License-Identifier: MIT
 * Hands over sites that are gone (struct ms_gone_site) without a row. Of most programs with very many
 * sites nearly all are, as each allocated for a moment; a first screen only adds them up.
 */
#include "snapshot_private.h"

#include "libcommon/base/arena.h"
#include "libcommon/replay/replay_growth.h"
#include "snapshot_insert.h"

/* Set when a site may be reported as one that kept its blocks: it made this many allocations, and
 * this part of their blocks was live at once. */
enum { KEPT_BLOCKS = 16, KEPT_PERCENT = 80 };

static bool has_more(const struct ms_replay_site *x, const struct ms_replay_site *y, bool bytes)
{
	uint64_t a = bytes ? x->bytes : x->allocations, b = bytes ? y->bytes : y->allocations;
	uint64_t c = bytes ? x->allocations : x->bytes, d = bytes ? y->allocations : y->bytes;
	return a != b ? a > b : c > d;
}

/* Marks the sites that made the most calls and that allocated the most bytes. */
static void mark_most(const struct ms_fill *w, bool *shown)
{
	uint32_t most[2] = {w->order[0], w->order[0]};
	for (size_t i = 1; i < w->r->site_count; i++)
		for (unsigned k = 0; k < 2; k++)
			if (has_more(&w->r->sites[w->order[i]], &w->r->sites[most[k]], k))
				most[k] = w->order[i];
	shown[most[0]] = shown[most[1]] = true;
}

bool *ms_shown_sites(const struct ms_fill *w)
{
	const struct ms_replay *r = w->r;
	const struct ms_recording *t = w->t;
	bool whole = !(w->unknown & ~(unsigned)(MS_NEEDS_MMAP | MS_NEEDS_USABLE));
	if (!w->f->taker || !w->f->taker->gone || !r->brief || r->beside || !whole ||
	    t->retention.rows.n || !r->site_count)
		return NULL;
	bool *shown = ms_xcalloc(r->site_count, sizeof *shown);
	for (size_t i = 0; i < r->moment_count; i++)
		for (size_t k = 0; k < r->moments[i].figure_count; k++)
			shown[r->moments[i].figures[k].site] = true;
	for (size_t i = 0; i < r->growth->grown_count; i++)
		if (r->growth->grown[i].site != UINT32_MAX)
			shown[r->growth->grown[i].site] = true;
	for (size_t i = 0; i < t->verdicts.n; i++) {
		uint64_t node = t->verdicts.v[i].is_scan ? 0 : t->verdicts.v[i].site.stack;
		uint32_t site = node < r->node_count ? r->site_of_node[node] : 0;
		if (site)
			shown[site - 1] = true;
	}
	mark_most(w, shown);
	return shown;
}

bool ms_take_gone(const struct ms_fill *w, uint32_t i)
{
	const struct ms_replay_site *s = &w->r->sites[i];
	uint32_t stack = w->stacks.of_site[i].row, user = w->stacks.of_site[i].user;
	uint64_t bytes, blocks, most = s->allocations | s->bytes | (uint64_t)w->row_of_site[i];
	ms_replay_at_peak(w->r, &s->live, &bytes, &blocks);
	bool kept = s->allocations >= KEPT_BLOCKS &&
		    s->max_live_blocks * 100 >= s->allocations * KEPT_PERCENT;
	if (!stack || blocks || s->live.blocks || kept || most > UINT32_MAX || ms_one_time_of(w, i))
		return false;
	uint32_t thread = ms_replay_thread_of(s);
	w->f->taker->gone(w->f->taker->arg,
			  &(struct ms_gone_site){
				  (uint32_t)w->row_of_site[i], stack, user ? user : stack,
				  thread == UINT32_MAX ? 0 : (uint32_t)w->row_of_thread[thread],
				  (uint32_t)s->allocations, (uint32_t)s->bytes,
				  (uint32_t)s->temporary, (uint32_t)s->soon});
	return true;
}
