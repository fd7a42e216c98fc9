/* SPDX-License-Identifier: MIT
 * The formats for machines and for pages, each in a file of its own.
 */
#ifndef REPORT_FORMATS_H
#define REPORT_FORMATS_H

#include "lists.h"
#include "table.h"

struct out;
struct page;
struct tree;

/* A view that goes into JSON as a table. */
struct json_view {
	const char *name; /* of its option */
	const char *key;  /* of --by, or NULL */
	struct table table;
};
/* JSON, "memscope-report" version 1 (man/memscope-report.schema.json). Sites by `metric`, at most
 * `limit`; `only`: just this one, with its threads, sizes and lifetimes. */
void json_report(struct model *m, struct out *o, enum metric metric, size_t limit,
		 const struct site *only, const struct json_view *views, size_t view_count);

/* CSV (RFC 4180, a header row, figures exact, empty = not known). A row without site number sums up
 * what is not listed or hidden. */
void csv_sites(struct model *m, struct out *o, enum metric metric, size_t limit,
	       const struct site *only);
void csv_table(struct model *m, struct out *o, const struct table *t);
/* One text, with quotes where needed; what a spreadsheet would take for a formula gets an
 * apostrophe in front. Nothing for NULL. */
void csv_text(struct model *m, struct out *o, const char *s);
/* Its four columns: function, file, line, module. They are empty for NULL. */
void csv_frame(struct model *m, struct out *o, const struct frame *f);

/* "root;child;leaf N" lines. */
void folded_tree(struct model *m, struct out *o, const struct tree *t, bool full_names);
/* "root;child;leaf OLD NEW" lines of a comparison. False: that figure was not compared. */
bool folded_diff(struct model *m, struct out *o, enum metric metric, bool full_names);

/* Markdown. Each ends with an empty line. */
void markdown_first(struct page *p, struct out *o, size_t limit);
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

#endif
