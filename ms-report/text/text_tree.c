/* SPDX-License-Identifier: MIT
 * A call tree in plain text, as memtrail draws it: bytes, blocks, share. The largest branches are
 * shown; those left out below each branch are summed up on a line.
 *
 *    2.0 MiB  1,210x   62 %  ├─ main  main.c:31
 *    1.0 MiB     12x   31 %  │  └─ load  load.c:7   one of several callees is indented,
 *    1.0 MiB     12x   31 %  │     read_all         the only one of its caller is not
 *    3.0 KiB      3x  0.1 %  └─ 3 more branches
 */
#include "text.h"

#include "ms-report/model/tree.h"
#include "ms-report/output/out.h"

#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

#define SAY(...) ms_arena_printf(&p->m->arena, __VA_ARGS__)

/* Orders the largest branch first; a parent precedes its child, since it is never smaller and was
 * made earlier. */
static int largest_first(const void *x, const void *y, void *arg)
{
	const struct branch *v = arg;
	uint32_t i = *(const uint32_t *)x, j = *(const uint32_t *)y;
	return MS_ORDER(v[j].sum.a, v[i].sum.a) ?: MS_ORDER(i, j);
}

static bool *choose(struct page *p, const struct tree *t, size_t limit)
{
	bool *shown = ms_arena_alloc(&p->m->arena, t->n);
	uint32_t *order = ms_xrealloc(NULL, t->n, sizeof *order);
	for (uint32_t i = 0; i < t->n; i++)
		order[i] = i;
	qsort_r(order, t->n, sizeof *order, largest_first, t->v);
	for (size_t i = 0; i < t->n && i <= limit; i++)
		shown[order[i]] = true;
	free(order);
	return shown;
}

#define NARROW 64 /* columns: in fewer, numbers of blocks are not shown */

/* Returns a number of blocks: "1,210x"; "1.2 kx (1,020-1,430)" if it is an estimate. "" if the
 * metric is not in bytes, or the number is not known. */
static const char *say_times(struct page *p, const struct tree *t, const struct pair *v)
{
	if (!metric_is_bytes(t->metric) || v->b == UNKNOWN || p->style.width < NARROW)
		return "";
	const char *n = est_count(p->m, v->b, pair_eb(v)), *limits = strstr(n, " (");
	int digits = (int)(limits ? (size_t)(limits - n) : strlen(n));
	return SAY("%.*sx%s", digits, n, limits ? limits : "");
}

/* Returns the total number of blocks: " in 1,210 blocks". */
static const char *say_blocks(struct page *p, const struct tree *t)
{
	bool calls = t->metric == METRIC_ALLOCATED || t->metric == METRIC_MAPPED;
	if (!metric_is_bytes(t->metric) || t->total.b == UNKNOWN)
		return "";
	return SAY(" in %s",
		   est_things(p->m, t->total.b, pair_eb(&t->total), calls ? "call" : "block"));
}

/* Holds the vertical lines that lead to a branch: levels on which more branches follow. */
#define LEVELS_MAX 1024u
struct guides {
	bool more[LEVELS_MAX];
	size_t times; /* width of the column with numbers of blocks; 0 = not shown */
};

/* Returns the width of the column with numbers of blocks. Estimates can have more characters than
 * the total. */
static size_t times_width(struct page *p, const struct tree *t, const bool *shown)
{
	size_t most = strlen(say_times(p, t, &t->total));
	for (size_t i = 0; i < t->n; i++) {
		size_t n = shown[i] ? strlen(say_times(p, t, &t->v[i].sum)) : 0;
		most = n > most ? n : most;
	}
	return most ? most + 2 : 0;
}

static void put_level(struct page *p, struct out *o, bool branch, bool more)
{
	static const char *const glyphs[2][4] = {
		{"   ", "\u2502  ", "\u2514\u2500 ", "\u251c\u2500 "},
		{"   ", "|  ", "`- ", "|- "}};
	out_str(o, glyphs[p->style.ascii][branch * 2 + more]);
}

/* Writes figures and guides down to level `indent`, with or without a branch there. Estimates have
 * intervals instead of shares. Returns the columns used. */
static size_t begin(struct page *p, struct out *o, const struct tree *t, const struct pair *v,
		    const struct guides *g, size_t indent, bool branch)
{
	bool share = !v->estimated;
	size_t most = p->style.width / 9, from = indent > most ? indent - most : 0;
	const char *figure = list_a(p, t->metric, *v);
	size_t least = share ? 11 : 24, wide = name_width(figure);
	text_pad_left(o, figure, least);
	text_pad_left(o, say_times(p, t, v), g->times);
	if (share)
		text_pad_left(o, say_share(p->m, v->a, t->total.a), 7);
	out_str(o, "  ");
	for (size_t i = from; i < indent; i++)
		put_level(p, o, false, g->more[i % LEVELS_MAX]);
	put_level(p, o, branch, g->more[indent % LEVELS_MAX]);
	return (wide > least ? wide : least) + g->times + (share ? 9 : 2) + 3 * (indent - from + 1);
}

static const char *branch_place(struct page *p, const struct branch *b)
{
	struct model *m = p->m;
	if (b->frame == NONE)
		return "";
	struct frame f = m->frames.v[b->frame];
	if (b->several)
		f.line = 0;
	return frame_place(&m->arena, m, &f, &p->style);
}

#define SIBLINGS 100 /* most branches of one caller whose names are shortened together */

/* Returns a branch's name in `room` columns, shortened so that it differs from its siblings. */
static const char *name_beside(struct page *p, const struct tree *t, const struct branch *b,
			       size_t room)
{
	struct model *m = p->m;
	const char *v[SIBLINGS];
	size_t n = 0, at = 0;
	for (uint32_t c = t->v[b->parent].first_child; c != NONE && n < SIBLINGS;
	     c = t->v[c].next) {
		if (t->v[c].frame == NONE)
			continue;
		at = &t->v[c] == b ? n : at;
		const struct frame *f = &m->frames.v[t->v[c].frame];
		v[n++] = name_clean(&m->arena, frame_name(&m->arena, m, f), p->style.ascii);
	}
	const char *label = branch_label(&m->arena, m, b, &p->style, "pid ");
	if (n == SIBLINGS || m->frames.v[b->frame].note)
		return name_fit(&m->arena, label, room, p->style.ascii);
	ms_names_fit(&m->arena, v, n, room, p->style.ascii);
	return v[at];
}

static void write_branch(struct page *p, struct out *o, const struct tree *t,
			 const struct branch *b, const struct guides *g, size_t indent, bool branch,
			 bool more)
{
	size_t used = begin(p, o, t, &b->sum, g, indent, branch);
	if (used + 12 > p->style.width && !p->style.full_names) {
		text_end_line(o);
		out_repeat(o, " ", used = 4);
	}
	size_t room = p->style.width > used + 12 ? p->style.width - used : 12;
	const char *name = branch_label(&p->m->arena, p->m, b, &p->style, "pid "),
		   *place = branch_place(p, b);
	const char *besides = SAY("%s%s%s", b->repeated ? " (recursive)" : "", more ? " " : "",
				  !more            ? ""
				  : p->style.ascii ? ".."
						   : "\xe2\x80\xa6");
	size_t w = name_width(besides);
	if (!p->style.full_names && b->frame != NONE)
		name = name_beside(p, t, b, room > w ? room - w : 1);
	name = SAY("%s%s", name, besides);
	if (!p->style.full_names) {
		name = name_cut(&p->m->arena, name, room, p->style.ascii);
		size_t left = room - name_width(name);
		place = left > 12 ? name_cut_start(&p->m->arena, place, left - 2, p->style.ascii)
				  : "";
	}
	out_printf(o, "%s%s%s\n", name, *place ? "  " : "", place);
}

/* Writes a sum that belongs to no single branch. */
static void write_words(struct page *p, struct out *o, const struct tree *t, const struct pair *v,
			const struct guides *g, size_t indent, const char *words)
{
	size_t used = begin(p, o, t, v, g, indent, true);
	if (used + name_width(words) > p->style.width) {
		text_end_line(o);
		out_str(o, "    ");
	}
	out_printf(o, "%s\n", words);
}

/* Holds the figures of the rows that follow the shown children of a branch. */
struct rest {
	size_t hidden;
	struct pair sum; /* sum over the children not shown */
	bool self;       /* the branch itself has allocations */
};

static struct rest rest_of(const struct tree *t, const struct branch *b, const bool *shown)
{
	struct rest r = {0};
	bool seen = b->first_child != NONE && shown[b->first_child];
	for (uint32_t c = b->first_child; seen && c != NONE; c = t->v[c].next)
		if (!shown[c]) {
			r.hidden++;
			r.sum = pair_add(r.sum, t->v[c].sum);
		}
	r.self = seen && b->self.a;
	return r;
}

/* Tells whether `b` is the root and rows for hidden sites or for memory without a site follow below
 * all branches. */
static bool more_at_top(const struct tree *t, const struct branch *b)
{
	return b == &t->v[0] && (figure_some(t->hidden.a) || figure_some(t->other.a));
}

/* Writes what follows the children of a branch: the children not shown, and its own allocations. */
static void write_rest(struct page *p, struct out *o, const struct tree *t, const struct branch *b,
		       const bool *shown, struct guides *g, size_t indent)
{
	struct rest r = rest_of(t, b, shown);
	g->more[indent % LEVELS_MAX] = r.self || more_at_top(t, b);
	if (r.hidden)
		write_words(p, o, t, &r.sum, g, indent,
			    say_things(p->m, r.hidden, t->up ? "more caller" : "more branch"));
	g->more[indent % LEVELS_MAX] = more_at_top(t, b);
	if (r.self)
		write_words(p, o, t, &b->self, g, indent,
			    t->up ? "no further caller" : "by itself");
}

static bool has_hidden_children(const struct branch *b, const bool *shown)
{
	return b->first_child != NONE && !shown[b->first_child];
}

/* Tells whether a branch is the only child of its parent. Such a branch is not indented, since
 * stacks are deep and lines short. */
static bool is_only(const struct tree *t, const struct branch *b)
{
	const struct branch *parent = &t->v[b->parent];
	return b->parent != 0 && b->next == NONE && &t->v[parent->first_child] == b &&
	       parent->self.a == 0;
}

/* Tells whether another line follows on the branch's level below its subtree. */
static bool goes_on(const struct tree *t, const struct branch *b, const bool *shown)
{
	const struct branch *parent = &t->v[b->parent];
	struct rest r = rest_of(t, parent, shown);
	return (b->next != NONE && shown[b->next]) || r.hidden || r.self || more_at_top(t, parent);
}

static void write_outside(struct page *p, struct out *o, const struct tree *t, struct guides *g)
{
	g->more[0] = figure_some(t->other.a);
	if (figure_some(t->hidden.a))
		write_words(p, o, t, &t->hidden, g, 0, "hidden by filters");
	g->more[0] = false;
	if (figure_some(t->other.a))
		write_words(p, o, t, &t->other, g, 0, "without a site");
}

void text_tree(struct page *p, struct out *o, const struct tree *t, size_t limit)
{
	text_title(p, o,
		   SAY("TREE of %s, from %s: %s%s", metric_names[t->metric],
		       t->up ? "the allocating function up to its callers"
			     : "the program's entry down",
		       list_a(p, t->metric, t->total), say_blocks(p, t)));
	const bool *shown = choose(p, t, limit);
	size_t *indent = ms_arena_alloc(&p->m->arena, t->n * sizeof *indent);
	struct guides guides = {.times = times_width(p, t, shown)};
	uint32_t at = t->v[0].first_child;
	while (at != NONE && at != 0) {
		const struct branch *b = &t->v[at];
		if (shown[at]) {
			bool only = b->parent != 0 && is_only(t, b);
			indent[at] = b->parent == 0 ? 0 : indent[b->parent] + !only;
			if (!only)
				guides.more[indent[at] % LEVELS_MAX] = goes_on(t, b, shown);
			write_branch(p, o, t, b, &guides, indent[at], !only,
				     has_hidden_children(b, shown));
			if (b->first_child != NONE && shown[b->first_child]) {
				at = b->first_child;
				continue;
			}
		}
		/* children are in descending order: after one that is not shown, none is */
		while (at != 0 && (t->v[at].next == NONE || !shown[t->v[at].next])) {
			at = t->v[at].parent;
			write_rest(p, o, t, &t->v[at], shown, &guides, at ? indent[at] + 1 : 0);
		}
		at = at ? t->v[at].next : 0;
	}
	write_outside(p, o, t, &guides);
}
