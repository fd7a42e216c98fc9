/* SPDX-License-Identifier: MIT
 * What is lost with the unreachable blocks of a site, and what its own are lost with.
 */
#include "lost.h"

#include "libcommon/base/order.h"

#include <stdlib.h>

static uint32_t frame_of(const struct model *m, const struct site *s)
{
	return s->user == NONE ? NONE : m->nodes.v[s->user].frame;
}

static int by_frame(const void *a, const void *b, void *arg)
{
	const struct lost_row *x = a, *y = b;
	const struct model *m = arg;
	return MS_ORDER(frame_of(m, x->site), frame_of(m, y->site)) ?:
	       MS_ORDER(y->live.bytes, x->live.bytes) ?:
	       MS_ORDER(x->site->id, y->site->id);
}

static int by_bytes(const void *a, const void *b)
{
	const struct lost_row *x = a, *y = b;
	return MS_ORDER(y->live.bytes, x->live.bytes) ?:
	       MS_ORDER(y->live.blocks, x->live.blocks) ?:
	       MS_ORDER(x->site->id, y->site->id);
}

static void fold(struct model *m, struct lost_rows *r)
{
	size_t n = 0;
	qsort_r(r->v, r->n, sizeof *r->v, by_frame, m);
	for (size_t i = 0; i < r->n; i++) {
		struct lost_row *last = n ? &r->v[n - 1] : NULL;
		bool same = last && frame_of(m, last->site) == frame_of(m, r->v[i].site);
		if (same) {
			last->sites++;
			live_add(&last->live, r->v[i].live);
		} else {
			r->v[n++] = r->v[i];
		}
	}
	r->n = n;
}

struct lost_rows lost_rows(struct model *m, const struct site *s, bool roots, bool folded)
{
	struct lost_rows r = {0};
	uint32_t self = (uint32_t)(s - m->sites.v);
	int64_t scan = m->processes.v[s->process].end_scan;
	for (unsigned pass = 0; pass < 2; pass++) {
		if (pass)
			r.v = ms_arena_alloc(&m->arena, (r.n + 1) * sizeof *r.v);
		r.n = 0;
		for (size_t i = 0; i < m->lost_with.n; i++) {
			const struct lost_with *x = &m->lost_with.v[i];
			uint32_t other = roots ? x->root : x->site;
			if (x->scan != scan || other == NONE || (roots ? x->site : x->root) != self)
				continue;
			if (pass)
				r.v[r.n] = (struct lost_row){&m->sites.v[other], 1, x->live};
			r.n++;
		}
	}
	if (folded && r.n)
		fold(m, &r);
	if (r.n)
		qsort(r.v, r.n, sizeof *r.v, by_bytes);
	return r;
}
