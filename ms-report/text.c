/* SPDX-License-Identifier: MIT
 * Pieces of plain text: titles, folded lines, padded columns; the banner.
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

void text_end_line(struct out *o)
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
			text_end_line(o);
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
			text_end_line(o);
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
