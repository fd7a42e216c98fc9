/* SPDX-License-Identifier: MIT
 * What the diagnosis of --poll looks at: the samples kept, and their trend.
 */
#include <stdlib.h>

#include "libcommon/base/arena.h"
#include "poll.h"

void poll_keep(struct poll_series *s, const struct ms_proc_sample *p)
{
	struct poll_point at = {p->ns, {p->heap, p->rss, p->vsz}};
	if (!s->samples++)
		s->first = s->peak = at;
	s->last = at;
	for (unsigned f = 0; f < POLL_FIGURES; f++)
		if (at.figure[f] > s->peak.figure[f])
			s->peak.figure[f] = at.figure[f];
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
	for (size_t i = 0; i < s->n; i++)
		v[i] = (struct ms_trend_sample){(double)s->v[i].ns / 1e9,
						(double)s->v[i].figure[f]};
	struct ms_trend t = ms_trend_of(v, s->n);
	free(v);
	return t;
}
