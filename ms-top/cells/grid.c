/* SPDX-License-Identifier: MIT
 * A frame of cells.
 */
#include "grid.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

#include "libcommon/base/arena.h"
#include "libcommon/stats/sparkline.h"
#include "libcommon/base/utf8.h"

static struct grid_cell *cell(const struct grid *g, int row, int col)
{
	return &g->cells[(size_t)row * (size_t)g->cols + (size_t)col];
}

void grid_begin(struct grid *g, int rows, int cols)
{
	size_t n = (size_t)rows * (size_t)cols;
	g->cells = ms_xgrow(g->cells, &g->room, n, sizeof *g->cells);
	g->rows = rows;
	g->cols = cols;
	for (size_t i = 0; i < n; i++)
		g->cells[i] = (struct grid_cell){.text = " ", .bytes = 1, .width = 1};
}

void grid_free(struct grid *g)
{
	free(g->cells);
	*g = (struct grid){0};
}

/* Describes one character of `s`: its bytes, and the text shown for it. */
struct character {
	const char *show;
	unsigned bytes, show_bytes;
	int width;
};

static struct character next_character(const struct grid *g, const char *s)
{
	uint32_t code = 0;
	unsigned n = (unsigned)ms_utf8_next(s, strnlen(s, 4), &code);
	if (n == 1 && code >= 0x20 && code != 0x7f)
		return (struct character){s, 1, 1, 1};
	if (g->ascii && code == 0x2026) /* ellipsis of shortened names */
		return (struct character){"~", n, 1, 1};
	if (n <= 1 || code < 0xa0 || g->ascii)
		return (struct character){"?", n ? n : 1, 1, 1};
	int w = wcwidth((wchar_t)code);
	/* not printable in this locale, or changes the direction of text */
	if (w < 0 || (code >= 0x200b && code <= 0x200f) || (code >= 0x202a && code <= 0x202e) ||
	    (code >= 0x2066 && code <= 0x2069))
		return (struct character){"?", n, 1, 1};
	return (struct character){s, n, n, w};
}

int grid_width(const struct grid *g, const char *text)
{
	int w = 0;
	while (*text) {
		struct character c = next_character(g, text);
		w += c.width;
		text += c.bytes;
	}
	return w;
}

size_t grid_fit(const struct grid *g, const char *text, int width)
{
	const char *at = text;
	while (*at) {
		struct character c = next_character(g, at);
		width -= c.width;
		if (width < 0)
			break;
		at += c.bytes;
	}
	return (size_t)(at - text);
}

static void add_mark(struct grid_cell *to, const struct character *c)
{
	if (to->bytes + c->show_bytes < GRID_BYTES) {
		memcpy(to->text + to->bytes, c->show, c->show_bytes);
		to->bytes = (unsigned char)(to->bytes + c->show_bytes);
		to->text[to->bytes] = 0;
	}
}

static void set_cell(struct grid *g, int row, int col, enum grid_style style,
		     const struct character *c)
{
	struct grid_cell *to = cell(g, row, col);
	memcpy(to->text, c->show, c->show_bytes);
	to->text[c->show_bytes] = 0;
	to->bytes = (unsigned char)c->show_bytes;
	to->width = (unsigned char)c->width;
	to->style = (unsigned char)style;
	if (c->width == 2) {
		to[1].text[0] = 0;
		to[1].bytes = to[1].width = 0;
		to[1].style = to->style;
	}
}

int grid_put(struct grid *g, int row, int col, int width, enum grid_style style, const char *text)
{
	if (row < 0 || row >= g->rows || col < 0 || col >= g->cols)
		return 0;
	if (width < 0 || width > g->cols - col)
		width = g->cols - col;
	bool cut = grid_width(g, text) > width;
	int room = cut ? width - 1 : width, used = 0;
	while (*text) {
		struct character c = next_character(g, text);
		if (used + c.width > room)
			break;
		if (!c.width && used)
			add_mark(cell(g, row, col + used - 1), &c);
		else if (c.width)
			set_cell(g, row, col + used, style, &c);
		used += c.width;
		text += c.bytes;
	}
	if (cut && width > 0) {
		struct character dots = {g->ascii ? "~" : "…", 0, g->ascii ? 1 : 3, 1};
		set_cell(g, row, col + used, style, &dots);
		used++;
	}
	return used;
}

int grid_put_end(struct grid *g, int row, int col, int width, enum grid_style style,
		 const char *text)
{
	int w = grid_width(g, text), used = 0;
	if (width > g->cols - col)
		width = g->cols - col;
	if (w > width && width > 0) {
		used = grid_put(g, row, col, 1, style, g->ascii ? "~" : "…");
		while (*text && w > width - 1) {
			struct character c = next_character(g, text);
			w -= c.width;
			text += c.bytes;
		}
	}
	return used + grid_put(g, row, col + used, width - used, style, text);
}

void grid_put_right(struct grid *g, int row, int col, int width, enum grid_style style,
		    const char *text)
{
	int w = grid_width(g, text), from = w < width ? width - w : 0;
	grid_put(g, row, col + from, width - from, style, text);
}

int grid_print(struct grid *g, int row, int col, enum grid_style style, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(line, sizeof line, fmt, ap);
	va_end(ap);
	return grid_put(g, row, col, -1, style, line);
}

void grid_column(struct grid *g, int row, int height, int col, enum grid_style style, double part)
{
	double cells = part * height;
	for (int i = 0; i < height && (!i || cells > i); i++)
		grid_put(g, row + height - 1 - i, col, 1, style, ms_spark_bar(cells - i, g->ascii));
}

int grid_chart(struct grid *g, int row, int height, int col, int width, enum grid_style style,
	       const unsigned *values, size_t n)
{
	size_t from = n > (size_t)width ? n - (size_t)width : 0;
	unsigned largest = 0, least = UINT_MAX;
	for (size_t i = from; i < n; i++) {
		largest = values[i] > largest ? values[i] : largest;
		least = values[i] < least ? values[i] : least;
	}
	bool flat = largest - least <= largest / 16;
	style = flat && from < n ? GRID_DIM : style;
	height = flat ? 1 : height;
	for (size_t i = from; i < n; i++) {
		double part = largest && !flat ? (double)values[i] / largest : 0;
		grid_column(g, row, height, col + (int)(i - from), style, part);
	}
	return height;
}

void grid_spark(struct grid *g, int row, int col, int width, enum grid_style style,
		const unsigned *values, size_t n)
{
	grid_chart(g, row, 1, col, width, style, values, n);
}

void grid_bar(struct grid *g, int row, int col, int width, enum grid_style style, double part,
	      double whole)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	double full = whole > 0 ? part / whole * width : 0;
	full = full < 0 ? 0 : full > width ? width : full;
	int cells = (int)full;
	for (int i = 0; i < cells; i++)
		grid_put(g, row, col + i, 1, style, g->ascii ? "#" : "█");
	int rest = (int)((full - cells) * 8);
	if (cells < width && rest && !g->ascii)
		grid_put(g, row, col + cells, 1, style, eighths[rest]);
}

void grid_gauge(struct grid *g, int row, int col, int width, enum grid_style style, double part,
		double whole)
{
	for (int i = 0; i < width; i++)
		grid_put(g, row, col + i, 1, GRID_DIM, g->ascii ? "." : "·");
	grid_bar(g, row, col, width, style, part, whole);
}

void grid_fill(struct grid *g, int row, enum grid_style style)
{
	for (int i = 0; i < g->cols; i++)
		grid_put(g, row, i, 1, style, " ");
}

void grid_rule(struct grid *g, int row, const char *title)
{
	for (int i = 0; i < g->cols; i++)
		grid_put(g, row, i, 1, GRID_DIM, g->ascii ? "-" : "─");
	if (title[0]) {
		char text[2048];
		snprintf(text, sizeof text, " %s ", title);
		grid_put(g, row, 2, g->cols - 4, GRID_BOLD, text);
	}
}

/* Tells whether the text is a block element. */
static bool is_bar(const char *text)
{
	return strncmp(text, "\xe2\x96", 2) == 0 && (unsigned char)text[2] < 0x90;
}

void grid_select(struct grid *g, int row)
{
	for (int i = 0; row >= 0 && row < g->rows && i < g->cols; i++)
		cell(g, row, i)->selected = !is_bar(cell(g, row, i)->text);
}

void grid_click(struct grid *g, int row, int col, int width, unsigned meaning)
{
	for (int i = col; row >= 0 && row < g->rows && i >= 0 && i < col + width && i < g->cols;
	     i++)
		cell(g, row, i)->click = (unsigned char)meaning;
}

unsigned grid_clicked(const struct grid *g, int row, int col)
{
	bool inside = row >= 0 && row < g->rows && col >= 0 && col < g->cols;
	return inside ? cell(g, row, col)->click : 0;
}

size_t grid_row(const struct grid *g, int row, char *text, size_t room)
{
	size_t n = 0, end = 0;
	for (int i = 0; i < g->cols; i++) {
		const struct grid_cell *c = cell(g, row, i);
		if (n + c->bytes + 1 > room)
			break;
		memcpy(text + n, c->text, c->bytes);
		n += c->bytes;
		if (c->bytes != 1 || c->text[0] != ' ')
			end = c->bytes ? n : end;
	}
	text[end] = 0;
	return end;
}
