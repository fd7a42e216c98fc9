/* SPDX-License-Identifier: MIT
 * Pieces of plain text: titles, folded lines, padded columns; the banner.
 */
#include "text.h"

#include "ms-report/output/out.h"

#include "libcommon/base/utf8.h"

#include <string.h>

void text_title(struct page *p, struct out *o, const char *s)
{
	if (p->style.color)
		out_str(o, "\x1b[1m");
	text_fold(p, o, s, 2);
	if (p->style.color) {
		o->n--; /* the line end must follow the escape sequence */
		out_str(o, "\x1b[0m\n");
	}
}

/* Returns how many bytes of `s` fit into `room` columns, at least one character. */
static size_t fitting(const char *s, size_t room)
{
	size_t n = strlen(s), i = 0, w = 0;
	while (i < n) {
		uint32_t c;
		size_t len = ms_utf8_next(s + i, n - i, &c);
		char one[8] = {0};
		memcpy(one, s + i, len = len ? len : 1);
		w += name_width(one);
		if (i && w > room)
			break;
		i += len;
	}
	return i;
}

void text_fold(struct page *p, struct out *o, const char *s, size_t indent)
{
	size_t at = 0, begin = 0, width = p->style.width;
	while (*s) {
		size_t n = strcspn(s, " ");
		const char *word = ms_arena_strndup(&p->m->arena, s, n);
		size_t w = name_width(word);
		if (at > begin && at + 1 + w > width) {
			out_char(o, '\n');
			out_repeat(o, " ", indent);
			at = begin = indent;
		} else if (at > begin) {
			out_char(o, ' ');
			at++;
		}
		while (at + w > width && !p->style.full_names && width > indent + 8) {
			size_t part = fitting(word, width - at);
			out_put(o, word, part);
			out_char(o, '\n');
			out_repeat(o, " ", indent);
			at = begin = indent;
			word += part;
			w = name_width(word);
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

/* Writes a part of a line; a part that is longer than a line is folded at its blanks. Returns the
 * next column. */
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

/* Writes parts from column `at` of the current line on. */
static void put_words(struct page *p, struct out *o, const struct words *w, const char *gap,
		      size_t at, size_t indent)
{
	size_t gap_width = strlen(gap);
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

void text_words(struct page *p, struct out *o, const char *label, const struct words *w,
		const char *gap)
{
	if (label)
		text_pad(o, label, 9);
	put_words(p, o, w, gap, label ? 9 : 0, label ? 9 : 2);
}

void text_words_in(struct page *p, struct out *o, const struct words *w, const char *gap,
		   size_t indent)
{
	out_repeat(o, " ", indent);
	put_words(p, o, w, gap, indent, indent);
}

size_t text_command_room(const struct page *p, size_t indent)
{
	return p->style.width > indent + 8 ? p->style.width - indent : 8;
}

void text_command(struct page *p, struct out *o, const char *const *words, size_t n, size_t indent)
{
	size_t room = text_command_room(p, indent), used = 0;
	for (size_t i = 0; i < n; i++) {
		size_t w = name_width(words[i]);
		if (i && used + 1 + w + (i + 1 < n ? 2 : 0) > room) {
			out_str(o, " \\\n");
			out_repeat(o, " ", indent);
			used = 0;
		} else if (i) {
			out_char(o, ' ');
			used++;
		}
		out_str(o, words[i]);
		used += w;
	}
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

static void loud(struct page *p, struct out *o, const char *title, const char *s)
{
	if (!s)
		return;
	if (p->style.color)
		out_str(o, "\x1b[1;31m");
	text_fold(p, o, ms_arena_printf(&p->m->arena, "*** %s%s ***", title, s), 4);
	if (p->style.color)
		out_str(o, "\x1b[0m");
	out_char(o, '\n');
}

void text_banner(struct page *p, struct out *o)
{
	loud(p, o, "INCOMPLETE: ", words_incomplete(p->m));
	loud(p, o, "NOT ALL COMPARED: ", diff_unmatched(p->m));
	loud(p, o, "", words_nothing(p->m, &p->style));
}
