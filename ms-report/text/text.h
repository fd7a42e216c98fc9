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
#include "ms-report/words/kept.h"
#include "ms-report/words/page.h"
#include "ms-report/words/table.h"
#include "ms-report/words/words.h"

struct out;
struct tree;

/* ---- pieces ---- */

/* Writes a heading, bold if colours are on. */
void text_title(struct page *p, struct out *o, const char *s);
/* Writes a paragraph folded to the page's width, at blanks, or inside words that are longer than a
 * line; later lines are indented by `indent` blanks. */
void text_fold(struct page *p, struct out *o, const char *s, size_t indent);
/* Writes parts joined by `gap`, folded between parts. `label` is in the first nine columns. */
void text_words(struct page *p, struct out *o, const char *label, const struct words *w,
		const char *gap);
/* Writes parts as text_words does, in a paragraph that is indented as a whole. */
void text_words_in(struct page *p, struct out *o, const struct words *w, const char *gap,
		   size_t indent);
/* Writes a command to type, from column `indent` on; none of its words may exceed
 * text_command_room. A long command continues on further lines in a form that a shell accepts. */
void text_command(struct page *p, struct out *o, const char *const *words, size_t n, size_t indent);
size_t text_command_room(const struct page *p, size_t indent);
/* Write `s` padded to `width` columns with blanks behind it (or before it). */
void text_pad(struct out *o, const char *s, size_t width);
void text_pad_left(struct out *o, const char *s, size_t width);
/* Ends a line and removes blanks at its end. */
void text_end_line(struct out *o);
/* Returns an arrow, in ASCII if the page is. */
const char *text_arrow(const struct page *p);

/* ---- whole views ---- */

/* Writes a warning if the input is incomplete, nothing was recorded or filters hide everything;
 * else nothing. */
void text_banner(struct page *p, struct out *o);
void text_first(struct page *p, struct out *o, size_t limit);
/* Write parts of the first screen. text_who: what ran and the quality of the figures. text_verdict:
 * whether the heap grows; this comes first if the process was observed while it ran. */
void text_who(struct page *p, struct out *o);
void text_verdict(struct page *p, struct out *o);
/* Writes the rows of a list, then the rows "N more sites", hidden and other. `callers`: with each
 * function's caller on its own line. */
void text_list(struct page *p, struct out *o, const struct list *l, bool callers);
/* Writes a list with a title and the total: the views --leaks, --peak, --allocated. */
void text_list_view(struct page *p, struct out *o, const struct list *l);
/* Holds the cleaned texts that a row shows of its site; "" = not shown. A NULL caller = not
 * requested, or not in user code. `apart`, which distinguishes rows, is set later. */
struct list_line {
	const char *name, *place, *called, *caller, *caller_place;
	struct apart apart;
};
struct list_line list_line(struct page *p, const struct list *l, const struct site *s,
			   bool callers);
/* Returns the title of the first or second column of figures; NULL = there is no second one. */
const char *list_head(enum metric metric, bool second);
/* Return the first or second figure of a pair as text. */
const char *list_a(struct page *p, enum metric metric, struct pair v);
const char *list_b(struct page *p, enum metric metric, struct pair v);
/* Holds a line at the end of a list: figures, and what they are about. list_rests returns the
 * number of lines. */
struct list_rest {
	struct pair v;
	const char *words;
};
#define LIST_RESTS 5
size_t list_rests(struct page *p, const struct list *l, struct list_rest out[LIST_RESTS]);
/* Returns the verdict on a site, "unreachable", cleaned; "" = none. */
const char *list_verdict(struct page *p, const struct site *s);
/* Returns the remarks on a row. If it is unreachable, they are the parts of its figures: "48 B in 1
 * block", "+ 14.1 KiB in 130 blocks lost with it", "(including 12.1 KiB in 120 blocks from
 * Widget::add widgets.cc:45)". If it grows, they describe how; if it has several sites, their
 * number. */
struct words list_remarks(struct page *p, const struct list *l, const struct site *s);
/* Returns what of a leak is still reachable, for a line under it: "8 more blocks (256 B) are still
 * reachable, perhaps through a stale pointer"; NULL = nothing. */
const char *list_still(struct page *p, const struct list *l, size_t row);
/* Returns what is still reachable of all leaks of a list together; NULL = nothing. */
const char *list_still_all(struct page *p, const struct list *l);
/* Returns a list's title, not cleaned, for any format: "PEAK at 58m 12s: 1.84 GiB in 3 blocks, top
 * 4 of 3,911 sites". */
const char *list_title(struct page *p, const struct list *l);
void text_table(struct page *p, struct out *o, const struct table *t);
/* Returns each row's text for a column of functions in `width` columns, shortened so that names
 * that differ look different; whole if full names are requested. */
const char **table_functions(struct page *p, const struct table *t, size_t column, size_t width);
/* Writes `s` behind a label, folded; further lines begin at column `indent`. */
void text_under(struct page *p, struct out *o, const char *label, const char *s, size_t indent);
void text_site(struct page *p, struct out *o, const struct site *s);
/* Writes what keeps the blocks of a place alive (kept_why); markdown_why does it in Markdown. */
void text_why(struct page *p, struct out *o, const char *place, size_t limit);
void markdown_why(struct page *p, struct out *o, const char *place, size_t limit);
void text_tree(struct page *p, struct out *o, const struct tree *t, size_t limit);

/* ---- markdown.c ---- */

/* Write Markdown that ends with an empty line. */
void markdown_first(struct page *p, struct out *o, size_t limit);
void markdown_verdict(struct page *p, struct out *o);
void markdown_banner(struct page *p, struct out *o);
void markdown_list(struct page *p, struct out *o, const struct list *l);
void markdown_table(struct page *p, struct out *o, const struct table *t);
/* Writes preformatted text, such as a tree or one site. */
void markdown_text(struct out *o, const struct out *text);
/* Write parts of a line: text with all Markdown and HTML escaped; code, also for a table cell; a
 * frame (NULL = none) with its place. */
void markdown_plain(struct page *p, struct out *o, const char *s);
void markdown_code(struct page *p, struct out *o, const char *s);
void markdown_frame(struct page *p, struct out *o, const struct frame *f);
/* Writes what distinguishes a row from rows with the same name: " ← `main` main.c:7", ", inside
 * `f`". */
void markdown_apart(struct page *p, struct out *o, const struct apart_line *l);
