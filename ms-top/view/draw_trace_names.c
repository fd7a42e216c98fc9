/* SPDX-License-Identifier: MIT
 * Draws names of sites in the table, each with its place. Rows that would look the same are
 * distinguished: by more of their names, else by the nearest outer frame, else inner frame, in
 * which their stacks differ, else by addresses.
 */
#include <stdlib.h>
#include <string.h>

#include "draw.h"
#include "ms-top/cells/grid.h"
#include "ms-top/trace/trace.h"
#include "libcommon/base/arena.h"
#include "libcommon/base/order.h"
#include "libcommon/base/utf8.h"
#include "libcommon/names/shorten.h"

#define LEAST 8        /* least columns of a name */
#define OTHER_LEAST 16 /* least columns of a called or calling function's name */
#define STACK_MAX 256u /* frames of a stack that are examined */
#define DEEP 32u       /* most frames between the named frame and a distinguishing one */
#define MORE_MOST 3    /* distinguishing frames of a row, at most */
#define NAME_FEW 12    /* least columns of a name beside several distinguishing frames */
#define PARTED 30u     /* rows with one name and place that are distinguished, at most */

struct row {
	struct trace_site_name name;
	const char *user, *place, *shown;
	const char *more[MORE_MOST]; /* distinguish the row from others, each "< tick" or ">
					append" */
	int more_n;
	bool told;       /* the usual text of a row includes more[0] */
	const char *key; /* text of the row, for comparison */
	uint32_t node;
	size_t number;
};

/* Memory for the texts of one frame, allocated once. */
static struct ms_arena scratch;
static struct ms_arena_mark empty;

struct names {
	const struct trace *t;
	int room; /* columns for a name and all parts after it */
	struct row *v;
	size_t n;
};

void draw_trace_names_begin(void)
{
	if (!empty.chunk) {
		ms_arena_alloc(&scratch, 1);
		empty = ms_arena_mark(&scratch);
	}
	ms_arena_release(&scratch, empty);
}

static const char *whole_name(const struct trace *t, const struct trace_frame *f)
{
	char text[2048];
	bool known = f->function && !f->note;
	if (known && !t->full_names && f->full && f->full[0])
		return f->full;
	return known ? f->function
		     : ms_arena_strdup(&scratch, trace_frame_name(f, text, sizeof text));
}

const char *draw_frame_name(const struct trace *t, const struct trace_frame *f, int room)
{
	const char *s = whole_name(t, f);
	const char *label = f->function && !f->note ? f->function : s;
	size_t most = room < LEAST ? LEAST : (size_t)room;
	return t->full_names || ms_utf8_columns(label) <= most
		       ? label
		       : ms_name_fit(&scratch, s, most, false);
}

static const char *place_of(const struct trace_frame *f)
{
	char text[512];
	return ms_arena_strdup(&scratch, trace_frame_place(f, text, sizeof text));
}

/* Holds the columns of the parts of a row. The place is not cut if enough columns remain for the
 * name. */
struct parts {
	int name, place, more; /* 0 = the row has no such part */
};

static struct parts parts_of(const struct names *x, const struct row *r)
{
	struct parts p = {.place = (int)ms_utf8_columns(r->place)};
	p.place = p.place > x->room - LEAST - 1 ? x->room - LEAST - 1 : p.place;
	p.place = p.place < 2 ? 0 : p.place;
	int left = x->room - p.place - (p.place > 0);
	int more = 0, most = left / 2;
	if (r->more_n > 1)
		most = left * 2 / 3 < left - NAME_FEW ? left * 2 / 3 : left - NAME_FEW;
	for (int i = 0; i < r->more_n; i++)
		more += (int)ms_utf8_columns(r->more[i]) + 1;
	p.more = more > most ? most : more;
	p.more = p.more < more && p.more < LEAST ? 0 : p.more;
	p.name = left - p.more < LEAST ? LEAST : left - p.more;
	return p;
}

static void set_key(struct row *r)
{
	r->key = ms_arena_printf(&scratch, "%s\n%s", r->shown, r->place);
}

static int by_key(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	return strcmp(x->key, y->key) ?: strcmp(x->user, y->user) ?: MS_ORDER(x->number, y->number);
}

/* ---- frames in which stacks differ ---- */

struct stack {
	struct trace_frame v[STACK_MAX];
	size_t n, at; /* index of the frame that the row is named after */
};

static void take_stack(struct stack *s, const struct names *x, const struct row *r)
{
	const struct trace_frame *user = &r->name.user;
	struct trace_stack from = {.t = x->t, .node = r->node};
	s->n = s->at = 0;
	while (s->n < STACK_MAX && trace_next_frame(&from, &s->v[s->n]))
		s->n++;
	while (s->at < s->n &&
	       (s->v[s->at].address != user->address || s->v[s->at].function != user->function ||
		s->v[s->at].line != user->line))
		s->at++;
}

/* Returns a frame `step` outside of the named one, or inside of it (`inside`); NULL = there is
 * none. */
static const struct trace_frame *frame_at(const struct stack *s, size_t step, bool inside)
{
	size_t i = inside ? s->at - step : s->at + step;
	return i < s->n ? &s->v[i] : NULL;
}

/* Tells whether two frames look the same, by their names or by their places. */
static bool same(const struct trace_frame *a, const struct trace_frame *b, bool place)
{
	if (!a || !b)
		return a == b;
	if (place)
		return a->line == b->line && strcmp(a->file ?: "", b->file ?: "") == 0;
	return a->function && b->function ? strcmp(a->function, b->function) == 0
					  : a->address == b->address && a->function == b->function;
}

static size_t count_different(const struct stack *const *s, size_t n, size_t step, bool inside,
			      bool place)
{
	size_t different = 0;
	for (size_t i = 0; i < n; i++) {
		const struct trace_frame *mine = frame_at(s[i], step, inside);
		bool seen = false;
		for (size_t k = 0; k < i && !seen; k++)
			seen = same(mine, frame_at(s[k], step, inside), place);
		different += !seen;
	}
	return different;
}

/* Describes where stacks differ most: `step` frames outside or inside, in names or in places. */
struct difference {
	size_t step; /* 0 = they do not differ */
	bool inside, place;
};

static struct difference most_different(const struct stack *const *s, size_t n)
{
	struct difference d = {0};
	size_t most = 1;
	for (unsigned kind = 0; kind < 4 && most < n; kind++)
		for (size_t step = 1; step < DEEP && most < n; step++) {
			size_t found = count_different(s, n, step, kind & 2, kind & 1);
			if (found > most) {
				most = found;
				d = (struct difference){step, kind & 2, kind & 1};
			}
		}
	return d;
}

static const char *said(struct names *x, const struct stack *s, struct difference d)
{
	const struct trace_frame *f = frame_at(s, d.step, d.inside);
	if (!d.step)
		return ms_arena_printf(&scratch, "+0x%llx",
				       (unsigned long long)s->v[s->at].address);
	if (!f)
		return NULL;
	const char *name = draw_frame_name(x->t, f, x->room / 2);
	return ms_arena_printf(&scratch, "%s %s%s%s", d.inside ? ">" : "<", name,
			       d.place ? " " : "", d.place ? place_of(f) : "");
}

/* Tells whether the usual text of a row fits completely. */
static bool is_whole(const struct names *x, const struct row *r)
{
	const struct trace_frame *other[] = {r->name.has_called ? &r->name.called : NULL,
					     r->name.has_caller ? &r->name.caller : NULL};
	int used = (int)(ms_utf8_columns(r->shown) + ms_utf8_columns(r->place)) + 1;
	for (int i = 0; i < 2; i++)
		if (other[i] && other[i]->function)
			used += (int)ms_utf8_columns(other[i]->function) + 2 + i;
	return used <= x->room;
}

/* Tells whether two rows have the same distinguishing frames. */
static bool says_same(const struct row *a, const struct row *b)
{
	bool same = a->more_n == b->more_n;
	for (int i = 0; i < a->more_n && same; i++)
		same = strcmp(a->more[i], b->more[i]) == 0;
	return same;
}

/* Adds the frame in which most stacks differ, among rows that look the same. Returns false if there
 * is none. */
static bool add_difference(struct names *x, struct row *v, const struct stack *s, size_t n,
			   size_t first)
{
	const struct stack *of[PARTED];
	size_t rows[PARTED], count = 0;
	for (size_t i = first; i < n; i++)
		if (says_same(&v[i], &v[first])) {
			of[count] = &s[i];
			rows[count++] = i;
		}
	struct difference d = most_different(of, count);
	if (count < 2 || (!d.step && v[first].more_n))
		return false;
	bool next = d.step == 1 && !d.place; /* a row's usual text shows this frame, if it fits */
	for (size_t i = 0; i < count; i++) {
		struct row *r = &v[rows[i]];
		const char *more = of[i]->at < of[i]->n ? said(x, of[i], d) : NULL;
		r->told = !r->more_n && next && (d.inside || r->name.has_caller) && is_whole(x, r);
		r->more[r->more_n] = more ? more : d.inside ? ">" : "<";
		r->more_n++;
	}
	return true;
}

/* Adds to rows with one name and place the frames in which their stacks differ. */
static void part_stacks(struct names *x, struct row *v, size_t n)
{
	static struct stack s[PARTED];
	n = n < PARTED ? n : PARTED;
	for (size_t i = 0; i < n; i++)
		take_stack(&s[i], x, &v[i]);
	for (int level = 0; level < MORE_MOST; level++)
		for (size_t i = 0; i < n; i++)
			if (v[i].more_n == level)
				add_difference(x, v, s, n, i);
	for (size_t i = 0; i < n; i++)
		v[i].more_n = v[i].told && v[i].more_n == 1 ? 0 : v[i].more_n;
}

/* ---- rows ---- */

/* Distinguishes rows that look the same. */
static void part(struct names *x, struct row *v, size_t n)
{
	const char **names = ms_arena_alloc(&scratch, n * sizeof *names);
	int least = x->room;
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && strcmp(v[end].user, v[i].user) == 0;)
			end++;
		if (end - i > 1)
			part_stacks(x, v + i, end - i);
	}
	for (size_t i = 0; i < n; i++) {
		int room = parts_of(x, &v[i]).name;
		least = room < least ? room : least;
		names[i] = v[i].user;
	}
	if (x->t->full_names)
		return;
	ms_names_fit(&scratch, names, n, (size_t)least, false);
	for (size_t i = 0; i < n; i++)
		v[i].shown = names[i];
}

static void make_rows(struct names *x, struct trace *t, size_t top)
{
	for (size_t i = 0; i < x->n; i++) {
		struct row *r = &x->v[i];
		*r = (struct row){.node = t->sites[t->rows.v[top + i]].node, .number = i};
		r->name = trace_site_name(t, r->node);
		r->user = whole_name(t, &r->name.user);
		r->place = place_of(&r->name.user);
		r->shown = draw_frame_name(t, &r->name.user, parts_of(x, r).name);
		set_key(r);
	}
	qsort(x->v, x->n, sizeof *x->v, by_key);
	for (size_t i = 0, end; i < x->n; i = end) {
		for (end = i + 1; end < x->n && strcmp(x->v[end].key, x->v[i].key) == 0;)
			end++;
		if (end - i > 1)
			part(x, x->v + i, end - i);
	}
}

/* ---- names of frames below each other ---- */

static int name_room(const struct draw_name *x)
{
	int place = (int)ms_utf8_columns(x->place);
	return x->room - (place < x->room / 2 ? place : x->room / 2);
}

static int by_reading(const void *a, const void *b)
{
	const struct draw_name *x = *(struct draw_name *const *)a,
			       *y = *(struct draw_name *const *)b;
	return MS_ORDER(x->group, y->group) ?: strcmp(x->name, y->name)
			?: strcmp(x->place, y->place) ?: MS_ORDER(x, y);
}

static bool read_same(const struct draw_name *x, const struct draw_name *y)
{
	return x->group == y->group && strcmp(x->name, y->name) == 0 &&
	       strcmp(x->place, y->place) == 0;
}

/* Returns the end of the run of entries in `order` that look the same as entry `i`. */
static size_t same_until(struct draw_name *const *order, size_t n, size_t i)
{
	size_t end = i + 1;
	while (end < n && read_same(order[end], order[i]))
		end++;
	return end;
}

/* Shortens different names so that the parts in which they differ are visible. */
static void part_names(const struct trace *t, struct draw_name **v, size_t n)
{
	const char **names = ms_arena_alloc(&scratch, n * sizeof *names);
	int least = name_room(v[0]);
	for (size_t i = 0; i < n; i++) {
		least = name_room(v[i]) < least ? name_room(v[i]) : least;
		names[i] = whole_name(t, &v[i]->frame);
	}
	ms_names_fit(&scratch, names, n, least < LEAST ? LEAST : (size_t)least, false);
	for (size_t i = 0; i < n; i++)
		v[i]->name = names[i];
}

/* Shows the whole file paths of functions that have the same name, or if the paths are equal, the
 * modules. */
static void part_places(const struct trace *t, struct draw_name **v, size_t n)
{
	bool paths = false;
	for (size_t i = 1; i < n; i++)
		paths |= strcmp(v[i]->frame.path ?: "", v[0]->frame.path ?: "") != 0;
	for (size_t i = 0; i < n; i++) {
		struct trace_frame f = v[i]->frame;
		const char *path = f.path ?: "", *line = strrchr(v[i]->place, ':') ?: "";
		v[i]->place = paths ? ms_arena_printf(&scratch, "%s%s", path, f.line ? line : "")
				    : ms_arena_printf(&scratch, "[%s]", f.module ?: "?");
		v[i]->name = draw_frame_name(t, &f, name_room(v[i]));
	}
}

void draw_names(const struct trace *t, struct draw_name *v, size_t n)
{
	struct draw_name **order = ms_arena_alloc(&scratch, (n + 1) * sizeof *order);
	for (size_t i = 0; i < n; i++) {
		v[i].place = place_of(&v[i].frame);
		v[i].name = draw_frame_name(t, &v[i].frame, name_room(&v[i]));
		order[i] = &v[i];
	}
	for (int step = 0; step < 2; step++) {
		qsort(order, n, sizeof *order, by_reading);
		for (size_t i = 0, end; i < n; i = end) {
			end = same_until(order, n, i);
			if (end - i > 1 && (step || !t->full_names))
				(step ? part_places : part_names)(t, order + i, end - i);
		}
	}
}

/* ---- rows of sites ---- */

/* Puts "  map::operator[] < tick": the function that the user's function called, omitted if it is
 * the allocator, and the caller of the user's function. */
static void put_others(struct grid *g, int row, int col, struct names *x, const struct row *r)
{
	const struct trace_site_name *n = &r->name;
	int left = g->cols - col - 2, caller = 0;
	const char *s = n->has_caller ? draw_frame_name(x->t, &n->caller, left) : "";
	if (*s)
		caller = (int)ms_utf8_columns(s) + 3;
	caller = caller > left / 2 ? left / 2 : caller;
	if (n->has_called &&
	    (left >= OTHER_LEAST || (int)ms_utf8_columns(n->called.function ?: "") <= left))
		col += 2 + grid_put(g, row, col + 2, -1, GRID_DIM,
				    draw_frame_name(x->t, &n->called, left - caller));
	left = g->cols - col - 3;
	if (!*s || (left < LEAST && (int)ms_utf8_columns(s) > left))
		return;
	col += grid_put(g, row, col, -1, GRID_DIM, " < ");
	grid_put(g, row, col, -1, GRID_DIM, draw_frame_name(x->t, &n->caller, g->cols - col));
}

static void put_row(struct grid *g, int row, int col, struct names *x, const struct row *r)
{
	struct parts p = parts_of(x, r);
	col += grid_put(g, row, col, p.name, r->name.user.runtime ? GRID_DIM : GRID_PLAIN,
			r->shown);
	if (p.place && g->cols > col + 1)
		col += 1 + grid_put_end(g, row, col + 1, p.place, GRID_DIM, r->place);
	if (!p.more) {
		put_others(g, row, col, x, r);
		return;
	}
	int left = g->cols - col;
	for (int i = 0; i < r->more_n; i++) {
		/* columns that a short text does not need are for the next texts */
		int room = left / (r->more_n - i) - 1, whole = (int)ms_utf8_columns(r->more[i]);
		int sign = *r->more[i] == '+' ? 0 : r->more_n > 1 && whole > room ? 1 : 2;
		const char *text = r->more[i] + (*r->more[i] == '+' ? 0 : strcspn(r->more[i], " "));
		text += *text == ' ';
		room -= sign;
		if (room < 1)
			break;
		if ((int)ms_utf8_columns(text) > room) /* cuts the name, not the place */
			text = ms_name_fit(&scratch, text, (size_t)room, false);
		grid_print(g, row, col + 1, GRID_DIM, "%.*s", sign, r->more[i]);
		int used = 1 + sign + grid_put(g, row, col + 1 + sign, room, GRID_DIM, text);
		col += used;
		left -= used;
	}
}

void draw_trace_names(struct grid *g, int row, int col, struct trace *t, size_t top, size_t n)
{
	struct names x = {.t = t, .room = g->cols - col, .n = n};
	x.v = ms_arena_alloc(&scratch, (n + 1) * sizeof *x.v);
	make_rows(&x, t, top);
	for (size_t i = 0; i < n; i++)
		put_row(g, row + (int)x.v[i].number, col, &x, &x.v[i]);
}
