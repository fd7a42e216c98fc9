/* SPDX-License-Identifier: MIT
 * A comparison for people: the first screen and a comment for a pull request.
 */
#ifndef REPORT_DIFF_REPORT_H
#define REPORT_DIFF_REPORT_H

#include <stddef.h>

struct out;
struct page;

void diff_text(struct page *p, struct out *o, size_t limit);
/* The hidden line that a comment for a pull request is known by, and the rest of it. */
void diff_markdown_key(struct page *p, struct out *o);
void diff_markdown(struct page *p, struct out *o, size_t limit);
#endif
