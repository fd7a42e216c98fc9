/* SPDX-License-Identifier: MIT
 * How old the live blocks are: found from the blocks when a moment is taken, not event by event.
 */
#include "replay_ages.h"

#include "libcommon/base/arena.h"
#include "replay_cells.h"

#include <stdlib.h>

struct survey {
	const struct ms_replay_cell *cells;
	uint64_t *oldest;
};

static void look(void *arg, const struct ms_live_block *b)
{
	const struct survey *s = arg;
	uint64_t *oldest = &s->oldest[s->cells[b->owner].site];
	*oldest = b->tick < *oldest ? b->tick : *oldest;
}

static uint64_t *oldest_by_site(const struct ms_replay *r)
{
	uint64_t *oldest = ms_xrealloc(NULL, r->site_count, sizeof *oldest);
	for (size_t i = 0; i < r->site_count; i++)
		oldest[i] = MS_NEVER;
	ms_blocks_each(&r->blocks, look, &(struct survey){r->cells, oldest});
	return oldest;
}

void ms_ages_moment(const struct ms_replay *r, struct ms_replay_moment *m)
{
	if (r->sampled || r->moment_count > MS_AGES_MOMENTS || !m->figure_count)
		return;
	uint64_t *oldest = oldest_by_site(r);
	for (size_t i = 0; i < m->figure_count; i++)
		m->figures[i].oldest_tick = oldest[m->figures[i].site];
	free(oldest);
}

void ms_ages_finish(struct ms_replay *r)
{
	r->oldest = r->sampled ? NULL : oldest_by_site(r);
}
