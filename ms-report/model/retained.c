/* SPDX-License-Identifier: MIT
 * Blocks that are lost with a site's unreachable blocks, and the sites that a site's blocks are
 * lost with.
 */
#include "retained.h"

#include "recursion.h"

#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

static uint32_t frame_of(const struct model *m, const struct site *s)
{
	return s->user == NONE ? NONE : m->nodes.v[s->user].frame;
}

static int by_frame(const void *a, const void *b, void *arg)
{
	const struct retained_row *x = a, *y = b;
	const struct model *m = arg;
	return MS_ORDER(frame_of(m, x->site), frame_of(m, y->site)) ?:
	       MS_ORDER(y->live.bytes, x->live.bytes) ?:
	       MS_ORDER(x->site->id, y->site->id);
}

static int by_bytes(const void *a, const void *b)
{
	const struct retained_row *x = a, *y = b;
	return MS_ORDER(y->live.bytes, x->live.bytes) ?:
	       MS_ORDER(y->live.blocks, x->live.blocks) ?:
	       MS_ORDER(x->site->id, y->site->id);
}

static void fold(struct model *m, struct retained_rows *r)
{
	size_t n = 0;
	qsort_r(r->v, r->n, sizeof *r->v, by_frame, m);
	for (size_t i = 0; i < r->n; i++) {
		struct retained_row *last = n ? &r->v[n - 1] : NULL;
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

struct retained_rows retained_rows(struct model *m, const struct site *s, bool roots, bool folded)
{
	struct retained_rows r = {0};
	uint32_t self = (uint32_t)(s - m->sites.v);
	int64_t scan = m->processes.v[s->process].end_scan.id;
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
				r.v[r.n] = (struct retained_row){&m->sites.v[other], 1, x->live};
			r.n++;
		}
	}
	if (folded && r.n)
		fold(m, &r);
	MS_SORT(r.v, r.n, by_bytes);
	return r;
}

/* Holds a row with the function that its site is named after, and the caller of that function
 * outside of the recursion. */
struct called {
	const char *function, *caller;
	struct retained_row row;
};

static const char *function_at(const struct model *m, uint32_t node)
{
	const struct frame *f = model_frame(m, node);
	return f && f->function ? f->function : "";
}

static struct called called(const struct model *m, struct retained_row row)
{
	uint32_t entry = recursion_entry(m, row.site);
	return (struct called){.function = function_at(m, row.site->user),
			       .caller = entry == NONE ? ""
						       : function_at(m, m->nodes.v[entry].parent),
			       .row = row};
}

MS_COMPARE(by_call, struct called, strcmp(x->function, y->function) ?: strcmp(x->caller, y->caller))

MS_COMPARE(by_call_and_site, struct called,
	   by_call(x, y) ?: MS_ORDER(x->row.site->id, y->row.site->id))

/* Adds up rows with the same function and caller. The sum gets the site of the largest row. */
static struct retained_row sum_of(const struct called *v, size_t n)
{
	struct retained_row sum = v[0].row;
	uint64_t heaviest = sum.live.bytes;
	for (size_t i = 1; i < n; i++) {
		if (v[i].row.live.bytes > heaviest) {
			heaviest = v[i].row.live.bytes;
			sum.site = v[i].row.site;
		}
		live_add(&sum.live, v[i].row.live);
	}
	return sum;
}

const struct retained_row *retained_elsewhere(struct model *m, const struct site *s)
{
	struct retained_rows r = retained_rows(m, s, false, false);
	struct called own = called(m, (struct retained_row){.site = s});
	struct called *v = ms_xrealloc(NULL, r.n + 1, sizeof *v);
	struct retained_row *most = NULL;
	for (size_t i = 0; i < r.n; i++)
		v[i] = called(m, r.v[i]);
	MS_SORT(v, r.n, by_call_and_site);
	for (size_t i = 0, end; i < r.n; i = end) {
		for (end = i + 1; end < r.n && !by_call(&v[end], &v[i]);)
			end++;
		r.v[i] = sum_of(&v[i], end - i);
		if (by_call(&v[i], &own) && (!most || r.v[i].live.bytes > most->live.bytes))
			most = &r.v[i];
	}
	free(v);
	return most;
}
