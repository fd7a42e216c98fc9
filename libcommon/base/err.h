/* SPDX-License-Identifier: MIT
 * Room base: what any other code needs.
 *   In:  texts and numbers of a user (units.h, pattern.h, point.h, cli.h), files (io.h, dest.h).
 *   Out: errors (this header), memory that is freed all at once (arena.h), JSON, progress,
 *        times and ranges.
 *   Used by: every room and every tool; it depends on none of them.
 *
 * One error message, filled once, closest to the cause.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

/* Holds a message: lower-case, the problem, then the name in quotes, then the reason; no program
 * name, no newline, no control characters. Start with struct ms_err err = {0}; the first message
 * stays, later ones are dropped. */
struct ms_err {
	char text[1024];
	bool pipe;  /* the reader of our output is gone, which is not an error */
	bool empty; /* our input pipe was empty: the writer has reported why */
};

/* Makes a text one line that is safe to print, whatever names it quotes. Control characters become
 * spaces. Characters that change the direction of text, invalid UTF-8, and the start of a GitHub
 * workflow command become '?'. */
void ms_one_line(char *s);

/* Formats a message into `err` unless that holds one already (or is NULL). Always returns -1, so
 * that a function can say `return ms_err_set(...)`. */
int ms_err_set(struct ms_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Formats a message as ms_err_set does, from a list of arguments. */
void ms_err_setv(struct ms_err *err, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

/* Formats a message as ms_err_set does, then appends ": " and the text of errno as it was on
 * entry. */
int ms_err_sys(struct ms_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
