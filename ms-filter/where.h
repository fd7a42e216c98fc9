/* SPDX-License-Identifier: MIT
 * --where EXPR: a condition over the columns of a site, compiled to a query; and these columns.
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

#include <stddef.h>

#include "libcommon/base/arena.h"

struct ms_err;
struct sqlite3;

/* Lists results in ascending order: "and" yields the least, "or" the greatest. A comparison with
 * null is UNSURE, and so is its opposite. */
enum truth { UNTRUE, UNSURE, TRUE };

struct where {
	/* query for the sites' ids with 1, 0, or null = UNSURE; ends with NUL */
	MS_ARRAY(char) sql;
	/* expressions on a frame f; on_stack(i, id) in the query tells whether the i-th is true for
	 * any frame of a stack */
	MS_ARRAY(const char *) tests;
};

/* Parses `text` into arena `a`. NULL with `err` set to one line with the position of the error. */
struct where *where_parse(struct ms_arena *a, const char *text, struct ms_err *err);
void where_free(struct where *w);
/* Adds the functions that the query and its tests need, except on_stack: holds(), and
 * matches(regex, text). */
void where_functions(struct sqlite3 *db);
/* Returns a text as a literal of SQL, in `a`. */
const char *where_quoted(struct ms_arena *a, const char *text);

/* ---- columns.c ---- */

enum column_type { COLUMN_COUNT, COLUMN_SIZE, COLUMN_DURATION, COLUMN_TEXT, COLUMN_STACK };

struct column {
	const char *name;
	enum column_type type;
	const char *sql;  /* expression on the joined rows; COLUMN_STACK: on a frame f */
	const char *what; /* description in one line */
};

/* Lists the columns in the order of --where help. */
extern const struct column columns[];
extern const size_t column_count;
/* Joins the rows of each site for these expressions: the rest of a query. Live figures are of the
 * moment labelled ?4, or of the end if that is null. */
extern const char columns_from[];

/* Returns the list for --where help, in `a`. */
const char *columns_help(struct ms_arena *a);
