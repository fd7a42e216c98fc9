/* SPDX-License-Identifier: MIT
 * Pieces of plain text: titles, folded lines, padded columns; the banner; tables.
 */
#include "text.h"

#include "out.h"

#include <string.h>

void text_title(struct page *p, struct out *o, const char *s)
{
	if (p->style.color)
		out_str(o, "\x1b[1m");
	text_fold(p, o, s, 2);
	if (p->style.color) {
		o->n--; /* the line end comes after the colour's */
		out_str(o, "\x1b[0m\n");
	}
}

void text_fold(struct page *p, struct out *o, const char *s, size_t indent)
{
	size_t at = 0;
	while (*s) {
		size_t n = strcspn(s, " ");
		const char *word = ms_arena_strndup(&p->m->arena, s, n);
		size_t w = name_width(word);
		if (at && at + 1 + w > p->style.width) {
			out_char(o, '\n');
			out_repeat(o, " ", indent);
			at = indent;
		} else if (at) {
			out_char(o, ' ');
			at++;
		}
		out_str(o, word);
		at += w;
		s += n;
		if (*s)
			s++;
	}
	out_char(o, '\n');
}

/* No blanks before a line's end. */
static void end_line(struct out *o)
{
	while (o->n && o->v[o->n - 1] == ' ')
		o->n--;
	out_char(o, '\n');
}

/* A part that is longer than a line is folded at its blanks. Returns the column after it. */
static size_t put_part(struct page *p, struct out *o, const char *s, size_t at, size_t indent)
{
	while (*s) {
		size_t n = strcspn(s, " "), w;
		const char *word = ms_arena_strndup(&p->m->arena, s, n);
		word = name_cut(&p->m->arena, word, p->style.width - indent, p->style.ascii);
		w = name_width(word);
		if (at > indent && at + w > p->style.width) {
			end_line(o);
			out_repeat(o, " ", at = indent);
		}
		out_str(o, word);
		at += w;
		s += n;
		for (; *s == ' '; s++, at++)
			out_char(o, ' ');
	}
	return at;
}

void text_words(struct page *p, struct out *o, const char *label, const struct words *w,
		const char *gap)
{
	size_t indent = label ? 9 : 2, at = label ? 9 : 0, gap_width = strlen(gap);
	if (label)
		text_pad(o, label, indent);
	for (size_t i = 0; i < w->n; i++) {
		if (i && at + gap_width + name_width(w->v[i]) > p->style.width) {
			end_line(o);
			out_repeat(o, " ", at = indent);
		} else if (i) {
			out_str(o, gap);
			at += gap_width;
		}
		at = put_part(p, o, w->v[i], at, indent);
	}
	out_char(o, '\n');
}

void text_pad(struct out *o, const char *s, size_t width)
{
	size_t have = name_width(s);
	out_str(o, s);
	if (have < width)
		out_repeat(o, " ", width - have);
}

void text_pad_left(struct out *o, const char *s, size_t width)
{
	size_t have = name_width(s);
	if (have < width)
		out_repeat(o, " ", width - have);
	out_str(o, s);
}

const char *text_arrow(const struct page *p)
{
	return p->style.ascii ? "<-" : "\xe2\x86\x90";
}

static void loud(struct page *p, struct out *o, const char *s)
{
	if (p->style.color)
		out_str(o, "\x1b[1;31m");
	text_fold(p, o, ms_arena_printf(&p->m->arena, "*** %s ***", s), 4);
	if (p->style.color)
		out_str(o, "\x1b[0m");
	out_char(o, '\n');
}

void text_banner(struct page *p, struct out *o)
{
	const char *why = words_incomplete(p->m);
	if (why)
		loud(p, o, ms_arena_printf(&p->m->arena, "INCOMPLETE: %s", why));
	const char *nothing = words_nothing(p->m, &p->style);
	if (nothing)
		loud(p, o, nothing);
}

/* ---- tables
 * --------------------------------------------------------------------------------------- */

#define BAR 20 /* columns of the longest */

/* A bar of n thousandths, in eighths of a column; what is not nothing is seen. */
static const char *bar(struct model *m, uint64_t n, bool ascii)
{
	static const char *const parts[] = {"",
					    "\xe2\x96\x8f",
					    "\xe2\x96\x8e",
					    "\xe2\x96\x8d",
					    "\xe2\x96\x8c",
					    "\xe2\x96\x8b",
					    "\xe2\x96\x8a",
					    "\xe2\x96\x89"};
	size_t eighths = (size_t)(n * BAR * 8 / 1000);
	struct out o = {.fd = -1};
	if (n != UNKNOWN && n > 0 && eighths == 0)
		eighths = 1;
	out_repeat(&o, ascii ? "#" : "\xe2\x96\x88", ascii ? (eighths + 7) / 8 : eighths / 8);
	out_str(&o, ascii ? "" : parts[eighths % 8]);
	const char *s = ms_arena_strndup(&m->arena, o.v ? o.v : "", o.n);
	out_free(&o);
	return s;
}

static const char *cell_text(struct page *p, const struct column *c, const struct cell *x,
			     enum row_kind kind)
{
	struct model *m = p->m;
	if (x->s && kind == ROW_ITEM && c->kind == CELL_FUNCTION && !p->style.full_names)
		return name_clean(&m->arena, name_short(&m->arena, x->s), p->style.ascii);
	if (c->kind == CELL_BAR)
		return kind == ROW_ITEM ? bar(m, x->n, p->style.ascii) : "";
	if (c->kind == CELL_VALUE || !column_is_number(c))
		return x->s ? name_clean(&m->arena, x->s, p->style.ascii) : "";
	if (x->n == UNKNOWN && !x->s && c->sum)
		return say_unknown(m);
	if (x->n == UNKNOWN)
		return kind == ROW_ITEM ? "n/a" : x->s ? x->s : "";
	switch (c->kind) {
	case CELL_SIZE:
		return say_size(m, x->n);
	case CELL_COUNT:
		return say_count(m, x->n);
	case CELL_TIME:
		return say_time(m, x->n);
	default:
		return ms_arena_printf(&m->arena, "%llu", (unsigned long long)x->n);
	}
}

#define COLUMNS_MAX 16

/* Widths that the columns would like to have; 0 = not shown. Returns their sum with gaps. */
static size_t measure(struct page *p, const struct table *t, size_t *width, size_t *flexible)
{
	size_t sum = 0;
	*flexible = COLUMNS_MAX;
	for (size_t c = 0; c < t->column_count; c++) {
		const struct column *k = &t->columns[c];
		width[c] = 0;
		if (!k->title)
			continue;
		width[c] = strlen(k->title);
		for (size_t i = 0; i < t->n; i++) {
			size_t w =
				name_width(cell_text(p, k, &t->rows[i].cells[c], t->rows[i].kind));
			width[c] = w > width[c] ? w : width[c];
		}
		if (k->kind == CELL_PATH || (!column_is_number(k) && *flexible == COLUMNS_MAX))
			*flexible = c;
		sum += width[c] + 2;
	}
	return sum;
}

/* Leaves out what is optional, from the right, until the rest fits in `room`. */
static size_t leave_out(const struct table *t, size_t *width, size_t sum, size_t room)
{
	for (size_t c = t->column_count; c-- > 0 && sum > room;)
		if (t->columns[c].optional && width[c]) {
			sum -= width[c] + 2;
			width[c] = 0;
		}
	return sum;
}

static void write_cell(struct page *p, struct out *o, const struct column *c, const char *s,
		       size_t width, bool last)
{
	const struct style *st = &p->style;
	if (!st->full_names)
		s = c->kind == CELL_PATH ? name_cut_start(&p->m->arena, s, width, st->ascii)
					 : name_cut(&p->m->arena, s, width, st->ascii);
	if (column_is_number(c) && c->kind != CELL_BAR)
		text_pad_left(o, s, width);
	else if (last)
		out_str(o, s);
	else
		text_pad(o, s, width);
}

static void write_row(struct page *p, struct out *o, const struct table *t, const size_t *width,
		      const struct row *r)
{
	size_t last = 0, at = 0;
	for (size_t c = 0; c < t->column_count; c++)
		last = width[c] ? c : last;
	for (size_t c = 0; c < t->column_count; c++) {
		if (!width[c])
			continue;
		if (at++)
			out_str(o, "  ");
		write_cell(p, o, &t->columns[c],
			   r ? cell_text(p, &t->columns[c], &r->cells[c], r->kind)
			     : t->columns[c].title,
			   width[c], c == last);
	}
	end_line(o);
}

void text_table(struct page *p, struct out *o, const struct table *t)
{
	if (t->title)
		text_title(p, o, t->title);
	if (!t->n) {
		text_fold(p, o, t->empty ? t->empty : "nothing", 2);
		return;
	}
	size_t width[COLUMNS_MAX], flexible, wanted = measure(p, t, width, &flexible);
	size_t sum = leave_out(t, width, wanted, p->style.width + 2);
	/* the widest text column gives way */
	if (flexible < COLUMNS_MAX && sum > p->style.width + 2) {
		size_t over = sum - p->style.width - 2;
		size_t least = 8;
		width[flexible] = width[flexible] > over + least ? width[flexible] - over : least;
	}
	write_row(p, o, t, width, NULL);
	for (size_t i = 0; i < t->n; i++)
		write_row(p, o, t, width, &t->rows[i]);
}
