/* SPDX-License-Identifier: MIT
 * Room html: a page for a browser.
 *   In:  a page, and the first screen as text.
 *   Out: one file: words, the data (html_data.h), the style and script that stand in this folder.
 *   Used by: cli.
 *
 * The page: one HTML file that needs nothing else, with all figures of a report in it.
 */
#pragma once

#include "ms-report/model/lists.h"

struct out;
struct page;

/* Most bytes of a page for which sites are left out when nobody asked for a number of them. */
#define HTML_MAX 3000000

/* The whole page. `text` is the first screen, for who has no script. `limit`: sites that are told
 * one by one, SIZE_MAX = all, LIMIT_DEFAULT = as many as HTML_MAX allows; the others are one entry
 * with their sums. `metric` is what charts begin with. */
void html_report(struct page *p, struct out *o, const char *text, enum metric metric, size_t limit);
