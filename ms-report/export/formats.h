/* SPDX-License-Identifier: MIT
 * The formats of our own for machines, each in a file of its own.
 */
#pragma once

#include "ms-report/model/lists.h"
#include "ms-report/output/out.h"
#include "ms-report/words/table.h"

struct ms_json;
struct run;

/* A view that goes into JSON as a table. */
struct json_view {
	const char *name; /* of its option */
	const char *key;  /* of --by, or NULL */
	struct table table;
};
/* JSON, "memscope-report" version 2 (man/memscope-report.schema.json), in which frames and stacks are
 * there once, in tables; without `compact` version 1, in which each site has its whole stack. Sites by `metric`, at most `limit`; `only`: just this one, with its
 * threads, sizes and lifetimes. `run`: of which this is one process, or NULL. */
void json_report(struct model *m, const struct run *run, struct out *o, enum metric metric,
		 size_t limit, const struct site *only, const struct json_view *views,
		 size_t view_count, bool compact);

/* The bytes that call stacks take in version 1, of at most `limit` sites. */
uint64_t json_stacks_bytes(struct model *m, size_t limit);

/* --layout=memc: one object for each time (only the moment of --at if `at`), a line each. */
void json_memc(struct model *m, struct out *o, bool at);

/* CSV (RFC 4180, a header row, figures exact, empty = not known). A row without site number sums up
 * what is not listed or hidden. */
void csv_sites(struct model *m, struct out *o, enum metric metric, size_t limit,
	       const struct site *only);
void csv_table(struct model *m, struct out *o, const struct table *t);
/* One text, with quotes where needed; what a spreadsheet would take for a formula gets an
 * apostrophe in front. Nothing for NULL. */
void csv_text(struct model *m, struct out *o, const char *s);
/* Writes the four columns of a frame: function, file, line, module. They are empty for NULL. */
void csv_frame(struct model *m, struct out *o, const struct frame *f);

/* Writes the sites of a comparison as CSV. */
void csv_diff(struct model *m, struct out *o, size_t limit);

/* ---- among the files that write JSON ---- */

/* Fields "threads", "sizes" and "lifetimes" of a site. */
void json_site_detail(struct model *m, struct ms_json *j, const struct site *s);
/* An element of a stack. */
void json_frame(const struct model *m, struct ms_json *j, const struct frame *f);
/* Field "views", an array; nothing when there is none. */
void json_views(struct model *m, struct ms_json *j, const struct json_view *v, size_t n);
/* Writes the groups that the first screen shows instead of sites, if there are any (grouped.h). */
void json_groups(struct model *m, struct ms_json *j);
/* Key "skipped_processes", where ms-snap -p all was run; else nothing. */
void json_skipped(struct model *m, struct ms_json *j);
/* Call stacks. With tables (version 2 of the report) a stack is the number of its innermost row in
 * "stacks", whose rows have the caller's row and a row of "frames". Without, each frame's text is made
 * once, as sites share frames. */
struct json_stacks {
	const struct model *m;
	struct out text;                      /* without tables: of all frames, */
	size_t *begin;                        /* and where each begins in it, and the end */
	uint32_t *row_of_node, *row_of_frame; /* NONE: not needed; NULL: no tables */
	const char **keys;                    /* of the sites' stacks; NULL: no tables */
};
struct json_stacks json_stacks_make(struct model *m, bool tables);
void json_stacks_free(struct json_stacks *s);
/* Before the tables are put: a stack that will be asked for. */
void json_stacks_need(struct json_stacks *s, uint32_t node);
/* Fields "frames" and "stacks": what is needed of them. */
void json_stacks_put(struct json_stacks *s, struct ms_json *j);
/* Field "stack"; node NONE: there is none. */
void json_stack(const struct json_stacks *s, struct ms_json *j, uint32_t node);
/* Object "diff" of the report. */
void json_diff(struct model *m, struct ms_json *j, size_t limit, const struct json_stacks *stacks);

/* "intervals":{"live_bytes":{"low":1,"high":2},...}; nothing where `e` is NULL. */
struct est_named {
	const char *name;
	enum est_figure figure;
	uint64_t value;
};
void json_intervals(struct ms_json *j, const struct estimates *e, const struct est_named *v,
		    size_t n);
