/* SPDX-License-Identifier: MIT
 * What the diagnosis of --poll looks at: the samples kept, and their trend.
 */
#include <stdlib.h>

#include "libcommon/base/arena.h"
#include "poll.h"

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

void poll_keep(struct poll_series *s, const struct ms_proc_sample *p)
{
	struct poll_point at = {p->ns, p->rss, p->heap, p->vsz};
	if (!s->samples++)
		s->first = s->peak = at;
	s->last = at;
	s->peak = (struct poll_point){at.ns, larger(s->peak.rss, at.rss),
				      larger(s->peak.heap, at.heap), larger(s->peak.vsz, at.vsz)};
	if (s->n && s->skip++ < s->every)
		return;
	s->skip = 0;
	if (s->n == POLL_POINTS) {
		for (size_t i = 0; i < POLL_POINTS / 2; i++)
			s->v[i] = s->v[2 * i];
		s->n = POLL_POINTS / 2;
		s->every = s->every * 2 + 1;
	}
	*MS_PUSH(s) = at;
}

struct ms_trend poll_trend(const struct poll_series *s, enum poll_figure f)
{
	struct ms_trend_sample *v = ms_xrealloc(NULL, s->n + 1, sizeof *v);
	for (size_t i = 0; i < s->n; i++) {
		const struct poll_point *p = &s->v[i];
		uint64_t value = f == POLL_HEAP ? p->heap : f == POLL_RSS ? p->rss : p->vsz;
		v[i] = (struct ms_trend_sample){(double)p->ns / 1e9, (double)value};
	}
	struct ms_trend t = ms_trend_of(v, s->n);
	free(v);
	return t;
}
