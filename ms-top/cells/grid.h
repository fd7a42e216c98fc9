/* SPDX-License-Identifier: MIT
 * A frame: rows and columns of cells, which a view fills and the terminal or a plain output shows.
 *
 * Nothing that a program chose (its name, its arguments, its functions) reaches the terminal other
 * than through grid_put, which lets no control character and no broken UTF-8 pass.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum grid_style {
	GRID_PLAIN,
	GRID_DIM,
	GRID_BOLD,
	GRID_HEAD,     /* titles of columns */
	GRID_SELECTED, /* added to any of the others by grid_select */
	GRID_GOOD,
	GRID_WARN,
	GRID_BAD,
	GRID_ACCENT,
	GRID_STYLES
};

/* Largest UTF-8 character and its combining ones; NUL-ended. */
#define GRID_BYTES 16u
struct grid_cell {
	char text[GRID_BYTES];
	unsigned char bytes, width; /* width 0: covered by the wide character before it */
	unsigned char style;        /* enum grid_style */
	bool selected;
	unsigned char click; /* what a click there means: GRID_VIEW.., GRID_SORT..; 0 = nothing */
};
#define GRID_VIEW 1u  /* and the number of the view */
#define GRID_SORT 16u /* and the number of the column */
struct grid {
	struct grid_cell *cells;
	int rows, cols;
	size_t room;
	bool ascii; /* no other characters than these */
};

/* Gives the grid a size and clears it. Memory is taken only when it has never been so large. */
void grid_begin(struct grid *g, int rows, int cols);
void grid_free(struct grid *g);

/* Puts text at a place, cut to `width` columns (with an ellipsis; < 0: up to the end of the row).
 * Returns the columns that it took. Places outside of the grid are left out. */
int grid_put(struct grid *g, int row, int col, int width, enum grid_style style, const char *text);
/* Puts text of which the front is cut off where it is too wide. */
int grid_put_end(struct grid *g, int row, int col, int width, enum grid_style style,
		 const char *text);
/* Puts text as grid_put does, but so that it ends at column `col` + `width`. */
void grid_put_right(struct grid *g, int row, int col, int width, enum grid_style style,
		    const char *text);
__attribute__((format(printf, 5, 6))) int grid_print(struct grid *g, int row, int col,
						     enum grid_style style, const char *fmt, ...);
/* Draws values as a line of bars of `width` columns, the last values where there are more; the
 * largest fills a cell. Where nothing changed by a 16th of that, the line is thin and dim. */
void grid_spark(struct grid *g, int row, int col, int width, enum grid_style style,
		const unsigned *values, size_t n);
/* Draws values as grid_spark does, but `height` rows high; a thin line is in the first one. Returns
 * the rows that it took. */
int grid_chart(struct grid *g, int row, int height, int col, int width, enum grid_style style,
	       const unsigned *values, size_t n);
/* Draws one column of such a chart: `part` of the height, in eighths of a row; what is not 0 is
 * seen. */
void grid_column(struct grid *g, int row, int height, int col, enum grid_style style, double part);
/* Draws a bar: `part` of `whole` of `width` columns. */
void grid_bar(struct grid *g, int row, int col, int width, enum grid_style style, double part,
	      double whole);
/* Draws a bar as grid_bar does, on a trough that shows how much there could be. */
void grid_gauge(struct grid *g, int row, int col, int width, enum grid_style style, double part,
		double whole);
/* Blanks all along a row. */
void grid_fill(struct grid *g, int row, enum grid_style style);
/* A line across with a title in it. */
void grid_rule(struct grid *g, int row, const char *title);
/* Marks a row as the selected one, but for its bars: reversed they would say the opposite. */
void grid_select(struct grid *g, int row);

/* Gives a click on `width` columns from there a meaning. */
void grid_click(struct grid *g, int row, int col, int width, unsigned meaning);
/* Returns what a click there means; 0 = nothing. */
unsigned grid_clicked(const struct grid *g, int row, int col);

/* Columns that text takes, as grid_put would put it. */
int grid_width(const struct grid *g, const char *text);
/* Bytes of `text` that need no more than `width` columns. */
size_t grid_fit(const struct grid *g, const char *text, int width);
/* A row as text without trailing blanks, NUL-ended. Returns its length; `room` is enough when it is
 * cols * GRID_BYTES + 1. */
size_t grid_row(const struct grid *g, int row, char *text, size_t room);
