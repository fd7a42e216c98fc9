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
 * At least one side of OP is a column; its type decides how the other side is parsed.
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

/* Holds the values of a site by column, and its call stack. */
struct where_row {
	const struct value *values;
	/* returns the function of frame `i`, 0 = innermost (NULL = not known); false = no more
	 * frames */
	bool (*frame)(const void *stack, unsigned i, const char **function);
	const void *stack;
};

/* Lists truth values in ascending order: "and" is the minimum of its operands, "or" the maximum. */
enum truth { UNTRUE, UNSURE, TRUE };

/* Parses `text` into arena `a`. NULL with `err` set to one line with the position of the error. */
struct where *where_parse(struct ms_arena *a, const char *text, struct ms_err *err);
void where_free(struct where *w);
/* Tells whether the condition needs the frames of the stack. */
bool where_needs_stack(const struct where *w);
/* Tells whether the row meets the condition. A comparison with a null value is UNSURE, and so is
 * its negation by "not". */
enum truth where_holds(const struct where *w, const struct where_row *row);
