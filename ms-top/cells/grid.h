/* SPDX-License-Identifier: MIT
 * A frame: rows and columns of cells, filled by a view and shown by the terminal or as plain
 * output.
 *
 * All text chosen by a program (its name, its arguments, its functions) reaches the terminal
 * through grid_put, which replaces control characters and invalid UTF-8.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum grid_style {
	GRID_PLAIN,
	GRID_DIM,
	GRID_BOLD,
	GRID_HEAD,     /* titles of columns */
	GRID_SELECTED, /* added to any other style by grid_select */
	GRID_GOOD,
	GRID_WARN,
	GRID_BAD,
	GRID_ACCENT,
	GRID_STYLES
};

/* Room for the largest UTF-8 character with combining ones, and a NUL. */
#define GRID_BYTES 16u
struct grid_cell {
	char text[GRID_BYTES];
	unsigned char bytes, width; /* width 0: covered by the wide character to its left */
	unsigned char style;        /* enum grid_style */
	bool selected;
	unsigned char click; /* meaning of a click: GRID_VIEW.., GRID_SORT..; 0 = none */
};
#define GRID_VIEW 1u  /* click on a view: GRID_VIEW + its number */
#define GRID_SORT 16u /* click on a column's title: GRID_SORT + its number */
struct grid {
	struct grid_cell *cells;
	int rows, cols;
	size_t room;
	bool ascii; /* show ASCII characters only */
};

/* Sets the size of the grid and clears it. Allocates only if it was never so large. */
void grid_begin(struct grid *g, int rows, int cols);
void grid_free(struct grid *g);

/* Puts text at a position, cut to `width` columns with an ellipsis (width < 0: to the end of the
 * row). Returns the columns it took. Ignores positions outside the grid. */
int grid_put(struct grid *g, int row, int col, int width, enum grid_style style, const char *text);
/* Puts text as grid_put does, but cuts off its beginning if it is too wide. */
int grid_put_end(struct grid *g, int row, int col, int width, enum grid_style style,
		 const char *text);
/* Puts text as grid_put does, right-aligned at column `col` + `width`. */
void grid_put_right(struct grid *g, int row, int col, int width, enum grid_style style,
		    const char *text);
__attribute__((format(printf, 5, 6))) int grid_print(struct grid *g, int row, int col,
						     enum grid_style style, const char *fmt, ...);
/* Draws the last values as a line of bars, `width` columns wide; the largest value fills a cell. If
 * the values vary by less than a 16th of the largest, the line is thin and dim. */
void grid_spark(struct grid *g, int row, int col, int width, enum grid_style style,
		const unsigned *values, size_t n);
/* Draws values as grid_spark does, but `height` rows high; a thin line takes the first row. Returns
 * the rows used. */
int grid_chart(struct grid *g, int row, int height, int col, int width, enum grid_style style,
	       const unsigned *values, size_t n);
/* Draws one column of a chart as grid_chart does: `part` of the height, in eighths of a row; values
 * above 0 are always visible. */
void grid_column(struct grid *g, int row, int height, int col, enum grid_style style, double part);
/* Draws a bar: `part` of `whole`, scaled to `width` columns. */
void grid_bar(struct grid *g, int row, int col, int width, enum grid_style style, double part,
	      double whole);
/* Draws a bar as grid_bar does, on a background that shows the whole. */
void grid_gauge(struct grid *g, int row, int col, int width, enum grid_style style, double part,
		double whole);
/* Fills a row with blanks. */
void grid_fill(struct grid *g, int row, enum grid_style style);
/* Draws a line across with a title in it. */
void grid_rule(struct grid *g, int row, const char *title);
/* Marks a row as selected, except its bars, which would look inverted. */
void grid_select(struct grid *g, int row);

/* Assigns a meaning to clicks on `width` columns from a position on. */
void grid_click(struct grid *g, int row, int col, int width, unsigned meaning);
/* Returns the meaning of a click at a position; 0 = none. */
unsigned grid_clicked(const struct grid *g, int row, int col);

/* Returns the width of a text in columns, as drawn by grid_put. */
int grid_width(const struct grid *g, const char *text);
/* Returns the bytes of `text` that fit in `width` columns. */
size_t grid_fit(const struct grid *g, const char *text, int width);
/* Writes a row as text without trailing blanks, NUL-terminated. Returns its length; cols *
 * GRID_BYTES + 1 bytes are always enough. */
size_t grid_row(const struct grid *g, int row, char *text, size_t room);
