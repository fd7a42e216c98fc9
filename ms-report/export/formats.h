/* SPDX-License-Identifier: MIT
 * Declares our own formats for programs, each written by a file of its own.
 */
#pragma once

#include "ms-report/model/lists.h"
#include "ms-report/output/out.h"
#include "ms-report/words/table.h"

struct ms_json;
struct run;

/* Describes a view that is written to JSON as a table. */
struct json_view {
	const char *name; /* name of its option */
	const char *key;  /* argument of --by, or NULL */
	struct table table;
};
/* Writes JSON, "memscope-report" version 2 (man/memscope-report.schema.json), with each frame and
 * stack once, in tables; without `compact` version 1, with a whole stack per site. Sites are sorted
 * by `metric`, at most `limit`; `only`: just this site, with its threads, sizes and lifetimes.
 * `run`: the run to which this process belongs, or NULL. */
void json_report(struct model *m, const struct run *run, struct out *o, enum metric metric,
		 size_t limit, const struct site *only, const struct json_view *views,
		 size_t view_count, bool compact);

/* Returns the bytes that the call stacks of at most `limit` sites take in version 1. */
uint64_t json_stacks_bytes(struct model *m, size_t limit);

/* Writes --layout=memc: one object per time, each on a line; with `at` only the moment of --at. */
void json_memc(struct model *m, struct out *o, bool at);

/* Writes CSV (RFC 4180, a header row, exact figures, empty = not known). A row without a site
 * number is the sum of sites not listed or hidden. */
void csv_sites(struct model *m, struct out *o, enum metric metric, size_t limit,
	       const struct site *only);
void csv_table(struct model *m, struct out *o, const struct table *t);
/* Writes one text, quoted if needed. A text that a spreadsheet would interpret as a formula gets an
 * apostrophe in front. Writes nothing for NULL. */
void csv_text(struct model *m, struct out *o, const char *s);
/* Writes the four columns of a frame: function, file, line, module; empty columns for NULL. */
void csv_frame(struct model *m, struct out *o, const struct frame *f);

/* Writes the sites of a comparison as CSV. */
void csv_diff(struct model *m, struct out *o, size_t limit);

/* ---- shared by the files that write JSON ---- */

/* Writes members "threads", "sizes" and "lifetimes" of a site. */
void json_site_detail(struct model *m, struct ms_json *j, const struct site *s);
/* Writes an element of a stack. */
void json_frame(const struct model *m, struct ms_json *j, const struct frame *f);
/* Writes what keeps blocks alive, if there is a retention scan. */
void json_kept(struct model *m, struct ms_json *j);
/* Writes member "views", an array; nothing if there is no view. */
void json_views(struct model *m, struct ms_json *j, const struct json_view *v, size_t n);
/* Writes the groups that the first screen shows instead of sites (grouped.h); nothing if there is
 * none. */
void json_groups(struct model *m, struct ms_json *j);
/* Writes member "skipped_processes" after ms-snap -p all; else nothing. */
void json_skipped(struct model *m, struct ms_json *j);
/* Holds the call stacks to write. With tables (version 2 of the report), a stack is the number of
 * its innermost row in "stacks", whose rows refer to the caller's row and a row of "frames".
 * Without tables, the text of each frame is made once, because sites share frames. */
struct json_stacks {
	const struct model *m;
	struct out text;                      /* without tables: texts of all frames */
	size_t *begin;                        /* offset of each frame in `text`, and the end */
	uint32_t *row_of_node, *row_of_frame; /* row numbers; NONE: not needed; NULL: no tables */
	const char **keys;                    /* keys of the sites' stacks; NULL: no tables */
};
struct json_stacks json_stacks_make(struct model *m, bool tables);
void json_stacks_free(struct json_stacks *s);
/* Announces a stack that will be written. Call before json_stacks_put. */
void json_stacks_need(struct json_stacks *s, uint32_t node);
/* Writes members "frames" and "stacks": only the rows announced before. */
void json_stacks_put(struct json_stacks *s, struct ms_json *j);
/* Writes member "stack"; node NONE: no stack. */
void json_stack(const struct json_stacks *s, struct ms_json *j, uint32_t node);
/* Writes object "diff" of the report. */
void json_diff(struct model *m, struct ms_json *j, size_t limit, const struct json_stacks *stacks);

/* Describes a figure for json_intervals, which writes
 * "intervals":{"live_bytes":{"low":1,"high":2},...}, or nothing if `e` is NULL. */
struct est_named {
	const char *name;
	enum est_figure figure;
	uint64_t value;
};
void json_intervals(struct ms_json *j, const struct estimates *e, const struct est_named *v,
		    size_t n);
