/* SPDX-License-Identifier: MIT
 * Markdown, for pull requests and issues.
 */
#ifndef REPORT_MARKDOWN_H
#define REPORT_MARKDOWN_H

#include "ms-report/model/lists.h"
#include "ms-report/words/page.h"
#include "ms-report/words/table.h"

struct out;

/* Each ends with an empty line. */
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
