/* SPDX-License-Identifier: MIT
 * Room text: reports for people to read as they are.
 *   In:  a page, lists, tables and trees.
 *   Out: plain text and Markdown.
 *   Used by: cli, and diff for its parts.
 *
 * Plain text for a terminal or a log: the first screen, lists of sites, tables, one site, call
 * trees.
 */
#pragma once

#include "ms-report/model/lists.h"
#include "ms-report/words/apart.h"
#include "ms-report/words/page.h"
#include "ms-report/words/table.h"
#include "ms-report/words/words.h"

struct out;
struct tree;

/* ---- pieces ---- */

/* A heading, bold where there is colour. */
void text_title(struct page *p, struct out *o, const char *s);
/* A paragraph folded at blanks to the page's width, and inside a word that is longer than a line;
 * later lines begin with `indent` blanks. */
void text_fold(struct page *p, struct out *o, const char *s, size_t indent);
/* Writes parts joined by `gap`, folded between parts. `label` stands in the first nine columns. */
void text_words(struct page *p, struct out *o, const char *label, const struct words *w,
		const char *gap);
/* Writes parts as text_words does, in a paragraph that is indented as a whole. */
void text_words_in(struct page *p, struct out *o, const struct words *w, const char *gap,
		   size_t indent);
/* Writes a command to type from column `indent` on; no word of it is wider than the room there. What
 * does not fit stands on further lines, as a shell takes it. */
void text_command(struct page *p, struct out *o, const char *const *words, size_t n, size_t indent);
size_t text_command_room(const struct page *p, size_t indent);
/* `s` padded to `width` columns with blanks behind (or before). */
void text_pad(struct out *o, const char *s, size_t width);
void text_pad_left(struct out *o, const char *s, size_t width);
/* Ends a line, without blanks before its end. */
void text_end_line(struct out *o);
/* ASCII or the real thing. */
const char *text_arrow(const struct page *p);

/* ---- whole views ---- */

/* The line that must not be missed when the input is incomplete, nothing was recorded or all is
 * hidden. Nothing otherwise. */
void text_banner(struct page *p, struct out *o);
void text_first(struct page *p, struct out *o, size_t limit);
/* Parts of it: who ran and what the figures are worth; whether it grows, with which the report of a
 * process begins that was looked at while it ran. */
void text_who(struct page *p, struct out *o);
void text_verdict(struct page *p, struct out *o);
/* The rows of a list, then "N more sites", hidden, other. `callers`: each with the function that
 * called it, on a line of its own. */
void text_list(struct page *p, struct out *o, const struct list *l, bool callers);
/* Writes a list with a title and the total: the views --leaks, --peak, --allocated. */
void text_list_view(struct page *p, struct out *o, const struct list *l);
/* Holds the names, cleaned, that a row shows of its site. NULL = it has no caller that is the
 * user's, or none was asked for; "" = nothing. What tells it from other rows is left to be set. */
struct list_line {
	const char *name, *place, *called, *caller, *caller_place;
	struct apart apart;
};
struct list_line list_line(struct page *p, const struct list *l, const struct site *s,
			   bool callers);
/* Returns the head of the first or second column of figures; NULL = there is no second one. */
const char *list_head(enum metric metric, bool second);
/* Returns the first figure of a pair, for people; list_b the second. */
const char *list_a(struct page *p, enum metric metric, struct pair v);
const char *list_b(struct page *p, enum metric metric, struct pair v);
/* Holds a line at the end of a list: how much, and what that is. list_rests returns how many. */
struct list_rest {
	struct pair v;
	const char *words;
};
#define LIST_RESTS 5
size_t list_rests(struct page *p, const struct list *l, struct list_rest out[LIST_RESTS]);
/* Returns "unreachable", cleaned; "" = none. */
const char *list_verdict(struct page *p, const struct site *s);
/* Returns the remarks of a row: of what is unreachable how its figures come about, "48 B in 1
 * block", "+ 14.1 KiB in 130 blocks lost with it", "(of it 12.1 KiB in 120 blocks from Widget::add
 * widgets.cc:45)"; of what grows how; how many sites it stands for, if several. */
struct words list_remarks(struct page *p, const struct list *l, const struct site *s);
/* Says what else there is of a leak, a line under it: "8 more blocks (256 B) are still reached,
 * perhaps by a stale pointer"; NULL = nothing. */
const char *list_still(struct page *p, const struct list *l, size_t row);
/* Says so of all leaks of a list together. */
const char *list_still_all(struct page *p, const struct list *l);
/* "PEAK at 58m 12s: 1.84 GiB in 3 blocks, top 4 of 3,911 sites": raw words, for any format. */
const char *list_title(struct page *p, const struct list *l);
void text_table(struct page *p, struct out *o, const struct table *t);
/* Returns for each row the text of a column of functions in `width` columns: names that differ read
 * different. Whole where full names are wanted. */
const char **table_functions(struct page *p, const struct table *t, size_t column, size_t width);
void text_site(struct page *p, struct out *o, const struct site *s);
void text_tree(struct page *p, struct out *o, const struct tree *t, size_t limit);

/* ---- markdown.c ---- */

/* Each ends with an empty line. */
void markdown_first(struct page *p, struct out *o, size_t limit);
void markdown_verdict(struct page *p, struct out *o);
void markdown_banner(struct page *p, struct out *o);
void markdown_list(struct page *p, struct out *o, const struct list *l);
void markdown_table(struct page *p, struct out *o, const struct table *t);
/* Plain text that keeps its columns: for a tree or one site. */
void markdown_text(struct out *o, const struct out *text);
/* Parts of a line: text with everything that Markdown or HTML would act on taken out of its hands;
 * code, also in a cell of a table; a frame (NULL = there is none) with its place. */
void markdown_plain(struct page *p, struct out *o, const char *s);
void markdown_code(struct page *p, struct out *o, const char *s);
void markdown_frame(struct page *p, struct out *o, const struct frame *f);
/* Writes what tells a row from others that read the same: " ← `main` main.c:7", ", inside `f`". */
void markdown_apart(struct page *p, struct out *o, const struct apart_line *l);
