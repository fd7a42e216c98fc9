/* SPDX-License-Identifier: MIT
 * --annotate: the lines of a source file, with the memory allocated on each and in its callees.
 *
 * A line's own figures are those of the sites named after it, so they add up to the file's figures
 * in --by file. In the figures that include callees, a site counts once for each line in its call
 * stack, even if the line is there several times.
 */
#include "annotate.h"

#include "names.h"
#include "source.h"

#include "libcommon/base/err.h"
#include "libcommon/base/order.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	CONTEXT = 3,         /* lines before and after a line with figures */
	WHOLE = 60,          /* lines; a shorter file is shown whole */
	NARROW = 80,         /* columns; a narrower output shows no blocks */
	NAMED = 8,           /* candidates that an error message names */
	SOURCE_MAX = 1 << 26 /* bytes: largest source file that is read */
};

/* ---- which file ---- */

static size_t last_part(const char *s, size_t n)
{
	while (n && s[n - 1] != '/')
		n--;
	return n;
}

/* Returns how many components of two paths are equal, counted from their ends. */
static size_t common_parts(const char *a, const char *b)
{
	size_t n = strlen(a), k = strlen(b);
	for (size_t parts = 0;; parts++) {
		size_t i = last_part(a, n), j = last_part(b, k);
		if (n - i != k - j || memcmp(a + i, b + j, n - i) != 0)
			return parts;
		if (!i || !j)
			return parts + 1;
		n = i - 1;
		k = j - 1;
	}
}

struct candidates {
	const char *v[NAMED];
	size_t n, parts;
};

/* Keeps the candidates that share the most components with the name, and `least` or more. */
static void choose(struct candidates *c, const char *file, size_t parts, size_t least)
{
	if (parts < least || parts < c->parts)
		return;
	c->n = parts > c->parts ? 0 : c->n;
	c->parts = parts;
	for (size_t i = 0; i < c->n && i < NAMED; i++)
		if (strcmp(c->v[i], file) == 0)
			return;
	if (c->n < NAMED)
		c->v[c->n] = file;
	c->n++;
}

static const char *list(struct model *m, const struct candidates *c)
{
	const char *s = "";
	for (size_t i = 0; i < c->n && i < NAMED; i++)
		s = ms_arena_printf(&m->arena, "%s%s'%s'", s, i ? ", " : "", c->v[i]);
	return c->n > NAMED ? ms_arena_printf(&m->arena, "%s and %zu more", s, c->n - NAMED) : s;
}

const char *annotate_find(struct model *m, const char *name, struct ms_err *err)
{
	struct candidates found = {0}, alike = {0};
	char *real = realpath(name, NULL);
	const char *typed = strncmp(name, "./", 2) == 0 ? name + 2 : name;
	/* all components of the name must match, or at least one if the name is a file on disk,
	 * which may have been built elsewhere */
	size_t least = real ? 1 : common_parts(typed, typed);
	for (size_t i = 0; i < m->frames.n; i++) {
		const char *file = m->frames.v[i].file;
		if (!file)
			continue;
		size_t parts = common_parts(file, typed),
		       more = real ? common_parts(file, real) : 0;
		parts = more > parts ? more : parts;
		bool exact = strcmp(file, typed) == 0 || (real && strcmp(file, real) == 0);
		choose(&found, file, exact ? SIZE_MAX : parts, least);
		choose(&alike, file, parts > 0, 1);
	}
	free(real);
	if (found.n == 1)
		return found.v[0];
	if (found.n)
		ms_err_set(err, "--annotate '%s' is ambiguous: %s", name, list(m, &found));
	else if (alike.n)
		ms_err_set(err, "--annotate: no frame is in '%s': did you mean %s?", name,
			   list(m, &alike));
	else
		ms_err_set(err, "--annotate: no frame is in '%s' (--by file lists the files)",
			   name);
	return NULL;
}

/* ---- its text ---- */

/* Reads the source file: first the path from the frames, also below the source root or the
 * program's working directory, then the path as typed. Sets *from to the path used. */
static char *read_source(struct model *m, const struct annotate *a, const char **from, size_t *n)
{
	char *text = source_read(m, a->file, a->root, SOURCE_MAX, from, n);
	if (text)
		return text;
	*from = a->name;
	return source_read_file(a->name, SOURCE_MAX, n);
}

/* ---- figures by line ---- */

struct line {
	uint32_t number;
	uint32_t frame;        /* the first frame on the line */
	size_t site;           /* the last site that was counted here, + 1 */
	struct pair self, all; /* self: sites named after the line; all: sites whose stacks pass
				  through it */
	bool shown;
};

struct lines {
	struct line *v;
	size_t n;
	struct pair self, all; /* sums over the whole file */
};

MS_COMPARE(by_number, struct line, MS_ORDER(x->number, y->number))

/* Fills `l` with the lines of a file that have frames, in order; of[frame] is the index of the
 * frame's line + 1, 0 = another file. */
static void find_lines(struct model *m, const char *file, struct lines *l, uint32_t *of)
{
	l->v = ms_arena_alloc(&m->arena, (m->frames.n + 1) * sizeof *l->v);
	for (uint32_t i = 0; i < m->frames.n; i++)
		if (m->frames.v[i].file && strcmp(m->frames.v[i].file, file) == 0)
			l->v[l->n++] = (struct line){.number = m->frames.v[i].line, .frame = i};
	size_t frames = l->n, n = 0;
	qsort(l->v, frames, sizeof *l->v, by_number);
	for (size_t i = 0; i < frames; i++) {
		struct line x = l->v[i];
		if (!n || l->v[n - 1].number != x.number)
			l->v[n++] = x;
		of[x.frame] = (uint32_t)n;
	}
	l->n = n;
}

static void add_site(struct model *m, struct lines *l, const uint32_t *of, size_t site,
		     enum metric metric)
{
	const struct site *s = &m->sites.v[site];
	const struct frame *own = site_frame(m, s);
	struct pair p = site_pair(s, metric);
	bool through = false;
	if (!p.a && !p.b)
		return;
	if (own && of[own - m->frames.v]) {
		struct line *x = &l->v[of[own - m->frames.v] - 1];
		x->self = pair_add(x->self, p);
		l->self = pair_add(l->self, p);
	}
	for (uint32_t node = s->stack; node != NONE; node = m->nodes.v[node].parent) {
		uint32_t at = of[m->nodes.v[node].frame];
		struct line *x = at ? &l->v[at - 1] : NULL;
		if (!x || x->site == site + 1)
			continue;
		x->site = site + 1;
		x->all = pair_add(x->all, p);
		l->all = through ? l->all : pair_add(l->all, p);
		through = true;
	}
}

static int by_size(const void *a, const void *b)
{
	const struct line *x = *(struct line *const *)a, *y = *(struct line *const *)b;
	return MS_ORDER(figure_or_0(y->all.a), figure_or_0(x->all.a))
		       ?: MS_ORDER(x->number, y->number);
}

/* Selects the `limit` largest of the lines with figures. Returns the sum of the others' own
 * figures; *more is their number. */
static struct pair keep(struct model *m, struct lines *l, size_t limit, size_t *more)
{
	struct line **order = ms_arena_alloc(&m->arena, (l->n + 1) * sizeof(struct line *));
	struct pair rest = {0};
	size_t n = 0;
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].site)
			order[n++] = &l->v[i];
	qsort(order, n, sizeof(struct line *), by_size);
	for (size_t i = 0; i < n; i++) {
		order[i]->shown = i < limit;
		if (i >= limit)
			rest = pair_add(rest, order[i]->self);
	}
	*more = n > limit ? n - limit : 0;
	return rest;
}

static struct lines count(struct model *m, const char *file, enum metric metric)
{
	struct lines l = {0};
	uint32_t *of = ms_xcalloc(m->frames.n + 1, sizeof *of);
	find_lines(m, file, &l, of);
	for (size_t i = 0; i < m->sites.n; i++)
		add_site(m, &l, of, i, metric);
	free(of);
	return l;
}

/* ---- the table ---- */

enum { LINE, SELF, SELF_B, ALL, ALL_B, SELF_N, SELF_NB, ALL_N, ALL_NB, TEXT, COLUMNS };

static const char *const units[METRIC_COUNT][2] = {
	[METRIC_LIVE] = {"bytes", "blocks"},
	[METRIC_PEAK] = {"bytes", "blocks"},
	[METRIC_ALLOCATED] = {"bytes", "allocations"},
	[METRIC_ALLOCATIONS] = {"allocations", "bytes"},
	[METRIC_TEMPORARY] = {"temporary", "allocations"},
	[METRIC_FAILED] = {"failed", "allocations"},
	[METRIC_MAPPED] = {"bytes", "calls"},
};

/* Makes the columns of the table. On a narrow output, the columns of second figures, such as
 * numbers of blocks, are left out to make room for the source lines. */
static const struct column *columns_of(struct model *m, const struct annotate *a)
{
	struct column *c = ms_arena_alloc(&m->arena, COLUMNS * sizeof *c);
	memset(c, 0, COLUMNS * sizeof *c);
	c[LINE] = (struct column){.title = "line", .name = "line", .kind = CELL_ID};
	c[TEXT] = (struct column){.title = "source", .name = "source", .kind = CELL_TEXT};
	for (int i = 0; i < 4; i++) {
		const char *unit = units[a->metric][i % 2], *of = i < 2 ? "self" : "inclusive";
		bool bytes = strcmp(unit, "bytes") == 0;
		c[SELF + i] = (struct column){.title = i % 2 ? unit : of,
					      .kind = CELL_VALUE,
					      .optional = i % 2 && a->style->width < NARROW};
		c[SELF_N + i] =
			(struct column){.name = ms_arena_printf(&m->arena, "%s_%s", of, unit),
					.kind = bytes ? CELL_SIZE : CELL_COUNT,
					.sum = i < 2};
	}
	return c;
}

static const char *amount(struct model *m, const char *unit, uint64_t v, const struct ms_spread *e)
{
	return strcmp(unit, "bytes") == 0 ? est_size(m, v, e) : est_count(m, v, e);
}

/* Fills the cells of a pair. Those for people have no intervals of estimates, which would leave no
 * room for the source. */
static void set_pair(struct model *m, struct cell *people, struct cell *exact, const struct pair *p,
		     enum metric metric)
{
	exact[0] = (struct cell){.n = p->a, .e = pair_ea(p)};
	exact[1] = (struct cell){.n = p->b, .e = pair_eb(p)};
	for (int i = 0; i < 2; i++)
		if (exact[i].n)
			people[i].s = amount(m, units[metric][i], exact[i].n, NULL);
}

static void add_row(struct model *m, struct table *t, enum metric metric, uint32_t number,
		    const struct line *x, const char *text)
{
	struct cell *c = table_row(m, t)->cells;
	c[LINE].n = number;
	c[TEXT].s = text;
	if (!x)
		return;
	set_pair(m, &c[SELF], &c[SELF_N], &x->self, metric);
	set_pair(m, &c[ALL], &c[ALL_N], &x->all, metric);
}

/* Adds a row that stands for no source line. */
static struct cell *add_other(struct model *m, struct table *t, enum row_kind kind,
			      const char *text)
{
	struct row *r = table_row(m, t);
	r->kind = kind;
	for (int i = 0; i < COLUMNS; i++)
		r->cells[i].n = UNKNOWN;
	r->cells[TEXT].s = text;
	return r->cells;
}

/* Adds the source lines from `from` to `to` (exclusive), or those next to lines with figures.
 * Returns the next line. */
static uint32_t add_context(struct model *m, struct table *t, const struct source *s, uint32_t from,
			    uint64_t to, bool first)
{
	bool whole = s->n <= WHOLE;
	uint64_t end = to <= s->n ? to : s->n + 1, after = first ? 0 : CONTEXT,
		 before = to <= s->n ? CONTEXT : 0;
	uint32_t i = from;
	if (whole || from + after + before + 1 >= end) {
		for (; i < end; i++)
			add_row(m, t, METRIC_LIVE, i, NULL, s->v[i - 1]);
		return i;
	}
	for (; i < from + after; i++)
		add_row(m, t, METRIC_LIVE, i, NULL, s->v[i - 1]);
	add_other(m, t, ROW_OTHER, "...");
	for (i = (uint32_t)(end - before); i < end; i++)
		add_row(m, t, METRIC_LIVE, i, NULL, s->v[i - 1]);
	return i;
}

static void add_lines(struct model *m, struct table *t, const struct lines *l,
		      const struct annotate *a, const struct source *s)
{
	uint32_t next = 1;
	bool first = true, context = a->context && s->n;
	for (size_t i = 0; i < l->n; i++) {
		const struct line *x = &l->v[i];
		if (!x->shown)
			continue;
		if (context && x->number)
			next = add_context(m, t, s, next, x->number, first);
		const char *text =
			!x->number          ? "(line not known)"
			: x->number <= s->n ? s->v[x->number - 1]
			: s->n              ? "(no such line in the source)"
			       : frame_label(&m->arena, m, &m->frames.v[x->frame], a->style);
		add_row(m, t, a->metric, x->number, x, text);
		next = x->number < UINT32_MAX ? x->number + 1 : next;
		first = false;
	}
	if (context && !first && next <= s->n)
		add_context(m, t, s, next, UINT64_MAX, false);
}

/* Makes the title; `from`: path that the source was read from, NULL = it was not found. */
static const char *title(struct model *m, const struct annotate *a, const struct lines *l,
			 const char *from)
{
	static const char *const done[METRIC_COUNT] = {
		[METRIC_PEAK] = "at the peak",  [METRIC_ALLOCATED] = "allocated",
		[METRIC_ALLOCATIONS] = "calls", [METRIC_TEMPORARY] = "temporary",
		[METRIC_FAILED] = "failed",     [METRIC_MAPPED] = "mapped"};
	const char *unit = units[a->metric][0];
	struct pair total = total_pair(m, a->metric);
	const char *what = a->metric == METRIC_LIVE ? ms_arena_printf(&m->arena, "live at %s",
								      say_moment(m, a->style))
						    : done[a->metric];
	const char *source =
		!from ? "; source not found: give its path on disk"
		: strcmp(from, a->file) == 0
			? ""
			: ms_arena_printf(&m->arena, "; source: %s",
					  name_clean(&m->arena, from, a->style->ascii));
	const char *newer = source_is_newer(m, from)
				    ? "; changed since the recording began: line numbers may be off"
				    : "";
	return ms_arena_printf(&m->arena,
			       "%s by line, %s: self %s, inclusive %s, whole program %s%s%s",
			       name_clean(&m->arena, a->file, a->style->ascii), what,
			       amount(m, unit, l->self.a, pair_ea(&l->self)),
			       amount(m, unit, l->all.a, pair_ea(&l->all)),
			       amount(m, unit, total.a, pair_ea(&total)), source, newer);
}

struct table table_annotate(struct model *m, const struct annotate *a, size_t limit)
{
	struct table t = {
		.columns = columns_of(m, a),
		.column_count = COLUMNS,
		.empty = "nothing was allocated in this file or by functions called from it"};
	struct lines *l = ms_arena_alloc(&m->arena, sizeof *l); /* in the arena, since the table's
								   rows point into it */
	size_t more, n;
	*l = count(m, a->file, a->metric);
	struct pair *rest = ms_arena_alloc(&m->arena, sizeof *rest);
	*rest = keep(m, l, limit, &more);
	const char *from;
	char *text = read_source(m, a, &from, &n);
	struct source s = text ? source_split(m, text, n) : (struct source){0};
	t.title = title(m, a, l, text ? from : NULL);
	free(text);
	add_lines(m, &t, l, a, &s);
	if (more) {
		struct cell *c = add_other(m, &t, ROW_MORE, say_things(m, more, "more line"));
		set_pair(m, &c[SELF], &c[SELF_N], rest, a->metric);
	}
	t.more = more;
	return t;
}
