/* SPDX-License-Identifier: MIT
 * Rows that would read the same get a line with the nearest frame in which their stacks differ; if
 * some are still the same, one more with the next such frame. Only the last line is shown if it is
 * enough to distinguish the row:
 *
 *   new_item < add < main       new_item < .. main      not "new_item < add" two times
 *   new_item < add < parse      new_item < .. parse
 *   new_item < copy             new_item < copy
 *
 * The order of the passes: parts of names that were left out, then callers in user code, then inner
 * frames, then all callers, then addresses, then processes.
 */
#include "apart.h"

#include "libcommon/model/model.h"

#include "libcommon/base/order.h"

#include <stdlib.h>
#include <string.h>

enum pass { NAMES, CALLERS, INSIDE, RUNTIME_CALLERS, ADDRESSES, PROCESSES, PASSES };

struct row {
	const char *base, *key; /* base: text of the row; key: text of its last line so far */
	size_t number;
	uint32_t *nodes;  /* nodes of the site's stack, innermost first */
	size_t count, at; /* number of nodes; index of the one that names the row */
};

struct parting {
	struct model *m;
	const struct site *const *sites;
	const struct style *style;
	struct apart_shown shown;
	struct row *rows;
	struct apart *out;
	size_t next[PASSES]; /* by pass (see above): first step whose frame the row does not show */
};

#define SAY(...) ms_arena_printf(&d->m->arena, __VA_ARGS__)

static const char *name_of(struct parting *d, const struct frame *f)
{
	return f ? frame_label(&d->m->arena, d->m, f, d->style) : "";
}

static const char *place_of(struct parting *d, const struct frame *f)
{
	return f ? frame_place(&d->m->arena, d->m, f, d->style) : "";
}

/* Returns a name as it appears in `columns`, less `indent` columns for a line below a row. */
static const char *seen_name(struct parting *d, const char *name, size_t columns, size_t indent)
{
	return columns > indent ? name_fit(&d->m->arena, name, columns - indent, d->style->ascii)
				: name;
}

static const char *seen_place(struct parting *d, const char *place)
{
	size_t columns = d->shown.place_columns;
	return columns ? name_cut_start(&d->m->arena, place, columns, d->style->ascii) : place;
}

static struct row row_of(struct parting *d, size_t i)
{
	const struct apart_shown shown = d->shown;
	const size_t columns = shown.name_columns;
	const struct site *s = d->sites[i];
	const struct frame *f = site_frame(d->m, s), *caller = site_caller(d->m, s);
	struct row r = {.number = i};
	for (uint32_t n = s->stack; n != NONE; n = d->m->nodes.v[n].parent)
		r.count++;
	r.nodes = ms_arena_alloc(&d->m->arena, (r.count + 1) * sizeof *r.nodes);
	r.count = 0;
	for (uint32_t n = s->stack; n != NONE; n = d->m->nodes.v[n].parent) {
		r.at = n == s->user ? r.count : r.at;
		r.nodes[r.count++] = n;
		if (n == s->user && s->folded) /* skips a folded recursion: its rounds distinguish
						  no rows */
			n = site_entry(d->m, s);
	}
	const char *called = shown.called ? name_of(d, site_called(d->m, s)) : "";
	r.base = r.key =
		SAY("%s\n%s\n%s\n%s\n%s", seen_name(d, name_of(d, f), columns, 0),
		    seen_place(d, place_of(d, f)), seen_name(d, called, shown.called_columns, 0),
		    shown.caller ? seen_name(d, name_of(d, caller), columns, 4) : "",
		    shown.caller_place ? seen_place(d, place_of(d, caller)) : "");
	return r;
}

/* Returns the frame that step `k` of a pass compares; NULL = there is none. */
static const struct frame *frame_at(const struct parting *d, const struct row *r, enum pass pass,
				    size_t k)
{
	size_t i = pass == INSIDE      ? r->at - k - 1
		   : pass == ADDRESSES ? k
		   : pass == NAMES     ? r->at
				       : r->at + k + 1;
	if (i >= r->count)
		return NULL;
	const struct frame *f = model_frame(d->m, r->nodes[i]);
	return pass == CALLERS && (f->runtime || f->note) ? NULL : f;
}

/* Returns a frame's name with all of its template arguments. */
static const char *whole_name(struct parting *d, const struct frame *f)
{
	struct ms_arena *a = &d->m->arena;
	const char *s = name_clean(a, frame_name(a, d->m, f), d->style->ascii);
	return ms_name_fit(a, s, SIZE_MAX, d->style->ascii);
}

/* Returns the line that step `k` of a pass would add to a row. */
static struct apart_line line_at(struct parting *d, const struct row *r, enum pass pass, size_t k)
{
	static const char signs[PASSES] = {' ', '<', '>', '<', ' ', ' '};
	struct apart_line l = {signs[pass], "", ""};
	const struct site *s = d->sites[r->number];
	if (pass == PROCESSES) {
		l.name = SAY("in %s", process_label(&d->m->arena, &d->m->processes.v[s->process],
						    "pid ", d->style->ascii));
		return l;
	}
	const struct frame *f = frame_at(d, r, pass, k);
	if (f && pass == ADDRESSES) {
		struct frame bare = *f;
		bare.function = NULL;
		l.name = f->note ? "" : SAY("at %s", name_of(d, &bare));
	} else if (f && pass == NAMES) {
		l.name = f->function && !f->note ? whole_name(d, f) : "";
	} else if (f) {
		l.name = name_of(d, f);
		l.place = place_of(d, f);
	}
	return l;
}

static bool more_steps(const struct parting *d, const struct row *v, size_t n, enum pass pass,
		       size_t k)
{
	for (size_t i = 0; i < n; i++)
		if (pass == PROCESSES   ? k == 0 && d->m->processes.n > 1
		    : pass == NAMES     ? k == 0 && v[i].count
		    : pass == INSIDE    ? k < v[i].at
		    : pass == ADDRESSES ? k < v[i].count
					: v[i].at + k + 1 < v[i].count)
			return true;
	return false;
}

static const char *seen_line(struct parting *d, const struct apart_line *l)
{
	const char *name = l->name;
	if (l->sign != ' ')
		name = seen_name(d, name, d->shown.name_columns, 4);
	return SAY("%s\n%s", name, seen_place(d, l->place));
}

static bool same_line(struct parting *d, const struct apart_line *a, const struct apart_line *b)
{
	return strcmp(seen_line(d, a), seen_line(d, b)) == 0;
}

/* Shortens names to the parts in which they differ. */
static void leave_different(struct parting *d, struct apart_line *v, size_t n)
{
	const char **names = ms_arena_alloc(&d->m->arena, n * sizeof *names);
	for (size_t i = 0; i < n; i++)
		names[i] = v[i].name;
	struct ms_names_difference x = ms_names_difference(names, n);
	for (size_t i = 0; i < n; i++)
		v[i].name = ms_name_difference(&d->m->arena, names[i], x, d->style->ascii);
}

/* Tells whether step `k` of a pass distinguishes rows. Compares frames first: most rows have the
 * same frame, so that no lines need to be made. */
static bool differ(struct parting *d, const struct row *v, size_t n, enum pass pass, size_t k)
{
	const struct frame *first = frame_at(d, &v[0], pass, k);
	struct apart_line a = {.name = NULL}, b;
	for (size_t i = 1; i < n; i++) {
		if (pass != PROCESSES && frame_at(d, &v[i], pass, k) == first)
			continue;
		a = a.name ? a : line_at(d, &v[0], pass, k);
		b = line_at(d, &v[i], pass, k);
		if (!same_line(d, &a, &b))
			return true;
	}
	return false;
}

MS_COMPARE(by_key, struct row, strcmp(x->key, y->key) ?: MS_ORDER(x->number, y->number))

static void part(struct parting *d, struct row *v, size_t n, enum pass pass, size_t k);

/* Calls `part` for each group of rows with the same key. */
static void part_groups(struct parting *d, struct row *v, size_t n, enum pass pass, size_t k)
{
	qsort(v, n, sizeof *v, by_key);
	for (size_t i = 0, end; i < n; i = end) {
		end = i + 1;
		while (end < n && strcmp(v[end].key, v[i].key) == 0)
			end++;
		if (end - i > 1)
			part(d, v + i, end - i, pass, k);
	}
}

/* Adds the line of step `k` to each row. */
static void add_lines(struct parting *d, struct row *v, size_t n, enum pass pass, size_t k)
{
	struct apart_line *lines = ms_arena_alloc(&d->m->arena, n * sizeof *lines);
	for (size_t i = 0; i < n; i++)
		lines[i] = line_at(d, &v[i], pass, k);
	if (pass == NAMES)
		leave_different(d, lines, n);
	for (size_t i = 0; i < n; i++) {
		struct apart_line l = lines[i];
		struct apart *a = &d->out[v[i].number];
		v[i].key = seen_line(d, &l);
		if (!*l.name && !*l.place)
			continue;
		if (pass == CALLERS && k < d->next[pass]) /* the row itself names this caller */
			l.name = "";
		if (k > d->next[pass] && (l.sign == '<' || l.sign == '>'))
			l.name = SAY("%s %s", d->style->ascii ? ".." : "\xe2\x80\xa6", l.name);
		struct apart_line *more = ms_arena_alloc(&d->m->arena, (a->n + 1) * sizeof *more);
		if (a->n)
			memcpy(more, a->v, a->n * sizeof *more);
		more[a->n++] = l;
		a->v = more;
	}
}

/* Adds lines to rows with equal texts, from step `k` of a pass on, until the texts differ. */
static void part(struct parting *d, struct row *v, size_t n, enum pass pass, size_t k)
{
	for (; pass < PASSES; pass++, k = 0)
		for (; more_steps(d, v, n, pass, k); k++)
			if (differ(d, v, n, pass, k)) {
				add_lines(d, v, n, pass, k);
				part_groups(d, v, n, pass, k + 1);
				return;
			}
}

/* Drops all lines of a row but the last, if the row is unique with that line alone. */
static void shorten(struct parting *d, struct row *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct apart *a = &d->out[v[i].number];
		const struct apart_line *l = a->n ? &a->v[a->n - 1] : NULL;
		v[i].key = SAY("%s\n%s\n%s", v[i].base, l ? l->name : "", l ? l->place : "");
	}
	qsort(v, n, sizeof *v, by_key);
	for (size_t i = 0; i < n; i++) {
		struct apart *a = &d->out[v[i].number];
		bool again = (i && strcmp(v[i - 1].key, v[i].key) == 0) ||
			     (i + 1 < n && strcmp(v[i + 1].key, v[i].key) == 0);
		if (a->n < 2 || again)
			continue;
		a->v += a->n - 1;
		a->n = 1;
	}
}

struct apart *apart_make(struct model *m, const struct site *const *sites, size_t n,
			 struct apart_shown shown, const struct style *st)
{
	struct parting d = {.m = m, .sites = sites, .style = st, .shown = shown};
	d.next[CALLERS] = shown.caller;
	d.next[INSIDE] = shown.called;
	d.out = ms_arena_alloc(&m->arena, (n + 1) * sizeof *d.out);
	d.rows = ms_arena_alloc(&m->arena, (n + 1) * sizeof *d.rows);
	for (size_t i = 0; i < n; i++)
		d.rows[i] = row_of(&d, i);
	part_groups(&d, d.rows, n, NAMES, 0);
	shorten(&d, d.rows, n);
	return d.out;
}
