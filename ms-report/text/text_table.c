/* SPDX-License-Identifier: MIT
 * Tables in plain text, with bars. On narrow lines, optional columns are left out and text is cut;
 * if even that is too wide, each row is a paragraph.
 */
#include "text.h"

#include "ms-report/output/out.h"

#include <string.h>

#define BAR 20 /* columns of the longest bar */

/* Returns a bar for `n` thousandths, in eighths of a column; at least one eighth unless n is 0. */
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
	struct out o = {0};
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
		return name_clean(&m->arena, ms_name_short(&m->arena, x->s), p->style.ascii);
	if (c->kind == CELL_BAR)
		return kind == ROW_ITEM ? bar(m, x->n, p->style.ascii) : "";
	if (!column_is_number(c))
		return x->s ? name_clean(&m->arena, x->s, p->style.ascii) : "";
	if (x->n == UNKNOWN && x->s && c->kind != CELL_VALUE && kind != ROW_ITEM)
		return x->s;
	return cell_number(m, c, x, kind);
}

static const char *title_of(struct page *p, const struct column *c)
{
	return name_clean(&p->m->arena, c->title, p->style.ascii);
}

/* Sets the width that each column needs; 0 = not shown. `brief`: functions are shown without
 * template arguments. Returns the sum, including gaps. */
static size_t measure(struct page *p, const struct table *t, size_t *width, bool brief)
{
	size_t sum = 0;
	for (size_t c = 0; c < t->column_count; c++) {
		const struct column *k = &t->columns[c];
		width[c] = 0;
		if (!k->title)
			continue;
		width[c] = name_width(title_of(p, k));
		for (size_t i = 0; i < t->n; i++) {
			const char *s = cell_text(p, k, &t->rows[i].cells[c], t->rows[i].kind);
			size_t w = brief && k->kind == CELL_FUNCTION
					   ? ms_name_least(&p->m->arena, s, p->style.ascii)
					   : name_width(s);
			width[c] = w > width[c] ? w : width[c];
		}
		width[c] += width[c] == 0; /* a column without a title and without text */
		sum += width[c] + 2;
	}
	return sum;
}

/* Leaves out optional columns, from the right, until the rest fits in `room`. */
static size_t leave_out(const struct table *t, size_t *width, size_t sum, size_t room)
{
	for (size_t c = t->column_count; c-- > 0 && sum > room;)
		if (t->columns[c].optional && width[c]) {
			sum -= width[c] + 2;
			width[c] = 0;
		}
	return sum;
}

/* Returns the least width of a text column; function names need more to be distinguishable. */
static size_t least(const struct column *c)
{
	return c->kind == CELL_FUNCTION ? 14 : 8;
}

/* Narrows the widest text column, then the next, until all fit in `room`. Returns the sum. */
static size_t narrow(const struct table *t, size_t *width, size_t sum, size_t room)
{
	while (sum > room) {
		size_t widest = t->column_count, next = 0;
		for (size_t c = 0; c < t->column_count; c++) {
			if (column_is_number(&t->columns[c]) || width[c] <= least(&t->columns[c]))
				continue;
			if (widest == t->column_count || width[c] > width[widest]) {
				next = widest == t->column_count ? next : width[widest];
				widest = c;
			} else if (width[c] > next) {
				next = width[c];
			}
		}
		if (widest == t->column_count)
			break;
		size_t floor = least(&t->columns[widest]);
		floor = next > floor ? next : floor;
		size_t most = width[widest] > floor ? width[widest] - floor : 1;
		size_t less = sum - room < most ? sum - room : most;
		width[widest] -= less;
		sum -= less;
	}
	return sum;
}

const char **table_functions(struct page *p, const struct table *t, size_t column, size_t width)
{
	struct ms_arena *a = &p->m->arena;
	const char **v = ms_arena_alloc(a, (t->n + 1) * sizeof *v);
	for (size_t i = 0; i < t->n; i++) {
		const char *s = t->rows[i].cells[column].s;
		v[i] = s ? name_clean(a, s, p->style.ascii) : "";
	}
	size_t items = 0;
	while (items < t->n && t->rows[items].kind == ROW_ITEM)
		items++;
	if (!p->style.full_names)
		ms_names_fit(a, v, items, width, p->style.ascii);
	return v;
}

/* Returns the table with function names shortened to their columns. */
static struct table with_names(struct page *p, const struct table *t, const size_t *width)
{
	struct table fitted = *t;
	fitted.rows = ms_arena_alloc(&p->m->arena, t->n * sizeof *fitted.rows);
	size_t all = t->column_count * sizeof *t->columns;
	struct column *columns = ms_arena_alloc(&p->m->arena, all);
	fitted.columns = memcpy(columns, t->columns, all);
	for (size_t i = 0; i < t->n; i++) {
		size_t size = t->column_count * sizeof *t->rows[i].cells;
		fitted.rows[i] = t->rows[i];
		fitted.rows[i].cells = ms_arena_alloc(&p->m->arena, size);
		memcpy(fitted.rows[i].cells, t->rows[i].cells, size);
	}
	for (size_t c = 0; c < t->column_count; c++) {
		if (t->columns[c].kind != CELL_FUNCTION || !width[c])
			continue;
		const char **names = table_functions(p, t, c, width[c]);
		for (size_t i = 0; i < t->n; i++)
			fitted.rows[i].cells[c].s = names[i];
		columns[c].kind = CELL_TEXT;
	}
	return fitted;
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
			     : title_of(p, &t->columns[c]),
			   width[c], c == last);
	}
	text_end_line(o);
}

/* Returns a figure behind its column's title: "live 1.2 MiB"; "#3". */
static const char *titled(struct page *p, const struct column *c, const char *s)
{
	const char *title = title_of(p, c);
	return !*title ? s
		       : ms_arena_printf(&p->m->arena, "%s%s%s", title,
					 strcmp(title, "#") == 0 ? "" : " ", s);
}

/* Writes a row as a paragraph: its name, and below it the text of each column. */
static void write_paragraph(struct page *p, struct out *o, const struct table *t,
			    const struct row *r)
{
	struct words w = {0};
	const char *name = NULL;
	for (size_t c = 0; c < t->column_count && w.n < WORDS_MAX; c++) {
		const struct column *k = &t->columns[c];
		const char *s = k->title && k->kind != CELL_BAR
					? cell_text(p, k, &r->cells[c], r->kind)
					: "";
		if (!*s)
			continue;
		if (name)
			w.v[w.n++] = titled(p, k, s);
		else
			name = column_is_number(k) ? titled(p, k, s) : s;
	}
	text_fold(p, o, name ? name : "", 2);
	if (w.n)
		text_words_in(p, o, &w, ", ", 4);
}

void text_table(struct page *p, struct out *o, const struct table *t)
{
	if (t->title)
		text_title(p, o, t->title);
	if (!t->n) {
		text_fold(p, o, t->empty ? t->empty : "nothing", 2);
		return;
	}
	size_t *width = ms_arena_alloc(&p->m->arena, t->column_count * sizeof *width);
	size_t *want = ms_arena_alloc(&p->m->arena, t->column_count * sizeof *want);
	size_t room = p->style.width + 2, sum = measure(p, t, width, !p->style.full_names);
	sum = leave_out(t, width, sum, room);
	if (!p->style.full_names)
		sum = narrow(t, width, sum, room);
	measure(p, t, want, false);
	for (size_t c = 0; c < t->column_count && sum < room; c++)
		if (width[c] && width[c] < want[c]) {
			size_t more = want[c] - width[c];
			more = more < room - sum ? more : room - sum;
			width[c] += more;
			sum += more;
		}
	bool fits = sum <= room || p->style.full_names;
	struct table named = fits ? with_names(p, t, width) : *t;
	if (fits)
		write_row(p, o, &named, width, NULL);
	for (size_t i = 0; i < t->n; i++)
		if (fits)
			write_row(p, o, &named, width, &named.rows[i]);
		else
			write_paragraph(p, o, t, &t->rows[i]);
}
