/* SPDX-License-Identifier: MIT
 * Moments of the live-heap model: what was live then, kept when an alarm goes off.
 */
#include "replay_private.h"

#include "libcommon/base/arena.h"
#include "replay_cells.h"
#include "replay_mapped.h"
#include "replay_sampled.h"

#include <stdlib.h>

/* With more moments than this nobody looks how old blocks are: it would cost a pass over the live
 * blocks for each. */
#define AGES_MOMENTS 64u

size_t ms_replay_moment(struct ms_replay *r, uint64_t tick, uint64_t event)
{
	r->moments = ms_xrealloc(r->moments, r->moment_count + 1, sizeof *r->moments);
	r->moments[r->moment_count] = (struct ms_replay_moment){.tick = tick, .event = event};
	if (tick < r->alarm_tick)
		r->alarm_tick = tick;
	if (event < r->alarm_event)
		r->alarm_event = event;
	return r->moment_count++;
}

/* ---- how old the live blocks are ---- */

struct survey {
	const struct ms_replay_cell *cells;
	uint64_t *oldest;
};

static void look(void *arg, uint64_t number, const struct ms_live_block *b)
{
	const struct survey *s = arg;
	uint64_t *oldest = &s->oldest[s->cells[b->owner].site];
	(void)number;
	*oldest = b->tick < *oldest ? b->tick : *oldest;
}

uint64_t *ms_replay_oldest(const struct ms_replay *r)
{
	if (r->sampled)
		return NULL;
	uint64_t *oldest = ms_xrealloc(NULL, r->site_count, sizeof *oldest);
	for (size_t i = 0; i < r->site_count; i++)
		oldest[i] = MS_NEVER;
	ms_blocks_each(&r->blocks, look, &(struct survey){r->cells, oldest});
	return oldest;
}

/* ---- moments ---- */

static void take_moment(struct ms_replay *r, struct ms_replay_moment *m)
{
	m->taken = true;
	m->live_bytes = r->live_bytes;
	m->live_blocks = r->live_blocks;
	uint64_t *oldest = r->moment_count <= AGES_MOMENTS ? ms_replay_oldest(r) : NULL;
	m->figures = ms_xrealloc(NULL, r->site_count, sizeof *m->figures);
	for (size_t i = 0; i < r->site_count; i++)
		if (r->sites[i].live.blocks)
			m->figures[m->figure_count++] = (struct ms_replay_figure){
				(uint32_t)i, r->sites[i].live.bytes, r->sites[i].live.blocks,
				oldest ? oldest[i] : MS_NEVER};
	free(oldest);
	m->figures = ms_xrealloc(m->figures, m->figure_count, sizeof *m->figures);
	if (r->sampled)
		ms_sampled_moment(r->sampled, &m->sampled);
	if (r->beside)
		ms_beside_moment(r->beside, &m->beside);
}

uint64_t ms_replay_take_due(struct ms_replay *r, uint64_t tick, bool all)
{
	uint64_t next = MS_NEVER;
	const struct ms_replay_moment *begin = NULL;
	r->alarm_event = MS_NEVER;
	for (size_t i = 0; i < r->moment_count; i++) {
		struct ms_replay_moment *m = &r->moments[i];
		if (m->taken || m->missed)
			continue;
		if (m->tick != MS_NEVER ? tick >= m->tick : all || r->position >= m->event) {
			take_moment(r, m);
			begin = m->begins ? m : begin;
		} else if (m->tick != MS_NEVER)
			next = m->tick < next ? m->tick : next;
		else
			r->alarm_event = m->event < r->alarm_event ? m->event : r->alarm_event;
	}
	if (begin)
		ms_replay_begin(r, begin->tick != MS_NEVER && begin->tick ? begin->tick - 1
									  : r->last_tick);
	return next;
}

void ms_replay_count_from(struct ms_replay *r, size_t moment)
{
	r->moments[moment].begins = true;
}

void ms_replay_end_moments(struct ms_replay *r, uint64_t tick)
{
	ms_replay_take_due(r, tick + 1, true);
	for (size_t i = 0; i < r->moment_count; i++)
		if (r->moments[i].begins && !r->moments[i].taken)
			ms_replay_begin(r, tick); /* it ended before: nothing was counted */
}
