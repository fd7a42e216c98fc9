/* SPDX-License-Identifier: MIT
 * The first screen of a comparison.
 */
#include "diff_report.h"

#include "ms-report/output/out.h"
#include "ms-report/text/text.h"
#include "ms-report/words/next.h"
#include "ms-report/words/apart.h"

#include <string.h>

#define SAY(...) ms_arena_printf(&p->m->arena, __VA_ARGS__)
#define ROOM 24 /* columns: least room for names in a table */

static const char *side(struct page *p, const char *name, const char *point, uint64_t runs)
{
	struct model *m = p->m;
	const char *s = name_clean(&m->arena, name, p->style.ascii);
	if (strcmp(point, "end") != 0 && !strchr(s, '@'))
		s = SAY("%s@%s", s, name_clean(&m->arena, point, p->style.ascii));
	return runs > 1 && runs != UNKNOWN
		       ? SAY("%s and %s", s, say_things(m, runs - 1, "more run"))
		       : s;
}

static void who(struct page *p, struct out *o)
{
	const struct diff *d = p->m->diff;
	struct words sides = {.v = {side(p, d->old, d->old_point, d->old_runs),
				    SAY("%s %s", p->style.ascii ? "->" : "\xe2\x86\x92",
					side(p, d->new, d->new_point, d->new_runs))},
			      .n = 2};
	struct words worth = {.v = {diff_worth(p->m)}, .n = 1};
	struct words program = words_who(p->m, &p->style);
	text_words(p, o, NULL, &program, "   ");
	text_words(p, o, "Compared", &sides, " ");
	text_words(p, o, "Quality", &worth, ", ");
	out_char(o, '\n');
}

static size_t wider(size_t width, const char *s)
{
	size_t w = name_width(s);
	return w > width ? w : width;
}

/* Returns how certain a change is: its interval, "noise" or "". */
static const char *remark(struct page *p, const struct diff_line *l)
{
	const struct diff_total *t = l->total;
	if (t->of_delta.low != DELTA_UNKNOWN)
		return SAY("(%s to %s)", diff_say(p->m, l->bytes, t->of_delta.low),
			   diff_say(p->m, l->bytes, t->of_delta.high));
	return l->noise ? "noise" : "";
}

static const char *per(struct page *p, const struct diff_line *l)
{
	return l->per ? SAY("per %s %s", name_clean(&p->m->arena, p->m->diff->per, p->style.ascii),
			    remark(p, l))
		      : remark(p, l);
}

/* Writes a figure as lines, if its columns would be wider than the page. */
static void narrow_figure(struct page *p, struct out *o, const struct diff_line *l)
{
	struct words w = {
		.v = {SAY("%s %s %s", l->old, p->style.ascii ? "->" : "\xe2\x86\x92", l->new),
		      SAY("%s%s%s", l->change, *l->percent ? " " : "", l->percent)},
		.n = 2};
	text_fold(p, o, l->title, 2);
	if (*per(p, l))
		w.v[w.n++] = per(p, l);
	text_words_in(p, o, &w, "  ", 2);
}

static void figure_row(struct out *o, const size_t *w, const struct diff_line *l)
{
	const char *const texts[] = {l->old, l->new, l->change};
	text_pad(o, l->title, w[0]);
	for (int i = 0; i < 3; i++) {
		out_str(o, "  ");
		text_pad_left(o, texts[i], w[i + 1]);
	}
}

static void figures(struct page *p, struct out *o)
{
	struct diff_line v[12];
	size_t n = diff_lines(p->m, v), w[5] = {6, 3, 3, 6, 0};
	for (size_t i = 0; i < n; i++) {
		w[0] = wider(w[0], v[i].title);
		w[1] = wider(w[1], v[i].old);
		w[2] = wider(w[2], v[i].new);
		w[3] = wider(w[3], v[i].change);
		w[4] = wider(w[4], per(p, &v[i]));
	}
	bool narrow = w[0] + w[1] + w[2] + w[3] + w[4] + 7 + 10 > p->style.width;
	for (size_t i = 0; i < n && narrow; i++)
		narrow_figure(p, o, &v[i]);
	if (narrow) {
		out_char(o, '\n');
		return;
	}
	static const struct diff_line head = {"figure", .old = "old", .new = "new",
					      .change = "change"};
	figure_row(o, w, &head);
	text_end_line(o);
	for (size_t i = 0; i < n; i++) {
		figure_row(o, w, &v[i]);
		out_str(o, "  ");
		text_pad_left(o, v[i].percent, 7);
		out_str(o, "  ");
		out_str(o, per(p, &v[i]));
		text_end_line(o);
	}
	out_char(o, '\n');
}

/* Numbers the columns to the left of a row's source location. */
enum { LIVE, PEAK, CALLS, ALLOCATED, NUMBER, WHAT, COLUMNS };

/* Holds the width of each column; 0 = not shown. */
struct widths {
	size_t v[COLUMNS], before; /* before: width of all columns and the gaps between them */
};

static void texts(struct page *p, const struct diff_row *x, const char *v[COLUMNS])
{
	v[LIVE] = diff_say(p->m, true, x->delta[DIFF_LIVE]);
	v[PEAK] = diff_say(p->m, true, diff_blame(x, DIFF_PEAK));
	v[CALLS] = diff_say(p->m, false, x->delta[DIFF_ALLOCATIONS]);
	v[ALLOCATED] = diff_say(p->m, true, x->delta[DIFF_ALLOCATED]);
	v[NUMBER] = SAY("%lld", (long long)x->site->id);
	v[WHAT] = diff_what(p->m, x);
}

static void put_row(struct out *o, const struct widths *w, const char *const *v)
{
	out_char(o, ' ');
	for (int i = 0; i < COLUMNS; i++) {
		if (!w->v[i])
			continue;
		if (i == WHAT)
			text_pad(o, v[i], w->v[i]);
		else
			text_pad_left(o, v[i], w->v[i]);
		out_str(o, "  ");
	}
}

/* Leaves out a column to make room for names. */
static void leave_out(struct widths *w, int column)
{
	w->before -= w->v[column] + 2;
	w->v[column] = 0;
}

static bool any_known(const struct diff_row *rows, size_t n, enum diff_figure f)
{
	for (size_t i = 0; i < n; i++)
		if (rows[i].delta[f] != DELTA_UNKNOWN)
			return true;
	return false;
}

/* Leaves out figures that are not known for any row: between two moments of a run, only live
 * figures are compared. */
static void leave_out_unknown(struct widths *w, const struct diff_row *rows, size_t n)
{
	static const enum diff_figure figure[] = {[LIVE] = DIFF_LIVE,
						  [PEAK] = DIFF_PEAK,
						  [CALLS] = DIFF_ALLOCATIONS,
						  [ALLOCATED] = DIFF_ALLOCATED};
	for (int c = LIVE; c <= ALLOCATED; c++)
		if (!any_known(rows, n, figure[c]))
			leave_out(w, c);
}

/* Leaves out figures that changed significantly in no row, until names have enough room. */
static void fit(struct page *p, struct widths *w, unsigned changed)
{
	static const struct {
		int column;
		enum diff_figure figure;
	} least[] = {{CALLS, DIFF_ALLOCATIONS},
		     {ALLOCATED, DIFF_ALLOCATED},
		     {PEAK, DIFF_PEAK},
		     {LIVE, DIFF_LIVE}};
	for (size_t i = 0; i < sizeof least / sizeof *least; i++)
		if (w->before + ROOM > p->style.width && !(changed & 1U << least[i].figure))
			leave_out(w, least[i].column);
}

/* Returns `before`, a name and a place, cut to `room` columns. */
static const char *cut(struct page *p, const char *s, const char *place, const char *before,
		       size_t room)
{
	struct ms_arena *a = &p->m->arena;
	bool ascii = p->style.ascii;
	if (p->style.full_names)
		return SAY("%s%s%s%s", before, s, *place ? " " : "", place);
	size_t all = strlen(before) + name_width(s) + 1 + name_width(place), half = room * 3 / 5;
	if (*place && all > room) {
		/* neither the name nor the place gets columns that it does not need */
		size_t w = strlen(before) + name_width(s), rest = room - 1;
		half = w < half ? w : half;
		half = name_width(place) < rest - half ? rest - name_width(place) : half;
		half = half > strlen(before) ? half - strlen(before) : 0;
		s = SAY("%s%s", before, name_fit(a, s, half, ascii));
		s = SAY("%s %s", s, name_cut_start(a, place, rest - name_width(s), ascii));
	} else {
		s = SAY("%s%s%s%s", before, s, *place ? " " : "", place);
	}
	return name_cut(a, s, room, ascii);
}

static const char *label(struct page *p, const struct frame *f, const char *before, size_t room)
{
	struct ms_arena *a = &p->m->arena;
	return f ? cut(p, frame_label(a, p->m, f, &p->style), frame_place(a, p->m, f, &p->style),
		       before, room)
		 : cut(p, "(no stack)", "", before, room);
}

/* Writes what distinguishes a row from rows with the same name, such as its caller: "< main
 * a.c:12". */
static void put_apart(struct page *p, struct out *o, const struct apart_line *l, size_t before,
		      size_t room)
{
	const char *sign = l->sign == ' ' ? "  " : l->sign == '<' ? "< " : "> ";
	out_repeat(o, " ", before);
	if (l->sign == ' ' || !*l->name)
		out_str(o, name_cut(&p->m->arena, SAY("%s%s%s", sign, l->name, l->place), room,
				    p->style.ascii));
	else
		out_str(o, cut(p, l->name, l->place, sign, room));
	text_end_line(o);
}

static void where(struct page *p, struct out *o, const struct diff_row *x,
		  const struct apart *apart, size_t before)
{
	const struct frame *caller = site_caller(p->m, x->site);
	size_t room = p->style.width > before ? p->style.width - before : 1;
	out_str(o, label(p, site_frame(p->m, x->site), "", room));
	text_end_line(o);
	if (caller) {
		out_repeat(o, " ", before);
		out_str(o, label(p, caller, "< ", room));
		text_end_line(o);
	}
	for (size_t k = 0; k < apart->n; k++)
		put_apart(p, o, &apart->v[k], before, room);
	if (x->site->folded) {
		out_repeat(o, " ", before);
		out_str(o, name_cut(&p->m->arena,
				    SAY("sum of %s of the same recursion",
					say_things(p->m, x->site->folded + 1, "site")),
				    room, p->style.ascii));
		text_end_line(o);
	}
}

/* Writes a row's figures on a line of their own, if columns would leave no room for names. */
static void narrow_row(struct page *p, struct out *o, const struct widths *told,
		       const char *const *v)
{
	static const char *const words[] = {"live", "peak", "calls", "allocated"};
	struct words w = {.n = 0};
	for (int c = LIVE; c <= ALLOCATED; c++)
		if (told->v[c])
			words_add(&w, SAY("%s %s", v[c], words[c]));
	words_add(&w, SAY("#%s", v[NUMBER]));
	words_add(&w, v[WHAT]);
	text_words(p, o, NULL, &w, "  ");
	out_str(o, "  ");
}

static void put_rows(struct page *p, struct out *o, const struct diff_row *rows, size_t n)
{
	static const char *const head[COLUMNS] = {"live", "peak", "calls", "allocated", "#", ""};
	const char *(*v)[COLUMNS] = ms_arena_alloc(&p->m->arena, n * sizeof *v);
	const struct site **sites = ms_arena_alloc(&p->m->arena, n * sizeof *sites);
	struct widths w = {.v = {4, 4, 5, 9, 1, 3}, .before = 1};
	unsigned changed = 0;
	for (size_t i = 0; i < n; i++) {
		texts(p, &rows[i], v[i]);
		sites[i] = rows[i].site;
		changed |= rows[i].changed;
		for (int c = 0; c < COLUMNS; c++)
			w.v[c] = wider(w.v[c], v[i][c]);
	}
	for (int c = 0; c < COLUMNS; c++)
		w.before += w.v[c] + 2;
	leave_out_unknown(&w, rows, n);
	if (!p->style.full_names)
		fit(p, &w, changed);
	bool narrow = w.before + ROOM > p->style.width && !p->style.full_names;
	struct apart_shown shown = {.caller = true, .caller_place = true};
	/* A name that shares its line with a place gets at least 3/5 of the room. */
	if (!p->style.full_names)
		shown.name_columns = (p->style.width - (narrow ? 2 : w.before)) * 3 / 5;
	struct apart *apart = apart_make(p->m, sites, n, shown, &p->style);
	if (!narrow) {
		put_row(o, &w, head);
		out_str(o, p->style.width < w.before + 32 ? "where\n"
							  : "where (first frame of your code)\n");
	}
	for (size_t i = 0; i < n; i++) {
		if (narrow)
			narrow_row(p, o, &w, v[i]);
		else
			put_row(o, &w, v[i]);
		where(p, o, &rows[i], &apart[i], narrow ? 2 : w.before);
	}
}

/* Returns a run as typed, with "@MOMENT" if it was compared at another moment than its end; NULL =
 * standard input. */
static const char *input_of(struct page *p, const char *name, const char *point)
{
	const char *tail = SAY("@%s", point);
	size_t n = strlen(name), k = strlen(tail);
	bool there = n > k && strcmp(name + n - k, tail) == 0, end = strcmp(point, "end") == 0;
	const char *file = there ? ms_arena_strndup(&p->m->arena, name, n - k) : name;
	return strcmp(file, "-") == 0 || strcmp(file, "?") == 0 ? NULL
	       : end                                            ? file
								: SAY("%s%s", file, tail);
}

/* Writes a command that shows the first row's site in the comparison, or in one of the runs if the
 * comparison came from standard input. */
static void put_next(struct page *p, struct out *o, const struct diff_row *x)
{
	const struct diff *d = p->m->diff;
	struct page q = *p;
	bool gone = !p->input && x->kind == DIFF_GONE;
	if (!p->input)
		q.input = gone ? input_of(p, d->old, d->old_point)
			       : input_of(p, d->new, d->new_point);
	out_str(o, "Next     ");
	uint64_t site = gone ? x->old_site : (uint64_t)x->site->id;
	const char *words[] = {"ms-report", "--site", SAY("%llu", (unsigned long long)site),
			       next_input(&q, text_command_room(p, 9))};
	text_command(&q, o, words, 4, 9);
	out_char(o, '\n');
}

static void rows(struct page *p, struct out *o, size_t limit)
{
	struct diff_rows r = diff_shown(p->m, !p->style.full_names);
	size_t n = diff_rows_shown(&r, limit), all = r.significant;
	struct list lost = diff_newly_lost(p->m, &r, n, limit);
	if (lost.n) {
		text_title(p, o, list_title(p, &lost));
		text_list(p, o, &lost, true);
		out_char(o, '\n');
	}
	text_title(p, o, diff_title(p->m, &r));
	if (n)
		put_rows(p, o, r.v, n);
	if (all > n)
		text_fold(p, o,
			  SAY("%s changed by more than noise (all: --limit 0)",
			      say_things(p->m, all - n, "more site")),
			  2);
	const char *rest = diff_rest(p->m, &r);
	if (*rest)
		text_words(p, o, "Rest", &(struct words){{rest}, 1}, "");
	if (p->m->hidden.filters)
		text_words(p, o, "Hidden", &(struct words){{words_hidden(p->m, &p->style)}, 1}, "");
	if (n)
		put_next(p, o, &r.v[0]);
}

/* Writes a line if the peaks of the two runs are in different phases. */
static void moments(struct page *p, struct out *o)
{
	const char *when = diff_moments(p->m);
	if (!when)
		return;
	const struct diff_total *t = diff_total(p->m->diff, "peak_bytes");
	const char *by = t ? diff_say(p->m, true, t->delta) : "n/a";
	struct words w = {
		.v = {SAY("%s: %s", by, when),
		      "the runs peaked in different phases, so a site's peak counts as changed "
		      "only if it is more than the site ever held in the other run"},
		.n = 2};
	text_words(p, o, "Peak", &w, ", ");
	out_char(o, '\n');
}

/* Writes what is kept more than in the old run, if anything is. */
static void kept(struct page *p, struct out *o, size_t limit)
{
	struct table t = kept_more(p->m, limit, &p->style);
	if (!t.title)
		return;
	text_table(p, o, &t);
	out_char(o, '\n');
}

void diff_text(struct page *p, struct out *o, size_t limit)
{
	who(p, o);
	figures(p, o);
	moments(p, o);
	kept(p, o, limit);
	rows(p, o, limit);
}
