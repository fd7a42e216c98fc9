/* SPDX-License-Identifier: MIT
 * Parts of the JSON report: views as tables, and what is only said of a single site.
 */
#ifndef REPORT_JSON_PARTS_H
#define REPORT_JSON_PARTS_H

#include "formats.h"

struct ms_json;

/* Fields "threads", "sizes" and "lifetimes" of a site. */
void json_site_detail(struct model *m, struct ms_json *j, const struct site *s);
/* An element of a stack. */
void json_frame(const struct model *m, struct ms_json *j, const struct frame *f);
/* Field "views", an array; nothing when there is none. */
void json_views(struct model *m, struct ms_json *j, const struct json_view *v, size_t n);

#endif
