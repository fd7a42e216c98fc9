/* SPDX-License-Identifier: MIT
 * Room html: a page for a browser.
 *   In:  a page, and the first screen as text.
 *   Out: one file: words, the data (html_data.h), the style and script that stand in this folder.
 *   Used by: cli.
 *
 * The page: one self-contained HTML file with all figures of a report.
 */
#pragma once

#include "ms-report/model/lists.h"

struct out;
struct page;

/* maximum bytes of a page if no number of sites was requested; further sites are left out */
#define HTML_MAX 3000000

/* Writes the whole page. `text`: first screen, for browsers without scripts. `limit`: number of
 * sites listed individually, SIZE_MAX = all, LIMIT_DEFAULT = as many as fit in HTML_MAX bytes; the
 * remaining sites are summed in one entry. `metric`: initial metric of the charts. */
void html_report(struct page *p, struct out *o, const char *text, enum metric metric, size_t limit);
