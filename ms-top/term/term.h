/* SPDX-License-Identifier: MIT
 * The terminal: keys in, frames out, and everything as it was at any end.
 */
#ifndef TOP_TERM_H
#define TOP_TERM_H

#include <stdbool.h>
#include <stddef.h>

struct grid;
struct ms_err;

/* Codes besides characters and ncurses' KEY_*. */
enum {
	TERM_NONE = -1,
	TERM_RESIZED = -2,
	TERM_GONE = -3,
	TERM_WHEEL_UP = -4,
	TERM_WHEEL_DOWN = -5
};

/* 0, or -1 with `err` set: no terminal, or one that is not known. Until term_close, what anybody
 * writes to standard error is kept, if that is the terminal, and shown then. */
int term_open(struct ms_err *err);
void term_close(void);
void term_size(int *rows, int *cols);
void term_show(const struct grid *g);
/* Text for the terminal's clipboard, by OSC 52: at most so many bytes, which with their encoding is
 * the 74,994 bytes that terminals take at least. Whether it takes them no terminal tells. False: it
 * is of a kind that would show them. */
#define TERM_COPY_MOST 56244u
bool term_copy(const char *text, size_t n);
/* Draws everything anew next time. */
void term_redraw(void);
/* Waits so long for a key. TERM_GONE: the terminal went away, or a signal wants us to end. */
int term_key(int timeout_ms);

#endif
