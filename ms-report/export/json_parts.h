/* SPDX-License-Identifier: MIT
 * Parts of the JSON report: views as tables, intervals, a comparison, and what is only said of a
 * single site.
 */
#ifndef REPORT_JSON_PARTS_H
#define REPORT_JSON_PARTS_H

#include "formats.h"

#include "ms-report/model/estimate.h"

struct ms_json;

/* Fields "threads", "sizes" and "lifetimes" of a site. */
void json_site_detail(struct model *m, struct ms_json *j, const struct site *s);
/* An element of a stack. */
void json_frame(const struct model *m, struct ms_json *j, const struct frame *f);
/* Field "views", an array; nothing when there is none. */
void json_views(struct model *m, struct ms_json *j, const struct json_view *v, size_t n);
/* Key "skipped_processes", where ms-snap --all was run; else nothing. */
void json_skipped(struct model *m, struct ms_json *j);
/* Object "diff" of the report. */
void json_diff(struct model *m, struct ms_json *j, size_t limit);

/* "intervals":{"live_bytes":{"low":1,"high":2},...}; nothing where `e` is NULL. */
struct est_named {
	const char *name;
	enum est_figure figure;
	uint64_t value;
};
void json_intervals(struct ms_json *j, const struct estimates *e, const struct est_named *v,
		    size_t n);

#endif
