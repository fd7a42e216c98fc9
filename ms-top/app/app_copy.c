/* SPDX-License-Identifier: MIT
 * Copies the selection as text to the terminal's clipboard.
 */

#include "app_private.h"
#include "ms-top/term/term.h"

#define WIDE 400 /* columns of a copied row, so that it is not cut on a narrow screen */

static const struct grid_cell *first_cell(const struct grid *g, int row)
{
	return &g->cells[(size_t)row * (size_t)g->cols];
}

static size_t put_row(const struct grid *g, int row, char *text, size_t room)
{
	size_t n = grid_row(g, row, text, room - 1);
	text[n++] = '\n';
	return n;
}

/* Copies the selected row and its titles as they would appear on a screen with WIDE columns. */
static size_t put_selected(struct app *a, char *text, size_t room)
{
	struct grid screen = a->grid, wide = {.ascii = screen.ascii};
	int row = 0, head;
	size_t n = 0;
	a->grid = wide;
	app_draw(a, screen.rows, WIDE);
	wide = a->grid;
	a->grid = screen;
	while (row < wide.rows && !first_cell(&wide, row)->selected)
		row++;
	for (head = row - 1; head >= 0 && first_cell(&wide, head)->style != GRID_HEAD;)
		head--;
	if (row < wide.rows && head >= 0)
		n += put_row(&wide, head, text, room);
	if (row < wide.rows)
		n += put_row(&wide, row, text + n, room - n);
	grid_free(&wide);
	return n;
}

static unsigned lines_of(const char *text, size_t n)
{
	unsigned lines = 0;
	for (size_t i = 0; i < n; i++)
		lines += text[i] == '\n';
	return lines;
}

void app_copy(struct app *a)
{
	static char text[4 * TERM_COPY_MOST];
	const struct subject *s = app_subject(a);
	size_t n = s->copy ? s->copy(a, text, sizeof text) : 0;
	if (!n)
		n = put_selected(a, text, sizeof text);
	if (!n) {
		app_say(a, "nothing is selected");
		return;
	}
	/* whole lines, as many as terminals accept at once */
	size_t sent = n;
	while (sent > TERM_COPY_MOST || (sent < n && sent && text[sent - 1] != '\n'))
		sent--;
	if (!term_copy(text, sent))
		app_say(a, "this terminal has no clipboard that programs can write to");
	else if (sent < n)
		app_say(a,
			"sent the first %u of %u lines to the terminal's clipboard: it takes no "
			"more",
			lines_of(text, sent), lines_of(text, n));
	else
		app_say(a, "sent %u lines to the terminal's clipboard (OSC 52)", lines_of(text, n));
}
