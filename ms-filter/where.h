/* SPDX-License-Identifier: MIT
 * --where EXPR: a condition over the columns of a site.
 *
 *     or      := and { "or" and }                 also ||
 *     and     := not { "and" not }                also &&
 *     not     := "not" not | primary              also !
 *     primary := "(" or ")" | operand OP operand | COLUMN "is" ["not"] "null"
 *     operand := COLUMN | NUMBER | SIZE | DURATION | 'text' | "text" | word
 *     OP      := = == != <> < <= > >= ~ !~
 *
 * One side of OP at least is a column; its type says how the other side is read.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct ms_arena;
struct ms_err;
struct where;

struct value {
	bool known;
	int64_t number;
	const char *text;
};

/* A site: a value per column, and the functions of its frames. */
struct where_row {
	const struct value *values;
	/* The function of frame `i` from the innermost on (NULL: not known); false: there are no
	 * more. */
	bool (*frame)(const void *stack, unsigned i, const char **function);
	const void *stack;
};

/* In order: of "and" the least counts, of "or" the most. */
enum truth { UNTRUE, UNSURE, TRUE };

/* Parses `text`; made in `a`. NULL with `err` set to one line that says where. */
struct where *where_parse(struct ms_arena *a, const char *text, struct ms_err *err);
void where_free(struct where *w);
/* Tells whether the condition asks for the frames of the stack. */
bool where_needs_stack(const struct where *w);
/* Tells whether the row meets the condition. A value that is null makes a comparison unknown, which
 * "not" does not change. */
enum truth where_holds(const struct where *w, const struct where_row *row);
