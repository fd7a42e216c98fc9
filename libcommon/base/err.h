/* SPDX-License-Identifier: MIT
 * Room base: what anything needs.
 *   In:  texts and numbers of a user (units.h, pattern.h, point.h, cli.h), files (io.h, dest.h).
 *   Out: errors (this header), memory that is given back at once (arena.h), JSON, progress,
 *        times and ranges.
 *   Used by: every room and every tool; it knows none of them.
 *
 * One error message, filled once, closest to the cause.
 */
#pragma once

#include <stdarg.h>
#include <stdbool.h>

/* `text` is lower-case and says what, then the name in quotes, then why; no program name, no
 * newline; nothing in it steers a terminal. Start with struct ms_err err = {0}; the first message stays, later ones are dropped. */
struct ms_err {
	char text[1024];
	bool pipe;  /* the reader of an output went away, which is no trouble of anybody's */
	bool empty; /* so was a pipe that was to be read: who should have written it has said why */
};

/* Makes a text one line that steers no terminal, whatever is in the names that it quotes: a control
 * character becomes a space; one that turns the direction of the line, what is not UTF-8, and what
 * the log of a GitHub workflow takes for a command anywhere in a line, '?'. */
void ms_one_line(char *s);

/* Format a message into `err` unless it holds one already (or is NULL). Always returns -1, so that
 * a function can say `return ms_err_set(...)`. */
int ms_err_set(struct ms_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Formats a message as ms_err_set does, from a list of arguments. */
void ms_err_setv(struct ms_err *err, const char *fmt, va_list ap)
	__attribute__((format(printf, 2, 0)));

/* Formats a message as ms_err_set does, then appends ": " and the text of errno as it was on
 * entry. */
int ms_err_sys(struct ms_err *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
