/* SPDX-License-Identifier: MIT
 * Describes the data of a page, which its script and the tests read.
 *
 * The page contains it as base64 of a zlib stream of
 *
 *   4 bytes   length of the JSON, little-endian
 *   JSON      words, small tables, "strings", and "columns": [[name, rows, kind], ...]
 *   columns   one after the other, every value an unsigned LEB128 of 1 to 10 bytes
 *
 * Kinds of columns: "plain" is the number itself; "figure" is 0 for not known, else the number + 1;
 * "delta" is the zigzag difference from the previous row; "new" is 0 for the smallest number not
 * used by a previous row, else the distance below that number; "change" is 0 for not known, else
 * 1 + the zigzag difference from the same row of the previous column (not known counts as 0).
 *
 *   site_*      a row per site listed individually, in the order of their stacks
 *     node        its innermost node + 1, 0 = none       user   rows outwards to the user's frame
 *     process     index in "processes"                   verdict, one_time   "strings" + 1
 *     frees       "change" from allocations; other figures as in the JSON report
 *   spread_*    a row per such site of a sampled recording: the spread of each estimate
 *               (struct ms_spread) in thousandths, with roots of the variances
 *   node_*      call stacks as a tree in preorder: callers precede callees
 *     up          levels from the previous row up to this row's caller: 0 = the previous row
 *     frame       "new"
 *   frame_*     function ("new"), file (string + 1), line, flags (1 inlined, 2 runtime, 4 remark)
 *   function_*  name, short (strings), module (string + 1), flags (1 no name is known)
 *   span_*      the timeline
 *   moment_at   moments with known figures by site, in order of time: indices in "moments"
 *   moment_site rows of site_* that changed most between these moments
 *   moment_N    live bytes of the rows of moment_site at the moment N of moment_at
 *   diff_*      a row per site that ms-diff compared: site (row of site_*), kind, flags
 *               (1 significant, 2 weak), old_FIGURE, new_FIGURE
 *
 * All texts are cleaned: one line, no control characters, valid UTF-8.
 */
#pragma once

#include "ms-report/model/lists.h"
#include "ms-report/output/number_table.h"
#include "ms-report/words/table.h"

struct ms_json;
struct page;

/* ---- strings: each once, numbered in order of first use ---- */

/* Returns the number of a text, whose bytes in the table include the NUL. */
uint32_t html_string(struct table_of_bytes *strings, const char *text);

/* ---- columns ---- */

struct html_columns {
	struct out bytes; /* encoded values */
	struct out names; /* array "columns" without its brackets */
};
/* Begins a column; its name is made by printf. */
void html_column(struct html_columns *c, size_t rows, const char *kind, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void html_plain(struct html_columns *c, uint64_t v);
void html_figure(struct html_columns *c, uint64_t v);
/* Appends the change from `base` to `v`; each may be UNKNOWN. */
void html_change(struct html_columns *c, uint64_t base, uint64_t v);
void html_delta(struct html_columns *c, uint64_t *before, uint64_t v);

/* ---- sites and their stacks ---- */

/* Lists the sites that are shown individually. */
struct html_sites {
	uint32_t *v;   /* indices in m->sites, in the order of the call stacks */
	uint32_t *row; /* by index in m->sites: the site's index in v, or NONE */
	size_t n;
	const struct site **largest; /* the chosen sites, the most relevant first */
};
/* Chooses the `most` sites that are most relevant by any figure. Free with html_sites_free. */
struct html_sites html_sites_choose(struct model *m, size_t most);
void html_sites_free(struct html_sites *s);
void html_sites_write(struct page *p, const struct html_sites *s, struct table_of_bytes *strings,
		      struct html_columns *c);

/* ---- the rest ---- */

/* Writes the columns of the timeline; the next two functions write moments and comparison. */
void html_spans_write(struct model *m, struct html_columns *c);
void html_moments_write(struct model *m, const struct html_sites *s, struct html_columns *c);
void html_diff_write(struct model *m, const struct html_sites *s, struct html_columns *c);
/* Writes the members of the JSON object, except strings and columns. */
void html_words_write(struct page *p, struct ms_json *j, const struct html_sites *s,
		      enum metric metric);
/* Writes member "lists", the first content of the page: [{id, title, wrong, heads, rows: [{site,
 * cells, name, place, called, note, caller, caller_place, apart, more}], rest: [{cells, words}]}].
 */
void html_lists_write(struct page *p, struct ms_json *j);
/* Writes member "cohorts": [{kind, pid, ends: [ns], rows: [{name, before, from_ns, to_ns, allocated,
 * live: [bytes at each end, null = before the row]}]}]; without a kind that has no rows. */
void html_cohorts_write(struct page *p, struct ms_json *j);
/* Writes member "source", the source lines around those of the sites: [{file, changed_after (then
 * without lines), parts: [[first line, [text, ...]], ...]}]. */
void html_source_write(struct page *p, struct ms_json *j, const struct html_sites *s);
/* Returns a text cleaned, and cut if it is extremely long; NULL for NULL. */
const char *html_text(struct page *p, const char *s);
