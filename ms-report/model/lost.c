/* SPDX-License-Identifier: MIT
 * What is lost with the unreachable blocks of a site, and what its own are lost with.
 */
#include "lost.h"

#include "fold.h"

#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

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
	const struct lost_with *v = m->lost_with.v;
	size_t from = 0, to = m->lost_with.n;
	if (!roots) {
		from = self ? MS_COUNT_UP_TO(v, to, root, self - 1) : 0;
		to = MS_COUNT_UP_TO(v, to, root, self);
	}
	for (unsigned pass = 0; pass < 2; pass++) {
		if (pass)
			r.v = ms_arena_alloc(&m->arena, (r.n + 1) * sizeof *r.v);
		r.n = 0;
		for (size_t i = from; i < to; i++) {
			const struct lost_with *x = &v[i];
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

/* What a site is named after, and what called that from outside of a recursion. */
struct call {
	const char *function, *caller;
};

static const char *function_at(const struct model *m, uint32_t node)
{
	const struct frame *f = model_frame(m, node);
	return f && f->function ? f->function : "";
}

static struct call call_of(const struct model *m, const struct site *s)
{
	uint32_t entry = fold_entry(m, s);
	return (struct call){function_at(m, s->user),
			     entry == NONE ? "" : function_at(m, m->nodes.v[entry].parent)};
}

static int by_call(const void *a, const void *b, void *arg)
{
	const struct site *x = ((const struct lost_row *)a)->site,
			  *y = ((const struct lost_row *)b)->site;
	struct call p = call_of(arg, x), q = call_of(arg, y);
	return strcmp(p.function, q.function) ?: strcmp(p.caller, q.caller) ?: MS_ORDER(x->id, y->id);
}

static bool same_call(const struct model *m, const struct site *x, const struct site *y)
{
	struct call p = call_of(m, x), q = call_of(m, y);
	return strcmp(p.function, q.function) == 0 && strcmp(p.caller, q.caller) == 0;
}

const struct lost_row *lost_elsewhere(struct model *m, const struct site *s)
{
	struct lost_rows r = lost_rows(m, s, false, false);
	struct lost_row *most = NULL;
	if (r.n)
		qsort_r(r.v, r.n, sizeof *r.v, by_call, m);
	for (size_t i = 0, end; i < r.n; i = end) {
		struct lost_row *row = &r.v[i];
		uint64_t heaviest = row->live.bytes;
		for (end = i + 1; end < r.n && same_call(m, r.v[end].site, row->site); end++) {
			if (r.v[end].live.bytes > heaviest) {
				heaviest = r.v[end].live.bytes;
				row->site = r.v[end].site;
			}
			live_add(&row->live, r.v[end].live);
		}
		if (!same_call(m, row->site, s) && (!most || row->live.bytes > most->live.bytes))
			most = row;
	}
	return most;
}
