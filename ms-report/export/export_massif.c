/* SPDX-License-Identifier: MIT
 * Writes the file of Valgrind's Massif: heap size over time, and the tree of callers at each moment
 * of the snapshot.
 */
#include "export.h"

#include <stdlib.h>
#include <string.h>

#include "libcommon/base/order.h"

/* Maximum number of snapshots without a tree; same as Massif's default. */
#define PLAIN_MAX 100
/* Branches below 1/THRESHOLD of the heap are summed up in one line. */
#define THRESHOLD 1000
#define THRESHOLD_TEXT "0.10%%" /* THRESHOLD as a format string */

struct branch_sum {
	uint64_t bytes;
	uint64_t small_bytes; /* bytes of children below the threshold */
	uint32_t small, children;
	uint32_t first_child, next; /* largest child, next sibling; NONE = no more */
};

struct massif {
	struct export *x;
	struct out *o;
	uint32_t *leaf;          /* by row: node of the outermost frame of its stack */
	struct branch_sum *sums; /* by node of x->stacks, which leads from callees to callers */
	uint64_t *live;          /* live bytes by row */
	uint64_t count;          /* number of moments of the snapshot written */
};

/* Returns the text with each # escaped, because ms_print treats the rest of a line as a comment. */
static const char *without_hash(struct ms_arena *a, const char *s)
{
	for (const char *h; (h = strchr(s, '#'));)
		s = ms_arena_printf(a, "%.*s\\x23%s", (int)(h - s), s, h + 1);
	return s;
}

static void put_text(struct export *x, const struct place *p, struct out *o)
{
	out_str(o, without_hash(&x->m->arena, export_frame_text(x, p)));
}

static void make_tree(struct massif *w)
{
	struct export *x = w->x;
	for (const struct export_row *r = NULL; (r = export_next(x, r, EXPORT_ALL));)
		w->leaf[r - x->rows] = export_stack(x, true, put_text);
}

static int smallest_first(const void *a, const void *b, void *arg)
{
	const struct branch_sum *s = arg;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	return MS_ORDER(s[i].bytes, s[j].bytes) ?: MS_ORDER(j, i);
}

/* Computes the sums for w->live, and sorts the children that get a line. */
static void sum_tree(struct massif *w)
{
	size_t n = w->x->stacks.n, kept = 0;
	struct branch_sum *s = w->sums;
	for (size_t i = 0; i < n; i++)
		s[i] = (struct branch_sum){.first_child = NONE, .next = NONE};
	for (size_t i = 0; i < w->x->n; i++)
		s[w->leaf[i]].bytes = figure_add(s[w->leaf[i]].bytes, w->live[i]);
	for (size_t i = n - 1; i > 0; i--) {
		uint64_t *up = &s[w->x->stacks.v[i].parent].bytes;
		*up = figure_add(*up, s[i].bytes);
	}
	uint32_t *order = ms_xrealloc(NULL, n, sizeof *order);
	for (uint32_t i = 1; i < n; i++) {
		struct branch_sum *up = &s[w->x->stacks.v[i].parent];
		if (s[i].bytes && s[i].bytes >= s[0].bytes / THRESHOLD) {
			order[kept++] = i;
			up->children++;
		} else if (s[i].bytes) {
			up->small++;
			up->small_bytes = figure_add(up->small_bytes, s[i].bytes);
		}
	}
	qsort_r(order, kept, sizeof *order, smallest_first, s);
	for (size_t i = 0; i < kept; i++) {
		struct branch_sum *up = &s[w->x->stacks.v[order[i]].parent];
		s[order[i]].next = up->first_child;
		up->first_child = order[i];
	}
	free(order);
}

static void put_node(struct massif *w, uint32_t node, size_t depth)
{
	const struct branch_sum *s = &w->sums[node];
	out_repeat(w->o, " ", depth);
	out_printf(w->o, "n%u: %llu ", s->children + (s->small > 0), (unsigned long long)s->bytes);
	if (node) {
		size_t n;
		const char *text = bytes_of(&w->x->texts, w->x->stacks.v[node].key, &n);
		out_put(w->o, text, n);
		out_char(w->o, '\n');
	} else {
		out_str(w->o, "(heap allocation functions) malloc/new/new[], --alloc-fns, etc.\n");
	}
}

/* Writes the children below the threshold as one line, after the other children. */
static void put_small(struct massif *w, uint32_t node, size_t depth)
{
	const struct branch_sum *s = &w->sums[node];
	if (!s->small)
		return;
	out_repeat(w->o, " ", depth);
	out_printf(w->o,
		   "n0: %llu in %u place%s, %sbelow massif's threshold (" THRESHOLD_TEXT ")\n",
		   (unsigned long long)s->small_bytes, s->small, s->small == 1 ? "" : "s",
		   s->small == 1 ? "" : "all ");
}

static void put_tree(struct massif *w)
{
	uint32_t at = 0;
	size_t depth = 0;
	sum_tree(w);
	while (at != NONE) {
		put_node(w, at, depth);
		if (w->sums[at].first_child != NONE) {
			at = w->sums[at].first_child;
			depth++;
			continue;
		}
		put_small(w, at, depth + 1);
		while (at && w->sums[at].next == NONE) {
			at = w->x->stacks.v[at].parent;
			put_small(w, at, depth--);
		}
		at = at ? w->sums[at].next : NONE;
	}
}

static void put_moment(struct massif *w, uint64_t time_ns, uint64_t bytes, const char *tree)
{
	out_printf(w->o,
		   "#-----------\nsnapshot=%llu\n#-----------\ntime=%llu\nmem_heap_B=%llu\n"
		   "mem_heap_extra_B=0\nmem_stacks_B=0\nheap_tree=%s\n",
		   (unsigned long long)w->count++, (unsigned long long)(time_ns / 1000000),
		   (unsigned long long)bytes, tree);
}

/* Writes only the end, a sum over the ends of all processes: other moments cannot be added up. */
static void put_ends(struct massif *w)
{
	struct export *x = w->x;
	if (x->m->at.bytes == UNKNOWN)
		return;
	for (size_t i = 0; i < x->n; i++)
		w->live[i] = x->rows[i].v[EXPORT_LIVE];
	put_moment(w, x->m->duration_ns, x->m->at.bytes, "detailed");
	put_tree(w);
}

/* Writes all moments of the snapshot. Between these, writes the highest point of each of at most
 * PLAIN_MAX groups of successive points. */
static void put_moments(struct massif *w)
{
	struct export *x = w->x;
	bool several = x->m->processes.n > 1, peaked = false;
	const struct snapshot **s;
	struct export_point *p;
	size_t moments = several ? 0 : export_moments(x, &s), points = export_points(x, &p);
	size_t step = (points + PLAIN_MAX - 1) / PLAIN_MAX, at = 0, k = 0;
	while (at < points || k < moments) {
		size_t best = at;
		for (size_t i = at; i < at + step && i < points; i++)
			best = p[i].live_last > p[best].live_last ? i : best;
		if (at < points && (k == moments || p[best].time_ns < export_moment(x, s[k]))) {
			if (!k || p[best].time_ns > export_moment(x, s[k - 1]))
				put_moment(w, p[best].time_ns, p[best].live_last, "empty");
			at += step;
			continue;
		}
		bool peak = !peaked && strcmp(s[k]->label, "peak") == 0;
		peaked |= peak;
		put_moment(w, export_moment(x, s[k]), s[k]->live.bytes, peak ? "peak" : "detailed");
		export_live_at(x, s[k++], w->live);
		put_tree(w);
	}
	if (several)
		put_ends(w);
}

void export_massif(struct export *x, struct out *o)
{
	struct massif w = {.x = x, .o = o};
	struct ms_arena *a = &x->m->arena;
	w.leaf = ms_xcalloc(x->n, sizeof *w.leaf);
	w.live = ms_xcalloc(x->n, sizeof *w.live);
	make_tree(&w);
	w.sums = ms_xcalloc(x->stacks.n, sizeof *w.sums);
	for (size_t i = 0; i < x->notes.n; i++)
		out_printf(o, "desc: %s\n", without_hash(a, x->notes.v[i]));
	out_printf(o, "cmd: %s\ntime_unit: ms\n", without_hash(a, x->command));
	put_moments(&w);
	if (!w.count)
		put_moment(&w, 0, 0, "empty");
	MS_FREE(w.sums, w.leaf, w.live);
}
